"""Make the run of a search: on one backend, on each service of a federation, or in parts until it is exhaustive."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sourcelight.client.completions import Completions
from sourcelight.client.progress import watch
from sourcelight.client.provenance import forget
from sourcelight.client.search.queries import QueryText, everything, search_request
from sourcelight.client.search.search_run import SearchRun, consume
from sourcelight.core.backend import Backend
from sourcelight.core.batches import MatchBatch
from sourcelight.display.notebook.painter import ProgressChoice

if TYPE_CHECKING:
    from sourcelight.client.search.result import Export
    from sourcelight.client.search.search_many import SearchManyRun


class RunMaker:
    """Makes the runs of a client's searches, and remembers their values for completion.

    The names in rows, and the filters that a search offers, complete later queries of the same client.

    Parameters
    ----------
    backend
        Answers the searches.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._last: SearchRun | SearchManyRun | None = None
        self._last_export: Export | None = None
        self._read_last: Callable[[], Any] = lambda: None
        self._completions = Completions()

    @property
    def backend(self) -> Backend:
        """The backend of this client."""
        return self._backend

    @property
    def last(self) -> Any:
        """The newest result of any kind; None before the first.

        A `SearchResult`, an `Export`, a `DeepSearchAnswer`, or the DataFrame of a tool. An interrupted or failed result
        has the rows that arrived; a tool that reports no rows while it runs leaves None.
        """
        return self._read_last()

    async def aclose(self) -> None:
        """Release connections, threads and files; the client can't be used afterwards."""
        forget(self._backend)
        await self._backend.aclose()

    @property
    def services(self) -> Mapping[str, Any]:
        """The client of each service of a federation, by name; empty without a federation."""
        return self._backend.features.services

    def _run(
        self, query: QueryText, *, exhaustive: bool = False, keeps_rows: bool = False, **options: Any
    ) -> SearchRun:
        """Make a search that has not started.

        Parameters
        ----------
        query, options
            As in `SearchMethods.search`.
        exhaustive
            Whether all matches are wanted: of a service in parts, since it keeps some back.
        keeps_rows
            Whether all rows are stored, so that they can be ordered.
        """
        request = search_request(query, **options)
        if exhaustive:
            from sourcelight.client.search.exhaustive import ExhaustiveSearch, check_unlimited

            check_unlimited(request)

        if self.services:
            from sourcelight.client.federation.backend import FederatedBackend, make_search_run

            # A recording of a federation has services too, but is one backend.
            if isinstance(self._backend, FederatedBackend):
                return make_search_run(self._backend, request, exhaustive=exhaustive, keeps_rows=keeps_rows)

        if not exhaustive:
            return SearchRun(self._backend, request)
        if self._backend.local:
            return SearchRun(self._backend, replace(request, query=everything(request.query, request.pattern_type)))

        backend = ExhaustiveSearch(self._backend)
        run = SearchRun(backend, request, recover=backend.undelivered_batches)
        backend.on_progress = run.state.set_parts
        return run

    async def _drive(
        self, run: SearchRun, take: Callable[[MatchBatch], Awaitable[None]], progress: ProgressChoice
    ) -> None:
        """Run a search to its end under a painter."""

        async def on_batch(event: MatchBatch) -> None:
            if event.batch.schema.get_field_index("author") >= 0:
                # Only for commits: authors complete `author:`. Other values come with the suggested filters.
                self._completions.learn(event.batch)
            await take(event)

        try:
            await watch(run.state, consume(run, on_batch), progress, client=self)
        finally:
            self._completions.add("repository", run.infos)
            self._completions.learn_filters(run.state.filters)
