"""The client for everyday cells and scripts: `AsyncClient` behind the portal, one line per method."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from sourcelight.client.aio import AsyncClient
from sourcelight.client.asking import QueryText
from sourcelight.client.backend import Backend
from sourcelight.client.explained import QueryExplanation
from sourcelight.client.many import ManyResult
from sourcelight.client.portal import call, iterate
from sourcelight.client.result import Export, SearchResult
from sourcelight.core.batches import Event
from sourcelight.display.notebook import ProgressChoice

Method = TypeVar("Method", bound=Callable[..., Any])


def _told_by(twin: object) -> Callable[[Method], Method]:
    """Take the docstring of the awaited twin: it stands once."""

    def tell(method: Method) -> Method:
        method.__doc__ = twin.__doc__
        return method

    return tell


class Client:
    """Searches code. `sourcelight.open` and `sourcelight.connect` make one.

    Safe to share between threads; works inside a running event loop, such as that of a notebook.

    Parameters
    ----------
    backend
        What answers.
    """

    def __init__(self, backend: Backend) -> None:
        self._client = AsyncClient(backend)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.backend.name})"

    def __enter__(self) -> Self:
        """Use the client in ``with``; it is closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    @_told_by(AsyncClient.backend)
    def backend(self) -> Backend:  # noqa: D102 - told by its twin
        return self._client.backend

    @property
    @_told_by(AsyncClient.last_result)
    def last_result(self) -> SearchResult | None:  # noqa: D102 - told by its twin
        return self._client.last_result

    @property
    @_told_by(AsyncClient.last_export)
    def last_export(self) -> Export | None:  # noqa: D102 - told by its twin
        return self._client.last_export

    @_told_by(AsyncClient.aclose)
    def close(self) -> None:  # noqa: D102 - told by its twin
        call(self._client.aclose)

    @_told_by(AsyncClient.search)
    def search(  # noqa: D102 - told by its twin
        self,
        query: QueryText,
        *,
        pattern_type: str = "standard",
        display: int = -1,
        chunk_matches: bool = False,
        context_lines: int = 1,
        max_line_len: int = -1,
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> SearchResult:
        return call(
            self._client.search,
            query,
            pattern_type=pattern_type,
            display=display,
            chunk_matches=chunk_matches,
            context_lines=context_lines,
            max_line_len=max_line_len,
            timeout_s=timeout_s,
            exhaustive=exhaustive,
            progress=progress,
        )

    @_told_by(AsyncClient.stream)
    def stream(  # noqa: D102 - told by its twin
        self,
        query: QueryText,
        *,
        pattern_type: str = "standard",
        display: int = -1,
        chunk_matches: bool = False,
        context_lines: int = 1,
        max_line_len: int = -1,
        timeout_s: float | None = None,
        progress: ProgressChoice = False,
    ) -> Generator[Event, None, None]:
        return iterate(
            self._client.stream,
            query,
            pattern_type=pattern_type,
            display=display,
            chunk_matches=chunk_matches,
            context_lines=context_lines,
            max_line_len=max_line_len,
            timeout_s=timeout_s,
            progress=progress,
        )

    @_told_by(AsyncClient.search_to)
    def search_to(  # noqa: D102, PLR0913 - told by its twin
        self,
        target: str | os.PathLike[str] | IO[bytes],
        query: QueryText,
        *,
        format: str | None = None,  # noqa: A002 - the name users type
        pattern_type: str = "standard",
        display: int = -1,
        chunk_matches: bool = False,
        context_lines: int = 1,
        max_line_len: int = -1,
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> Export:
        return call(
            self._client.search_to,
            target,
            query,
            format=format,
            pattern_type=pattern_type,
            display=display,
            chunk_matches=chunk_matches,
            context_lines=context_lines,
            max_line_len=max_line_len,
            timeout_s=timeout_s,
            exhaustive=exhaustive,
            progress=progress,
        )

    @_told_by(AsyncClient.count)
    def count(  # noqa: D102 - told by its twin
        self,
        query: QueryText,
        by: str | Sequence[str] | None = None,
        *,
        pattern_type: str = "standard",
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> Any:
        return call(
            self._client.count,
            query,
            by,
            pattern_type=pattern_type,
            timeout_s=timeout_s,
            exhaustive=exhaustive,
            progress=progress,
        )

    @_told_by(AsyncClient.search_many)
    def search_many(  # noqa: D102 - told by its twin
        self,
        queries: Mapping[str, QueryText] | Iterable[QueryText],
        *,
        at_once: int | None = None,
        pattern_type: str = "standard",
        display: int = -1,
        chunk_matches: bool = False,
        context_lines: int = 1,
        max_line_len: int = -1,
        timeout_s: float | None = None,
        exhaustive: bool = False,
        progress: ProgressChoice = None,
    ) -> ManyResult:
        return call(
            self._client.search_many,
            queries,
            at_once=at_once,
            pattern_type=pattern_type,
            display=display,
            chunk_matches=chunk_matches,
            context_lines=context_lines,
            max_line_len=max_line_len,
            timeout_s=timeout_s,
            exhaustive=exhaustive,
            progress=progress,
        )

    @_told_by(AsyncClient.explain)
    def explain(  # noqa: D102 - told by its twin
        self, query: QueryText, *, pattern_type: str = "standard", timeout_s: float | None = None
    ) -> QueryExplanation:
        return call(self._client.explain, query, pattern_type=pattern_type, timeout_s=timeout_s)

    @_told_by(AsyncClient.repositories)
    def repositories(self) -> Any:  # noqa: D102 - told by its twin
        return call(self._client.repositories)
