"""The documentation of several releases: a folder for each, a menu of versions, addresses, a search in a browser."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from release.conftest import ROOT, run

ADDRESS = "https://docs.example.org/sourcelight/"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sites of two minor versions, the older of which has two releases."""
    tree = tmp_path_factory.mktemp("checkout") / "tree"
    run(sys.executable, ROOT / "scripts" / "distributions", "--tree", tree)
    git = functools.partial(run, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", cwd=tree)
    git("init", "-q", "-b", "main")
    package = tree / "src" / "sourcelight" / "__init__.py"
    for version in ("0.1.0", "0.1.1", "0.2.0"):
        package.write_text(
            re.sub(r'__version__ = ".*"', f'__version__ = "{version}"', package.read_text("utf-8")), "utf-8"
        )
        git("add", "-A")
        git("commit", "-qm", version, "--allow-empty")
        git("tag", f"v{version}")
    git("tag", "v0.3.0rc1")  # no release
    out = tmp_path_factory.mktemp("site")
    run(sys.executable, tree / "scripts" / "site", "--releases", "--out", out, env={**os.environ, "SITE_URL": ADDRESS})
    assert git("worktree", "list").count("\n") == 1
    return out


def test_each_minor_version_has_its_newest_release(site: Path) -> None:
    listing = json.loads((site / "versions.json").read_text("utf-8"))
    assert [(item["version"], item["title"]) for item in listing] == [("0.2", "0.2.0"), ("0.1", "0.1.1")]
    assert {path.name for path in site.iterdir()} == {"0.1", "0.2", "index.html", "versions.json"}
    assert "url=0.2/index.html" in (site / "index.html").read_text("utf-8")


@pytest.mark.parametrize("version", ["0.1", "0.2"])
def test_pages_name_the_address_that_they_will_have(site: Path, version: str) -> None:
    page = (site / version / "queries.html").read_text("utf-8")
    assert f'<link rel="canonical" href="{ADDRESS}{version}/queries.html">' in page
    assert f"<loc>{ADDRESS}{version}/queries.html</loc>" in (site / version / "sitemap.xml").read_text("utf-8")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:  # one line a request would be the output of the test
        pass


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Where a plain server of files has the site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no chromium")
def test_a_reader_searches_and_changes_the_version(address: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{address}/")
        page.wait_for_url(f"{address}/0.2/index.html")
        menu = page.locator(".md-version")
        expect(menu.locator(".md-version__current")).to_have_text("0.2.0", timeout=20_000)
        menu.locator(".md-version__current").focus()  # opens the list, as a pointer on it does
        menu.locator(".md-version__link", has_text="0.1.1").click()
        page.wait_for_url(re.compile(rf"{address}/0\.1/.*"))
        expect(menu.locator(".md-version__current")).to_have_text("0.1.1", timeout=20_000)
        page.locator("input.md-search__input").fill("exhaustive searches")
        matches = page.locator(".md-search-result__link")
        expect(matches.first).to_be_visible(timeout=20_000)
        assert "/0.1/" in str(matches.first.get_attribute("href"))
        browser.close()
