"""In marimo the bar shows, frames are plain, and cells that use a widget run when a reader changes it."""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from browser import lab
from browser.slow_service import slow_service

marimo = pytest.importorskip("marimo")
ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "notebooks" / "reactive.py"
pytestmark = [pytest.mark.frontends, pytest.mark.timeout(600)]
LIVE = """
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo
    import sourcelight as sl
    code = sl.connect({service!r}, token="none")
    return code, mo


@app.cell
def _(code):
    found = code.search("match")
    found
    return (found,)


@app.cell
def _(found, mo):
    explorer = mo.ui.anywidget(found.explore())
    explorer
    return (explorer,)


@app.cell
def _(explorer, mo):
    mo.md(f"rows of the explorer: {{len(explorer.visible_rows)}}")
    return
"""


@contextlib.contextmanager
def marimo_app(file: Path, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Run a notebook as an app; yields its address."""
    port = lab.free_port()
    command = [
        sys.executable, "-m", "marimo", "run", str(file), "--headless", "--no-token", "--host", "127.0.0.1",
        "--port", str(port),
    ]  # fmt: skip
    environ = {**os.environ, **environment, "HOME": str(folder)}
    log = folder / "marimo.log"
    with log.open("wb") as out:
        server = subprocess.Popen(command, env=environ, stdout=out, stderr=out, cwd=folder)
        try:
            address = f"http://127.0.0.1:{port}"
            until = time.monotonic() + 120
            while True:
                try:
                    urllib.request.urlopen(f"{address}/health", timeout=2).close()  # noqa: S310 - the server above
                    break
                except OSError:
                    if time.monotonic() > until or server.poll() is not None:
                        raise RuntimeError(log.read_text()[-2000:]) from None
                    time.sleep(0.2)
            yield address
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


@pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium")
def test_the_bar_lives_and_cells_follow_the_explorer(tmp_path: Path) -> None:
    with slow_service() as service:
        file = tmp_path / "live.py"
        file.write_text(LIVE.format(service=service), "utf-8")
        environment = {"SOURCELIGHT_PROGRESS": "on", "SOURCELIGHT_HOME": str(tmp_path / "home")}
        with marimo_app(file, tmp_path, environment) as address, lab.chromium_page(height=1400) as page:
            page.set_default_timeout(120_000)
            page.goto(address)
            displayed = page.locator(".sl-status")
            displayed.first.wait_for()
            seen: set[str] = set()
            explorer = page.locator(".sl-x").first
            while not explorer.is_visible():
                seen.update(re.findall(r"([0-9,]+)\s+match", " ".join(displayed.all_text_contents())))
                page.wait_for_timeout(30)
            assert len(seen) >= 5, seen
            page.get_by_text("rows of the explorer: 50").wait_for()
            explorer.get_by_label("Path").fill("f7.py")
            page.get_by_text("rows of the explorer: 1", exact=True).wait_for()


def test_the_notebook_of_the_guide_runs(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCELIGHT_DEMO_PATHS", str(fleet))
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path))
    app = runpy.run_path(str(GUIDE))["app"]
    _, names = app.run()
    assert isinstance(names["frame"], pd.DataFrame)
    assert len(names["frame"]) == len(names["result"].matches) > 20
    panel = names["panel"]
    panel.widget.set_state({"selected": [0]})
    assert panel.query != names["result"].query
