"""The search page in a real browser: live results, suggestions, keys, and all of it without script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser import lab
from browser.test_accessibility import in_both_schemes
from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.server.http.settings import Settings

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]
HUB, PYTIDE = "example.org/tidewatch/hub", "example.org/tidewatch/pytide"
CODE_PAGES = [
    f"/{HUB}/-/blob/README.md?L3-6&blame=1&history=1",
    f"/{PYTIDE}/-/blob/src/pytide/client.py",
    f"/{HUB}/-/tree/",
    f"/{HUB}/-/compare/HEAD~5...HEAD",
    f"/{PYTIDE}/-/symbol/src/pytide/client.py?name=Hub",
]


@pytest.fixture(scope="module")
def service(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    engine = open_engine([fleet], index=tmp_path_factory.mktemp("index"), workers=1)
    with running(engine, Settings(auth_public=True)) as service:
        yield service
    engine.close()


@pytest.fixture
def page() -> Iterator[Any]:
    """A page that fails the test for what the console says."""
    with lab.chromium_page() as browser_page:
        messages: list[str] = []
        browser_page.on("console", lambda message: messages.append(message.text))
        browser_page.on("pageerror", lambda error: messages.append(str(error)))
        yield browser_page
        assert messages == []


def test_results_come_while_somebody_types_and_the_address_follows(service: Service, page: Any) -> None:
    page.goto(service.url + "/search?q=alarm")
    box = page.get_by_role("combobox", name="Search code")
    box.fill("retry lang:go")
    page.locator(".result h2", has_text="retry.go").first.wait_for()
    expect(page).to_have_title(re.compile("^retry lang:go"))
    assert page.url == service.url + "/search?q=retry+lang%3Ago"
    assert page.locator("[data-status=complete]").count() == 1
    assert page.locator("mark").count() > 0
    first = page.locator(".result h2 a").nth(1).inner_text()
    page.reload()
    assert page.locator(".result h2 a").nth(1).inner_text() == first


def test_suggestions_are_taken_by_keys(service: Service, page: Any) -> None:
    page.goto(service.url + "/search")
    page.keyboard.press("/")
    box = page.get_by_role("combobox", name="Search code")
    page.keyboard.type("retry la")
    page.locator("#suggestions [role=option]").first.wait_for()
    assert box.get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    active = box.get_attribute("aria-activedescendant")
    assert page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    page.keyboard.press("Enter")
    assert box.input_value() == "retry lang:"
    page.keyboard.type("typesc")
    page.get_by_role("option", name="TypeScript").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    assert box.input_value() == "retry lang:TypeScript "
    assert page.locator(".mirror .sl-k").inner_text() == "lang:"
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=retry+lang%3ATypeScript*")
    page.locator(".result").first.wait_for()


def test_a_choice_survives_suggestions_that_arrive_after_it(service: Service, page: Any) -> None:
    delayed: list[Any] = []

    def delay(route: Any) -> None:
        delayed.append(route)

    page.goto(service.url + "/search")
    box = page.get_by_role("combobox", name="Search code")
    box.press_sequentially("retry lang:types")
    option = page.get_by_role("option", name="TypeScript")
    option.wait_for()
    page.wait_for_load_state("networkidle")
    page.route("**/search/suggestions?*", delay)
    box.press("c")
    box.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    with page.expect_response("**/search/suggestions?*"):
        delayed[-1].continue_()
    page.wait_for_load_state("networkidle")
    expect(option).to_have_attribute("aria-selected", "true")
    assert box.get_attribute("aria-activedescendant") == option.get_attribute("id")
    box.press("Tab")
    assert box.input_value() == "retry lang:TypeScript "


def test_suggestions_for_a_shorter_text_are_not_taken_for_a_longer_one(service: Service, page: Any) -> None:
    delayed: list[Any] = []

    def delay(route: Any) -> None:
        delayed.append(route)

    page.goto(service.url + "/search")
    box = page.get_by_role("combobox", name="Search code")
    box.press_sequentially("retry r")
    page.get_by_role("option", name="repo:").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.route("**/search/suggestions?*", delay)
    box.press_sequentially("ev")
    expect(page.get_by_role("option", name="repo:")).to_have_count(0)
    box.press("ArrowDown")
    box.press("Tab")
    assert box.input_value() in {"retry rev", "retry rev:"}
    for route in delayed:
        route.fulfill(json=[])


def test_keys_go_through_results_and_into_a_file(service: Service, page: Any) -> None:
    page.goto(service.url + "/search?q=retry&wait=1")
    page.locator("h1").evaluate("node => node.focus()")
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(".result h2 a:not(.repo)").nth(1)
    assert second.evaluate("node => node === document.activeElement")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_url("**/-/blob/**")


def test_python_is_copied(service: Service, page: Any) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=service.url)
    page.goto(service.url + "/search?q=retry&wait=1")
    page.get_by_text("Use in Python").first.click()
    page.get_by_role("button", name="Copy as Python", exact=True).click()
    page.get_by_role("button", name="Copied").wait_for()
    assert "code.search('retry')" in page.evaluate("navigator.clipboard.readText()")
    page.locator("h1").evaluate("node => node.focus()")
    page.keyboard.press("j")
    page.keyboard.press("c")
    page.wait_for_function("navigator.clipboard.readText().then(text => text.includes('code.read_file('))")


def test_everything_is_there_without_script(service: Service, page: Any) -> None:
    context = page.context.browser.new_context(java_script_enabled=False)
    plain_page = context.new_page()
    plain_page.goto(service.url + "/search")
    plain_page.get_by_label("Search code").fill("type:diff retry")
    plain_page.get_by_role("button", name="Search").click()
    plain_page.goto(plain_page.url + "&wait=1")
    assert plain_page.locator(".result").count() > 2
    plain_page.get_by_role("link", name="Retry failed requests").first.click()
    assert "/-/commit/" in plain_page.url
    context.close()


def test_pages_are_read_by_keyboards_and_screen_readers(service: Service, page: Any) -> None:
    for address in ("/search", "/search?q=retry&wait=1", "/search?q=type:diff+retry&wait=1"):
        assert in_both_schemes(page, service.url + address) == [], address


def test_a_name_in_a_file_leads_to_its_definition(service: Service, page: Any) -> None:
    page.goto(f"{service.url}/{PYTIDE}/-/blob/src/pytide/client.py")
    page.locator("#L17").scroll_into_view_if_needed()
    x, y = page.evaluate("""() => {
        const walker = document.createTreeWalker(document.querySelector("#L17 td:last-child"), NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const at = walker.currentNode.data.indexOf("Hub");
            if (at < 0) continue;
            const range = document.createRange();
            range.setStart(walker.currentNode, at);
            range.setEnd(walker.currentNode, at + 3);
            const box = range.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2];
        }
    }""")
    page.mouse.click(x, y)
    panel = page.get_by_role("region", name="Definition and references")
    panel.get_by_role("heading", name="References").wait_for()
    address = panel.get_by_role("link", name="Hub").first.evaluate("link => link.href")
    assert address.endswith("/-/symbol/src/pytide/client.py?name=Hub&line=17")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.mouse.click(x, y)
    panel.get_by_role("link", name="src/pytide/client.py:17").first.click()
    assert page.locator("tr.hit").get_attribute("id") == "L17"
    page.get_by_role("button", name="Blame").click()
    assert page.locator("td.blame a").count() > 1
    assert page.locator("tr.hit").get_attribute("id") == "L17"


def test_lines_are_selected_and_their_history_is_shown(service: Service, page: Any) -> None:
    page.goto(f"{service.url}/{PYTIDE}/-/blob/src/pytide/client.py")
    page.locator("#L17 td:first-child a").click()
    page.locator("#L19 td:first-child a").click(modifiers=["Shift"])
    assert page.url.endswith("client.py?L17-19")
    assert page.locator("tr.hit").count() == 3
    assert page.get_by_role("link", name="Permalink").get_attribute("href").endswith("?L17-19")
    page.get_by_role("button", name="History", exact=True).click()
    page.wait_for_url("**?lines=17-19&history=1")
    page.get_by_role("heading", name="History of the highlighted lines").wait_for()
    assert page.locator("tr.hit").count() == 3
    page.locator("aside li a").first.click()
    assert "/-/commit/" in page.url


def test_pages_of_code_are_read_by_keyboards_and_screen_readers(service: Service, page: Any) -> None:
    for address in CODE_PAGES:
        assert in_both_schemes(page, service.url + address) == [], address


def test_parts_of_a_repository_follow_by_themselves(service: Service, page: Any) -> None:
    page.goto(f"{service.url}/{PYTIDE}/-/tree/")
    for title in ("Branches and tags", "Languages", "Contributors", "Commits by year", "Owners of lines"):
        page.get_by_role("heading", name=title).wait_for()
    expect(page.locator("a[data-load]")).to_have_count(0)
    expect(page.locator("[aria-busy]")).to_have_count(0)
    assert page.locator(".entries td:nth-child(2) a").count() > 3
    page.get_by_label("From").fill("HEAD~5")
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("5 commits").wait_for()
    page.get_by_role("link", name="Swap").click()
    page.get_by_text("0 commits").wait_for()


def test_parts_of_a_repository_have_links_without_script(service: Service, page: Any) -> None:
    context = page.context.browser.new_context(java_script_enabled=False)
    plain_page = context.new_page()
    plain_page.goto(f"{service.url}/{HUB}/-/tree/frame")
    plain_page.get_by_role("link", name="Show last changes").click()
    assert plain_page.locator(".entries td:nth-child(2) a").count() > 0
    context.close()


@pytest.mark.clock
@pytest.mark.parametrize("address", ["/search?q=func+OR+class+count:all", f"/{HUB}/-/tree/", f"/{HUB}@HEAD~3"])
def test_the_first_paint_takes_less_than_a_second(service: Service, page: Any, address: str) -> None:
    page.goto(service.url + "/search?q=retry")
    page.goto(service.url + address)
    observe = """new Promise(resolve => new PerformanceObserver(list => {
        const [entry] = list.getEntriesByName("first-contentful-paint");
        if (entry) resolve(entry.startTime);
    }).observe({type: "paint", buffered: true}))"""
    assert page.evaluate(observe) < 1000


def test_a_phone_scrolls_down_only(service: Service, page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for address in ("/search", "/search?q=retry&wait=1", "/search?q=type:diff+retry&wait=1", *CODE_PAGES):
        page.goto(service.url + address)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
