"""Run a query over many repositories, a corpus of up to 64 of them at a time, and yield the result in parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cancellation import Cancellation, ScanStopped
from sourcelight.core.errors import Cancelled, SourcelightError
from sourcelight.engines.search.model import (
    DEFAULT_BATCHES,
    BatchLimits,
    DocumentNumbers,
    FileNumbers,
    GroupBy,
    PreparedQuery,
    SearchOptions,
    SearchPart,
    Target,
    TextQuery,
    add_maxima,
    add_maximum,
    prepare,
)
from sourcelight.engines.search.open_index import CorpusCache, OpenedTargets, Opener, open_targets
from sourcelight.engines.search.scan.batches import BatchSizer
from sourcelight.engines.search.scan.collect import MatchCollector
from sourcelight.engines.search.scan.columns import NO_BATCHES, BatchSource, CollectedBatches
from sourcelight.engines.search.scan.corpus import Corpus, GroupNotes
from sourcelight.engines.search.scan.evaluate import CorpusSearch, FileMatches
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.scan.spans import NO_SPANS

_MAX_DONE_DELAY_S = 0.05
"""Maximum time that finished repositories without a match wait, so that one part reports many of them."""

_MAX_FIRST_DELAY_S, _MAX_DELAY_S = 0.02, 0.06
"""Maximum time that the first matches, and later ones, wait for others to share a batch with."""

_COUNT_BATCH_UNITS = 128
"""Units of the first batch of a count: nothing is displayed early, but a cancelled count must end soon."""

_EMPTY: Int64Array = np.zeros(0, dtype=np.int64)

OnNotes = Callable[[SearchPart], None] | None
"""Receives parts that name skipped files while counting; None: not needed."""


def search(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    options: SearchOptions,
    cancellation: Cancellation,
    corpora: CorpusCache | None = None,
    open_groups: Callable[[Sequence[Target], Cancellation], Iterator[OpenedTargets]] | None = None,
) -> Iterator[SearchPart]:
    """Yield the result in parts; see `model.Searcher.search`. `open_groups`, when given, opens targets in groups."""
    prepared = prepare(query)
    loop = SearchLoop(prepared, options, cancellation, corpora or CorpusCache())
    for group in (
        open_targets(open_target, targets, cancellation) if open_groups is None else open_groups(targets, cancellation)
    ):
        # Targets that could not be opened are part of the result, not an error: the others are searched.
        loop.pending.failed.update(group.failed)
        if group.targets:
            yield from loop.parts(group)
        if loop.is_finished:
            break

    if loop.pending.has_notes:
        yield loop.pending.take()


def has_match(
    open_groups: Callable[[Sequence[Target], Cancellation], Iterator[OpenedTargets]],
    targets: Sequence[Target],
    query: TextQuery,
    cancellation: Cancellation,
    corpora: CorpusCache,
) -> bool | None:
    """Return whether a query has a match, or None if it needs a search. Raises `IndexDamaged`."""
    prepared = prepare(query)
    try:
        for group in open_groups(targets, cancellation):
            if not group.targets:
                continue
            matched = CorpusSearch(corpora.get(group.snapshots), prepared, lambda: cancellation.stopped).has_match()
            if matched is not False:
                return matched
    except ScanStopped:
        return None

    return False


@dataclass(slots=True)
class SearchLoop:
    """A running search over groups of targets, one after another."""

    prepared: PreparedQuery
    options: SearchOptions
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
        self.sizer = BatchSizer(limits.exhaustive_units * is_exhaustive, is_exhaustive, limits)

    def parts(self, group: OpenedTargets) -> Iterator[SearchPart]:
        """Search one group of targets."""
        try:
            corpus = self.corpora.get(group.snapshots)
            limits = self.options.batch_limits
            search = CorpusSearch(corpus, self.prepared, lambda: self.cancellation.stopped, limits=limits)
        except ScanStopped:
            self.is_finished = True
            return

        collector = MatchCollector(
            BatchSource(corpus, search, group.targets, group.commits, group.locations), self.options
        )
        finished = _FinishedRepositories(group, search)
        steps = self._steps(search)
        while True:
            try:
                step = next(steps, None)
            except ScanStopped:
                self.is_finished = True
                step = None

            if step is None:
                collector.release_all()
                self.matches += collector.released
                self.is_finished = self.is_finished or self._has_enough(self.matches)
                if not self.is_finished:
                    finished.report(self.pending, None)
                if collector.has_batch:
                    yield self.pending.take(collector.take_batch())
                return

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

            due = self.pending.is_batch_due or (self.sizer.has_many and not self.pending.has_sent)
            if collector.is_full or (collector.has_batch and due) or self.pending.is_overdue:
                yield self.pending.take(collector.take_batch())

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
            content_files=FileNumbers(_EMPTY),
            documents=DocumentNumbers(_EMPTY),
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


class _FinishedRepositories:
    """Reports the repositories of a group that are finished."""

    def __init__(self, group: OpenedTargets, search: CorpusSearch) -> None:
        self._group = group
        self._search = search
        self._reported = 0

    def report(self, pending: PendingPart, finished_up_to: int | None) -> None:
        """Add the repositories whose files are all below `finished_up_to` to a part; None: all of them."""
        file_base, targets = self._search.corpus.file_base, self._group.targets
        end = len(targets) if finished_up_to is None else int(file_base[1:].searchsorted(finished_up_to, side="right"))
        if end <= self._reported:
            return

        unread = self._search.unread_counts()
        if not self._reported and end == len(targets) and not unread:
            # All at once, as most searches end: the notes of a whole group depend on its files alone.
            pending.add_group(self._search.corpus.group_notes(self._search.selection, self._group.names))
            self._reported = end
            return

        skipped = self._search.corpus.skipped_counts(self._search.selection)
        has_missing = any("missing" in counts for counts in skipped)
        missing_files = self._search.corpus.missing_files(self._search.selection) if has_missing else ()
        for index in range(self._reported, end):
            name = targets[index].repository.name
            pending.done.append(name)
            pending.add_skipped(name, skipped[index] | (unread[index] if unread else {}))
            if missing_files and missing_files[index]:
                pending.missing[name] = missing_files[index]

        self._reported = end


class PendingPart:
    """Notes for the next part; `has_sent` once a part had matches."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self.has_sent = False
        self._clear()

    def _clear(self) -> None:
        self.done: list[str] = []
        self.skipped: dict[str, Mapping[str, int]] = {}
        self.failed: dict[str, str] = {}
        self.missing: dict[str, tuple[str, ...]] = {}

    def add_skipped(self, name: str, counts: Mapping[str, int]) -> None:
        """Add counts of files that were matched by name only; of several revisions, the maximum counts."""
        if counts:
            add_maximum(self.skipped, name, counts)

    def add_group(self, notes: GroupNotes) -> None:
        """Add all repositories of a group, which are finished."""
        self.done += notes.names
        self.missing.update(notes.missing)
        add_maxima(self.skipped, notes.skipped)

    @property
    def has_notes(self) -> bool:
        """Whether a repository is finished or has failed."""
        return bool(self.done or self.failed)

    @property
    def is_overdue(self) -> bool:
        """Whether the notes have waited too long to wait for the next match."""
        return self.has_notes and time.monotonic() - self._since > _MAX_DONE_DELAY_S

    @property
    def is_batch_due(self) -> bool:
        """Whether matches have waited long enough for others; the first ones wait less."""
        return time.monotonic() - self._since > (_MAX_DELAY_S if self.has_sent else _MAX_FIRST_DELAY_S)

    def take(self, collected: CollectedBatches = NO_BATCHES) -> SearchPart:
        """Return a part with all notes and batches, and start the next one."""
        done, skipped, failed = tuple(self.done), self.skipped, self.failed
        part = SearchPart(collected.batches, done, collected.matches, collected.files, skipped, failed, self.missing)
        self.has_sent = self.has_sent or bool(collected.batches)
        self._since = time.monotonic()
        self._clear()
        return part


