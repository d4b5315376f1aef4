"""The rows of one search from all workers: in the order of one machine, ranked, and cut at the counts of the query.

A worker knows its own matches, but not those of workers with earlier repositories. So it sends the rows of each
alternative separately, at most as many as its ``count:`` allows. `AlternativeCounts` truncates and unites them as one
machine does.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.backends.cluster.connection import ClusterSnapshot
from sourcelight.backends.cluster.coordinator.members import ReplicaOrder
from sourcelight.backends.cluster.coordinator.slots import OrderedMerge
from sourcelight.backends.cluster.coordinator.streams import WorkerStreams
from sourcelight.backends.cluster.messages import WorkerRequest
from sourcelight.backends.cluster.search_plans import ClusterPlans, phases_of
from sourcelight.backends.cluster.worker_reports import WorkerReport
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.batches.rows import MatchRows, boundaries, first_matches, match_count
from sourcelight.core.query import Alternative
from sourcelight.engines.execution.plan import Plan
from sourcelight.engines.execution.results.alternatives import ALTERNATIVE, own_counts
from sourcelight.engines.execution.results.ranking import SCORE, FileRanker
from sourcelight.engines.execution.results.select import by_file
from sourcelight.engines.execution.results.union import unite
from sourcelight.engines.execution.source import SearchTask

_STOP_S = 1.0
"""Seconds that a search which ends early waits until its connections are closed."""

_FILE = "file"
_UNSHARED_TYPES = frozenset({"repo", "commit", "diff"})
"""Types of rows that are never united; rows of all other types are rows of files."""

_RowKey: TypeAlias = tuple[str | None, ...]
"""Type, repository, and revision or commit of a row that isn't of a file."""


class AlternativeCounts:
    """Truncates rows of several alternatives at the ``count:`` of each.

    Parameters
    ----------
    alternatives
        Of the query, in its order.

    Attributes
    ----------
    capped
        The largest ``count:`` that was reached; 0: none.
    """

    def __init__(self, alternatives: Sequence[Alternative]) -> None:
        self._alternatives = alternatives
        self._remaining = own_counts(alternatives)
        self._yielded_keys: set[_RowKey] = set()
        self.capped = 0

    @property
    def any(self) -> bool:
        """Whether alternatives have their own counts, so that workers send their rows separately."""
        return bool(self._remaining)

    def apply(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the part of `batches` within the counts; they arrive by repository and revision, in worker order."""
        group: _RowGroup | None = None
        pending: list[pa.RecordBatch] = []
        for batch in batches:
            for run in _runs(batch):
                # Rows wait until all of their group are here: a later alternative may match the same files.
                run_group = _RowGroup.of(run)
                if group is not None and run_group != group:
                    yield from self._unite(pending, group.kind)
                    pending = []

                group = run_group
                pending.append(run)

        if group is not None:
            yield from self._unite(pending, group.kind)

    def _unite(self, runs: list[pa.RecordBatch], kind: str) -> Iterator[pa.RecordBatch]:
        """Merge the rows of one repository at one revision: each alternative within its count, duplicate files once."""
        # Workers mark rows with the number of their alternative, and the mark is removed before rows leave the cluster.
        by_alternative: dict[int, list[pa.RecordBatch]] = defaultdict(list)
        for run in runs:
            index = run.schema.get_field_index(ALTERNATIVE)
            number = run.column(index)[0].as_py()
            by_alternative[number].append(run.remove_column(index))

        allowed = [list(self._limit(number, by_alternative[number], kind)) for number in sorted(by_alternative)]
        if kind != _FILE:
            for alternative_batches in allowed:
                yield from alternative_batches
            return

        # Uniting knows nothing of scores, so they are put aside, and each file gets its best one back.
        scores = _best_scores(allowed)
        for batch in unite([_all_without_scores(alternative_batches) for alternative_batches in allowed]):
            yield _with_scores(batch, scores)

    def _limit(self, number: int, batches: list[pa.RecordBatch], kind: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one alternative within its count, without those that earlier alternatives yielded."""
        keys: list[_RowKey] = []
        for batch in batches:
            new_rows = batch
            # A repository or a commit that several alternatives find counts for the first of them.
            if kind != _FILE:
                new_rows = self._without_yielded(batch)
                if not new_rows.num_rows:
                    continue

            # Also repositories that the count leaves out, as on one machine.
            if kind == "repo":
                self._yielded_keys.update(_keys(new_rows))

            allowed = self._count(number, new_rows)
            if allowed.num_rows:
                if kind in {"commit", "diff"}:
                    keys += _keys(allowed)
                yield allowed

        self._yielded_keys.update(keys)

    def _count(self, number: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows within what remains of an alternative's count, and subtract their matches from it."""
        # Alternatives that share their ``count:`` share its node, and what remains of it.
        node = self._alternatives[number].first("count")
        if node is None or id(node) not in self._remaining:
            return batch

        allowed = first_matches(batch, self._remaining[id(node)])
        self._remaining[id(node)] -= match_count(allowed)
        if batch.num_rows and self._remaining[id(node)] <= 0:
            self.capped = max(self.capped, int(node.value))

        return allowed

    def _without_yielded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        is_new = [key not in self._yielded_keys for key in _keys(batch)]
        return batch.filter(pa.array(is_new, pa.bool_()))


@dataclass(frozen=True, slots=True)
class _RowGroup:
    """The values that rows must share to be united: `kind` is ``file``, or a type of `_UNSHARED_TYPES`."""

    kind: str
    repository: str
    revision: str

    @classmethod
    def of(cls, run: pa.RecordBatch) -> _RowGroup:
        rows = MatchRows(run)
        row_type = rows.first("type")
        kind = row_type if row_type in _UNSHARED_TYPES else _FILE
        return cls(kind, rows.first("repository"), rows.first("revision"))


def _runs(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch where the repository, the revision or the alternative changes, or files begin."""
    if not batch.num_rows:
        return
    rows = MatchRows(batch)
    numbers = batch.column(batch.schema.get_field_index(ALTERNATIVE)).to_numpy()
    is_unshared = np.array([row_type in _UNSHARED_TYPES for row_type in rows.texts("type")])
    for start, end in boundaries(len(rows), [rows.codes("repository"), rows.codes("revision"), is_unshared, numbers]):
        yield batch.slice(start, end - start)


def _keys(batch: pa.RecordBatch) -> list[_RowKey]:
    """Return the keys that distinguish rows of repositories, and rows of commits."""
    rows = MatchRows(batch)
    column = "revision" if rows.first("type") == "repo" else "commit"
    return list(zip(rows.texts("type"), rows.texts("repository"), rows.texts(column), strict=True))


def _best_scores(alternatives: list[list[pa.RecordBatch]]) -> dict[str | None, float]:
    """Return the score of each path: its best match in any alternative."""
    best: dict[str | None, float] = {}
    for batches in alternatives:
        for batch in batches:
            rows = MatchRows(batch)
            if SCORE not in rows:
                continue
            for path, score in zip(rows.texts("path"), rows.column(SCORE).to_pylist(), strict=True):
                best[path] = max(best.get(path, score), score)

    return best


def _all_without_scores(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    without = []
    for batch in batches:
        index = batch.schema.get_field_index(SCORE)
        without.append(batch if index < 0 else batch.remove_column(index))
    return without


def _with_scores(batch: pa.RecordBatch, scores: dict[str | None, float]) -> pa.RecordBatch:
    if not scores:
        return batch
    file_scores = [scores[path] for path in MatchRows(batch).texts("path")]
    return batch.append_column(SCORE, pa.array(file_scores))


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
