"""Answers as an explorer takes them: a finished result, or a search that goes on while its cell is over."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sourcelight.client.backend import Backend
from sourcelight.client.result import SearchResult
from sourcelight.client.search_run import SearchRun
from sourcelight.core.batches import MatchBatch
from sourcelight.core.errors import SourcelightError, UnsupportedTool
from sourcelight.display.notebook.result_view import headline, statements
from sourcelight.display.notebook.views import LinkResolver
from sourcelight.display.notebook.widgets import SourceUpdate

if TYPE_CHECKING:
    from sourcelight.display.notebook.widgets.explorer import Explorer

Lines = list[tuple[int, str]]


class ResultSource:
    """A finished result.

    Parameters
    ----------
    result
        The answer.
    backend
        What can be asked for the lines around a match; None: nothing.
    loop
        The loop on which `backend` lives.
    """

    def __init__(self, result: SearchResult, backend: Backend | None, loop: asyncio.AbstractEventLoop | None) -> None:
        self._result = result
        self._backend = backend
        self._loop = loop

    @property
    def query(self) -> str:
        """Text of the query."""
        return self._result.query

    @property
    def places(self) -> LinkResolver:
        """Where rows can be opened."""
        return self._result.links

    def batches(self) -> Sequence[Any]:
        """The record batches."""
        return self._result._batches  # noqa: SLF001 - one room

    def told(self) -> SourceUpdate:
        """The status, and what there is to say."""
        shown = self._result._facts_to_show()  # noqa: SLF001 - one room
        return SourceUpdate(shown.status, headline(shown), tuple(statements(shown)))

    def stop(self) -> None:
        """Nothing: it is over."""

    def result(self) -> SearchResult:
        """The answer."""
        return self._result

    def read(self, repository: str, commit: str, path: str, first: int, last: int) -> Future[Lines]:
        """Numbered lines of a file; the future fails where they can't be had."""
        return _reading(self._backend, self._loop, repository, commit, path, first, last)

    def text(self) -> str:
        """The text of the result."""
        return repr(self._result)

    def html(self) -> str:
        """The result with its first page of rows."""
        return _html(self._result)


class RunSource:
    """A search that runs on the loop that made this, until it is over or stopped.

    Parameters
    ----------
    run
        The search, not begun yet.
    """

    def __init__(self, run: SearchRun) -> None:
        self._run = run
        self._backend = run.backend
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._work())

    async def _work(self) -> None:
        # What went wrong stands in the state, which the explorer shows: there is no one who waits for an error.
        with suppress(SourcelightError):
            async for event in self._run.events():
                if isinstance(event, MatchBatch):
                    self._run.batches.append(event.batch)

    @property
    def query(self) -> str:
        """Text of the query."""
        return self._run.request.query

    @property
    def places(self) -> LinkResolver:
        """Where rows can be opened, of the repositories known so far."""
        return self.result().links

    def batches(self) -> Sequence[Any]:
        """The record batches that have arrived."""
        return tuple(self._run.batches)

    def told(self) -> SourceUpdate:
        """Read this moment."""
        state = self._run.state
        if state.phase != "running":
            shown = self.result()._facts_to_show()  # noqa: SLF001 - one room
            return SourceUpdate(state.phase, headline(shown), tuple(statements(shown)))
        shot = state.snapshot()
        words = " \u00b7 ".join(f"{value} {name}" for name, value in shot.fields if name != "matches/s")
        return SourceUpdate("running", f"{shot.done:,} {shot.unit} \u00b7 {words}", shot.notices)

    def stop(self) -> None:
        """Stop the search; what arrived stays. Nothing happens when it is over, or its loop is gone."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._task.cancel)

    def result(self) -> SearchResult:
        """What has arrived so far."""
        return self._run.result()

    def read(self, repository: str, commit: str, path: str, first: int, last: int) -> Future[Lines]:
        """Numbered lines of a file; the future fails where they can't be had."""
        return _reading(self._backend, self._loop, repository, commit, path, first, last)

    def text(self) -> str:
        """The text of what has arrived."""
        return repr(self.result())

    def html(self) -> str:
        """The same with its first page of rows."""
        return _html(self.result())


def _html(result: SearchResult) -> str:
    return result._repr_mimebundle_()["text/html"]


def _reading(
    backend: Backend | None,
    loop: asyncio.AbstractEventLoop | None,
    repository: str,
    commit: str,
    path: str,
    first: int,
    last: int,
) -> Future[Lines]:
    if backend is None or loop is None or loop.is_closed():
        failed: Future[Lines] = Future()
        failed.set_exception(UnsupportedTool("there is no one to ask for this file"))
        return failed

    async def read() -> Lines:
        arguments = {"repo": repository, "path": path, "startLine": first, "endLine": last}
        answer = await backend.call("read_file", arguments | ({"revision": commit} if commit else {}), None)
        table = answer.table.select(["line_number", "line"])
        return list(zip(table["line_number"].to_pylist(), table["line"].to_pylist(), strict=True))

    return asyncio.run_coroutine_threadsafe(read(), loop)


def explorer(source: ResultSource | RunSource) -> Explorer:
    """The widget over some rows; made in the thread that shows it."""
    from sourcelight.display.notebook.widgets.explorer import Explorer

    return Explorer(source)
