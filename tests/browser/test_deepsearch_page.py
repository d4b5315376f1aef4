"""Deep search in a real browser: asking by keys, live progress, without script, on a phone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from browser import lab
from browser.test_accessibility import in_both_schemes
from server.running_service import running
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.repos.state import ScryptCost, State

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(120),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]
PASSWORD = "a password of some length"


@dataclass
class Place:
    """The service, and its conversations."""

    url: str
    desk: ConversationService


@pytest.fixture(scope="module")
def location(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    engine = open_engine([fleet], index=tmp_path_factory.mktemp("index"), workers=1)
    with State(cost=ScryptCost(2, 1, 1)) as state, closing(ConversationService(state)) as desk:
        state.accounts.create("ann", PASSWORD)
        with running(engine, state=state, conversations=desk) as service:
            yield Place(service.url, desk)
    engine.close()


def signed_in(location: Place, page: Any) -> Any:
    page.goto(location.url + "/.auth/sign-in?to=/deepsearch")
    page.get_by_label("Account").fill("ann")
    page.get_by_label("Password or access token").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(location.url + "/deepsearch")
    return page


def test_a_question_is_asked_by_keys_and_followed_while_it_runs(location: Place) -> None:
    with lab.chromium_page() as page:
        messages: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        signed_in(location, page)
        page.get_by_label("What do you want to know").fill("where are failed requests retried?")
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**/deepsearch/*-*")
        page.get_by_text("Sources").first.wait_for()
        assert page.get_by_role("link", name="retry").count() > 0
        address = page.url

        # Nobody works on this one, so that each state can be seen.
        number = location.desk.store.by_token(address.rpartition("/")[2])
        assert number is not None
        question = location.desk.store.ask(number.id, "and who wrote it", "", location.desk.process_id)
        page.reload()
        expect(page.get_by_text("is waiting for its turn")).to_be_visible()
        location.desk.store.start(question, location.desk.process_id)
        location.desk.store.add_event(
            question, "turn", {"tool": "commit_search", "query": "<b>retry</b>", "result": "7"}
        )
        expect(page.get_by_text("commit_search: <b>retry</b>: 7")).to_be_visible()
        expect(page.get_by_text("this page updates itself")).to_be_visible()
        assert in_both_schemes(page, address) == []
        page.get_by_role("button", name="Cancel the question").click()
        expect(page.get_by_text("This question was canceled.")).to_be_visible()
        page.get_by_role("button", name="Share by link").click()
        expect(page.get_by_text("anyone with the link can read it")).to_be_visible()
        assert messages == []


def test_deep_search_works_without_script_and_on_a_phone(location: Place) -> None:
    with lab.chromium_page() as first:
        context = first.context.browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 800})
        page = signed_in(location, context.new_page())
        page.get_by_label("What do you want to know").fill("how is the backoff computed?")
        page.get_by_role("button", name="Ask").click()
        page.wait_for_url("**/deepsearch/*-*")
        # The page reloads itself until the answer is there.
        page.get_by_role("heading", name="Sources").first.wait_for(timeout=60_000)
        assert page.get_by_role("button", name="Ask").count() == 1
        address = page.url
        page.goto(location.url + "/deepsearch")
        assert page.get_by_role("link", name="how is the backoff computed?").first.is_visible()
        context.close()

        signed_in(location, first)
        first.set_viewport_size({"width": 390, "height": 800})
        for path in ("/deepsearch", address.removeprefix(location.url)):
            first.goto(location.url + path)
            assert first.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert in_both_schemes(first, location.url + "/deepsearch") == []


@pytest.mark.parametrize("script", [True, False], ids=["with script", "without script"])
def test_a_link_on_another_site_opens_as_its_reader(location: Place, *, script: bool) -> None:
    with lab.chromium_page() as first:
        context = first.context.browser.new_context(java_script_enabled=script)
        page = signed_in(location, context.new_page())
        (cookie,) = [cookie for cookie in context.cookies() if cookie["name"] == "sourcelight-reader"]
        assert cookie["sameSite"] == "Strict"
        # Another name of this machine is another site.
        page.goto(location.url.replace("127.0.0.1", "localhost") + "/healthz")
        shared_url = f"{location.url}/example.org/tidewatch/hub/-/blob/README.md?L3"
        page.set_content(f'<a href="{shared_url}">see this</a>')
        page.get_by_text("see this").click()
        page.locator("#L3.hit").wait_for()
        assert page.url == shared_url
        assert page.get_by_text("Sign in").count() == 0
        context.close()
