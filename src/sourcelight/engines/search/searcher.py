"""Running a query over many repositories, as many at a time as make a fleet, in parts."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Cancellation, ScanStopped
from sourcelight.core.errors import Cancelled, SearchIndexError, SourcelightError
from sourcelight.engines.search.model import (
    GroupBy,
    PreparedQuery,
    SearchOptions,
    SearchPart,
    Target,
    TextQuery,
    add_most,
    plan,
)
from sourcelight.engines.search.scan.collect import MatchCollector
from sourcelight.engines.search.scan.columns import NO_BATCHES, BatchSource, CollectedBatches
from sourcelight.engines.search.scan.corpus import Corpus, OpenedCommit
from sourcelight.engines.search.scan.evaluate import BatchSizer, CorpusSearch, FileMatches
from sourcelight.engines.search.scan.spans import NO_SPANS

_QUIET_S = 0.05
"""Longest time for which finished repositories without a match wait to be told of together."""

_FIRST_S, _TOGETHER_S = 0.02, 0.06
"""Longest time for which the first matches, and later ones, wait for others to share a batch with."""

_UNBOUNDED_UNITS = 1024
"""Units that come first where all matches are wanted: most answers are one batch then, at a fourth less of the time."""

_COUNTED_UNITS = 128
"""Units that a count takes first: nothing is shown early, but a cancelled count must end soon."""

_MOST_MEMBERS, _MOST_FILES = 64, 400_000
"""Repositories, and about how many files, that are searched together."""

_MOST_FLEETS, _MOST_SHARDS = 8, 400

_NONE: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

Note = Callable[[SearchPart], None] | None
"""Called with what a count says beside its numbers; None: nobody asks."""

Opener = Callable[[Target], tuple[OpenedCommit, str]]
"""Opens a target and gives its commit; raises `SearchIndexError`, or another error of ours, when it can't."""


