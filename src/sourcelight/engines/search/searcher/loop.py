"""Run a query over many repositories, a corpus of up to 64 of them at a time, and yield the result in parts.

A part has the matches that are ready and the names of repositories that are finished. Counts by repository, language or
path read no lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cancellation import Cancellation, ScanStopped
from sourcelight.core.errors import Cancelled, SourcelightError
from sourcelight.engines.search import model
from sourcelight.engines.search.open_index import CorpusCache, OpenedTargets, Opener, open_targets
from sourcelight.engines.search.scan.batches import BatchSizer
from sourcelight.engines.search.scan.collect import MatchCollector
from sourcelight.engines.search.scan.columns import BatchSource
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.evaluate import CorpusSearch, FileMatches
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.scan.spans import NO_SPANS
from sourcelight.engines.search.searcher.parts import FinishedRepositories, PendingPart

_EMPTY: Int64Array = np.zeros(0, dtype=np.int64)

OpenGroups = Callable[[Sequence[model.Target], Cancellation], Iterator[OpenedTargets]]
"""Opens targets in groups, each of which makes one corpus."""

_COUNT_BATCH_UNITS = 128
"""Units of the first batch of a count: nothing is displayed early, but a cancelled count must end soon."""

OnNotes = Callable[[model.SearchPart], None] | None
"""Receives parts that name skipped files while counting; None: not needed."""


def count(
    open_target: Opener,
    targets: Sequence[model.Target],
    query: model.TextQuery,
    by: Sequence[model.GroupBy],
    cancellation: Cancellation,
    corpora: CorpusCache | None = None,
    on_notes: OnNotes = None,
    batch_limits: model.BatchLimits = model.DEFAULT_BATCHES,
) -> Any:
    """Count matches and files without reading lines; see `model.Searcher.count`.

    `on_notes` gets parts that count the files matched by name only. Raises the error of the first target that can't be
    opened, and `Cancelled` on cancellation or a timeout: a partial count would look complete.
    """
    prepared = model.prepare(query)
    corpus_cache = corpora or CorpusCache()
    counts = MatchCounts(by)
    errors: list[Exception] = []

    def open_or_note(target: model.Target) -> tuple[OpenedCommit, str]:
        # `open_targets` goes on after an error and describes it in a sentence; here it ends the call.
        try:
            return open_target(target)
        except (SourcelightError, OSError) as error:
            errors.append(error)
            raise

    for group in open_targets(open_or_note, targets, cancellation):
        if errors:
            raise errors[0]

        try:
            corpus = corpus_cache.get(group.snapshots)
            search = CorpusSearch(corpus, prepared, lambda: cancellation.stopped, limits=batch_limits)
            for language_search in (search, *search.twins):
                sizer = BatchSizer(_COUNT_BATCH_UNITS, limits=batch_limits)
                for files, matches, by_path in language_search.counts(sizer):
                    counts.add(language_search.corpus, group.targets, files, matches)
                    counts.add(language_search.corpus, group.targets, by_path, None)

            if on_notes is not None:
                pending = PendingPart()
                FinishedRepositories(group, search).report(pending, None)
                on_notes(pending.take())
        except ScanStopped:
            raise Cancelled("stopped before all was counted") from None

    cancellation.check()
    return counts.table()


_Key: TypeAlias = tuple[str | None, ...]
"""A value for each column by which files are counted."""


@dataclass(slots=True)
class _Total:
    """Sums of one key."""

    matches: int = 0
    files: int = 0


@dataclass(frozen=True, slots=True)
class _KeyedFiles:
    """Distinct keys, and the index of each file's key among them."""

    keys: list[_Key]
    key_index: NDArray[np.intp]


