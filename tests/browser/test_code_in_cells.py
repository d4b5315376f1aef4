"""Code in cells of JupyterLab: dollar signs aren't mathematics, and the styles of one view don't reach another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from browser import lab
from sourcelight.testing import RepositoryBuilder

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]
LINE = "function send($request, array $options): string { return $request . $options[0]; }"
CELLS = [
    "view = code.view_file('shop', 'src/send.php'); view",
    "code.search('options count:all')",
    "code.search('options count:all').matches[['path', 'line']]",
    "code.blame('shop', 'src/send.php')[['line_number', 'line']]",
    "code.view_commit('shop', 'HEAD')",
    "code.deepsearch('Where is send defined?')",
    "code.explain('content:\"$request, array $options\"')",
    "sl.reports.contributors(code)",
    "from IPython.display import HTML; HTML('<p id=control>between $x$ dollars</p>')",
]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("lab")
    builder = RepositoryBuilder(folder / "code" / "shop")
    for step in range(3):
        builder.commit({"src/send.php": f"<?php\n{LINE}\nconst STEP = {step};\n"}, message=f"cost $5 and ${step}")
    connect = f"import sourcelight as sl\ncode = sl.open({str(folder / 'code')!r}, progress=False)"
    lab.write_notebook(folder / "code.ipynb", [connect, *CELLS])
    environment = {"SOURCELIGHT_PROGRESS": "off", "SOURCELIGHT_HOME": str(folder / "home")}
    with (
        lab.shared_lab(folder, environment) as address,
        lab.chromium_page() as browser_page,
    ):
        lab.open_notebook(browser_page, address, "code.ipynb")
        for number in range(len(CELLS) + 1):
            lab.run_cell(browser_page, number)
            lab.wait_for_cell(browser_page, number)
        # The front end typesets in the background: once this formula is set, it has read the cells before it.
        browser_page.locator("#control mjx-container").wait_for()
        yield browser_page


def test_dollar_signs_of_code_are_not_typeset(page: Any) -> None:
    set_in = page.evaluate(
        "[...document.querySelectorAll('.jp-Cell')].map(cell => cell.querySelectorAll('mjx-container').length)"
    )
    assert set_in == [0] * len(CELLS) + [1]
    for number in (1, 2, 3, 4):
        assert LINE in page.locator(".jp-Cell").nth(number).text_content(), CELLS[number - 1]


def test_an_answer_does_not_color_the_numbers_of_a_report(page: Any) -> None:
    colors = page.evaluate(
        "[...document.querySelectorAll('.sl-report table tr:first-child td')].map(cell => getComputedStyle(cell).color)"
    )
    assert len(set(colors)) == 1, set(colors)