class CorpusCache:
    """Fleets that were searched of late. Safe to share between threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, ...], Corpus] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, members: Sequence[OpenedCommit]) -> Corpus:
        """Give the fleet of these snapshots."""
        key = tuple(map(id, members))  # a fleet holds its members, so their ids stay theirs
        with self._guard:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
                return found
        made = Corpus(members)
        with self._guard:
            self._known[key] = made
            shards = sum(len(fleet.shards) for fleet in self._known.values())
            while len(self._known) > 1 and (len(self._known) > _MOST_FLEETS or shards > _MOST_SHARDS):
                _, oldest = self._known.popitem(last=False)
                shards -= len(oldest.shards)
        return made

    def clear(self) -> None:
        """Let go of all of them: an index was replaced."""
        with self._guard:
            self._known.clear()


@dataclass(slots=True)
class OpenedTargets:
    """Targets that are searched together, their commits and snapshots; and why others could not be opened."""

    targets: list[Target] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    snapshots: list[OpenedCommit] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def opened(open_target: Opener, targets: Sequence[Target], cancellation: Cancellation) -> Iterator[OpenedTargets]:
    """Open targets, as many at a time as are searched together; ends early when told to stop."""
    group, files = OpenedTargets(), 0
    for target in targets:
        if cancellation.stopped:
            return
        try:
            snapshot, commit = open_target(target)
        except (SourcelightError, OSError) as fault:
            group.failed[target.repository.name] = fault.reason if isinstance(fault, SearchIndexError) else str(fault)
            continue
        group.targets.append(target)
        group.commits.append(commit)
        group.snapshots.append(snapshot)
        files += snapshot.view.files
        if len(group.targets) >= _MOST_MEMBERS or files >= _MOST_FILES:
            yield group
            group, files = OpenedTargets(), 0
    if group.targets or group.failed:
        yield group


def search(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    options: SearchOptions,
    cancellation: Cancellation,
    fleets: CorpusCache | None = None,
    groups: Callable[[Sequence[Target], Cancellation], Iterator[OpenedTargets]] | None = None,
) -> Iterator[SearchPart]:
    """Yield the answer in parts; see `model.Searcher.search`. Where `groups` opens targets, `open_target` does not."""
    prepared = plan(query)
    limited = cancellation.remaining_s is not None and any(atom.pattern.kind == "regexp" for atom in prepared.terms)
    run = _SearchLoop(prepared, options, cancellation, fleets or CorpusCache(), limited)
    for group in opened(open_target, targets, cancellation) if groups is None else groups(targets, cancellation):
        run.waiting.failed.update(group.failed)
        if group.targets:
            yield from run.parts(group)
        if run.over:
            break
    if run.waiting.any:
        yield run.waiting.part()


@dataclass(slots=True)
class _SearchLoop:
    """One search under way; `limited` when a step that nothing stops may be left behind at the time limit."""

    plan: PreparedQuery
    options: SearchOptions
    cancellation: Cancellation
    fleets: CorpusCache
    limited: bool
    pace: BatchSizer = field(default_factory=BatchSizer)
    matches: int = 0
    over: bool = False
    waiting: PendingPart = field(init=False)

    def __post_init__(self) -> None:
        self.waiting = PendingPart()
        if self.options.max_matches is None:
            self.pace = BatchSizer(_UNBOUNDED_UNITS, expects_one_batch=True)

    def parts(self, group: OpenedTargets) -> Iterator[SearchPart]:
        """Search what was opened together."""
        try:
            fleet = self.fleets.of(group.snapshots)
            running = CorpusSearch(fleet, self.plan, lambda: self.cancellation.stopped)
        except ScanStopped:
            self.over = True
            return
        collector = MatchCollector(BatchSource(running, group.targets, group.commits), self.options)
        done = _Done(group, running)
        steps = self._steps(running)
        while True:
            try:
                found = next(steps, None)
            except ScanStopped:
                self.over = True
                found = None
            if found is None:
                collector.release_all()
                self.matches += collector.released
                self.over = self.over or self._is_over(self.matches)
                if not self.over:
                    done.tell(self.waiting, None)
                if collector.has_batch:
                    yield self.waiting.part(collector.take_batch())
                return
            if isinstance(found, _Hurry):
                # What is held back is lost when the step that follows is left behind.
                if collector.has_batch:
                    yield self.waiting.part(collector.take_batch())
                continue
            matches = collector.add(found)
            done.tell(self.waiting, found.finished_up_to)
            if self._enough(collector, running, matches):
                self.over = True
                yield self.waiting.part(collector.take_batch())
                return
            due = self.waiting.due or (self.pace.has_many and not self.waiting.told)
            if collector.is_full or (collector.has_batch and due) or self.waiting.long:
                yield self.waiting.part(collector.take_batch())

    def _is_over(self, matches: int) -> bool:
        return self.options.max_matches is not None and matches >= self.options.max_matches

    def _enough(self, collector: MatchCollector, running: CorpusSearch, matches: int) -> bool:
        """Whether as many matches as are wanted were released; `matches` came last.

        Where they are known but some are still held back, because files before them are not searched, only those files
        are read on: the first matches in order are given, however the work was cut into batches.
        """
        if self.options.max_matches is None:
            return False
        if self._is_over(self.matches + collector.released):
            return True
        if matches and self.options.in_path_order:
            last = collector.last_needed(self.options.max_matches - self.matches)
            if last is not None:
                running.skip_above(last)
        return False

    def _steps(self, running: CorpusSearch) -> Iterator[FileMatches | _Hurry]:
        """Evaluate batch after batch; files without content come first where order counts, else last."""
        ordered = self.options.in_path_order
        nameless = running.name_only_matches()
        named_first = FileMatches(NO_SPANS, _NONE, _NONE, nameless, 0)
        if ordered and len(nameless):
            yield named_first
        long_units = running.corpus.long_units if self.limited else _NONE
        for batch in running.batches(self.pace):
            hurried = len(long_units) > 0 and any(np.isin(long_units, part).any() for part in batch.units)
            if hurried:
                yield _Hurry()
            yield running.evaluate(batch)
            if hurried:
                yield _Hurry()
        if not ordered and len(nameless):
            yield named_first


class _Hurry:
    """A step that may take long is next, or was last: what there is should be given."""


class _Done:
    """Tells of the repositories that are searched to their end."""

    def __init__(self, group: OpenedTargets, running: CorpusSearch) -> None:
        self._group = group
        self._running = running
        self._told = 0

    def tell(self, waiting: PendingPart, settled: int | None) -> None:
        """Note those all of whose files stand below a number; None: all."""
        bounds, targets = self._running.corpus.file_base, self._group.targets
        upto = len(targets) if settled is None else int(bounds[1:].searchsorted(settled, side="right"))
        if upto <= self._told:
            return
        skipped = self._running.corpus.skipped_counts(self._running.selection)
        named = (
            self._running.corpus.missing_files(self._running.selection)
            if any("missing" in one for one in skipped)
            else ()
        )
        for at in range(self._told, upto):
            name = targets[at].repository.name
            waiting.done.append(name)
            waiting.skip(name, skipped[at])
            if named and named[at]:
                waiting.missing[name] = named[at]
        self._told = upto


class PendingPart:
    """What is to be told with the next part; `told` once matches were."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self.told = False
        self._clear()

    def _clear(self) -> None:
        self.done: list[str] = []
        self.skipped: dict[str, dict[str, int]] = {}
        self.failed: dict[str, str] = {}
        self.missing: dict[str, tuple[str, ...]] = {}

    def skip(self, name: str, counts: Mapping[str, int]) -> None:
        """Note files of a repository that were matched by name only, by reason: of its revisions, where most were."""
        if counts:
            add_most(self.skipped.setdefault(name, {}), counts)

    @property
    def any(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.done or self.failed)

    @property
    def long(self) -> bool:
        """Whether it has waited too long to wait for the next match."""
        return self.any and time.monotonic() - self._since > _QUIET_S

    @property
    def due(self) -> bool:
        """Whether matches have waited long enough for others to share a batch with; the first ones wait less."""
        return time.monotonic() - self._since > (_TOGETHER_S if self.told else _FIRST_S)

    def part(self, rendered: CollectedBatches = NO_BATCHES) -> SearchPart:
        """Make a part that tells it all."""
        done, skipped, failed = tuple(self.done), self.skipped, self.failed
        part = SearchPart(rendered.batches, done, rendered.matches, rendered.files, skipped, failed, self.missing)
        self.told = self.told or bool(rendered.batches)
        self._since = time.monotonic()
        self._clear()
        return part


