"""The interface between a client and its backend: engines in this process, or a service.

It lives in `core` and imports no client, so that every backend can implement it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from sourcelight.core.batches import Event, RepositoryInfo
from sourcelight.core.batches.events import RepositoryOverview
from sourcelight.core.batches.results import AdvertisedTool, CallObserver, ToolReply, ToolResult
from sourcelight.core.wire.request import SearchRequest


def no_folder(_repository: str) -> str:
    """Return no folder, where none is known."""
    return ""


def _nothing() -> None:
    return None


def _never() -> bool:
    return False


class ClusterInfo(Protocol):
    """The cluster behind a backend, for its administrators."""

    schedulers: tuple[str, ...]

    @property
    def client(self) -> Any:
        """Dask's `Client` of the first cell."""

    @property
    def workers(self) -> Mapping[str, str]:
        """Addresses of the workers that answer, by name."""

    @property
    def generation(self) -> int:
        """Number of the generation that searches run over."""

    def replicas(self, repository: str) -> list[str]:
        """Return the addresses of the workers that have a repository, the preferred one first."""


class ServiceEndpoint(Protocol):
    """A service over HTTP, with its own tools and files."""

    async def advertised_tools(self) -> Mapping[str, AdvertisedTool]:
        """Return the tools of all MCP endpoints of the service, by name."""

    async def call_advertised(
        self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None
    ) -> ToolReply:
        """Return the answer of a tool, as it was sent."""

    async def fetch_file(self, link: str) -> bytes:
        """Return a file of the service, by its address."""


@dataclass(frozen=True, slots=True)
class Features:
    """The optional parts of a backend. Each has a default, so that a new one breaks no backend.

    Attributes
    ----------
    services
        The client of each service of a federation, by name; empty without a federation.
    cluster
        The cluster that answers; None if none does.
    cached_names
        Returns the names of the repositories that this process knows without a request; None if it knows none.
    folder_of
        Returns the directory of a repository's work tree on this machine; empty if there is none.
    overview
        Describes the repositories without a request; None where nothing is known.
    credential_id
        A digest of the credential, for caches on disk: another credential may see other repositories.
    is_recorded
        Whether requests are recorded or replayed at the moment; then no cache may answer.
    service
        The service behind a backend over HTTP, for its own tools and files; None if there is none.
    inner
        The backend below a wrapper; None for other backends.
    """

    services: Mapping[str, Any] = field(default_factory=dict)
    cluster: ClusterInfo | None = None
    cached_names: Callable[[], tuple[str, ...] | None] = _nothing
    folder_of: Callable[[str], str] = no_folder
    overview: Callable[[], tuple[RepositoryOverview, ...] | None] = _nothing
    credential_id: str = ""
    is_recorded: Callable[[], bool] = _never
    service: ServiceEndpoint | None = None
    inner: Backend | None = None


class Backend(Protocol):
    """Answers searches as streams of events. All methods run on one event loop.

    Attributes
    ----------
    name
        The displayed name: ``embedded``, or the endpoint without credentials.
    local
        Whether searches run in this process: ``count:all`` is never capped, and one search at a time is fastest.
    features
        Its optional features; ``Features()`` for none.
    """

    name: str
    local: bool
    features: Features

    def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Yield the events of a search, ending with `Done`.

        Closing or cancelling the generator stops the work.

        Parameters
        ----------
        request
            Query, limits and display options.

        Yields
        ------
        Event
            Matches, progress, filters and alerts in the order in which they arrive.

        Raises
        ------
        QueryError
            Before the first event, when the query can't be parsed.
        StreamBroken
            When the stream ends without `Done`.
        """

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:
        """Count matches by columns without streaming them.

        Parameters
        ----------
        request
            Query and limits.
        by
            Names of columns of ``columns_of("matches")``.

        Returns
        -------
        pyarrow.Table or None
            The columns `by`, ``matches`` and ``files``; None: this backend has to stream the matches to count them.
            The metadata of an incomplete count has `batches.results.COUNT_SKIPPED`.
        """

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """Explain a query over the repositories of this backend.

        Parameters
        ----------
        request
            Query and pattern type.

        Returns
        -------
        mapping or None
            Figures by name, and ``text`` for readers; None: this backend can't explain queries.
        """

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """Return information on the repositories that can be searched."""

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Run a tool or an analysis; cancelling stops the work.

        Parameters
        ----------
        name
            A tool of the service's MCP endpoints, or an analysis of `sourcelight.engines.tools`.
        arguments
            Arguments under the names of the tool's definition. The result is complete unless they limit it.
        observer
            Gets progress and partial rows on the event loop; None: no progress is reported.

        Returns
        -------
        ToolResult
            The table, and the notices and attributes that belong to it.

        Raises
        ------
        UnsupportedTool
            When this backend doesn't have the tool.
        """

    async def aclose(self) -> None:
        """Release connections, threads and files."""


class HasBackend(Protocol):
    """A client, blocking or awaited."""

    @property
    def backend(self) -> Backend:
        """The wrapped backend."""


class BackendWrapper:
    """A backend that forwards to another one; for backends that only search in their own way.

    Parameters
    ----------
    backend
        What answers; closing this closes it.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.name, self.local = backend.name, backend.local
        self.features = replace(backend.features, inner=backend)

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:
        """Forward the count, which is never capped; None if the backend can't count."""
        return await self.backend.count(request, by)

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """Forward to the backend."""
        return await self.backend.explain(request)

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """Forward to the backend."""
        return await self.backend.repositories()

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Forward to the backend."""
        return await self.backend.call(name, arguments, observer)

    async def aclose(self) -> None:
        """Close the backend."""
        await self.backend.aclose()
