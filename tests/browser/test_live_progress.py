"""What a reader sees in JupyterLab: progress that lives while a search streams, an interrupt that keeps its rows."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from browser import lab
from browser.slow_service import EVENTS, slow_service

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("lab")
    report = "print('kept', len(code.last.matches), code.last.status)"
    with slow_service() as service:
        connect = f"import sourcelight as sl\ncode = sl.connect({service!r}, token='none')"
        lab.write_notebook(folder / "live.ipynb", [connect, "code.search('match')", "code.search('match')", report])
        with (
            lab.shared_lab(folder, {"SOURCELIGHT_PROGRESS": "on"}) as address,
            lab.chromium_page() as browser_page,
        ):
            lab.open_notebook(browser_page, address, "live.ipynb")
            lab.run_cell(browser_page, 0)
            lab.wait_for_cell(browser_page, 0)
            yield browser_page


# The widget's own box while it lives, and the page of plain HTML that takes its place.
SHOWN = ".sl-p:visible .sl-status"


def status(page: Any, number: int) -> str:
    return str(page.locator(SHOWN).nth(number).text_content() or "")


def test_progress_lives_while_the_search_streams(page: Any) -> None:
    lab.run_cell(page, 1)
    page.locator(SHOWN).first.wait_for()
    seen = set()
    until = time.monotonic() + 30
    while "Complete" not in status(page, 0) and time.monotonic() < until:
        seen.update(re.findall(r"([0-9,]+)\s+match", status(page, 0)))
        page.wait_for_timeout(30)
    lab.wait_for_cell(page, 1)
    assert len(seen) >= 15, seen
    assert f"{EVENTS} matches" in re.sub(r"\s+", " ", status(page, 0))
    assert page.locator(".sl-p").count() == 1, "a page took the place of the widget"
    assert page.locator("[class*=sl-page]").is_visible()


def test_an_interrupt_lands_and_keeps_the_rows(page: Any) -> None:
    lab.run_cell(page, 2)
    box = page.locator(SHOWN).nth(1)
    box.filter(has_text=re.compile(r"[5-9] matches")).wait_for()
    pressed = time.monotonic()
    page.locator('.jp-Notebook-ExecutionIndicator[data-status="busy"]').wait_for(state="attached")
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    page.keyboard.press("i")
    page.locator(SHOWN).nth(1).filter(has_text="Interrupted").wait_for()
    assert time.monotonic() - pressed < 3
    lab.wait_for_cell(page, 2)
    lab.run_cell(page, 3)
    lab.wait_for_cell(page, 3)
    output = str(page.locator(".jp-CodeCell").nth(3).locator(".jp-OutputArea-output").first.text_content())
    result = re.search(r"kept (\d+) interrupted", output)
    assert result is not None, output
    assert 5 <= int(result[1]) < EVENTS


def test_no_output_needs_the_kernel_once_a_search_has_ended(page: Any) -> None:
    """Whoever opens the saved notebook has no model: Lab would write "model not found" above each result."""
    kinds = page.evaluate("() => [...document.querySelectorAll('[data-mime-type]')].map(o => o.dataset.mimeType)")
    assert "text/html" in kinds
    assert "application/vnd.jupyter.widget-view+json" not in kinds
