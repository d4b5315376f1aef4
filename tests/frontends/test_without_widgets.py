"""Where nothing draws widgets: a front end of HTML alone, nbconvert, papermill, and IPython in a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from browser import lab
from browser.slow_service import EVENTS, slow_service
from frontends.pages import environment, front_end, kernel_in

pytestmark = [
    pytest.mark.frontends,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore"),  # jupyter_client's own
]
LIVE = r"([0-9,]+)\s+match"


@pytest.fixture
def service() -> Iterator[str]:
    with slow_service() as address:
        yield address


def cells(service: str) -> list[str]:
    return [
        f"import sourcelight as sl\nresult = sl.connect({service!r}, token='none').search('match')",
        "result",
        "result.explore()",
        "result.facets()",
    ]


@pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium")
def test_a_front_end_of_html_alone_follows_a_search(tmp_path: Path, service: str) -> None:
    """As Databricks documents its notebooks: text/html, and updates of it; messages about widgets are dropped."""
    with kernel_in(tmp_path, draws_widgets=False) as kernel, front_end(kernel, {}) as page:
        search, *views = cells(service)
        kernel.run(search)
        box = page.locator("[class*=sl-page]")
        kernel.pump_until(page, box)
        kernel.pump_until(page, box.get_by_text("Complete"))
        states = page.evaluate("window.states")
        assert len({count for text in states for count in re.findall(LIVE, text)}) >= 3, (
            "once a second for five seconds"
        )
        assert f"{EVENTS} matches" in re.sub(r"\s+", " ", states[-1])
        for view in views:
            kernel.run(view)
        kernel.pump_until(page, page.get_by_text("f7.py").locator("visible=true"))
        assert box.count() == 1, "updated in place"


def run(folder: Path, *words: str) -> None:
    """Run a program of the environment to its end."""
    command = [sys.executable, "-m", *words]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, check=False, timeout=400
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium")
def test_what_nbconvert_executes_is_a_page_with_every_view(tmp_path: Path, service: str) -> None:
    lab.write_notebook(tmp_path / "search.ipynb", cells(service))
    run(tmp_path, "nbconvert", "--execute", "--to", "html", "search.ipynb")
    with lab.chromium_page(height=900) as page:
        # No kernel, and no other host: what is seen is in the file.
        page.route("http*://**", lambda route: route.abort())
        page.goto((tmp_path / "search.html").as_uri())
        bar, result, explorer, facets = (page.locator(".jp-Cell").nth(number) for number in range(4))
        assert "Complete" in bar.inner_text()
        assert f"{EVENTS} matches" in re.sub(r"\s+", " ", bar.inner_text())
        assert "f7.py" in result.inner_text()
        assert "f7.py" in explorer.inner_text()
        assert "Suggested filters of match" in facets.inner_text()


def test_papermill_stores_every_view(tmp_path: Path, service: str) -> None:
    lab.write_notebook(tmp_path / "search.ipynb", ["service = ''", *cells("")])
    notebook = nbformat.read(tmp_path / "search.ipynb", as_version=4)
    notebook.cells[0].metadata["tags"] = ["parameters"]
    notebook.cells[1].source = cells("")[0].replace("''", "service", 1)
    nbformat.write(notebook, tmp_path / "search.ipynb")
    run(tmp_path, "papermill", "search.ipynb", "out.ipynb", "-p", "service", service)
    code_cells = [
        cell for cell in nbformat.read(tmp_path / "out.ipynb", as_version=4).cells if cell.cell_type == "code"
    ]
    pages = ["".join(output.get("data", {}).get("text/html", "") for output in cell.outputs) for cell in code_cells[2:]]
    bar, result, explorer, facets = pages
    assert "Complete" in bar
    assert "f7.py" in result
    assert "f7.py" in explorer
    assert "Suggested filters of <code>match</code>" in facets


def test_ipython_in_a_terminal_says_a_line_a_second(tmp_path: Path, service: str) -> None:
    code = "; ".join([*cells(service)[0].splitlines(), "print('rows', len(result.matches))", "result"])
    controller, terminal = pty.openpty()
    command = [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"]
    session = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**environment(tmp_path), "TERM": "dumb"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    text = ""
    try:
        os.write(controller, f"{code}\nexit\n".encode())
        until = time.monotonic() + 300
        while time.monotonic() < until:
            if select.select([controller], [], [], 0.2)[0]:
                try:
                    text += os.read(controller, 65536).decode(errors="replace")
                except OSError:  # the terminal is closed: the session has ended
                    break
            elif session.poll() is not None:
                break
        assert session.wait(60) == 0
    finally:
        session.kill()
        session.wait()
        os.close(controller)
    assert len(set(re.findall(LIVE, text))) >= 3, text
    assert f"rows {EVENTS}" in text
    assert "f7.py" in text
    assert "\x1b]" not in text
