"""Find definitions by name: patterns run over the distinct names of a corpus, filters work as for text.

A file matches when the tree holds for the names of its definitions. Its rows are the definitions that match a term
outside NOT. Declarations without a body are left out: the definition is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, mask_of, runs
from sourcelight.core.boolean import And, Not, Or
from sourcelight.core.cancellation import Cancellation, ScanStopped, Stopped, check_stopped
from sourcelight.core.errors import Cancelled, SourcelightError
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search import model
from sourcelight.engines.search.definition_tables import count_large_notebooks, missing_files, pending_count
from sourcelight.engines.search.open_index import CorpusCache, OpenedTargets, open_targets
from sourcelight.engines.search.scan.columns import BatchSource, CollectedBatches
from sourcelight.engines.search.scan.corpus import MAX_NAMED_MISSING
from sourcelight.engines.search.scan.evaluate import CorpusSearch
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.searcher import MatchCounts, OnNotes, PendingPart
from sourcelight.engines.search.symbol_corpus import SymbolCorpus, SymbolRows, symbol_batch
from sourcelight.engines.symbols import SymbolTable, kind_code

PENDING = "symbols-pending"
"""Reason in `SearchPart.skipped` for files whose definitions are not parsed yet."""

INCOMPLETE = "symbols-incomplete"
"""Reason in `SearchPart.skipped` for files that were too large, too slow or too broken to parse."""

MISSING = "missing"
"""Reason in `SearchPart.skipped` for files with a grammar whose content a partial clone lacks."""

_FIRST_BATCH_ROWS = 256
"""Rows of the first batch: few, so that they are shown early."""

_MAX_BATCH_ROWS = 4096
"""Maximum rows of a batch."""

_GROWTH = 4
"""Factor of the rows of each further batch."""

Opener = Callable[[model.Target], tuple[OpenedCommit, str, list[SymbolTable | None]]]
_EMPTY: Int64Array = np.zeros(0, dtype=np.int64)
_NO_ROWS = SymbolRows(model.FileNumbers(_EMPTY), model.DocumentNumbers(_EMPTY), _EMPTY)


class _SymbolSearch:
    """A query over the definitions of a group of targets; raises `ScanStopped` when `stopped` returns True."""

    def __init__(
        self,
        group: OpenedTargets,
        tables: Sequence[Sequence[SymbolTable | None]],
        query: model.TextQuery,
        stopped: Stopped,
        corpora: CorpusCache,
    ) -> None:
        self.group = group
        self.corpus = corpora.get(group.snapshots)
        self.stopped = stopped
        self.search = CorpusSearch(self.corpus, model.prepare(_query_names(query)), stopped)
        self._member_tables = tables
        self.tables = [tables[member][number] for member, number in self.corpus.member_shards]

        # The joined names are cached with the text corpus. Tables appear while definitions are built, so the cache is
        # checked against the tables of this search.
        symbol_corpus = self.corpus.symbol_corpus
        if not isinstance(symbol_corpus, SymbolCorpus) or not symbol_corpus.has_tables(self.tables):
            self.corpus.symbol_corpus = SymbolCorpus(self.corpus, self.tables)

        self.symbols: SymbolCorpus = self.corpus.symbol_corpus

    def definitions(self, kinds: Collection[str]) -> SymbolRows:
        """Find the definitions that match."""
        rows = self._matching_rows()
        if kinds:
            codes = [kind_code(kind) for kind in kinds]
            known_codes = [code for code in codes if code is not None]
            rows = self.symbols.of_kinds(rows, np.array(known_codes, dtype=np.uint8))
        if not len(rows):
            return _NO_ROWS

        selection = self.search.selection
        document = self.symbols.documents_of(rows)
        first_positions = selection.first_position[document]
        file_counts = selection.first_position[document + 1] - first_positions

        # One document may be the content of several files; its definitions are repeated for each.
        file = selection.files[runs(first_positions, file_counts)]
        rows = np.repeat(rows, file_counts)
        document = np.repeat(document, file_counts)

        # Documents are numbered in path order unless they were added by later commits; then, and without copies, rows
        # are sorted already.
        if not selection.is_ordered or not bool((file_counts <= 1).all()):
            order = np.argsort(file, kind="stable")
            file, document, rows = file[order], document[order], rows[order]

        return SymbolRows(model.FileNumbers(file), model.DocumentNumbers(document), rows)

    def _matching_rows(self) -> Int64Array:
        """Return the definitions, ascending, that a visible term matches, in documents for which the tree holds."""
        prepared = self.search.prepared
        if prepared.tree is None:
            return self.symbols.rows()

        rows_by_term: list[Int64Array] = []
        for term in prepared.terms:
            check_stopped(self.stopped)
            # Names of definitions have no structure.
            if isinstance(term.pattern, CompiledPattern):
                rows_by_term.append(self.symbols.rows_named(term.pattern))

        # A required term without any definition ends the search before files are looked at.
        if not prepared.may_match(lambda term: len(rows_by_term[term]) > 0):
            return _EMPTY

        visible_rows = [rows_by_term[term] for term in sorted(prepared.visible)]
        if len(visible_rows) == 1:
            rows = visible_rows[0]
        else:
            rows = np.unique(np.concatenate([_EMPTY, *visible_rows]))
        if prepared.is_single:
            return rows
        # Several terms: the tree holds for a document, not for a name, as in a text search.
        return rows[self._matching_documents(rows_by_term)[self.symbols.documents_of(rows)]]

    def _matching_documents(self, rows_by_term: Sequence[Int64Array]) -> BoolArray:
        """Return for which documents the tree holds."""
        values = [mask_of(self.symbols.documents_of(rows), self.corpus.documents) for rows in rows_by_term]
        return self.search.prepared.matching_files(values, self.corpus.documents)

    def missing_files(self, member: int) -> tuple[str, ...]:
        """Name the first files of a member that pass the filters and whose content the clone lacks."""
        view = self.group.snapshots[member].view
        first = missing_files(view, self._mask(member))[:MAX_NAMED_MISSING].tolist()
        return tuple(f"{view.path(number)} (blob {view.blob_id(number)})" for number in first)

    def _mask(self, member: int) -> BoolArray | None:
        mask = self.search.selection.mask
        if mask is None:
            return None
        start, end = self.corpus.file_base[member : member + 2].tolist()
        return mask[start:end]

    def skipped_counts(self) -> list[dict[str, int]]:
        """Count, for each member, the files that pass the filters and whose definitions are missing or incomplete."""
        query = self.search.prepared.query
        key = ("lacking", query.files, query.languages, tuple(map(id, self.tables)))
        members = range(len(self.group.targets))
        return self.corpus.remember(key, lambda: [self._count_skipped(member) for member in members])

    def _count_skipped(self, member: int) -> dict[str, int]:
        snapshot = self.group.snapshots[member]
        mask = self._mask(member)
        incomplete = count_large_notebooks(snapshot.view, mask)
        counts = {PENDING: 0, INCOMPLETE: incomplete, MISSING: len(missing_files(snapshot.view, mask))}
        for shard_index, table in enumerate(self._member_tables[member]):
            counts[PENDING] += pending_count(snapshot.view, shard_index, table, mask)
            if table is not None and table.doc_state.any():
                placement = snapshot.placement(shard_index)
                is_incomplete = table.doc_state[placement.documents] != 0
                if mask is not None:
                    is_incomplete &= mask[placement.files]
                counts[INCOMPLETE] += int(np.count_nonzero(is_incomplete))

        return {reason: count for reason, count in counts.items() if count}


def search(
    open_target: Opener,
    targets: Sequence[model.Target],
    query: model.TextQuery,
    kinds: Collection[str],
    options: model.SearchOptions,
    cancellation: Cancellation,
    corpora: CorpusCache,
) -> Iterator[model.SearchPart]:
    """Yield the result in parts; see `IndexStore.search_symbols`."""
    pending = PendingPart()
    matches = 0
    batch_rows = _FIRST_BATCH_ROWS
    try:
        for group, symbol_search in _open_searches(
            open_target, targets, query=query, cancellation=cancellation, corpora=corpora
        ):
            pending.failed.update(group.failed)
            if symbol_search is None:
                continue

            corpus = symbol_search.corpus
            definitions = symbol_search.definitions(kinds)
            report = _MemberReport(pending, symbol_search)
            source = BatchSource(corpus, symbol_search.search, group.targets, group.commits, group.locations)
            position = 0
            while position < len(definitions):
                check_stopped(symbol_search.stopped)
                end = _end_of_file(definitions, position + batch_rows)
                rows = definitions.slice(position, end)
                matches += len(rows)
                batch = symbol_batch(rows, corpus, symbol_search.symbols, source)

                # Members before that of the next file are searched to their end.
                next_file = int(definitions.file[end]) if end < len(definitions) else corpus.files
                report.finish_up_to(int(corpus.member_of(model.FileNumbers(np.array([next_file])))[0]))
                yield pending.take(CollectedBatches((batch,), len(rows), len(np.unique(rows.file))))
                if options.max_matches is not None and matches >= options.max_matches:
                    return

                position = end
                batch_rows = min(batch_rows * _GROWTH, _MAX_BATCH_ROWS)

            check_stopped(symbol_search.stopped)
            report.finish_up_to(len(group.targets))
            if pending.is_overdue:
                yield pending.take()
    except ScanStopped:
        pass

    if pending.has_notes:
        yield pending.take()


def _end_of_file(definitions: SymbolRows, row: int) -> int:
    """Return the end of the file with the last row before `row`, so that no file is split over two batches."""
    last_file = definitions.file[min(row, len(definitions)) - 1]
    return int(definitions.file.searchsorted(last_file, side="right"))


def _open_searches(
    open_target: Opener,
    targets: Sequence[model.Target],
    *,
    query: model.TextQuery,
    cancellation: Cancellation,
    corpora: CorpusCache,
) -> Iterator[tuple[OpenedTargets, _SymbolSearch | None]]:
    """Yield each group of targets and its search; raises `ScanStopped`."""
    tables: dict[tuple[str, str], Sequence[SymbolTable | None]] = {}

    def opening(target: model.Target) -> tuple[OpenedCommit, str]:
        snapshot, commit, definitions = open_target(target)
        tables[target.repository.key, snapshot.view.name] = definitions
        return snapshot, commit

    for group in open_targets(opening, targets, cancellation):
        pairs = zip(group.targets, group.snapshots, strict=True)
        of_group = [tables[target.repository.key, snapshot.view.name] for target, snapshot in pairs]
        if group.targets:
            yield group, _SymbolSearch(group, of_group, query, lambda: cancellation.stopped, corpora)
        else:
            yield group, None


class _MemberReport:
    """Reports the members of a group that are searched to their end, in their order."""

    def __init__(self, pending: PendingPart, symbol_search: _SymbolSearch) -> None:
        self._pending = pending
        self._search = symbol_search
        self._skipped = symbol_search.skipped_counts()
        self._finished = 0

    def finish_up_to(self, end: int) -> None:
        """Report the members below `end` that were not reported yet."""
        for member in range(self._finished, end):
            name = self._search.group.targets[member].repository.name
            self._pending.done.append(name)
            self._pending.add_skipped(name, self._skipped[member])
            if MISSING in self._skipped[member]:
                self._pending.missing[name] = self._search.missing_files(member)
        self._finished = max(self._finished, end)


def count(
    open_target: Opener,
    targets: Sequence[model.Target],
    query: model.TextQuery,
    kinds: Collection[str],
    by: Sequence[model.GroupBy],
    cancellation: Cancellation,
    corpora: CorpusCache,
    on_notes: OnNotes = None,
) -> Any:
    """Count definitions and their files; see `IndexStore.count_symbols`."""
    counts = MatchCounts(by)
    errors: list[Exception] = []

    def opening(target: model.Target) -> tuple[OpenedCommit, str, list[SymbolTable | None]]:
        try:
            return open_target(target)
        except (SourcelightError, OSError) as error:
            errors.append(error)
            raise

    try:
        for group, symbol_search in _open_searches(
            opening, targets, query=query, cancellation=cancellation, corpora=corpora
        ):
            if errors:
                # A count must not leave out a repository silently, so the first error is raised.
                raise errors[0]

            if symbol_search is not None:
                files, sums = np.unique(symbol_search.definitions(kinds).file, return_counts=True)
                counts.add(symbol_search.corpus, group.targets, model.FileNumbers(files), sums)
                if on_notes is not None:
                    pending = PendingPart()
                    _MemberReport(pending, symbol_search).finish_up_to(len(group.targets))
                    on_notes(pending.take())
    except ScanStopped:
        raise Cancelled("stopped before all was counted") from None

    cancellation.check()
    return counts.table()


def _query_names(query: model.TextQuery) -> model.TextQuery:
    """Return a query whose terms are matched against names of definitions alone."""

    def convert(node: model.MatchTree) -> model.MatchTree:
        if isinstance(node, model.FileTerm):
            return model.FileTerm(node.pattern, content=True, path=False)
        if isinstance(node, Not):
            return Not(convert(node.arg))
        # A pattern on paths would otherwise match no definition name.
        args = tuple(convert(arg) for arg in node.args)
        return And(args) if isinstance(node, And) else Or(args)

    if query.tree is None:
        return query
    return replace(query, tree=convert(query.tree))