class MatchCounts:
    """Sums of matches and files by repository, language or path."""

    def __init__(self, by: Sequence[model.GroupBy]) -> None:
        self._by = tuple(by)
        self._totals: dict[_Key, _Total] = {}

    def add(
        self, corpus: Corpus, targets: Sequence[model.Target], files: model.FileNumbers, matches: Int64Array | None
    ) -> None:
        """Add files and the match count of each; None: one match each."""
        if not len(files):
            return

        keyed = self._find_keys(corpus, targets, files)
        file_counts = np.bincount(keyed.key_index, minlength=len(keyed.keys)).tolist()
        match_sums = file_counts
        if matches is not None:
            match_sums = np.bincount(keyed.key_index, weights=matches, minlength=len(keyed.keys)).tolist()

        for key, file_count, match_sum in zip(keyed.keys, file_counts, match_sums, strict=True):
            total = self._totals.setdefault(key, _Total())
            total.files += file_count
            total.matches += int(match_sum)

    def _find_keys(self, corpus: Corpus, targets: Sequence[model.Target], files: model.FileNumbers) -> _KeyedFiles:
        """Return the distinct keys of files, and the index of each file's key."""
        members = corpus.member_of(files)
        if "path" in self._by:
            # Each file has a key of its own.
            first_files, key_index = files, np.arange(len(files))
        else:
            codes = members * len(corpus.languages)
            if "language" in self._by:
                codes = codes + corpus.language[files]

            _, first_indexes, key_index = np.unique(codes, return_index=True, return_inverse=True)
            first_files = model.FileNumbers(files[first_indexes])
            members = members[first_indexes]

        keys = []
        for file, member in zip(first_files.tolist(), members.tolist(), strict=True):
            keys.append(self._key(corpus, targets[member], file, member))

        return _KeyedFiles(keys, key_index)

    def _key(self, corpus: Corpus, target: model.Target, file: int, member: int) -> _Key:
        """Return the values of a file by which it is counted."""
        view = corpus.members[member].view
        values: dict[str, str | None] = {"repository": target.repository.name, "commit": view.commit}
        if "language" in self._by:
            values["language"] = corpus.language_names[int(corpus.language[file])] or None
        if "path" in self._by:
            values["path"] = view.path(file - int(corpus.file_base[member]))
        return tuple(values[column] for column in self._by)

    def table(self) -> Any:
        """Return all sums, in order of appearance."""
        import pyarrow as pa

        columns: dict[str, Any] = {}
        for index, column in enumerate(self._by):
            columns[column] = pa.array([key[index] for key in self._totals], pa.string())

        totals = self._totals.values()
        columns["matches"] = pa.array([total.matches for total in totals], pa.int64())
        columns["files"] = pa.array([total.files for total in totals], pa.int64())
        return pa.table(columns)


def search(
    open_target: Opener,
    targets: Sequence[model.Target],
    query: model.TextQuery,
    options: model.SearchOptions,
    cancellation: Cancellation,
    corpora: CorpusCache | None = None,
    open_groups: OpenGroups | None = None,
) -> Iterator[model.SearchPart]:
    """Yield the result in parts; see `model.Searcher.search`. `open_groups`, when given, opens targets in groups."""
    prepared = model.prepare(query)
    loop = SearchLoop(prepared, options, cancellation, corpora or CorpusCache())
    if open_groups is None:
        groups = open_targets(open_target, targets, cancellation)
    else:
        groups = open_groups(targets, cancellation)

    for group in groups:
        # Targets that could not be opened are part of the result, not an error: the others are searched.
        loop.pending.failed.update(group.failed)
        if group.targets:
            yield from loop.parts(group)
        if loop.is_finished:
            break

    if loop.pending.has_notes:
        yield loop.pending.take()


def has_match(
    open_groups: OpenGroups,
    targets: Sequence[model.Target],
    query: model.TextQuery,
    cancellation: Cancellation,
    corpora: CorpusCache,
) -> bool | None:
    """Return whether a query has a match, or None if it needs a search. Raises `IndexDamaged`."""
    prepared = model.prepare(query)
    try:
        for group in open_groups(targets, cancellation):
            if not group.targets:
                continue

            search = CorpusSearch(corpora.get(group.snapshots), prepared, lambda: cancellation.stopped)
            is_match = search.has_match()
            if is_match is not False:
                return is_match
    except ScanStopped:
        return None

    return False