def count(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    by: Sequence[GroupBy],
    cancellation: Cancellation,
    corpora: CorpusCache | None = None,
    on_notes: OnNotes = None,
    batch_limits: BatchLimits = DEFAULT_BATCHES,
) -> Any:
    """Count matches and files without reading lines; see `model.Searcher.count`.

    `on_notes` gets parts that count the files matched by name only. Raises the error of the first target that can't be
    opened, and `Cancelled` on cancellation or a timeout: a partial count would look complete.
    """
    prepared, corpus_cache = prepare(query), corpora or CorpusCache()
    counts = MatchCounts(by)

    def opening(target: Target) -> tuple[OpenedCommit, str]:
        try:
            return open_target(target)
        except (SourcelightError, OSError) as error:
            errors.append(error)
            raise

    errors: list[Exception] = []
    for group in open_targets(opening, targets, cancellation):
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
                _FinishedRepositories(group, search).report(pending, None)
                on_notes(pending.take())
        except ScanStopped:
            raise Cancelled("stopped before all was counted") from None

    cancellation.check()
    return counts.table()


class MatchCounts:
    """Sums of matches and files by repository, language or path."""

    def __init__(self, by: Sequence[GroupBy]) -> None:
        self._by = tuple(by)
        self._totals: dict[tuple[str | None, ...], list[int]] = {}

    def add(self, corpus: Corpus, targets: Sequence[Target], files: FileNumbers, matches: Int64Array | None) -> None:
        """Add files and the match count of each; None: one match each."""
        if not len(files):
            return

        keys, key_index = self._keys(corpus, targets, files)
        file_counts = np.bincount(key_index, minlength=len(keys)).tolist()
        if matches is None:
            match_sums = file_counts
        else:
            match_sums = np.bincount(key_index, weights=matches, minlength=len(keys)).tolist()
        for key, file_count, match_sum in zip(keys, file_counts, match_sums, strict=True):
            total = self._totals.setdefault(key, [0, 0])
            total[0] += int(match_sum)
            total[1] += file_count

    def _keys(
        self, corpus: Corpus, targets: Sequence[Target], files: FileNumbers
    ) -> tuple[list[tuple[str | None, ...]], NDArray[np.intp]]:
        """Return the distinct keys of files, and the index of each file's key."""
        members = corpus.member_of(files)
        if "path" in self._by:
            first_files, key_index = files, np.arange(len(files))
        else:
            codes = members * len(corpus.languages)
            if "language" in self._by:
                codes = codes + corpus.language[files]
            _, first_indexes, key_index = np.unique(codes, return_index=True, return_inverse=True)
            first_files, members = FileNumbers(files[first_indexes]), members[first_indexes]

        keys = []
        for file, member in zip(first_files.tolist(), members.tolist(), strict=True):
            commit = corpus.members[member].view.commit
            values: dict[str, str | None] = {"repository": targets[member].repository.name, "commit": commit}
            if "language" in self._by:
                values["language"] = corpus.languages[int(corpus.language[file])][0] or None
            if "path" in self._by:
                values["path"] = corpus.members[member].view.path(file - int(corpus.file_base[member]))
            keys.append(tuple(values[column] for column in self._by))

        return keys, key_index

    def table(self) -> Any:
        """Return all sums, in order of appearance."""
        import pyarrow as pa

        totals = self._totals
        columns: dict[str, Any] = {
            column: pa.array([key[position] for key in totals], pa.string()) for position, column in enumerate(self._by)
        }
        columns["matches"] = pa.array([total[0] for total in totals.values()], pa.int64())
        columns["files"] = pa.array([total[1] for total in totals.values()], pa.int64())
        return pa.table(columns)
