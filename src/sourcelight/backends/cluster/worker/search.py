"""Search some repositories for a service that merges the answers of many workers."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np

from sourcelight.backends.cluster.batch_merge import LARGE_ROWS, Cut, join_cuts
from sourcelight.backends.cluster.messages import RepositoriesDone, RepositoriesFailed, ResultBatch, WorkerRequest
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.batches.rows import MatchRows, boundaries, match_count
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

REPOSITORIES, COMMITS, SYMBOLS, FILES = range(4)
"""Phases of an answer, in the order in which they come; each goes through the repositories by name.

Definitions have one of their own where they come before the files of all repositories, and not with each file.
"""

_PHASES_OF_KINDS = {"repo": REPOSITORIES, "commit": COMMITS, "diff": COMMITS}


@dataclass(slots=True)
class SearchOutcome:
    """The outcome of a search besides its matches; mappings are by repository name.

    `excluded` names the repositories of the order that the query does not search, as is known only here, where refs and
    files are: no such revision, a predicate that fails.
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
        for _ in source.resolve():
            pass

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
        phases, row_limit = _phases_of(plans), _row_limit(plans, limit)

        # With several runs through the repositories, a repository is complete at the end alone.
        searching = [plan for plan in plans if plan.searches]
        is_one_run = len(searching) == 1 and not _has_two_runs(searching[0])
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

        # As in `LocalSource.batches`; many rows are record batches, which the coordinator passes on as they are.
        raw_rows = LARGE_ROWS if self._task.request.display < 0 else 0
        pipeline = source.make_pipeline(
            limit, self._on_part, order=FileRanker.add_scores, counts=counts, raw_rows=raw_rows
        )

        # Progress of this isn't sent: the coordinator shows that of its own.
        for _ in source.read_histories():
            pass

        defining = targets_of(plan for plan in plans if plan.symbols is not None)
        for _ in self._engine.definitions.wait(defining, self._task.cancellation, None):
            pass

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


@dataclass(slots=True)
class Phases:
    """Finds the phase and the repository of rows.

    Parameters
    ----------
    matching_names
        Repositories whose names match: their own rows come first.
    with_commits
        Whether commits are searched.
    symbols_first
        Whether definitions come before the files of all repositories.
    """

    matching_names: frozenset[str]
    with_commits: bool
    symbols_first: bool
    _last: tuple[int, str] = (REPOSITORIES, "")

    def results(self, batch: Any) -> Iterator[ResultBatch]:
        """Yield a batch with the repositories that its rows are of, cut where a new phase begins."""
        if not batch.num_rows:
            return

        rows = MatchRows(batch)
        runs = boundaries(len(rows), [rows.codes("repository"), rows.codes("type")])
        heads = [start for start, _ in runs]
        names, kinds = _values(batch, "repository", heads), _values(batch, "type", heads)
        phases = [self._phase(kind, name) for kind, name in zip(kinds, names, strict=True)]
        first = 0
        for index in range(1, len(runs) + 1):
            if index == len(runs) or phases[index] != phases[first]:
                start, end_row = runs[first][0], runs[index - 1][1]
                # Rows of one repository may be of several types, as paths beside contents.
                # Later runs of the same name overwrite earlier ones, so each repository ends with its last row.
                ends = {name: end - start for name, (_, end) in zip(names[first:index], runs[first:index], strict=True)}
                yield ResultBatch(
                    phase=phases[first],
                    repositories=tuple(ends),
                    ends=tuple(ends.values()),
                    batch=batch.slice(start, end_row - start),
                )
                first = index

    def raw_result(self, matches: RawMatches) -> ResultBatch:
        """Return matches with the repositories that their files are of; all of them are of files."""
        ends = np.cumsum(matches.lengths).tolist()
        runs = boundaries(len(ends), [matches.location_index])

        # A repository at two revisions has two runs, of which the later one ends it.
        # Later runs of a name overwrite earlier ones.
        ends_by_name: dict[str, int] = {}
        for start, end in runs:
            location = matches.locations[int(matches.location_index[start])]
            ends_by_name[location.repository] = ends[end - 1]

        names = tuple(ends_by_name)
        return ResultBatch(
            phase=self._phase("content", names[-1]),
            repositories=names,
            ends=tuple(ends_by_name.values()),
            batch=matches,
        )

    def _phase(self, kind: str, name: str) -> int:
        if kind == "repo" and name not in self.matching_names:
            phase = COMMITS if self.with_commits else FILES
        elif kind == "symbol" and self.symbols_first:
            phase = SYMBOLS
        else:
            phase = _PHASES_OF_KINDS.get(kind, FILES)

        # Repositories found by commits, and then by files, are rows of the same type.
        # Phases only ever rise, as the merge requires.
        last, previous_name = self._last
        starts_again = phase == last == COMMITS and name < previous_name
        phase = max(phase, FILES if starts_again else last)
        self._last = phase, name
        return phase


