"""The rows of one search from all workers: in the order of one machine, ranked, and cut at the counts of the query."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sourcelight.backends.cluster.alternative_counts import AlternativeCounts
from sourcelight.backends.cluster.connection import ClusterSnapshot
from sourcelight.backends.cluster.coordinator.members import ReplicaOrder
from sourcelight.backends.cluster.coordinator.slots import OrderedMerge
from sourcelight.backends.cluster.coordinator.streams import WorkerStreams
from sourcelight.backends.cluster.messages import WorkerRequest
from sourcelight.backends.cluster.search_plans import ClusterPlans, phases_of
from sourcelight.backends.cluster.worker_reports import WorkerReport
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.engines.execution.plan import Plan
from sourcelight.engines.execution.results.ranking import SCORE, FileRanker
from sourcelight.engines.execution.results.select import by_file
from sourcelight.engines.execution.source import SearchTask

_STOP_S = 1.0
"""Seconds that a search which ends early waits until its connections are closed."""


class WorkerRows:
    """The rows of one search; `batches` asks the workers.

    Parameters
    ----------
    cluster
        The generation and the workers.
    task
        The search.
    planned
        Its plans.
    limit
        Maximum number of matches.
    """

    def __init__(self, cluster: ClusterSnapshot, task: SearchTask, planned: ClusterPlans, limit: int) -> None:
        self.replicas = ReplicaOrder(cluster.fleet.members)
        self._fleet = cluster.fleet
        self._task = task
        self._plans = planned.plans
        self._limit = limit
        self._counts = AlternativeCounts([plan.alternative for plan in planned.plans])
        self._slots = OrderedMerge(planned.names, phases_of(planned.plans))
        self._streams = WorkerStreams(
            replicas=self.replicas,
            generation=cluster.generation,
            order=_worker_request(cluster, task, limit),
            slots=self._slots,
            silence_s=cluster.fleet.silence_s,
        )

    @property
    def reports(self) -> Sequence[WorkerReport]:
        """Reports of the workers that have answered so far."""
        return self._streams.reports

    @property
    def unread(self) -> frozenset[str]:
        """Repositories with rows that were not yielded yet, or may have some."""
        return self._slots.left

    @property
    def capped(self) -> int:
        """The largest ``count:`` that one of several alternatives reached; 0 if none did."""
        return self._counts.capped

    def batches(self) -> Generator[Any, None, None]:
        """Yield all rows, ranked if a search on one machine would rank them."""
        if not self._slots.names:
            return

        self._fleet.start(self._streams.run())
        try:
            for batch in self._ranked_batches():
                yield batch if isinstance(batch, RawMatches) else _without_scores(batch)
        finally:
            if not self._slots.is_settled:
                self._stop()

    def _ranked_batches(self) -> Iterator[Any]:
        batches = self._slots.batches(self._is_stopped)
        if self._counts.any:
            batches = self._counts.apply(batches)

        if self._limit == sys.maxsize or not any(plan.ranked for plan in self._plans):
            return batches

        # A search on one machine also stops to rank after the repository that completes the limit.
        ranker = _make_ranker(self._plans, self._limit, self._task.request.display)
        return ranker.rank(_split_by_file(batches))

    def _is_stopped(self) -> bool:
        # Checked between units of rows: a search that is stopped ends within one.
        return self._task.cancellation.stopped

    def _stop(self) -> None:
        """End the work of the workers, and wait until their connections are closed."""
        # A future of `start` is over as soon as it is cancelled, so `stop` waits for the work itself. Whoever closed
        # the rows may have an exception of its own, which a slow end must not replace.
        with suppress(TimeoutError, CancelledError):
            self._fleet.start(self._streams.stop()).result(timeout=_STOP_S)


def _worker_request(cluster: ClusterSnapshot, task: SearchTask, limit: int) -> WorkerRequest:
    """Return the request to all workers."""
    remaining_s = task.cancellation.remaining_s
    timeout_s = None if remaining_s is None else max(remaining_s, 0.0)
    return WorkerRequest(
        generation=cluster.generation.id,
        names=(),  # `WorkerStreams` fills in the names for each worker
        viewer=task.viewer.name,
        allowed_s=remaining_s,
        request=replace(task.request, timeout_s=timeout_s),
        limit=limit,
    )


def _make_ranker(plans: Sequence[Plan], limit: int, display: int) -> FileRanker:
    stars: dict[str, int] = {}
    for plan in plans:
        stars.update((target.repository.name, target.repository.info.stars) for target in plan.targets)

    # Without phrases and case: workers have scored the files already.
    return FileRanker(
        phrases=(),
        case_sensitive=False,
        stars=stars,
        limit=limit if display < 0 else min(limit, display),
        is_settled=any(plan.alternative.ranks_all() for plan in plans),
    )


def _split_by_file(batches: Iterator[Any]) -> Iterator[Any]:
    for batch in batches:
        yield from by_file(batch)


def _without_scores(batch: Any) -> Any:
    """Return a batch without the column of scores."""
    # Workers add scores for the ranking here; answers have no such column.
    column = batch.schema.get_field_index(SCORE)
    return batch.remove_column(column) if column >= 0 else batch
