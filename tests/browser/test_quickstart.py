"""The quickstart runs in JupyterLab from its first cell to its last, in the dark theme too."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from browser import lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]
NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01-quickstart.ipynb"


def test_every_cell_of_the_quickstart_runs(tmp_path: Path, fleet: Path) -> None:
    output = nbformat.read(NOTEBOOK, as_version=4)
    for cell in output.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    nbformat.write(output, tmp_path / "quickstart.ipynb")
    environment = {"SOURCELIGHT_DEMO_PATHS": str(fleet), "SOURCELIGHT_HOME": str(tmp_path / "home")}
    environment["SOURCELIGHT_PROGRESS"] = "on"
    with lab.shared_lab(tmp_path, environment, dark=True) as address, lab.chromium_page(height=900) as page:
        lab.open_notebook(page, address, "quickstart.ipynb")
        many = sum(cell.cell_type == "code" for cell in output.cells)
        # JupyterLab puts cells into the page one after the other.
        page.wait_for_function(f"document.querySelectorAll('.jp-CodeCell').length === {many}")
        for number in range(many):
            lab.run_cell(page, number)
            lab.wait_for_cell(page, number)
        errors = page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.error"]')
        assert errors.all_inner_texts() == []
        assert page.locator(".sl-result").count() > 0
        colour = page.locator(".sl-result td").first.evaluate("each => getComputedStyle(each).color")
        assert min(int(part) for part in re.findall(r"\d+", colour)[:3]) > 120