@dataclass(slots=True)
class SearchLoop:
    """A running search over groups of targets, one after another.

    Attributes
    ----------
    sizer
        The sizes of batches, which grow over all groups.
    matches
        Number of matches of the groups before the current one.
    is_finished
        Whether nothing more is searched: the limit of matches is reached, or the search is stopped.
    pending
        The next part.
    """

    prepared: model.PreparedQuery
    options: model.SearchOptions
    cancellation: Cancellation
    corpora: CorpusCache
    sizer: BatchSizer = field(init=False)
    matches: int = 0
    is_finished: bool = False
    pending: PendingPart = field(init=False)

    def __post_init__(self) -> None:
        self.pending = PendingPart()
        limits = self.options.batch_limits
        # Without a limit of matches nothing is displayed early, so one large batch saves the fixed costs of several.
        is_exhaustive = self.options.max_matches is None
        first_units = limits.exhaustive_units if is_exhaustive else 0
        self.sizer = BatchSizer(first_units, is_exhaustive, limits)

    def parts(self, group: OpenedTargets) -> Iterator[model.SearchPart]:
        """Search one group of targets."""
        try:
            corpus = self.corpora.get(group.snapshots)
            search = CorpusSearch(
                corpus, self.prepared, lambda: self.cancellation.stopped, limits=self.options.batch_limits
            )
        except ScanStopped:
            self.is_finished = True
            return

        source = BatchSource(corpus, search, group.targets, group.commits, group.locations)
        collector = MatchCollector(source, self.options)
        finished = FinishedRepositories(group, search)
        steps = self._steps(search)
        while True:
            try:
                step = next(steps, None)
            except ScanStopped:
                self.is_finished = True
                step = None

            if step is None:
                break

            if isinstance(step, _FlushRequest):
                # When the deadline passes during the next step, the caller abandons this generator: send all now.
                if collector.has_batch:
                    yield self.pending.take(collector.take_batch())
                continue

            matches = collector.add(step)
            finished.report(self.pending, step.finished_up_to)
            if self._reaches_limit(collector, search, matches):
                self.is_finished = True
                yield self.pending.take(collector.take_batch())
                return

            if self._is_part_due(collector):
                yield self.pending.take(collector.take_batch())

        collector.release_all()
        self.matches += collector.released
        if self._has_enough(self.matches):
            self.is_finished = True

        if not self.is_finished:
            finished.report(self.pending, None)

        if collector.has_batch:
            yield self.pending.take(collector.take_batch())

    def _is_part_due(self, collector: MatchCollector) -> bool:
        """Return whether the next part is sent after a batch."""
        if collector.is_full or self.pending.is_overdue:
            return True

        # A first batch with many candidates took long enough: its matches wait for no others.
        is_batch_due = self.pending.is_batch_due or (self.sizer.has_many and not self.pending.has_sent)
        return collector.has_batch and is_batch_due

    def _has_enough(self, matches: int) -> bool:
        return self.options.max_matches is not None and matches >= self.options.max_matches

    def _reaches_limit(self, collector: MatchCollector, search: CorpusSearch, matches: int) -> bool:
        """Return whether enough matches were released, after a batch with `matches`.

        Where enough are found but some wait for files before them, only those files are still read: the result is the
        first matches in order, however the work was cut into batches.
        """
        if self.options.max_matches is None:
            return False
        if self._has_enough(self.matches + collector.released):
            return True

        if matches and self.options.in_path_order:
            last_file = collector.last_needed(self.options.max_matches - self.matches)
            if last_file is not None:
                search.skip_above(last_file)

        return False

    def _steps(self, search: CorpusSearch) -> Iterator[FileMatches | _FlushRequest]:
        """Evaluate batch after batch; files without content come first in path order, and last otherwise."""
        in_path_order = self.options.in_path_order
        name_only = search.name_only_matches()
        name_only_matches = FileMatches(
            spans=NO_SPANS,
            content_files=model.FileNumbers(_EMPTY),
            documents=model.DocumentNumbers(_EMPTY),
            path_files=name_only,
            finished_up_to=0,
        )
        if in_path_order and len(name_only):
            yield name_only_matches

        # Before all others: where files wait for those before them, these take their places.
        for twin in search.twins:
            for matches in twin.file_matches(self.sizer):
                yield replace(matches, finished_up_to=0)

        # A step with a regular expression can't be interrupted, and may exceed the time limit.
        is_risky = self.cancellation.remaining_s is not None and self.prepared.has_regexp
        long_units = search.corpus.long_units if is_risky else _EMPTY
        for batch in search.batches(self.sizer):
            is_slow = len(long_units) > 0 and any(np.isin(long_units, units).any() for units in batch.units)
            if is_slow:
                yield _FlushRequest()
            yield search.evaluate(batch)
            if is_slow:
                yield _FlushRequest()

        if not in_path_order and len(name_only):
            yield name_only_matches


class _FlushRequest:
    """Stands in the steps before and after a slow one: send all matches that are ready."""
