"""The blocking client, for cells and scripts: it runs `AsyncClient` on the background loop of the portal."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sourcelight.client.client import AsyncClient
from sourcelight.client.completions import Completions, register, unregister
from sourcelight.client.methods import BlockingMethods
from sourcelight.client.methods.views import ShowsOverview
from sourcelight.client.portal import blocking, blocking_generator, call, has_ended
from sourcelight.client.search.queries import QueryText
from sourcelight.client.service_tools import ServiceTools
from sourcelight.core.arguments import checks_arguments
from sourcelight.core.backend import Backend
from sourcelight.core.former_names import refuses_former_names

if TYPE_CHECKING:
    from sourcelight.display.notebook.widgets.explorer import Explorer


@refuses_former_names("Client")
class Client(ShowsOverview, BlockingMethods):
    """Searches code. `sourcelight.open` and `sourcelight.connect` make one.

    Safe to share between threads; works inside a running event loop, such as a notebook's.

    Parameters
    ----------
    backend
        Answers the calls.
    """

    def __init__(self, backend: Backend) -> None:
        self._client = AsyncClient(backend)
        register(self)

    def __enter__(self) -> Self:
        """Use the client in ``with``; it is closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def backend(self) -> Backend:
        """The backend of this client."""
        return self._client.backend

    @property
    def cluster(self) -> Any:
        """The cluster behind the client (`sourcelight.core.backend.ClusterInfo`), or None."""
        return self._client.cluster

    @property
    def services(self) -> Mapping[str, Any]:
        """The client of each service of a federation, by name; empty without a federation."""
        return self._client.services

    @property
    def tools(self) -> ServiceTools:
        """All tools that a service advertises, by name, also those without a method here; empty without a service."""
        return ServiceTools(self._client.tools)

    @property
    def completions(self) -> Completions:
        """Names of repositories, authors and other values that results contained; sends no request."""
        return self._client.completions

    @property
    def last(self) -> Any:
        """The newest result of any kind; None before the first.

        A `SearchResult`, an `Export`, a `DeepSearchAnswer`, or the DataFrame of a tool. An interrupted or failed result
        has the rows that arrived; a tool that reports no rows while it runs leaves None.
        """
        return self._client.last

    @checks_arguments
    def explore(  # noqa: D102 - set below
        self,
        query: QueryText,
        *,
        pattern_type: str = "standard",
        limit: int | None = None,
        context_lines: int | None = None,
        max_line_bytes: int | None = None,
        timeout_s: float | None = None,
        exhaustive: bool = False,
    ) -> Explorer:
        from sourcelight.client.search.explorer_source import explorer

        options: dict[str, Any] = {
            "pattern_type": pattern_type,
            "limit": limit,
            "context_lines": context_lines,
            "max_line_bytes": max_line_bytes,
            "timeout_s": timeout_s,
        }
        # The search starts on the background loop; the widget is made here, in the thread that draws.
        return explorer(call(lambda: self._client._start(query, exhaustive=exhaustive, **options)))  # noqa: SLF001 - one room

    explore.__doc__ = AsyncClient.explore.__doc__

    search = blocking(AsyncClient.search)
    stream = blocking_generator(AsyncClient.stream)
    export = blocking(AsyncClient.export)
    count = blocking(AsyncClient.count)
    count_by = blocking(AsyncClient.count_by)
    count_table = blocking(AsyncClient.count_table)
    search_many = blocking(AsyncClient.search_many)
    explain = blocking(AsyncClient.explain)
    call_table = blocking(AsyncClient.call_table)

    def close(self) -> None:
        """Release connections, threads and files; the client can't be used afterwards."""
        unregister(self)
        if not has_ended():  # otherwise the operating system frees everything
            call(self._client.aclose)