def count(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    by: Sequence[GroupBy],
    cancellation: Cancellation,
    fleets: CorpusCache | None = None,
    note: Note = None,
) -> Any:
    """Count matches and files without reading lines; see `model.Searcher.count`.

    `note` is called with parts that say which files were matched by name only, and why. Raises the fault of the first
    target that can't be opened, and `Cancelled` when it is to stop, also for its time limit: half a count is none.
    """
    prepared, known = plan(query), fleets or CorpusCache()
    counts = MatchCounts(by)

    def opening(target: Target) -> tuple[OpenedCommit, str]:
        try:
            return open_target(target)
        except (SourcelightError, OSError) as fault:
            faults.append(fault)
            raise

    faults: list[Exception] = []
    for group in opened(opening, targets, cancellation):
        if faults:
            raise faults[0]
        try:
            running = CorpusSearch(known.of(group.snapshots), prepared, lambda: cancellation.stopped)
            for files, matches, by_path in running.counts(BatchSizer(_COUNTED_UNITS)):
                counts.add(running.corpus, group.targets, files, matches)
                counts.add(running.corpus, group.targets, by_path, None)
            if note is not None:
                told = PendingPart()
                _Done(group, running).tell(told, None)
                note(told.part())
        except ScanStopped:
            raise Cancelled("stopped before all was counted") from None
    cancellation.check()
    return counts.table()


class MatchCounts:
    """Sums of matches and files by repository, language or path."""

    def __init__(self, by: Sequence[GroupBy]) -> None:
        self._by = tuple(by)
        self._totals: dict[tuple[str | None, ...], list[int]] = {}

    def add(
        self, fleet: Corpus, targets: Sequence[Target], files: NDArray[np.int64], matches: NDArray[np.int64] | None
    ) -> None:
        """Add files and the matches of each; None: one each."""
        if not len(files):
            return
        keys, chosen = self._keys(fleet, targets, files)
        sizes = np.bincount(chosen, minlength=len(keys)).tolist()
        sums = sizes if matches is None else np.bincount(chosen, weights=matches, minlength=len(keys)).tolist()
        for key, size, number in zip(keys, sizes, sums, strict=True):
            total = self._totals.setdefault(key, [0, 0])
            total[0] += int(number)
            total[1] += size

    def _keys(
        self, fleet: Corpus, targets: Sequence[Target], files: NDArray[np.int64]
    ) -> tuple[list[tuple[str | None, ...]], NDArray[np.intp]]:
        """Give the distinct keys of some files, and which key each file has."""
        members = fleet.member_of(files)
        if "path" in self._by:
            firsts, chosen = files, np.arange(len(files))
        else:
            codes = members * len(fleet.languages)
            if "language" in self._by:
                codes = codes + fleet.language[files]
            _, at, chosen = np.unique(codes, return_index=True, return_inverse=True)
            firsts, members = files[at], members[at]
        keys = []
        for file, member in zip(firsts.tolist(), members.tolist(), strict=True):
            values: dict[str, str | None] = {"repository": targets[member].repository.name}
            if "language" in self._by:
                values["language"] = fleet.languages[int(fleet.language[file])][0] or None
            if "path" in self._by:
                values["path"] = fleet.members[member].view.path(file - int(fleet.file_base[member]))
            keys.append(tuple(values[column] for column in self._by))
        return keys, chosen

    def table(self) -> Any:
        """Give all sums, in order of appearance."""
        import pyarrow as pa

        totals = self._totals
        columns: dict[str, Any] = {
            column: pa.array([key[place] for key in totals], pa.string()) for place, column in enumerate(self._by)
        }
        columns["matches"] = pa.array([total[0] for total in totals.values()], pa.int64())
        columns["files"] = pa.array([total[1] for total in totals.values()], pa.int64())
        return pa.table(columns)
