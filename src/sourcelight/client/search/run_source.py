"""A running search as an explorer takes it: it continues after its cell has finished."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from sourcelight.client.search.explorer_source import Lines, html_of, read_lines
from sourcelight.client.search.result import SearchResult
from sourcelight.client.search.search_run import SearchRun
from sourcelight.core.batches import MatchBatch
from sourcelight.core.errors import SourcelightError
from sourcelight.display.notebook.result_text import headline, statements
from sourcelight.display.notebook.views import LinkResolver
from sourcelight.display.notebook.widgets import SourceUpdate


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
        # Kept as an attribute, since the loop itself has only a weak reference to a task.
        self._task = self._loop.create_task(self._work())

    async def _work(self) -> None:
        # The state has the error, and the explorer shows it: no caller waits for an exception.
        with suppress(SourcelightError):
            async for event in self._run.events():
                if isinstance(event, MatchBatch):
                    self._run.batches.append(event.batch)

    @property
    def query(self) -> str:
        """Text of the query."""
        return self._run.request.query

    @property
    def links(self) -> LinkResolver:
        """Resolver of links for rows of the repositories known so far."""
        return self.result().links

    def batches(self) -> Sequence[Any]:
        """Return the record batches that have arrived."""
        return tuple(self._run.batches)

    def update(self) -> SourceUpdate:
        """Read this moment."""
        state = self._run.state
        if state.phase != "running":
            view = self.result()._view()  # noqa: SLF001 - one room
            return SourceUpdate(state.phase, headline(view), tuple(statements(view)))
        shot = state.snapshot()
        words = " \u00b7 ".join(f"{value} {name}" for name, value in shot.fields if name != "matches/s")
        return SourceUpdate("running", f"{shot.done:,} {shot.unit} \u00b7 {words}", shot.notices)

    def stop(self) -> None:
        """Stop the search and keep its rows. Does nothing when it is over or its loop is closed."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._task.cancel)

    def result(self) -> SearchResult:
        """Return the result so far."""
        return self._run.result()

    def read(self, repository: str, commit: str, path: str, first: int, last: int) -> Future[Lines]:
        """Return numbered lines of a file; the future fails where they can't be had."""
        return read_lines(self._backend, self._loop, repository, commit, path, first, last)

    def text(self) -> str:
        """Return the text of the rows so far."""
        return repr(self.result())

    def html(self) -> str:
        """Return the same with its first page of rows."""
        return html_of(self.result())