def _phases_of(plans: Sequence[Plan]) -> Phases:
    searching = [plan for plan in plans if plan.searches]
    name_matches = chain.from_iterable(plan.repository_hits for plan in plans)
    return Phases(
        matching_names=frozenset(target.repository.name for target, _ in name_matches),
        with_commits=any(plan.commits is not None for plan in plans),
        symbols_first=len(searching) == 1 and _has_two_runs(searching[0]) and not searching[0].alternative.select(),
    )


def _has_two_runs(plan: Plan) -> bool:
    """Return whether a plan searches text and definitions, each in a run of its own through the repositories."""
    return plan.text is not None and plan.symbols is not None


def _row_limit(plans: Sequence[Plan], limit: int) -> int:
    """Return the number of matches to send: above `limit`, as the coordinator ranks those of all workers together."""
    if own_counts([plan.alternative for plan in plans]) and limit < sys.maxsize:
        # A file may come once for each alternative, and what the counts of some leave out makes room for others.
        return max(limit * (len(plans) + 1), CANDIDATES)
    return max(limit, CANDIDATES)


def _values(batch: Any, name: str, row_indices: list[int]) -> list[str]:
    """Return some rows of a column with a dictionary and no nulls."""
    column = batch.column(batch.schema.get_field_index(name))
    values = column.dictionary.to_pylist()
    return [values[code] for code in column.indices.to_numpy(zero_copy_only=False)[row_indices].tolist()]


def _names_in_order(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches of several alternatives, each of which goes through all repositories again."""
    cuts: list[tuple[str, Cut]] = []
    for batch in batches:
        names = batch.column(batch.schema.get_field_index("repository")).to_pylist() if batch.num_rows else []
        if names and MatchRows(batch).first("type") == "repo":
            cuts += ((name, (batch, index, index + 1)) for index, name in enumerate(names))
            continue
        if cuts:
            yield join_cuts([cut_rows for _, cut_rows in sorted(cuts, key=itemgetter(0))])
            cuts = []
        yield batch

    if cuts:
        yield join_cuts([cut_rows for _, cut_rows in sorted(cuts, key=itemgetter(0))])


def shard_search(engine: LocalEngine, order: WorkerRequest, cancellation: Cancellation) -> ShardSearch:
    """Return a search as an order asks for it; raises `QueryError`, as a search on one machine does."""
    request = order.request
    if request is None:
        raise ValueError("a request without a search")
    read = engine.queries.read(request, engine.catalog.contexts)
    if isinstance(read, float):
        raise ClusterError("the time limit passed before the query was parsed")
    return ShardSearch(engine, SearchTask(*read, request, viewer_of(order), cancellation, time.monotonic()))


def viewer_of(order: WorkerRequest) -> Viewer:
    """Return for whom an order is: the repositories that it names are all that exist."""
    names = frozenset(order.names)
    return Viewer(order.viewer, sees_private=False, granted=names, only=names)
