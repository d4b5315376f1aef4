"""Run a query over the cells of many repositories and yield the result in parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sourcelight.core.cancellation import Cancellation, ScanStopped, check_stopped
from sourcelight.core.cells import CELL_PATHS, MARKERS, CellDocument, CellText, is_jupyter
from sourcelight.core.errors import Cancelled
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.query.fields import OUTPUT
from sourcelight.core.query.languages import language_of
from sourcelight.engines.search.cells.evaluate import CellMatches, FileCells, PossibleMatch, matching_cells
from sourcelight.engines.search.cells.reader import MALFORMED, PAIRED, UNREAD, CellReader
from sourcelight.engines.search.cells.rows import FileOfRows, record_batch
from sourcelight.engines.search.model import (
    FileFilter,
    FileNumbers,
    FileTerm,
    GroupBy,
    LanguageFilter,
    LanguageTest,
    PreparedQuery,
    SearchOptions,
    SearchPart,
    Target,
    TextQuery,
    prepare,
)
from sourcelight.engines.search.open_index import CorpusCache, OpenedTargets
from sourcelight.engines.search.scan.batches import BatchSizer
from sourcelight.engines.search.scan.columns import file_values
from sourcelight.engines.search.scan.corpus import MAX_NAMED_MISSING, Corpus
from sourcelight.engines.search.scan.evaluate import CorpusSearch
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.searcher import OnNotes

_BATCH_BYTES, _BATCH_FILES = 1 << 21, 64
"""Text and files that are matched together: little enough that a search can be stopped, and shows rows early."""

OpenGroups = Callable[[Sequence[Target], Cancellation], Iterator[OpenedTargets]]


@dataclass(frozen=True, slots=True)
class CellSearch:
    """The part of the store that a search of cells uses."""

    open_groups: OpenGroups
    corpora: CorpusCache
    reader: CellReader

    def search(
        self, targets: Sequence[Target], query: TextQuery, options: SearchOptions, cancellation: Cancellation
    ) -> Iterator[SearchPart]:
        """Yield the result in parts, by repository and path; see `model.Searcher.search`."""
        prepared = prepare(query)
        matches = 0
        for group in self.open_groups(targets, cancellation):
            if group.failed:
                yield SearchPart(failed=group.failed)

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
        self, group: OpenedTargets, prepared: PreparedQuery, options: SearchOptions, cancellation: Cancellation
    ) -> Iterator[SearchPart]:
        query = prepared.query
        corpus = self.corpora.get(group.snapshots)
        possible, with_outputs = PossibleMatch(prepared), OUTPUT in query.cells
        numbers = _files_with_cells(corpus, query, lambda: cancellation.stopped)
        bounds = np.searchsorted(numbers, corpus.file_base).tolist()
        for member, (target, snapshot) in enumerate(zip(group.targets, group.snapshots, strict=True)):
            skipped: dict[str, int] = {}
            unread: dict[str, tuple[str, ...]] = {}
            matching_paths: set[str] = set()
            batch: list[FileCells] = []
            size = 0
            base = int(corpus.file_base[member])
            files = [number - base for number in numbers[bounds[member] : bounds[member + 1]].tolist()]
            candidates = _TargetFiles(self.reader, target, snapshot, query.cells)
            for number in candidates.files_to_read(files, possible, cancellation):
                cells = self.reader.read(target, snapshot, number, with_outputs=with_outputs)
                if isinstance(cells, str):
                    reason = cells
                elif cells.malformed:
                    reason = MALFORMED
                else:
                    reason = ""
                if reason:
                    skipped[reason] = skipped.get(reason, 0) + 1
                    if reason in UNREAD and len(unread.get(reason, ())) < MAX_NAMED_MISSING:
                        unread[reason] = (*unread.get(reason, ()), snapshot.view.path(number))

                if isinstance(cells, str):
                    continue

                texts = _select_texts(cells, query, language_of(snapshot.view.path(number)))
                if texts:
                    batch.append(FileCells(number, texts, cells.language))
                    size += sum(len(text.text) for text in texts)

                if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
                    yield self._part(corpus, group, member, batch, prepared, options, cancellation, matching_paths)
                    batch, size = [], 0

            last = self._part(corpus, group, member, batch, prepared, options, cancellation, matching_paths)
            pairs = _count_pairs(matching_paths)
            if pairs:
                skipped[PAIRED] = pairs

            name = target.repository.name
            yield SearchPart(
                last.batches,
                (name,),
                last.matches,
                last.files,
                skipped={name: skipped} if skipped else {},
                unread_cells={name: unread} if unread else {},
            )

    @staticmethod
    def _part(
        corpus: Corpus,
        group: OpenedTargets,
        member: int,
        batch: Sequence[FileCells],
        prepared: PreparedQuery,
        options: SearchOptions,
        cancellation: Cancellation,
        matching_paths: set[str],
    ) -> SearchPart:
        """Return the matches in some files, whose paths are added to `matching_paths`."""
        view = group.snapshots[member].view
        all_matches = list(matching_cells(batch, prepared, lambda: cancellation.stopped))
        numbers = FileNumbers(np.array([matches.file for matches in all_matches], np.int64) + corpus.file_base[member])
        columns = file_values(corpus, numbers)
        matching_files: list[tuple[FileOfRows, CellMatches]] = []
        for index, matches in enumerate(all_matches):
            path = view.path(matches.file)
            matching_paths.add(path)
            values = {name: of_files[codes[index]] for name, (of_files, codes) in columns.items()}
            # A notebook's language is its cells' language.
            values["language"] = matches.language or language_of(path) or None
            matching_files.append(
                (
                    FileOfRows(target=group.targets[member], commit=group.commits[member], path=path, values=values),
                    matches,
                )
            )

        rows = record_batch(matching_files, options)
        return SearchPart(
            batches=() if rows is None else (rows,),
            repositories_done=(),
            matches=sum(matches.matches for _, matches in matching_files),
            files=len(matching_files),
        )

    def count(
        self,
        targets: Sequence[Target],
        query: TextQuery,
        by: Sequence[GroupBy],
        cancellation: Cancellation,
        note: OnNotes,
    ) -> Any:
        """Count matches and files; see `model.Searcher.count`. A file counts with the language of each match."""
        import pyarrow as pa

        totals: dict[tuple[str | None, ...], list[int]] = {}
        options = SearchOptions(in_path_order=True)
        for part in self.search(targets, query, options, cancellation):
            if note is not None:
                note(replace(part, batches=(), matches=0, files=0))

            for batch in part.batches:
                columns = ["repository", "revision", "commit", "path", "language", "match_count"]
                seen: set[tuple[str | None, ...]] = set()
                for row in batch.select(columns).to_pylist():
                    key = tuple(row[name] for name in by)
                    total = totals.setdefault(key, [0, 0])
                    total[0] += row["match_count"]
                    file = (*key, row["repository"], row["revision"], row["path"])
                    total[1] += file not in seen
                    seen.add(file)

        if cancellation.stopped:
            raise Cancelled("stopped before all was counted")

        table: dict[str, Any] = {
            name: pa.array([key[position] for key in totals], pa.string()) for position, name in enumerate(by)
        }
        table["matches"] = pa.array([total[0] for total in totals.values()], pa.int64())
        table["files"] = pa.array([total[1] for total in totals.values()], pa.int64())
        return pa.table(table)


@dataclass(frozen=True, slots=True)
class _TargetFiles:
    """The files of one target, and how their cells are read."""

    reader: CellReader
    target: Target
    snapshot: OpenedCommit
    kinds: frozenset[str]

    def files_to_read(self, files: Sequence[int], possible: PossibleMatch, cancellation: Cancellation) -> Iterator[int]:
        """Yield the files that may have a matching cell; raises `ScanStopped`."""
        for start in range(0, len(files), _BATCH_FILES):
            batch = files[start : start + _BATCH_FILES]
            texts: dict[int, bytes] = {}
            is_tested = possible.is_useful()
            for file in batch if is_tested else ():
                check_stopped(lambda: cancellation.stopped)
                text = self.reader.quick_text(self.target, self.snapshot, file, self.kinds)
                if text is not None:
                    texts[file] = text

            may_hold = possible.files(list(texts.values()), lambda: cancellation.stopped)
            impossible = {file for file, holds in zip(texts, may_hold, strict=True) if not holds}
            for file in batch:
                check_stopped(lambda: cancellation.stopped)
                if file not in impossible:
                    yield file


def _files_with_cells(corpus: Corpus, query: TextQuery, stopped: Callable[[], bool]) -> np.ndarray[Any, Any]:
    """Return the files, ascending, that pass the filters by path and have cells: notebooks, and files with markers."""
    cell_filter = FileFilter(compile_pattern(CELL_PATHS, kind="regexp", case_sensitive=True, whole_text=True))
    selection = CorpusSearch(corpus, prepare(TextQuery(None, (*query.files, cell_filter))), stopped).selection

    # Also those without content: a notebook above the size limit of the index is read from the repository.
    files = [selection.files, selection.name_only]
    for paths, line in MARKERS.items():
        path_filter = FileFilter(compile_pattern(paths, kind="regexp", case_sensitive=True, whole_text=True))
        marker = FileTerm(compile_pattern(line, kind="regexp", case_sensitive=True), path=False)
        search = CorpusSearch(corpus, prepare(TextQuery(marker, (*query.files, path_filter))), stopped)
        files += [matches.content_files for matches in search.file_matches(BatchSizer())]

    return np.unique(np.concatenate(files))


def _count_pairs(paths: Collection[str]) -> int:
    """Count the Jupyter notebooks that have a text notebook of the same name beside them, as jupytext pairs them."""
    stems = Counter(path.rpartition(".")[0] for path in paths)
    return sum(is_jupyter(path) and stems[path[:-6]] > 1 for path in paths)


def _select_texts(cells: CellDocument, query: TextQuery, file_language: str) -> list[CellText]:
    """Return the texts of the kinds and languages that a query looks at."""
    return [
        text
        for text in cells.texts
        if text.kind in query.cells and all(_passes(test, text.language, file_language) for test in query.languages)
    ]


def _passes(test: LanguageTest, *languages: str) -> bool:
    """Return whether the language of a text, or of its file by the path, passes a filter."""
    if not isinstance(test, LanguageFilter):
        return any(language in test.names for language in languages)
    return (test.name.casefold() in {language.casefold() for language in languages}) != test.negated
