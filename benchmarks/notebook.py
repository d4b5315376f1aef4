"""What showing costs: progress and tables beside a stream of matches, the first paint, the explorer, the import.

    benchmarks/notebook.py            the table for docs/benchmarks-appendix.md

Times are CPU time of this process, the best of several runs, unless they say wall. Widgets are real, as in a kernel,
but nobody is connected, so that what they send goes nowhere: what a browser does with it is in tests/browser.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from display.batches_for_tests import lines
from sourcelight import connect
from sourcelight.core.batches import MatchBatch, RepositoryInfo
from sourcelight.display.notebook import SearchState, html_pages, painter
from sourcelight.display.notebook.widgets import ExplorerRows, RowQuery

MATCHES = 50_000
PER_EVENT = 10
RUNS = 5


def batches(rows: int, per: int) -> list[MatchBatch]:
    """Events of `per` matched lines each, of 40 repositories."""
    result = []
    for k in range(rows // per):
        texts = [
            (n + 1, f"    if error_{k * per + n} is not None: raise ValueError(error)", [(7, 12)]) for n in range(per)
        ]
        info = (RepositoryInfo(f"example.org/o/r{k}"),) if k < 40 else ()
        path = f"src/pkg{k % 90}/module{k}.{('py', 'go', 'ts')[k % 3]}"
        result.append(MatchBatch(lines(f"example.org/o/r{k % 40}", path, texts), info))
    return result


def serve(ports: Any) -> None:
    """Answer every search with the same events; in a process of its own, so that its time is not counted."""
    events = []
    for k in range(MATCHES // PER_EVENT):
        results = [
            {
                "line": f"    if error_{n} is None: raise ValueError(error)",
                "lineNumber": n,
                "offsetAndLengths": [[7, 5]],
            }
            for n in range(PER_EVENT)
        ]
        match = {
            "type": "content", "repository": f"example.org/o/r{k % 40}", "repositoryID": k % 40, "commit": "c" * 40,
            "path": f"src/pkg{k % 90}/module{k}.py", "language": "Python", "lineMatches": results,
        }  # fmt: skip
        events.append(f"event: matches\ndata: {json.dumps([match])}\n\n")
    last = {"done": True, "matchCount": MATCHES, "durationMs": 1, "skipped": []}
    events.append(f"event: progress\ndata: {json.dumps(last)}\n\nevent: done\ndata: {{}}\n\n")
    body = "".join(events).encode()

    class Answers(BaseHTTPRequestHandler):
        """One body for all."""

        def do_GET(self) -> None:
            """Send it."""
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    ports.put(server.server_port)
    server.serve_forever()


def best(work: Callable[[], object], runs: int = RUNS) -> float:
    """Seconds of CPU time of the quickest run."""
    took = []
    for _ in range(runs):
        began = time.process_time()
        work()
        took.append(time.process_time() - began)
    return min(took)


class Drawing:
    """Real boxes in place of a front end, and when each was drawn."""

    def __init__(self) -> None:
        self.draw_times: list[float] = []

    def __enter__(self) -> Self:
        from sourcelight.display.notebook import progress_box

        drawing = self

        class Box(progress_box.ProgressBox):
            """A box that notes when it is drawn; it is not displayed, since there is no cell."""

            def draw(self, snapshot: Any) -> None:
                self._displayed_at, self._page = 0.0, None
                super().draw(snapshot)
                drawing.draw_times.append(time.monotonic())

        self._original = html_pages.in_notebook, painter._widget  # noqa: SLF001 - there is no kernel to ask for boxes
        html_pages.in_notebook = lambda: True
        painter._widget = Box  # noqa: SLF001
        return self

    def __exit__(self, *_: object) -> None:
        html_pages.in_notebook, painter._widget = self._original  # noqa: SLF001


def streaming() -> None:
    """Progress and the table of the result, beside the same search of a service without them."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    service = context.Process(target=serve, args=(queue,), daemon=True)
    service.start()
    try:
        client = connect(f"http://127.0.0.1:{queue.get(timeout=60)}", "none")
        firsts: list[float] = []

        def quiet() -> None:
            client.search("error", progress=False)

        def run_displayed() -> None:
            arrived: list[float] = []
            update = SearchState.update

            def noted(self: SearchState, event: Any) -> None:
                arrived.append(time.monotonic())
                update(self, event)

            with Drawing() as drawing:
                SearchState.update = noted  # type: ignore[method-assign]
                result = client.search("error", progress=None)
                SearchState.update = update  # type: ignore[method-assign]
            result._repr_mimebundle_()
            firsts.append(
                1000 * (min(position for position in drawing.draw_times if position >= arrived[0]) - arrived[0])
            )

        quiet()
        run_displayed()
        # In turns, so that what else the machine does falls on both.
        pairs = [(best(quiet, 1), best(run_displayed, 1)) for _ in range(25)]
    finally:
        service.terminate()
    without, with_box = min(a for a, _ in pairs), min(b for _, b in pairs)
    share = 100 * (with_box / without - 1)
    print(f"| {MATCHES:,} matches of a service in {MATCHES // PER_EVENT:,} events, nothing shown | {without:.3f} s |")
    print(f"| the same with the progress box and the table of the result | {with_box:.3f} s, {share:+.1f} % |")
    middle = sorted(firsts)[len(firsts) // 2]
    print(f"| first paint after the first event (wall, median of {len(firsts)}) | {middle:.0f} ms |")


def exploring() -> None:
    """The explorer on 100,000 rows."""
    for per in (10, 1_000):
        result = [event.batch for event in batches(100_000, per)]

        def open_explorer(batches: list[Any] = result) -> None:
            rows = ExplorerRows()
            rows.take_in(batches)
            rows.rows(rows.select(RowQuery()).numbers[:60])

        print(f"| explorer opens 100,000 rows of {100_000 // per:,} batches | {best(open_explorer):.3f} s |")
    rows = ExplorerRows()
    rows.take_in(result)
    requests = {
        "a filter by path": RowQuery(path="module1 *.py -pkg3"),
        "a filter by text": RowQuery(text="error_77"),
        "an order by path": RowQuery(sort="path"),
        "an order by text": RowQuery(sort="text"),
    }
    for name, row_query in requests.items():
        took = best(lambda row_query=row_query: rows.rows(rows.select(row_query).numbers[:60]))  # type: ignore[misc]
        print(f"| {name} of 100,000 rows, and its first page | {1000 * took:.1f} ms |")


def importing() -> None:
    """The import in a new process."""
    code = "import time; t = time.process_time(); import sourcelight; print(time.process_time() - t)"
    took = [float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
            for _ in range(RUNS)]  # fmt: skip
    print(f"| `import sourcelight` | {min(took):.3f} s |")


def main() -> None:
    """Entry point."""
    print("| what | CPU time |\n| --- | --- |")
    streaming()
    exploring()
    importing()


if __name__ == "__main__":
    main()
