"""What keyboards and screen readers get, judged by axe: pages of a service, reports, the explorer, and the docs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

import sourcelight as sl
from browser import lab
from server.oauth.flow import PASSWORD
from server.running_service import running
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.repos.state import ScryptCost, State

ROOT = Path(__file__).resolve().parent.parent.parent
pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]
HUB = "example.org/tidewatch/hub"


def violations(page: Any, *rules: str) -> list[str]:
    """What axe finds to be serious or critical, one line for each rule; of these rules, or of all."""
    only = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    axe = Axe().run(page, options={"resultTypes": ["violations"], **only}).response["violations"]
    return [
        f"{item['id']} ({item['impact']}): {item['nodes'][0]['html'][:200]} {item['nodes'][0]['failureSummary'][:300]}"
        for item in axe
        if item["impact"] in {"serious", "critical"}
    ]


def in_both_schemes(page: Any, address: str = "") -> list[str]:
    """The violations of a page, light and dark."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    if address:
        page.goto(address)
    result = violations(page)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    return result + [f"dark: {item}" for item in violations(page, "color-contrast", "link-in-text-block")]


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with lab.chromium_page() as browser_page:
        yield browser_page


def test_pages_of_a_service(fleet: Path, tmp_path: Path, page: Any) -> None:
    engine = open_engine([fleet], index=tmp_path / "index", workers=1)
    with State(cost=ScryptCost(2, 1, 1)) as state, closing(ConversationService(state)) as desk:
        state.accounts.create("ann", PASSWORD)
        with running(engine, state=state, conversations=desk) as service:
            context = ToolContext(engine, Viewer("ann", sees_private=False), conversations=desk)
            answer = desk.ask("How long is waited before a failed request is tried again?", context).attributes
            assert in_both_schemes(page, service.url + answer["url"]) == []  # asks to sign in
            page.get_by_role("link", name="Sign in").click()
            assert in_both_schemes(page) == []
            page.get_by_label("Account").fill("ann")
            page.get_by_label("Password or access token").fill(PASSWORD)
            page.keyboard.press("Enter")
            page.wait_for_url(service.url + answer["url"])
            for address in (
                answer["url"], f"/{HUB}@v2.0.0/-/tree/", f"/{HUB}@v2.0.0/-/blob/alarm/surge.go?L9-12",
                f"/{HUB}@v2.0.0/-/blob/absent.go",
            ):  # fmt: skip
                assert in_both_schemes(page, service.url + address) == [], address


def test_reports_and_answers_as_pages(embedded: sl.Client, tmp_path: Path, page: Any) -> None:
    sl.reports.contributors(embedded, progress=False).to_html(tmp_path / "contributors.html")
    sl.reports.changes(embedded, HUB, "v1.0.0", "v2.0.0", progress=False).to_html(tmp_path / "changes.html")
    embedded.deepsearch("How long is waited before a failed request is tried again?").to_html(tmp_path / "answer.html")
    for name in ("contributors", "changes", "answer"):
        assert in_both_schemes(page, (tmp_path / f"{name}.html").as_uri()) == [], name


def test_results_in_a_notebook(embedded: sl.Client, page: Any) -> None:
    displayed: list[Any] = [
        embedded.search("error count:all"), embedded.search("TODO", context_lines=2),
        embedded.search_many({"a": "retry", "b": "timeout"}), embedded.explain("lang:go retry or backoff"),
    ]  # fmt: skip
    parts = "".join(item._repr_mimebundle_()["text/html"] for item in displayed)
    page.set_content(f"<!doctype html><html lang=en><title>Results</title><main><h1>Results</h1>{parts}</main></html>")
    assert in_both_schemes(page) == []


def test_the_explorer(embedded: sl.Client, page: Any) -> None:
    explorer = embedded.explore("error count:all")
    try:
        new = page.context.browser.new_page()
        lab.show_explorer(new, explorer)
        new.locator("[role=row]").nth(2).click()
        assert in_both_schemes(new) == []
    finally:
        explorer.stop()


def test_the_site_of_the_docs(tmp_path: Path, page: Any) -> None:
    """Nor does it ask another host for anything."""
    site = Path(os.environ.get("DOCS_SITE", tmp_path))  # that of the stage docs, where this runs after it
    if not (site / "index.html").exists():
        command = [sys.executable, str(ROOT / "scripts" / "site"), "--out", str(site)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
        assert done.returncode == 0, done.stderr
    requests: list[str] = []
    for scheme in ("light", "dark"):  # a page remembers its scheme, so each gets a fresh browser's
        new = page.context.browser.new_page(color_scheme=scheme, viewport={"width": 1300, "height": 800})
        new.on("request", lambda request: requests.append(request.url))
        for name in ("index", "guides/audit", "notebooks/01-quickstart"):
            new.goto((site / f"{name}.html").as_uri())
            assert new.evaluate("document.body.dataset.mdColorScheme") == {"light": "default", "dark": "slate"}[scheme]
            assert violations(new) == [], (name, scheme)
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
