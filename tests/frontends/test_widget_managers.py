"""Our widgets live in the managers that Colab and VS Code are made of, as npm has them: real kernel, real Chromium.

`scripts/test frontends` fetches the packages. `managers.js` is the rest of a front end: it carries the messages.
"""

from __future__ import annotations

import os
import re
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from browser import lab
from browser.slow_service import EVENTS, slow_service
from frontends.pages import HOST, Kernel, front_end, kernel_in

PACKAGES = Path(os.environ.get("SOURCELIGHT_WIDGET_MANAGERS") or "missing")
pytestmark = [
    pytest.mark.frontends,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore"),  # jupyter_client's own
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
    pytest.mark.skipif(not PACKAGES.is_dir(), reason="needs npm's packages: scripts/test frontends fetches them"),
]
BOX = ".sl-p:not([class*=sl-page])"


def use_widgets(page: Any, kernel: Kernel) -> None:
    """What a reader does: watch the bar of a search, then filter its rows and open one of them."""
    seen: set[str] = set()
    explorer = page.locator(".sl-x")
    with slow_service() as service:
        kernel.run(
            f"import sourcelight as sl\nresult = sl.connect({service!r}, token='none').search('match')\n"
            "display(result.explore())"
        )
        until = time.monotonic() + 240
        while not explorer.count() and time.monotonic() < until:
            kernel.pump(page)
            for text in page.locator(BOX).all_text_contents():
                seen.update(re.findall(r"([0-9,]+)\s+match", text))
            # The box is drawn, so the page of plain HTML beside it is hidden.
            assert page.locator("[class*=sl-page-]").locator("visible=true").count() == 0
    assert len(seen) >= 5
    # At the end a page stands in place of the box, for whoever opens the notebook later.
    assert page.locator(BOX).count() == 0
    final = page.locator("[class*=sl-page]").locator("visible=true")
    assert final.count() == 1
    assert f"{EVENTS} matches" in re.sub(r"\s+", " ", str(final.text_content()))
    kernel.pump_until(page, explorer.get_by_text(f"{EVENTS} of {EVENTS} rows"))
    explorer.get_by_label("Path").fill("f7.py")
    kernel.pump_until(page, explorer.get_by_text(f"1 of {EVENTS} rows"))
    explorer.locator(".sl-x-spacer .sl-x-row").first.click()
    kernel.pump_until(page, explorer.locator(".sl-x-preview").get_by_text("match 7"))


def anywidget_script() -> Path:
    """The program that Colab loads from a CDN and VS Code from beside the interpreter; they are the same file."""
    files = [Path(str(file.locate())) for file in metadata.files("anywidget") or []]
    (script,) = (file for file in files if file.parts[-3:] == ("nbextensions", "anywidget", "index.js"))
    return script


def test_in_the_manager_for_html_pages(tmp_path: Path) -> None:
    """Colab's custom manager is another child of the same base manager, and loads anywidget in the same way."""
    files = {
        "requirejs.js": PACKAGES / "requirejs/require.js",
        "embed-amd.js": PACKAGES / "html-manager/dist/embed-amd.js",
        "anywidget.js": anywidget_script(),
    }
    with kernel_in(tmp_path) as kernel, front_end(kernel, files) as page:
        page.add_script_tag(url=f"{HOST}/requirejs.js")
        page.add_script_tag(url=f"{HOST}/embed-amd.js")
        page.evaluate("url => startHtmlManager(url)", f"{HOST}/anywidget")
        use_widgets(page, kernel)


def test_in_the_manager_of_vs_code(tmp_path: Path) -> None:
    files = {
        "requirejs.js": PACKAGES / "requirejs/require.js",
        "ipywidgets.js": PACKAGES / "jupyter-ipywidgets8/dist/ipywidgets.js",
        "anywidget.js": anywidget_script(),
    }
    with kernel_in(tmp_path) as kernel, front_end(kernel, files) as page:
        page.add_script_tag(url=f"{HOST}/requirejs.js")
        page.evaluate("urls => startVsCode(...urls)", [f"{HOST}/ipywidgets.js", f"{HOST}/anywidget"])
        use_widgets(page, kernel)
