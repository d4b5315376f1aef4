"""Run a query over the cells of many repositories and yield the result in parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cancellation import Cancellation, ScanStopped, Stopped, check_stopped
from sourcelight.core.cells import CELL_PATHS, MARKERS, CellDocument, CellText, is_jupyter
from sourcelight.core.errors import Cancelled
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.query.fields import OUTPUT
from sourcelight.core.query.languages import language_of
from sourcelight.engines.search import model
from sourcelight.engines.search.cells.evaluate import CellMatches, FileCells, PossibleMatch, matching_cells
from sourcelight.engines.search.cells.reader import MALFORMED, PAIRED, UNREAD, CellReader
from sourcelight.engines.search.cells.rows import FileOfRows, record_batch
from sourcelight.engines.search.open_index import CorpusCache, OpenedTargets
from sourcelight.engines.search.scan.batches import BatchSizer
from sourcelight.engines.search.scan.columns import file_values
from sourcelight.engines.search.scan.corpus import MAX_NAMED_MISSING, Corpus
from sourcelight.engines.search.scan.evaluate import CorpusSearch
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.searcher import OnNotes

_BATCH_BYTES = 1 << 21
"""Bytes of text that are matched together: little enough that a search can be stopped, and shows rows early."""

_BATCH_FILES = 64
"""Files that are matched together, for the same reason."""

_COUNTED_COLUMNS = ["repository", "revision", "commit", "path", "language", "match_count"]
"""Columns that a count of cells reads."""

OpenGroups = Callable[[Sequence[model.Target], Cancellation], Iterator[OpenedTargets]]


@dataclass(frozen=True, slots=True)
class CellSearch:
    """The part of the store that a search of cells uses."""

    open_groups: OpenGroups
    corpora: CorpusCache
    reader: CellReader

    def search(
        self,
        targets: Sequence[model.Target],
        query: model.TextQuery,
        options: model.SearchOptions,
        cancellation: Cancellation,
    ) -> Iterator[model.SearchPart]:
        """Yield the result in parts, by repository and path; see `model.Searcher.search`."""
        prepared = model.prepare(query)
        matches = 0
        for group in self.open_groups(targets, cancellation):
            if group.failed:
                yield model.SearchPart(failed=group.failed)

            if not group.targets:
                continue

            try:
                for part in self._parts(group, prepared, options, cancellation):
                    yield part
                    matches += part.matches
                    if options.max_matches is not None and matches >= options.max_matches:
                        return
            except ScanStopped:
                return

    def _parts(
        self,
        group: OpenedTargets,
        prepared: model.PreparedQuery,
        options: model.SearchOptions,
        cancellation: Cancellation,
    ) -> Iterator[model.SearchPart]:
        corpus = self.corpora.get(group.snapshots)
        possible = PossibleMatch(prepared)
        files = _files_with_cells(corpus, prepared.query, lambda: cancellation.stopped)
        bounds = np.searchsorted(files, corpus.file_base).tolist()
        for member, (start, end) in enumerate(pairwise(bounds)):
            search = _TargetSearch(
                reader=self.reader,
                corpus=corpus,
                group=group,
                member=member,
                prepared=prepared,
                options=options,
                cancellation=cancellation,
            )
            view_files = files[start:end] - int(corpus.file_base[member])
            yield from search.parts(view_files.tolist(), possible)

    def count(
        self,
        targets: Sequence[model.Target],
        query: model.TextQuery,
        by: Sequence[model.GroupBy],
        cancellation: Cancellation,
        note: OnNotes,
    ) -> Any:
        """Count matches and files; see `model.Searcher.count`. A file counts with the language of each match."""
        import pyarrow as pa

        totals: dict[tuple[str | None, ...], list[int]] = {}
        options = model.SearchOptions(in_path_order=True)
        for part in self.search(targets, query, options, cancellation):
            if note is not None:
                note(replace(part, batches=(), matches=0, files=0))

            # The rows of a file are in one batch.
            for batch in part.batches:
                seen: set[tuple[str | None, ...]] = set()
                for row in batch.select(_COUNTED_COLUMNS).to_pylist():
                    key = tuple(row[name] for name in by)
                    total = totals.setdefault(key, [0, 0])
                    total[0] += row["match_count"]
                    file = (*key, row["repository"], row["revision"], row["path"])
                    if file not in seen:
                        seen.add(file)
                        total[1] += 1

        if cancellation.stopped:
            raise Cancelled("stopped before all was counted")

        table: dict[str, Any] = {}
        for position, name in enumerate(by):
            table[name] = pa.array([key[position] for key in totals], pa.string())
        table["matches"] = pa.array([total[0] for total in totals.values()], pa.int64())
        table["files"] = pa.array([total[1] for total in totals.values()], pa.int64())
        return pa.table(table)


@dataclass(slots=True)
class _TargetSearch:
    """The search of one target of a corpus.

    Attributes
    ----------
    member
        Index of the target in `group` and in `corpus`.
    skipped
        Number of files that were not or not entirely searched, by reason.
    unread
        For the reasons in `UNREAD`, the paths of the first such files.
    matching_paths
        Paths of the files with a match.
    """

    reader: CellReader
    corpus: Corpus
    group: OpenedTargets
    member: int
    prepared: model.PreparedQuery
    options: model.SearchOptions
    cancellation: Cancellation
    skipped: Counter[str] = field(default_factory=Counter)
    unread: dict[str, tuple[str, ...]] = field(default_factory=dict)
    matching_paths: set[str] = field(default_factory=set)

    @property
    def target(self) -> model.Target:
        """The target."""
        return self.group.targets[self.member]

    @property
    def snapshot(self) -> OpenedCommit:
        """The commit of the target."""
        return self.group.snapshots[self.member]

    def parts(self, files: Sequence[int], possible: PossibleMatch) -> Iterator[model.SearchPart]:
        """Yield the matches in some files of the view; the last part says that the repository is done."""
        batch: list[FileCells] = []
        size = 0
        for file in self._files_to_read(files, possible):
            cells = self._read(file)
            if cells is not None:
                batch.append(cells)
                size += sum(len(text.text) for text in cells.texts)

            if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                yield self._match(batch)
                batch = []
                size = 0

        last_part = self._match(batch)
        pairs = _count_pairs(self.matching_paths)
        if pairs:
            self.skipped[PAIRED] = pairs

        name = self.target.repository.name
        yield replace(
            last_part,
            repositories_done=(name,),
            skipped={name: dict(self.skipped)} if self.skipped else {},
            unread_cells={name: self.unread} if self.unread else {},
        )

    def _files_to_read(self, files: Sequence[int], possible: PossibleMatch) -> Iterator[int]:
        """Yield the files that may have a matching cell; raises `ScanStopped`."""
        for start in range(0, len(files), _BATCH_FILES):
            batch = files[start : start + _BATCH_FILES]
            impossible: set[int] = set()
            if possible.is_useful():
                impossible = self._impossible_files(batch, possible)

            for file in batch:
                check_stopped(self._is_stopped)
                if file not in impossible:
                    yield file

    def _impossible_files(self, files: Sequence[int], possible: PossibleMatch) -> set[int]:
        """Return the files whose text, read without its cells, shows that none of these can match."""
        texts: dict[int, bytes] = {}
        for file in files:
            check_stopped(self._is_stopped)
            text = self.reader.quick_text(self.target, self.snapshot, file, self.prepared.query.cells)
            if text is not None:
                texts[file] = text

        may_match = possible.files(list(texts.values()), self._is_stopped)
        return {file for file, may_hold in zip(texts, may_match, strict=True) if not may_hold}

    def _read(self, file: int) -> FileCells | None:
        """Return the texts of a file that the query looks at, or None without any."""
        query = self.prepared.query
        cells = self.reader.read(self.target, self.snapshot, file, with_outputs=OUTPUT in query.cells)
        if isinstance(cells, str):
            self._skip(file, cells)
            return None
        if cells.malformed:
            self._skip(file, MALFORMED)

        texts = _select_texts(cells, query, language_of(self.snapshot.view.path(file)))
        return FileCells(file, texts, cells.language) if texts else None

    def _skip(self, file: int, reason: str) -> None:
        self.skipped[reason] += 1
        paths = self.unread.get(reason, ())
        if reason in UNREAD and len(paths) < MAX_NAMED_MISSING:
            self.unread[reason] = (*paths, self.snapshot.view.path(file))

    def _match(self, batch: Sequence[FileCells]) -> model.SearchPart:
        """Return the matches in some files, and note their paths."""
        all_matches = list(matching_cells(batch, self.prepared, self._is_stopped))
        view_files = np.array([matches.file for matches in all_matches], np.int64)
        columns = file_values(self.corpus, model.FileNumbers(view_files + self.corpus.file_base[self.member]))

        matching_files: list[tuple[FileOfRows, CellMatches]] = []
        for index, matches in enumerate(all_matches):
            path = self.snapshot.view.path(matches.file)
            self.matching_paths.add(path)
            values = {name: values_of_files[codes[index]] for name, (values_of_files, codes) in columns.items()}
            # A notebook's language is its cells' language.
            values["language"] = matches.language or language_of(path) or None
            file = FileOfRows(self.target, self.group.commits[self.member], path, values)
            matching_files.append((file, matches))

        rows = record_batch(matching_files, self.options)
        return model.SearchPart(
            batches=() if rows is None else (rows,),
            matches=sum(matches.matches for matches in all_matches),
            files=len(matching_files),
        )

    def _is_stopped(self) -> bool:
        return self.cancellation.stopped


def _files_with_cells(corpus: Corpus, query: model.TextQuery, stopped: Stopped) -> Int64Array:
    """Return the files, ascending, that pass the filters by path and have cells: notebooks, and files with markers."""
    notebooks = model.TextQuery(None, (*query.files, _path_filter(CELL_PATHS)))
    selection = CorpusSearch(corpus, model.prepare(notebooks), stopped).selection

    # Also those without content: a notebook above the size limit of the index is read from the repository.
    files = [selection.files, selection.name_only]
    for paths, line in MARKERS.items():
        marker = model.FileTerm(compile_pattern(line, kind="regexp", case_sensitive=True), path=False)
        with_marker = model.TextQuery(marker, (*query.files, _path_filter(paths)))
        search = CorpusSearch(corpus, model.prepare(with_marker), stopped)
        files += [matches.content_files for matches in search.file_matches(BatchSizer())]

    return np.unique(np.concatenate(files))


def _path_filter(paths: str) -> model.FileFilter:
    return model.FileFilter(compile_pattern(paths, kind="regexp", case_sensitive=True, whole_text=True))


def _count_pairs(paths: Collection[str]) -> int:
    """Count the Jupyter notebooks that have a text notebook of the same name beside them, as jupytext pairs them."""
    files_of_stem = Counter(_stem(path) for path in paths)
    return sum(is_jupyter(path) and files_of_stem[_stem(path)] > 1 for path in paths)


def _stem(path: str) -> str:
    """Return a path without the ending of its name."""
    return path.rpartition(".")[0]


def _select_texts(cells: CellDocument, query: model.TextQuery, file_language: str) -> list[CellText]:
    """Return the texts of the kinds and languages that a query looks at."""
    texts = []
    for text in cells.texts:
        languages = (text.language, file_language)
        if text.kind in query.cells and all(_passes(test, languages) for test in query.languages):
            texts.append(text)
    return texts


def _passes(test: model.LanguageTest, languages: Collection[str]) -> bool:
    """Return whether the language of a text, or of its file by the path, passes a filter."""
    if not isinstance(test, model.LanguageFilter):
        return any(language in test.names for language in languages)
    name = test.name.casefold()
    return any(language.casefold() == name for language in languages) != test.negated
