"""A finished result as an explorer takes it, and the lines around its rows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from sourcelight.core.backend import Backend
from sourcelight.core.errors import UnsupportedTool
from sourcelight.core.extras import require_notebook
from sourcelight.display.notebook.result_text import ResultView, headline, statements
from sourcelight.display.notebook.views import LinkResolver
from sourcelight.display.notebook.widgets import SourceUpdate

if TYPE_CHECKING:
    from sourcelight.display.notebook.widgets import RowSource
    from sourcelight.display.notebook.widgets.explorer import Explorer

Lines = list[tuple[int, str]]


class Displayed(Protocol):
    """Something that a notebook shows."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]: ...


R = TypeVar("R", bound=Displayed)


class ResultSource(Generic[R]):
    """A finished result.

    Parameters
    ----------
    result
        The answer.
    view
        The displayed lines.
    backend
        Backend for the lines around a match; None: none.
    loop
        The loop on which `backend` lives.
    """

    def __init__(
        self, result: R, view: ResultView, backend: Backend | None, loop: asyncio.AbstractEventLoop | None
    ) -> None:
        self._result, self._view = result, view
        self._backend = backend
        self._loop = loop

    @property
    def query(self) -> str:
        """Text of the query."""
        return self._view.query

    @property
    def links(self) -> LinkResolver:
        """Resolver of links for rows."""
        return self._view.links

    def batches(self) -> Sequence[Any]:
        """Return the record batches."""
        return self._view.batches

    def update(self) -> SourceUpdate:
        """Return the status and the notices."""
        return SourceUpdate(self._view.status, headline(self._view), tuple(statements(self._view)))

    def stop(self) -> None:
        """Do nothing: it is over."""

    def result(self) -> R:
        """Return the answer."""
        return self._result

    def read(self, repository: str, commit: str, path: str, first: int, last: int) -> Future[Lines]:
        """Return numbered lines of a file; the future fails where they can't be had."""
        return read_lines(self._backend, self._loop, repository, commit, path, first, last)

    def text(self) -> str:
        """Return the text of the result."""
        return repr(self._result)

    def html(self) -> str:
        """Return the result with its first page of rows."""
        return html_of(self._result)


def html_of(result: Displayed) -> str:
    """Return the notebook display of a result."""
    return result._repr_mimebundle_()["text/html"]


def read_lines(
    backend: Backend | None,
    loop: asyncio.AbstractEventLoop | None,
    repository: str,
    commit: str,
    path: str,
    first: int,
    last: int,
) -> Future[Lines]:
    """Return a future with numbered lines of a file; it fails where they can't be had.

    Parameters
    ----------
    backend, loop
        Backend, and its event loop; None: no requests.
    repository, commit, path
        The file; an empty commit means the default branch.
    first, last
        Line numbers, from 1.
    """
    if backend is None or loop is None or loop.is_closed():
        # A future that has failed already, so that callers handle one kind of error.
        failed: Future[Lines] = Future()
        failed.set_exception(UnsupportedTool("no backend can open this file"))
        return failed

    async def read() -> Lines:
        arguments = {"repo": repository, "path": path, "startLine": first, "endLine": last}
        answer = await backend.call("read_file", arguments | ({"revision": commit} if commit else {}), None)
        table = answer.table.select(["line_number", "line"])
        return list(zip(table["line_number"].to_pylist(), table["line"].to_pylist(), strict=True))

    return asyncio.run_coroutine_threadsafe(read(), loop)


def explorer(source: RowSource) -> Explorer:
    """Return the widget over some rows; made in the thread that shows it."""
    require_notebook("anywidget", "the explorer")
    from sourcelight.display.notebook.widgets.explorer import Explorer

    return Explorer(source)
