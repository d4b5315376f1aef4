"""In Notebook 7 and nbclassic the bar lives and the explorer answers; tests/browser has JupyterLab."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import lab
from browser.slow_service import EVENTS, slow_service

pytestmark = [
    pytest.mark.frontends,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]
BOX = ".sl-p:not([class*=sl-page])"


@pytest.fixture
def service() -> Iterator[str]:
    with slow_service() as address:
        yield address


def cells(service: str) -> list[str]:
    connect = f"import sourcelight as sl\ncode = sl.connect({service!r}, token='none')"
    return [connect, "found = code.search('match')", "found.explore()"]


def numbers_shown(page: Any) -> set[str]:
    """The counts that a reader saw till the search was complete: in the end the page of HTML may stand for the box."""
    box = page.locator(".sl-p:visible").first
    seen: set[str] = set()
    until = time.monotonic() + 60
    text = ""
    while "Complete" not in text and time.monotonic() < until:
        text = str(box.text_content() or "")
        seen.update(re.findall(r"([0-9,]+)\s+match", text))
        page.wait_for_timeout(30)
    assert f"{EVENTS} matches" in re.sub(r"\s+", " ", text)
    return seen


def look_into_explorer(page: Any) -> None:
    """Filter the rows and open one of them, as a reader does."""
    explorer = page.locator(".sl-x").first
    explorer.get_by_label("Path").fill("f7.py")
    explorer.get_by_text("1 of 50 rows").wait_for()
    explorer.locator(".sl-x-spacer .sl-x-row").first.click()
    explorer.locator(".sl-x-preview").get_by_text("match 7").wait_for()


def test_notebook_7(tmp_path: Path, service: str) -> None:
    pytest.importorskip("notebook")
    lab.write_notebook(tmp_path / "live.ipynb", cells(service))
    with (
        lab.jupyter_lab(tmp_path, {"SOURCELIGHT_PROGRESS": "on"}, app="notebook") as address,
        lab.chromium_page(height=900) as page,
    ):
        page.set_default_timeout(120_000)
        lab.open_notebook(page, address, "live.ipynb")
        lab.run_cell(page, 0)
        lab.wait_for_cell(page, 0)
        lab.run_cell(page, 1)
        page.locator(BOX).first.wait_for()
        assert len(numbers_shown(page)) >= 5
        lab.run_cell(page, 2)
        look_into_explorer(page)


def test_nbclassic(tmp_path: Path, service: str) -> None:
    pytest.importorskip("nbclassic")
    lab.write_notebook(tmp_path / "live.ipynb", cells(service))
    with (
        lab.jupyter_lab(tmp_path, {"SOURCELIGHT_PROGRESS": "on"}, app="nbclassic") as address,
        lab.chromium_page(height=900) as page,
    ):
        page.set_default_timeout(120_000)
        page.goto(address.replace("NOTEBOOK", "live.ipynb"))
        # Widgets that a kernel makes before their manager has come are lost.
        kernel = "window.Jupyter?.notebook?.kernel"
        page.wait_for_function(f"() => {kernel}?.is_connected() && {kernel}.widget_manager !== undefined")
        run = "number => Jupyter.notebook.execute_cells([number])"
        page.evaluate(run, 0)
        page.evaluate(run, 1)
        page.locator(BOX).first.wait_for()
        assert len(numbers_shown(page)) >= 5
        page.evaluate(run, 2)
        look_into_explorer(page)
