"""Finding definitions by name: patterns run over all distinct names of a fleet, files are chosen as for text.

A file is found when the query's tree holds for the names of its definitions; its rows are the definitions that match
a pattern outside NOT. Functions that are only declared are left out, their bodies stand elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Cancellation, ScanStopped, Stopped, check
from sourcelight.core.errors import Cancelled, SourcelightError
from sourcelight.engines.search.model import (
    And,
    FileTerm,
    GroupBy,
    MatchTree,
    Not,
    Or,
    SearchOptions,
    SearchPart,
    Target,
    TextQuery,
    plan,
)
from sourcelight.engines.search.scan.columns import (
    BatchSource,
    CollectedBatches,
    FileRows,
    file_columns,
    path_span_columns,
)
from sourcelight.engines.search.scan.corpus import MAX_NAMED_MISSING, OpenedCommit
from sourcelight.engines.search.scan.evaluate import CorpusSearch, runs
from sourcelight.engines.search.scan.text import arrow_array, arrow_binary, code_points, text_column
from sourcelight.engines.search.searcher import CorpusCache, MatchCounts, Note, OpenedTargets, PendingPart, opened
from sourcelight.engines.search.side_tables import missing, pending
from sourcelight.engines.search.symbol_corpus import SymbolCorpus
from sourcelight.engines.symbols import KINDS, SymbolTable, kind_code

PENDING = "symbols-pending"
"""Reason in `SearchPart.skipped` for files whose definitions are not computed yet."""

INCOMPLETE = "symbols-incomplete"
"""Reason in `SearchPart.skipped` for files that were too large, too slow or too broken to parse."""

MISSING = "missing"
"""Reason in `SearchPart.skipped` for files with a grammar whose content a partial clone lacks."""

LONGEST_LINE = 4096
"""Bytes above which a line is not shown beside a definition: a bundled file has thousands of them in one line."""

_FIRST_ROWS, _LARGEST_ROWS, _GROWTH = 256, 4096, 4

Places = NDArray[np.int64]
Opener = Callable[[Target], tuple[OpenedCommit, str, list[SymbolTable | None]]]


@dataclass(frozen=True, slots=True)
class _SymbolRows:
    """Definitions, sorted by file, with the file and the document of each."""

    file: Places
    document: Places
    row: Places

    def __len__(self) -> int:
        return len(self.file)

    def part(self, first: int, last: int) -> _SymbolRows:
        """Give some of them."""
        return _SymbolRows(self.file[first:last], self.document[first:last], self.row[first:last])


class _SymbolSearch:
    """A query over the definitions of what was opened together; raises `ScanStopped` once `stopped` says so."""

    def __init__(
        self,
        group: OpenedTargets,
        tables: Sequence[Sequence[SymbolTable | None]],
        query: TextQuery,
        stopped: Stopped,
        fleets: CorpusCache,
    ) -> None:
        self.group = group
        self.fleet = fleets.of(group.snapshots)
        self.stopped = stopped
        self.running = CorpusSearch(self.fleet, plan(_over_names(query)), stopped)
        self._of_member = tables
        self.tables = [tables[member][number] for member, number in self.fleet.member_shards]
        known = getattr(self.fleet.symbol_corpus, "is_of", None)
        if known is None or not known(self.tables):
            self.fleet.symbol_corpus = SymbolCorpus(self.fleet, self.tables)
        self.symbols: SymbolCorpus = self.fleet.symbol_corpus

    def found(self, kinds: Collection[str]) -> _SymbolRows:
        """Find the definitions to show."""
        symbols, chosen, prepared = self.symbols, self.running.selection, self.running.prepared
        if prepared.root is None:
            rows = symbols.rows()
        else:
            named = []
            for atom in prepared.terms:
                check(self.stopped)
                named.append(symbols.rows_named(atom.pattern))
            if not prepared.may_match(lambda atom: len(named[atom]) > 0):
                return _NO_ROWS
            shown = [named[number] for number in sorted(prepared.visible)]
            rows = shown[0] if len(shown) == 1 else np.unique(np.concatenate([_NO_PLACES, *shown]))
            if not prepared.is_single:
                rows = rows[self._held(named)[symbols.documents_of(rows)]]
        if kinds:
            codes = [code for kind in kinds if (code := kind_code(kind)) is not None]
            rows = symbols.of_kinds(rows, np.array(codes, dtype=np.uint8))
        document = symbols.documents_of(rows)
        low = chosen.first_position[document]
        lengths = chosen.first_position[document + 1] - low
        file = chosen.files[runs(low, lengths)]
        rows, document = np.repeat(rows, lengths), np.repeat(document, lengths)
        if chosen.is_ordered and bool((lengths <= 1).all()):
            return _SymbolRows(file, document, rows)
        order = np.argsort(file, kind="stable")
        return _SymbolRows(file[order], document[order], rows[order])

    def _held(self, named: list[Places]) -> NDArray[np.bool_]:
        """For which documents the tree holds."""
        values = []
        for rows in named:
            held = np.zeros(self.fleet.documents, dtype=np.bool_)
            held[self.symbols.documents_of(rows)] = True
            values.append(held)
        return self.running.prepared.matching_files(values, self.fleet.documents)

    def missing(self, member: int) -> tuple[str, ...]:
        """Name the first files of a member that pass the filters and whose content is not there."""
        view = self.group.snapshots[member].view
        first = missing(view, self._chosen(member))[:MAX_NAMED_MISSING].tolist()
        return tuple(f"{view.path(number)} (blob {view.blob_id(number)})" for number in first)

    def _chosen(self, member: int) -> NDArray[np.bool_] | None:
        mask = self.running.selection.mask
        low, high = self.fleet.file_base[member : member + 2].tolist()
        return None if mask is None else mask[low:high]

    def skipped(self) -> list[dict[str, int]]:
        """Count for each member the files that pass the filters and whose definitions are not, or not all, known."""
        query = self.running.prepared.query
        key = ("lacking", query.files, query.languages, tuple(map(id, self.tables)))
        return self.fleet.remember(key, lambda: [self._lacking(at) for at in range(len(self.group.targets))])

    def _lacking(self, member: int) -> dict[str, int]:
        snapshot, tables, chosen = self.group.snapshots[member], self._of_member[member], self._chosen(member)
        counts = {PENDING: 0, INCOMPLETE: 0, MISSING: len(missing(snapshot.view, chosen))}
        for number, table in enumerate(tables):
            counts[PENDING] += pending(snapshot.view, number, table, chosen)
            if table is not None and table.doc_state.any():
                placement = snapshot.placement(number)
                bad = table.doc_state[placement.documents] != 0
                counts[INCOMPLETE] += int(np.count_nonzero(bad if chosen is None else bad & chosen[placement.files]))
        return {reason: count for reason, count in counts.items() if count}


_NO_PLACES: Places = np.zeros(0, dtype=np.int64)
_NO_ROWS = _SymbolRows(_NO_PLACES, _NO_PLACES, _NO_PLACES)


def _runs(
    open_target: Opener, targets: Sequence[Target], query: TextQuery, cancellation: Cancellation, fleets: CorpusCache
) -> Iterator[tuple[OpenedTargets, _SymbolSearch | None]]:
    """What is opened together, and the run over it; raises `ScanStopped`."""
    tables: dict[tuple[str, str], Sequence[SymbolTable | None]] = {}

    def opening(target: Target) -> tuple[OpenedCommit, str]:
        snapshot, commit, found = open_target(target)
        tables[target.repository.key, snapshot.view.name] = found
        return snapshot, commit

    for group in opened(opening, targets, cancellation):
        pairs = zip(group.targets, group.snapshots, strict=True)
        of_group = [tables[target.repository.key, snapshot.view.name] for target, snapshot in pairs]
        run = _SymbolSearch(group, of_group, query, lambda: cancellation.stopped, fleets) if group.targets else None
        yield group, run


def search(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    kinds: Collection[str],
    options: SearchOptions,
    cancellation: Cancellation,
    fleets: CorpusCache,
) -> Iterator[SearchPart]:
    """Yield the answer in parts; see `IndexStore.search_symbols`."""
    waiting = PendingPart()
    matches, pace = 0, _FIRST_ROWS
    try:
        for group, run in _runs(open_target, targets, query, cancellation, fleets):
            waiting.failed.update(group.failed)
            if run is None:
                continue
            found, skipped, told = run.found(kinds), run.skipped(), 0
            source = BatchSource(run.running, group.targets, group.commits)
            at = 0
            while at < len(found):
                check(run.stopped)
                stop = int(found.file.searchsorted(found.file[min(at + pace, len(found)) - 1], side="right"))
                rows = found.part(at, stop)
                matches += len(rows)
                batch = _batch(rows, run, source)
                next_file = int(found.file[stop]) if stop < len(found) else run.fleet.files
                told = _tell(waiting, run, skipped, told, int(run.fleet.member_of(np.array([next_file]))[0]))
                yield waiting.part(CollectedBatches((batch,), len(rows), len(np.unique(rows.file))))
                if options.max_matches is not None and matches >= options.max_matches:
                    return
                at, pace = stop, min(pace * _GROWTH, _LARGEST_ROWS)
            check(run.stopped)
            _tell(waiting, run, skipped, told, len(group.targets))
            if waiting.long:
                yield waiting.part()
    except ScanStopped:
        pass
    if waiting.any:
        yield waiting.part()


def _tell(waiting: PendingPart, run: _SymbolSearch, skipped: Sequence[dict[str, int]], told: int, upto: int) -> int:
    """Note that the members from `told` up to that number are searched to their end."""
    for at in range(told, upto):
        name = run.group.targets[at].repository.name
        waiting.done.append(name)
        waiting.skip(name, skipped[at])
        if MISSING in skipped[at]:
            waiting.missing[name] = run.missing(at)
    return max(told, upto)


def count(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    kinds: Collection[str],
    by: Sequence[GroupBy],
    cancellation: Cancellation,
    fleets: CorpusCache,
    note: Note = None,
) -> Any:
    """Count definitions and the files they stand in; see `IndexStore.count_symbols`."""
    counts = MatchCounts(by)
    faults: list[Exception] = []

    def opening(target: Target) -> tuple[OpenedCommit, str, list[SymbolTable | None]]:
        try:
            return open_target(target)
        except (SourcelightError, OSError) as fault:
            faults.append(fault)
            raise

    try:
        for group, run in _runs(opening, targets, query, cancellation, fleets):
            if faults:
                raise faults[0]
            if run is not None:
                files, sums = np.unique(run.found(kinds).file, return_counts=True)
                counts.add(run.fleet, group.targets, files, sums)
                if note is not None:
                    told = PendingPart()
                    _tell(told, run, run.skipped(), 0, len(group.targets))
                    note(told.part())
    except ScanStopped:
        raise Cancelled("stopped before all was counted") from None
    cancellation.check()
    return counts.table()


def _over_names(query: TextQuery) -> TextQuery:
    def convert(node: MatchTree) -> MatchTree:
        if isinstance(node, FileTerm):
            return FileTerm(node.pattern, content=True, path=False)
        if isinstance(node, Not):
            return Not(convert(node.arg))
        args = tuple(convert(arg) for arg in node.args)
        return And(args) if isinstance(node, And) else Or(args)

    return query if query.tree is None else replace(query, tree=convert(query.tree))


def _batch(rows: _SymbolRows, run: _SymbolSearch, source: BatchSource) -> Any:
    """Make a record batch of definitions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    fleet, symbols, size = run.fleet, run.symbols, len(rows)
    # What is looked up must ascend: rows stand in order of files, which may differ.
    order = np.argsort(rows.row, kind="stable")
    back = np.argsort(order, kind="stable")
    row = rows.row[order]
    document = rows.document[order]
    offset, line_number, kind, length = (np.zeros(size, dtype=np.int64) for _ in range(4))
    names: list[bytes] = []
    containers: list[bytes] = []
    for table, places, own in symbols.parts(row):
        name = table.name[own].astype(np.int64)
        offset[places] = table.offset[own]
        line_number[places] = table.line[own]
        kind[places] = table.kind[own]
        length[places] = table.name_start[name + 1] - table.name_start[name] - 1
        names += table.texts(name)
        containers += table.texts(table.container[own])
    doc_start = fleet.doc_start[document]
    place = doc_start + offset
    lines, of_row = np.unique(fleet.lines_of(place), return_inverse=True)
    begins, stops = fleet.line_bounds(lines)
    texts = text_column(arrow_binary(stops - begins, fleet.data(begins, stops)))
    byte_start = place - begins[of_row]
    byte_end = byte_start + length
    whole = (stops - begins <= LONGEST_LINE)[of_row]
    start, end = (code_points(texts, of_row, at) for at in (byte_start, byte_end))
    line_offset = begins[of_row] - doc_start
    line = texts.strings.take(arrow_array(of_row[back].astype(np.int64), whole[back]))
    missing = ~whole[back]
    start, end, byte_start, byte_end = (values[back] for values in (start, end, byte_start, byte_end))
    files, first = np.unique(rows.file, return_index=True)
    columns: dict[str, Any] = {
        "line_number": arrow_array(line_number[back].astype(np.int32)),
        "line": line,
        "start": _single(start, missing),
        "end": _single(end, missing),
        "byte_start": _single(byte_start, missing),
        "byte_end": _single(byte_end, missing),
        "line_offset": arrow_array(line_offset[back]),
        "match_count": arrow_array(np.ones(size, dtype=np.int32)),
        "symbol": _texts(names).take(arrow_array(back)),
        "symbol_kind": pa.DictionaryArray.from_arrays(arrow_array(kind[back].astype(np.int32)), pa.array(KINDS)),
        "container": _texts(containers).take(arrow_array(back)),
    }
    of_files = FileRows(source, files, np.diff(np.append(first, size)))
    batch = pa.RecordBatch.from_pydict(
        file_columns(of_files, ("symbol",), None) | columns | path_span_columns(of_files)
    )
    members = np.repeat(fleet.member_of(files), of_files.row_counts)
    prefixes = pa.array([_prefix(target) for target in source.targets], pa.string()).take(arrow_array(members))
    number_text = columns["line_number"].cast(pa.string())
    url = pc.binary_join_element_wise(
        prefixes, batch.column("path").cast(pa.string()), "?L", number_text, ":",
        arrow_array(start + 1).cast(pa.string()), "-", number_text, ":", arrow_array(end + 1).cast(pa.string()), "",
    )  # fmt: skip
    return batch.append_column("url", url)


def _prefix(target: Target) -> str:
    revision = f"@{target.revision}" if target.revision else ""
    return f"/{target.repository.name}{revision}/-/blob/"


def _texts(texts: Sequence[bytes]) -> Any:
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    return text_column(arrow_binary(sizes, b"".join(texts))).strings


def _single(values: Places, missing: NDArray[np.bool_]) -> Any:
    """Make lists of one number each, null where there is no line."""
    import pyarrow as pa

    offsets = np.concatenate(([0], np.cumsum(~missing))).astype(np.int32)
    inner = arrow_array(values[~missing].astype(np.int32))
    bits = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(pa.list_(pa.int32()), len(values), [bits, pa.py_buffer(offsets)], children=[inner])
