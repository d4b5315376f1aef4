"""Calls of tools as methods: arguments, frames, warnings, progress, interrupts; awaited and blocking."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import signal
import threading
import time
import warnings
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, NoReturn, cast

import pyarrow as pa
import pytest

import sourcelight as sl
from client.scripted import ScriptedBackend, run
from sourcelight.backends.embedded import EmbeddedBackend
from sourcelight.client import AsyncClient, Client
from sourcelight.client.methods.call import date_text, texts
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ToolError, UnsupportedTool
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.core.wire.request import SearchRequest
from sourcelight.display.frames import table_schema
from sourcelight.display.notebook import ProgressSnapshot


def answer(*, complete: bool = True, notices: tuple[str, ...] = (), **attributes: Any) -> ToolResult:
    """Two files of a folder."""
    rows = [
        {"repository": "r1", "revision": "", "commit": "a" * 40, "path": p, "is_directory": p.endswith("/")}
        for p in ("src/", "a.go")
    ]
    table = pa.Table.from_pylist(rows, schema=table_schema(COLUMNS["files"]))
    return ToolResult("files", table, attributes, complete, notices)


def references(count: int, *, complete: bool = True, notices: tuple[str, ...] = ()) -> ToolResult:
    """Places that use a symbol."""
    rows = [{"repository": "r1", "path": "a.py", "line_number": number + 1, "symbol": "f"} for number in range(count)]
    schema = table_schema(COLUMNS["references"])
    columns = {name: [row.get(name) for row in rows] for name in schema.names}
    return ToolResult("references", pa.table(columns, schema=schema), {}, complete, notices)


def test_a_call_gives_a_frame_that_says_what_it_is_of() -> None:
    backend = ScriptedBackend([], answers=[answer(total=2, notices=("as of now",), repo="r1")])
    frame = Client(backend).list_files("r1", path="src")
    assert list(frame["path"]) == ["src/", "a.go"]
    expected = {"total": 2, "repo": "r1", "status": "complete", "notices": ["as of now"], "call": "list_files"}
    assert expected.items() <= frame.attrs.items()
    assert backend.calls == [("list_files", {"repo": "r1", "path": "src"})]


def test_arguments_have_the_wire_names_of_the_tool() -> None:
    backend = ScriptedBackend([], answers=[answer(), answer()])
    client = Client(backend)
    client.read_file("r1", "a.go", start_line=2, end_line=9)
    client.read_file("r1", "a.go", 2, 9)
    assert backend.calls[0] == backend.calls[1]
    assert backend.calls[0][1] == {"repo": "r1", "path": "a.go", "startLine": 2, "endLine": 9}


def test_an_answer_that_was_cut_warns_at_the_callers_line() -> None:
    partial = answer(complete=False, notices=("15 files at most",))
    with pytest.warns(sl.IncompleteResultWarning, match="keyword_search: 15 files at most") as caught:
        frame = Client(ScriptedBackend([], answers=[partial])).keyword_search("foo")
    assert caught[0].filename == __file__
    assert frame.attrs["status"] == "limited"

    async def awaited() -> None:
        await AsyncClient(ScriptedBackend([], answers=[partial])).keyword_search("foo")

    with pytest.warns(sl.IncompleteResultWarning) as caught:
        run(awaited())
    assert caught[0].filename == __file__


def test_a_page_that_was_asked_for_warns_of_nothing() -> None:
    client = Client(ScriptedBackend([], answers=[answer(complete=False, notices=("more follow",))]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = client.list_repos("x", limit=1)
    assert frame.attrs["status"] == "partial"


def test_progress_goes_from_running_to_the_number_of_rows() -> None:
    seen: list[ProgressSnapshot] = []
    Client(ScriptedBackend([], answers=[answer()])).list_files("r1", progress=seen.append)
    last = seen[-1]
    assert (last.phase, last.done, last.unit, last.title) == ("complete", 2, "rows", "list_files(repo='r1')")

    backend = ScriptedBackend([], answers=["wait"])
    looks: list[ProgressSnapshot] = []
    stop_event = threading.Event()

    def look(snapshot: ProgressSnapshot) -> None:
        looks.append(snapshot)
        if snapshot.phase == "running" and backend.waiting.is_set() and snapshot.done and not stop_event.is_set():
            stop_event.set()
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        Client(backend).list_files("r1", progress=look)
    running = [s for s in looks if s.done]
    assert (running[0].done, running[0].total, running[0].unit, running[0].activity) == (3, 12, "reading", "Working")
    assert running[0].title.endswith("r1")
    assert looks[-1].phase == "interrupted"


def test_rows_are_given_as_they_are_told_and_the_status_at_the_end() -> None:
    backend = ScriptedBackend([], answers=[references(5, complete=False, notices=("cut",)), references(2)])
    backend.partial_tables = [references(3).table, references(2).table]
    frames = list(Client(backend).stream_references("r1", "a.py", "f", limit=5))
    assert [len(frame) for frame in frames] == [3, 2, 0]
    assert (frames[-1].attrs["status"], frames[-1].attrs["notices"]) == ("limited", ["cut"])
    assert backend.calls == [("find_references", {"repo": "r1", "path": "a.py", "symbol": "f", "limit": 5})]
    backend.partial_tables = []
    assert [len(frame) for frame in Client(backend).stream_references("r1", "a.py", "f")] == [2]


def test_leaving_the_loop_over_rows_ends_the_call() -> None:
    backend = ScriptedBackend([], answers=["wait"])
    backend.partial_tables = [references(1).table]
    for frame in Client(backend).stream_references("r1", "a.py", "f"):
        assert len(frame) == 1
        break
    assert backend.closed.wait(5)


def test_a_call_whose_rows_were_given_may_still_fail() -> None:
    backend = ScriptedBackend([], answers=[ToolError("broken", tool="find_references")])
    backend.partial_tables = [references(1).table]
    rows = Client(backend).stream_references("r1", "a.py", "f")
    assert len(next(rows)) == 1
    with pytest.raises(ToolError, match="broken"):
        next(rows)


def test_an_interrupt_cancels_the_call_at_once() -> None:
    backend = ScriptedBackend([], answers=["wait"])

    def press() -> None:
        backend.waiting.wait(5)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    with pytest.raises(KeyboardInterrupt):
        Client(backend).list_files("r1")
    assert backend.closed.wait(3)  # 0.3 s on an idle machine


def test_cancelling_an_awaited_call_cancels_the_work() -> None:
    backend = ScriptedBackend([], answers=["wait"])

    async def awaited() -> None:
        task = asyncio.create_task(AsyncClient(backend).list_files("r1"))
        assert await asyncio.to_thread(backend.waiting.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert backend.closed.is_set()

    run(awaited())


def test_a_cancelled_call_of_the_engines_leaves_no_unread_error() -> None:
    begun, released = threading.Event(), threading.Event()

    class Waiting:
        def explain(self, _: object, __: object, cancellation: Cancellation) -> NoReturn:
            begun.set()
            try:
                while True:
                    cancellation.check()
                    time.sleep(0.01)
            finally:
                released.set()

    reports: list[dict[str, Any]] = []

    async def cancelled() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: reports.append(context))
        backend = EmbeddedBackend(cast("Any", Waiting()))
        task = loop.create_task(backend.explain(SearchRequest("x")))
        assert await asyncio.to_thread(begun.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        del task
        assert await asyncio.to_thread(released.wait, 5)
        await asyncio.sleep(0.1)  # until the loop has the error of the thread
        gc.collect()

    run(cancelled())
    assert reports == []


def test_a_call_that_fails_says_so_on_screen_too() -> None:
    seen: list[ProgressSnapshot] = []
    client = Client(ScriptedBackend([]))
    with pytest.raises(UnsupportedTool, match="no script for nls_search"):
        client.nls_search("x", progress=seen.append)
    assert (seen[-1].phase, seen[-1].notices) == ("failed", (("error", "no script for nls_search"),))


def test_arguments_are_taken_as_python_people_write_them() -> None:
    assert texts(None) is None
    assert texts("r1") == ("r1",)
    assert texts(answer().table.to_pandas()["repository"]) == ("r1", "r1")
    assert date_text("2 weeks ago") == "2 weeks ago"
    assert date_text(date(2026, 1, 2)) == "2026-01-02"
    assert date_text(datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))) == "2026-01-02T03:00:00+02:00"
    assert date_text(datetime(2026, 1, 2, 3, tzinfo=UTC)) == "2026-01-02T03:00:00+00:00"
    assert date_text(None) is None


def test_methods_tell_their_signature() -> None:
    signature = inspect.signature(Client.read_file)
    assert list(signature.parameters)[:4] == ["self", "repo", "path", "start_line"]
    assert "One row per line" in (Client.read_file.__doc__ or "")


def test_a_call_that_is_over_soon_draws_nothing_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    client = Client(ScriptedBackend([], answers=[answer(), answer()]))
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SOURCELIGHT_PROGRESS")
        patch.setattr("sys.stderr.isatty", lambda: True)
        client.list_files("r1")
        assert capsys.readouterr().err == ""
        client.list_files("r1", progress=True)
        assert "complete: 2 rows" in capsys.readouterr().err
