"""The blocking client, for cells and scripts: it runs `AsyncClient` on the background loop of the portal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sourcelight.client.blocking_searches import BlockingSearches
from sourcelight.client.client import AsyncClient
from sourcelight.client.completions import Completions, register, unregister
from sourcelight.client.methods import BlockingMethods
from sourcelight.client.methods.views import ShowsOverview
from sourcelight.client.portal import blocking, call
from sourcelight.client.search.queries import QueryText
from sourcelight.client.service_tools import ServiceTools
from sourcelight.core.arguments import checks_arguments
from sourcelight.core.backend import Backend
from sourcelight.core.former_names import refuses_former_names

if TYPE_CHECKING:
    from sourcelight.display.notebook.widgets.explorer import Explorer


@refuses_former_names("Client")
class Client(ShowsOverview, BlockingSearches, BlockingMethods):
    """Searches code. `sourcelight.open` and `sourcelight.connect` make one.

    Safe to share between threads; works inside a running event loop, such as a notebook's.

    Parameters
    ----------
    backend
        Answers the calls.
    """

    _client: AsyncClient

    def __init__(self, backend: Backend) -> None:
        super().__init__(AsyncClient(backend))
        register(self)

    @property
    def cluster(self) -> Any:
        """The cluster behind the client (`sourcelight.core.backend.ClusterInfo`), or None."""
        return self._client.cluster

    @property
    def tools(self) -> ServiceTools:
        """All tools that a service advertises, by name, also those without a method here; empty without a service."""
        return ServiceTools(self._client.tools)

    @property
    def completions(self) -> Completions:
        """Names of repositories, authors and other values that results contained; sends no request."""
        return self._client.completions

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

    call_table = blocking(AsyncClient.call_table)

    def close(self) -> None:
        """Release connections, threads and files; the client can't be used afterwards."""
        unregister(self)
        super().close()
