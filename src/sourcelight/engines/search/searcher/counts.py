"""Count matches and files by repository, language or path, without reading lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cancellation import Cancellation, ScanStopped
from sourcelight.core.errors import Cancelled, SourcelightError
from sourcelight.engines.search import model
from sourcelight.engines.search.open_index import CorpusCache, Opener, open_targets
from sourcelight.engines.search.scan.batches import BatchSizer
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.evaluate import CorpusSearch
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.searcher.parts import FinishedRepositories, PendingPart

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
