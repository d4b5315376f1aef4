"""The engine of a cluster: what an engine of one machine answers, answered by workers."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.backends.cluster.asking.members import Member
from sourcelight.backends.cluster.calls import counted, delegated
from sourcelight.backends.cluster.fleet import Fleet
from sourcelight.backends.cluster.planning import Plannings, catalog_of
from sourcelight.backends.cluster.search import ClusterSearch
from sourcelight.backends.cluster.view import ClusterView
from sourcelight.core.batches.results import Answer
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import Engine, Limits
from sourcelight.engines.execution.explain import Explanation
from sourcelight.engines.search import IndexProgress, IndexReport, IndexStore
from sourcelight.engines.search.model import GroupBy
from sourcelight.repos import Viewer

if TYPE_CHECKING:
    from sourcelight.engines.tools import CallContext


class ClusterEngine(Engine):
    """Answers queries over the repositories of a cluster's newest generation.

    Nothing of a repository but its facts is on this machine.

    Parameters
    ----------
    fleet
        The workers; closed by whoever made it.
    limits
        Bounds of every search.
    """

    searches = ClusterSearch

    def __init__(self, fleet: Fleet, *, limits: Limits | None = None) -> None:
        self.fleet = fleet
        self.generation = fleet.generation
        super().__init__(
            catalog_of(self.generation.searchable, self.generation.contexts), IndexStore(os.devnull), limits=limits
        )
        self.cluster = ClusterView(fleet)
        self.plannings = Plannings()
        self._swapping = threading.Lock()
        self._at_rest = False

    def refresh(self, cancellation: Cancellation | None = None) -> None:
        """Take up a newer generation, if there is one."""
        del cancellation
        newest = self.fleet.generation
        with self._swapping:
            if newest.id != self.generation.id and not self._at_rest:
                self.generation, self.catalog = newest, catalog_of(newest.searchable, newest.contexts)

    def snapshot(self) -> ClusterEngine:
        """Give this engine with the newest generation, which stays whatever comes meanwhile: for one search or call."""
        self.refresh()
        with self._swapping:
            found = copy.copy(self)
            found._at_rest = True  # noqa: SLF001 - a copy of this one
        return found

    def holders(self) -> dict[str, tuple[Member, ...]]:
        """For each repository of this engine's generation the workers that hold its shard."""
        return self.fleet.holders(self.generation)

    def update(
        self,
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> IndexReport:
        """Nothing is indexed here: `build` does it on the workers."""
        del progress, cancellation
        return IndexReport()

    def count(
        self, request: SearchRequest, by: Sequence[GroupBy], viewer: Viewer, cancellation: Cancellation
    ) -> Any | None:
        """Matches and files by ``repository``, ``language`` or ``path``; see `Engine.count`."""
        self.read(request)
        return counted(self.snapshot(), request, by, viewer, cancellation)

    def delegate(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Answer | None:
        """Answer a call of a tool by a worker; None: it is answered here, from the catalog and by searches."""
        return delegated(self.snapshot(), name, arguments, context)

    def close(self) -> None:
        """End the connections to the workers."""
        super().close()
        self.cluster.close()
        self.fleet.close()

    def elsewhere(self, step: str, asked: Any, context: Any, heard: Callable[[Any], None]) -> Any:
        """Do a step of deep search on a worker that has the repositories of the question."""
        from sourcelight.backends.cluster.research import carried_out

        return carried_out(self.snapshot(), step, asked, context, heard)

    def explain(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation | None = None) -> Explanation:
        """Say what a query means; the workers say what their indexes leave to be read. See `Engine.explain`."""
        from sourcelight.backends.cluster.explaining import explained_by_workers

        found = explained_by_workers(self.snapshot(), request, viewer, cancellation or Cancellation())
        return super().explain(request, viewer, cancellation) if found is None else found
