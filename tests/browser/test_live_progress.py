"""What a reader sees in JupyterLab: progress that lives while a search streams, an interrupt that keeps its rows."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from browser import lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(240),
    pytest.mark.skipif(not lab.CHROMIUM, reason="needs Debian's package chromium"),
]

EVENTS = 50
EVERY_S = 0.1


class _Slow(BaseHTTPRequestHandler):
    """A search stream of one match every 0.1 s, for five seconds."""

    def do_GET(self) -> None:
        """Answer any search."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for n in range(EVENTS):
                line = {"line": f"match {n}", "lineNumber": n, "offsetAndLengths": [[0, 5]]}
                match = {"type": "content", "repository": "example.org/slow", "path": f"f{n}.py", "lineMatches": [line]}
                self._send("matches", [match])
                self._send("progress", {"done": False, "matchCount": n + 1, "durationMs": n * 100, "skipped": []})
                time.sleep(EVERY_S)
            self._send("progress", {"done": True, "matchCount": EVENTS, "durationMs": 5000, "skipped": []})
            self._send("done", {})
        except OSError:
            return  # the client went away, as one of the tests wants

    def _send(self, name: str, data: Any) -> None:
        self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Stay quiet."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("lab")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    connect = f"import sourcelight as sl\ncode = sl.connect('http://127.0.0.1:{server.server_port}', token='none')"
    report = "print('kept', len(code.last.matches), code.last.status)"
    lab.write_notebook(folder / "live.ipynb", [connect, "code.search('match')", "code.search('match')", report])
    try:
        with (
            lab.jupyter_lab(folder, {"SOURCELIGHT_PROGRESS": "on"}) as address,
            lab.chromium_page() as browser_page,
        ):
            lab.open_notebook(browser_page, address, "live.ipynb")
            lab.run_cell(browser_page, 0)
            lab.wait_for_cell(browser_page, 0)
            yield browser_page
    finally:
        server.shutdown()
        server.server_close()


def status(page: Any, number: int) -> str:
    return str(page.locator(".sl-status").nth(number).text_content() or "")


def test_progress_lives_while_the_search_streams(page: Any) -> None:
    lab.run_cell(page, 1)
    page.locator(".sl-status").first.wait_for()
    seen = set()
    until = time.monotonic() + 30
    while "Complete" not in status(page, 0) and time.monotonic() < until:
        seen.update(re.findall(r"([0-9,]+)\s+match", status(page, 0)))
        page.wait_for_timeout(30)
    lab.wait_for_cell(page, 1)
    assert len(seen) >= 15, seen
    assert f"{EVENTS} matches" in re.sub(r"\s+", " ", status(page, 0))


def test_an_interrupt_lands_and_keeps_the_rows(page: Any) -> None:
    lab.run_cell(page, 2)
    box = page.locator(".sl-status").nth(1)
    box.filter(has_text=re.compile(r"[5-9] matches")).wait_for()
    pressed = time.monotonic()
    page.locator('.jp-Notebook-ExecutionIndicator[data-status="busy"]').wait_for(state="attached")
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    page.keyboard.press("i")
    box.filter(has_text="Interrupted").wait_for()
    assert time.monotonic() - pressed < 3
    lab.wait_for_cell(page, 2)
    lab.run_cell(page, 3)
    lab.wait_for_cell(page, 3)
    output = str(page.locator(".jp-CodeCell").nth(3).locator(".jp-OutputArea-output").first.text_content())
    found = re.search(r"kept (\d+) interrupted", output)
    assert found is not None, output
    assert 5 <= int(found[1]) < EVENTS
