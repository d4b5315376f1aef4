"""Search some repositories for a service that merges the answers of many workers.

The engine of the worker searches as for a caller of its own, but ranks nothing and cuts little: scores go along as a
column, and the coordinator chooses among the rows of all workers. Failures are sent before the rows that follow them,
so that another worker can take the repository.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import pyarrow as pa

from sourcelight.backends.cluster.batch_merge import LARGE_ROWS, Batch, RowSlice, join_slices
from sourcelight.backends.cluster.messages import RepositoriesDone, RepositoriesFailed, ResultBatch, WorkerRequest
from sourcelight.backends.cluster.worker.phases import has_two_runs, phases_of
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.batches.rows import MatchRows, match_count
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ClusterError
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.local_source import LocalSource
from sourcelight.engines.execution.plan import Plan, names_of_targets, targets_of
from sourcelight.engines.execution.results.alternatives import numbers_or_limits, own_counts
from sourcelight.engines.execution.results.ranking import CANDIDATES, FileRanker
from sourcelight.engines.execution.source import SearchTask
from sourcelight.engines.history.history import UnreadCommits
from sourcelight.engines.search import SearchPart
from sourcelight.repos import Viewer


@dataclass(slots=True)
class SearchOutcome:
    """The outcome of a search besides its matches; mappings are by repository name.

    Attributes
    ----------
    done
        Repositories that were searched completely.
    timed_out
        Repositories that weren't, when the time limit passed.
    failed
        Repositories that couldn't be searched, and why.
    unfit
        Repositories whose shards this worker doesn't have in a usable form, and why; another worker may.
    name_only
        Files that were matched by name only: their number for each reason.
    missing
        Paths whose contents the repository lacks.
    unread_cells
        Notebooks whose cells couldn't be read, for each reason.
    unsearchable
        Repositories that the query names and that are left out, and why.
    invalid
        Texts that the query has as revisions and that can't be one, and why.
    without_history, unread, shallow
        Repositories whose history couldn't be read, whose commits couldn't be read in part, and whose history is cut
        off.
    targets
        Number of searched repositories.
    excluded
        Repositories that the query doesn't search, as only a worker knows, which has refs and files: no such revision,
        a predicate that fails.
    limit_hit
        Whether the search stopped because it had enough matches.
    unknown_owners, unowned, later_owners
        What an alert about owners says: repositories without a CODEOWNERS file, the number of matching files without an
        owner by repository, and repositories that got their CODEOWNERS file after a searched commit.
    """

    done: list[str] = field(default_factory=list)
    timed_out: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    unfit: dict[str, str] = field(default_factory=dict)
    name_only: dict[str, Mapping[str, int]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    unread_cells: dict[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    unsearchable: dict[str, str] = field(default_factory=dict)
    invalid: dict[str, str] = field(default_factory=dict)
    without_history: dict[str, str] = field(default_factory=dict)
    unread: dict[str, UnreadCommits] = field(default_factory=dict)
    shallow: dict[str, str] = field(default_factory=dict)
    targets: int = 0
    excluded: list[str] = field(default_factory=list)
    limit_hit: bool = False
    unknown_owners: list[str] = field(default_factory=list)
    unowned: dict[str, int] = field(default_factory=dict)
    later_owners: list[str] = field(default_factory=list)


class ShardSearch:
    """One order carried out; `outcome` is whole when `results` has ended."""

    def __init__(self, engine: LocalEngine, task: SearchTask) -> None:
        self.outcome = SearchOutcome()
        self._engine = engine
        self._task = task
        self._source = LocalSource(engine, engine.plan_cache, task)
        self._target_counts: Counter[str] = Counter()
        self._passing: list[str] = []
        self._finished_names: list[str] = []

    def results(self, limit: int) -> Iterator[ResultBatch | RepositoriesDone | RepositoriesFailed]:
        """Yield matches as they are found, by repository in each phase."""
        source, cancellation = self._source, self._task.cancellation
        cancellation.limit(self._task.allowed_s(self._engine.limits))
        _run(source.resolve())

        searched = targets_of(plan for plan in source.plans if plan.searches)
        self._target_counts = Counter(target.repository.info.name for target in searched)
        if not source.late_to_plan:
            yield from self._search(source.plans, limit)

        if cancellation.cancelled:
            # A worker that is told to stop ends its searches early: what they found is not all there is.
            raise Cancelled("the worker stopped")

        self._finish()

    def _search(self, plans: list[Plan], limit: int) -> Iterator[ResultBatch | RepositoriesDone | RepositoriesFailed]:
        source, cancellation = self._source, self._task.cancellation
        phases, row_limit = phases_of(plans), _row_limit(plans, limit)

        # With several runs through the repositories, a repository is complete at the end alone.
        searching = [plan for plan in plans if plan.searches]
        is_one_run = len(searching) == 1 and not has_two_runs(searching[0])
        match_total = 0
        failed_names: set[str] = set()
        for batch in self._batches(plans, limit):
            if cancellation.cancelled:
                raise Cancelled("stopped on request")

            # Sent before the rows that follow: the coordinator may still give the repository to another worker, as none
            # of its rows has been shown.
            failures = {name: reason for name, reason in source.failed.items() if name not in failed_names}
            if failures:
                yield RepositoriesFailed(failures)
                failed_names.update(failures)

            if isinstance(batch, RawMatches) and not batch.line_values:
                match_total += int(batch.file_matches.sum())
                yield phases.raw_result(batch)
            else:
                rows = batch.batch if isinstance(batch, RawMatches) else batch
                match_total += match_count(rows)
                yield from phases.results(rows)

            if match_total >= row_limit:
                self.outcome.limit_hit = True
                return

            if is_one_run and self._finished_names:
                yield RepositoriesDone(tuple(self._finished_names))
                self._finished_names.clear()

    def _batches(self, plans: list[Plan], limit: int) -> Iterator[Any]:
        """Read what the plans need besides text, and return their batches, with repositories in order."""
        source = self._source
        # The coordinator ranks the rows of all workers, and cuts them where alternatives have counts of their own.
        counts = numbers_or_limits([plan.alternative for plan in plans])

        # A query for all matches sends few rows as the arrays of the engine, and many as record batches, which the
        # coordinator passes on as they are.
        raw_rows = LARGE_ROWS if self._task.request.display < 0 else 0
        pipeline = source.make_pipeline(
            limit, self._on_part, order=FileRanker.add_scores, counts=counts, raw_rows=raw_rows
        )

        _run(source.read_histories())
        defining = targets_of(plan for plan in plans if plan.symbols is not None)
        _run(self._engine.definitions.wait(defining, self._task.cancellation, None))

        # Alternatives each name repositories from first to last, so their names are merged before phases see them.
        if len(plans) > 1:
            return _names_in_order(pipeline.batches())
        return pipeline.batches()

    def _on_part(self, part: SearchPart) -> None:
        self._source.note(part)
        # What an earlier part finished has been told by now; the batches of this one have not.
        self._finished_names += self._passing
        self._passing = [
            name for name in part.repositories_done if self._source.finished[name] >= self._target_counts[name]
        ]

    def _finish(self) -> None:
        source, outcome, cancellation = self._source, self.outcome, self._task.cancellation
        plans, scoper, commits = source.plans, source.scoper, source.commits
        if cancellation.expired and not outcome.limit_hit:
            outcome.timed_out = sorted(cancellation.unsent_repositories.union(source.late_repositories()))

        outcome.failed = dict(source.failed)
        outcome.name_only = source.unread_files()
        outcome.missing = {name: list(paths) for name, paths in source.missing_names().items()}
        outcome.unread_cells = dict(source.unread_cells)
        outcome.unsearchable = dict(scoper.unsearchable)
        outcome.invalid = dict(scoper.invalid)
        outcome.without_history = dict(commits.failed)
        outcome.unread = dict(commits.unread)
        outcome.shallow = dict(commits.shallow)
        if source.pipeline is not None:
            owners = source.pipeline.ownership
            outcome.unknown_owners, outcome.later_owners = sorted(owners.unknown), sorted(owners.later)
            outcome.unowned = dict(owners.unowned)

        outcome.targets = len(names_of_targets(plan for plan in plans if plan.searches))
        visible = {repository.info.name for repository in self._engine.catalog.visible(self._task.viewer)}
        outcome.excluded = sorted(visible - names_of_targets(plans) - scoper.undecided)


def _run(steps: Iterable[object]) -> None:
    """Do work that yields its progress. A worker sends none: the coordinator shows that of its own."""
    for _ in steps:
        pass


def _row_limit(plans: Sequence[Plan], limit: int) -> int:
    """Return the number of matches to send: above `limit`, as the coordinator ranks those of all workers together."""
    if own_counts([plan.alternative for plan in plans]) and limit < sys.maxsize:
        # A file may come once for each alternative, and what the counts of some leave out makes room for others.
        return max(limit * (len(plans) + 1), CANDIDATES)
    return max(limit, CANDIDATES)


def _names_in_order(batches: Iterator[pa.RecordBatch]) -> Iterator[Batch]:
    """Yield batches of several alternatives, each of which goes through all repositories again."""
    slices: list[tuple[str, RowSlice]] = []
    for batch in batches:
        if batch.num_rows and MatchRows(batch).first("type") == "repo":
            names = batch.column(batch.schema.get_field_index("repository")).to_pylist()
            slices += [(name, RowSlice(batch, index, index + 1)) for index, name in enumerate(names)]
            continue

        if slices:
            yield _join_by_name(slices)
            slices = []
        yield batch

    if slices:
        yield _join_by_name(slices)


def _join_by_name(slices: list[tuple[str, RowSlice]]) -> Batch:
    """Return one batch of the rows of repositories, by name."""
    return join_slices([row_slice for _, row_slice in sorted(slices, key=itemgetter(0))])


def shard_search(engine: LocalEngine, order: WorkerRequest, cancellation: Cancellation) -> ShardSearch:
    """Return a search as an order asks for it; raises `QueryError`, as a search on one machine does."""
    request = order.request
    if request is None:
        raise ValueError("a request without a search")

    parsed = engine.queries.read(request, engine.catalog.contexts)
    if isinstance(parsed, float):
        # The seconds after which parsing was given up.
        raise ClusterError("the time limit passed before the query was parsed")
    return ShardSearch(engine, SearchTask(*parsed, request, viewer_of(order), cancellation, time.monotonic()))


def viewer_of(order: WorkerRequest) -> Viewer:
    """Return for whom an order is: the repositories that it names are all that exist."""
    names = frozenset(order.names)
    return Viewer(order.viewer, sees_private=False, granted=names, only=names)
