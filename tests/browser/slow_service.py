"""A search service that sends one match every tenth of a second, so that progress can be watched."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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


@contextlib.contextmanager
def slow_service() -> Iterator[str]:
    """Yields the address; the service is gone afterwards."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
