"""Finding definitions by name: patterns run over all distinct names of a shard, files are chosen as for text.

A file is found when the query's tree holds for the names of its definitions; its rows are the definitions that match
a pattern outside NOT. Functions that are only declared are left out, their bodies stand elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches.events import Cancellation
from sourcelight.core.errors import Cancelled, IndexFault, SourcelightError
from sourcelight.core.patterns.halting import Halted, Stopped, check
from sourcelight.engines.search.model import (
    All,
    AnyOf,
    Atom,
    GroupBy,
    MatchTree,
    Not,
    SearchOptions,
    SearchPart,
    Target,
    TextQuery,
)
from sourcelight.engines.search.scan.evaluate import RepositorySearch
from sourcelight.engines.search.scan.plan import Plan, plan
from sourcelight.engines.search.scan.render import Place, Rendered, Source, name_columns, where_columns
from sourcelight.engines.search.scan.snapshot import Snapshot
from sourcelight.engines.search.scan.text import code_points, gather
from sourcelight.engines.search.searcher import Waiting, add_counts, keys_of
from sourcelight.engines.search.symbol_files import pending
from sourcelight.engines.symbols import KINDS, SymbolTable, kind_code

PENDING = "symbols-pending"
"""Reason in `SearchPart.skipped` for files whose definitions are not computed yet."""

INCOMPLETE = "symbols-incomplete"
"""Reason in `SearchPart.skipped` for files that were too large, too slow or too broken to parse."""

LONGEST_LINE = 4096
"""Bytes above which a line is not shown beside a definition: a bundled file has thousands of them in one line."""

_FIRST_ROWS, _LARGEST_ROWS, _GROWTH = 256, 4096, 4
_DECLARATION = 1

Places = NDArray[np.int64]
Mask = NDArray[np.bool_]
Opener = Callable[[Target], tuple[Snapshot, str, list[SymbolTable | None]]]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Definitions found in one repository, sorted by file: the file, the shard and the row in its table of each."""

    file: Places
    shard: Places
    row: Places

    def __len__(self) -> int:
        return len(self.file)


def search(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    kinds: Collection[str],
    options: SearchOptions,
    cancellation: Cancellation,
) -> Iterator[SearchPart]:
    """Yield the answer in parts; see `IndexStore.search_symbols`."""
    prepared = plan(_over_names(query))
    waiting = Waiting()
    matches, pace = 0, _FIRST_ROWS

    def stopped() -> bool:
        return cancellation.stopped

    for target in targets:
        if stopped():
            break
        name = target.repository.name
        try:
            snapshot, commit, tables = open_target(target)
        except (SourcelightError, OSError) as fault:
            waiting.failed[name] = fault.reason if isinstance(fault, IndexFault) else str(fault)
            continue
        try:
            running = RepositorySearch(snapshot, prepared, stopped)
            found = _found(running, tables, kinds, stopped)
        except Halted:
            break
        source = Source(running, target, commit)
        at = 0
        while at < len(found) and not stopped():
            stop = int(np.searchsorted(found.file, found.file[min(at + pace, len(found)) - 1], side="right"))
            rows = _Rows(found.file[at:stop], found.shard[at:stop], found.row[at:stop])
            matches += len(rows)
            batch = _batch(rows, snapshot, tables, source, target)
            yield waiting.part(Rendered((batch,), len(rows), len(np.unique(rows.file))))
            if options.max_matches is not None and matches >= options.max_matches:
                return
            at, pace = stop, min(pace * _GROWTH, _LARGEST_ROWS)
        if stopped():
            break
        waiting.done.append(name)
        if skipped := _skipped(snapshot, tables, running.filter):
            waiting.skipped[name] = skipped
        if waiting.long:
            yield waiting.part()
    if waiting.any:
        yield waiting.part()


def count(
    open_target: Opener,
    targets: Sequence[Target],
    query: TextQuery,
    kinds: Collection[str],
    by: Sequence[GroupBy],
    cancellation: Cancellation,
) -> Any:
    """Count definitions and the files they stand in; see `IndexStore.count_symbols`."""
    import pyarrow as pa

    prepared = plan(_over_names(query))
    totals: dict[tuple[str | None, ...], list[int]] = {}

    def stopped() -> bool:
        return cancellation.stopped

    for target in targets:
        cancellation.check()
        snapshot, _, tables = open_target(target)
        try:
            running = RepositorySearch(snapshot, prepared, stopped)
            found = _found(running, tables, kinds, stopped)
        except Halted:
            raise Cancelled("stopped before all was counted") from None
        files, counts = np.unique(found.file, return_counts=True)
        if len(files):
            add_counts(totals, keys_of(snapshot, target.repository.name, files, by), files, counts)
    columns: dict[str, Any] = {
        column: pa.array([key[place] for key in totals], pa.string()) for place, column in enumerate(by)
    }
    columns["matches"] = pa.array([total[0] for total in totals.values()], pa.int64())
    columns["files"] = pa.array([total[1] for total in totals.values()], pa.int64())
    return pa.table(columns)


def _over_names(query: TextQuery) -> TextQuery:
    def convert(node: MatchTree) -> MatchTree:
        if isinstance(node, Atom):
            return Atom(node.pattern, content=True, path=False)
        if isinstance(node, Not):
            return Not(convert(node.arg))
        args = tuple(convert(arg) for arg in node.args)
        return All(args) if isinstance(node, All) else AnyOf(args)

    return query if query.tree is None else replace(query, tree=convert(query.tree))


def _found(
    running: RepositorySearch, tables: Sequence[SymbolTable | None], kinds: Collection[str], stopped: Stopped
) -> _Rows:
    """Find the definitions to show in one repository; raises `Halted` between shards once `stopped` says so."""
    codes = np.array([code for kind in kinds if (code := kind_code(kind)) is not None], dtype=np.uint8)
    none = np.zeros(0, dtype=np.int64)
    file, shard, row = [none], [none], [none]
    for number, table in enumerate(tables):
        check(stopped)
        if table is None or not len(table):
            continue
        named = [table.rows_named(atom.pattern) for atom in running.plan.atoms]
        if not running.plan.possible(lambda atom, named=named: len(named[atom]) > 0):  # type: ignore[misc]
            continue
        placement = running.snapshot.placement(number)
        keep = None if running.filter is None else running.filter[placement.files]
        files = placement.files if keep is None else placement.files[keep]
        documents = (placement.documents if keep is None else placement.documents[keep]).astype(np.int64)
        if not len(files):
            continue
        rows, held = _held(running.plan, table, documents, named)
        if kinds:
            rows = rows[np.isin(table.kind[rows], codes)]
        row_document = table.documents_of(rows)
        files, documents = files[held].astype(np.int64), documents[held]
        low, high = np.searchsorted(row_document, documents), np.searchsorted(row_document, documents, side="right")
        lengths = high - low
        order = np.arange(int(lengths.sum())) + np.repeat(low - (np.cumsum(lengths) - lengths), lengths)
        file.append(np.repeat(files, lengths))
        shard.append(np.full(len(order), number, dtype=np.int64))
        row.append(rows[order])
    found = _Rows(np.concatenate(file), np.concatenate(shard), np.concatenate(row))
    order = np.argsort(found.file, kind="stable")
    return _Rows(found.file[order], found.shard[order], found.row[order])


def _held(prepared: Plan, table: SymbolTable, documents: Places, named: list[Places]) -> tuple[Places, Mask]:
    """Give the rows that may be shown, ascending, and for which of the documents the tree holds."""
    if prepared.root is None:
        return _defining(table, np.arange(len(table))), np.ones(len(documents), dtype=np.bool_)
    named = [_defining(table, rows) for rows in named]
    values = []
    for rows in named:
        held = np.zeros(table.documents, dtype=np.bool_)
        held[table.documents_of(rows)] = True
        values.append(held[documents])
    shown = [named[number] for number in sorted(prepared.shown)]
    together = shown[0] if len(shown) == 1 else np.unique(np.concatenate(shown or [np.zeros(0, dtype=np.int64)]))
    return together, prepared.true_files(values, len(documents))


def _defining(table: SymbolTable, rows: Places) -> Places:
    kept: Places = rows[(table.flags[rows] & _DECLARATION) == 0]
    return kept


def _skipped(snapshot: Snapshot, tables: Sequence[SymbolTable | None], chosen: Mask | None) -> dict[str, int]:
    """Count the files that pass the filters and whose definitions are not, or not all, known."""
    if chosen is None:
        return snapshot.remember(("symbols", tuple(tables)), lambda: _lacking(snapshot, tables, None))
    return _lacking(snapshot, tables, chosen)


def _lacking(snapshot: Snapshot, tables: Sequence[SymbolTable | None], chosen: Mask | None) -> dict[str, int]:
    counts = {PENDING: 0, INCOMPLETE: 0}
    for number, table in enumerate(tables):
        counts[PENDING] += pending(snapshot.view, number, table, chosen)
        if table is not None and table.doc_state.any():
            placement = snapshot.placement(number)
            bad = table.doc_state[placement.documents] != 0
            counts[INCOMPLETE] += int(np.count_nonzero(bad if chosen is None else bad & chosen[placement.files]))
    return {reason: count for reason, count in counts.items() if count}


def _batch(
    rows: _Rows, snapshot: Snapshot, tables: Sequence[SymbolTable | None], source: Source, target: Target
) -> Any:
    """Make a record batch of definitions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    size = len(rows)
    byte_start, byte_end, start, end, line_offset = (np.zeros(size, dtype=np.int64) for _ in range(5))
    line_number = np.zeros(size, dtype=np.int32)
    kind = np.zeros(size, dtype=np.int32)
    pieces, places = [], []
    names, containers = [""] * size, [""] * size
    for number in np.unique(rows.shard).tolist():
        table, shard = tables[number], snapshot.shards[number]
        chosen = np.flatnonzero(rows.shard == number)
        if table is None:
            continue
        row = rows.row[chosen]
        begin = shard.doc_start[table.documents_of(row)].astype(np.int64)
        place = begin + table.offset[row]
        lines, of_row = np.unique(shard.lines_of(place), return_inverse=True)
        begins, stops = shard.newlines[lines].astype(np.int64) + 1, shard.newlines[lines + 1].astype(np.int64)
        texts = gather(shard.arrow_content, begins, stops)
        name_id = table.name[row].astype(np.int64)
        lengths = table.name_start[name_id + 1] - table.name_start[name_id] - 1
        byte_start[chosen] = place - begins[of_row]
        byte_end[chosen] = byte_start[chosen] + lengths
        start[chosen], end[chosen] = (code_points(texts, of_row, at[chosen]) for at in (byte_start, byte_end))
        line_offset[chosen] = begins[of_row] - begin
        line_number[chosen] = table.line[row]
        kind[chosen] = table.kind[row]
        long = (stops - begins)[of_row] > LONGEST_LINE
        pieces.append(texts.strings.take(pa.array(of_row.astype(np.int64), mask=long)))
        places.append(chosen)
        for at, name, container in zip(
            chosen.tolist(), table.texts(name_id), table.texts(table.container[row]), strict=True
        ):
            names[at], containers[at] = name.decode(errors="replace"), container.decode(errors="replace")
    line = pa.concat_arrays(pieces).take(pa.array(np.argsort(np.concatenate(places), kind="stable")))
    missing = np.asarray(pc.is_null(line))
    files, first = np.unique(rows.file, return_index=True)
    columns: dict[str, Any] = {
        "line_number": pa.array(line_number),
        "line": line,
        "start": _single(start, missing),
        "end": _single(end, missing),
        "byte_start": _single(byte_start, missing),
        "byte_end": _single(byte_end, missing),
        "line_offset": pa.array(line_offset),
        "match_count": pa.array(np.ones(size, dtype=np.int32)),
        "symbol": pa.array(names, pa.string()),
        "symbol_kind": pa.DictionaryArray.from_arrays(pa.array(kind), pa.array(KINDS)),
        "container": pa.array(containers, pa.string()),
    }
    lengths = np.diff(np.append(first, size))
    of_files = [Place(source, files, lengths)]
    batch = pa.RecordBatch.from_pydict(where_columns(of_files, ("symbol",), None) | columns | name_columns(of_files))
    revision = f"@{target.revision}" if target.revision else ""
    number_text = columns["line_number"].cast(pa.string())
    url = pc.binary_join_element_wise(
        f"/{target.repository.name}{revision}/-/blob/", batch.column("path").cast(pa.string()), "?L", number_text, ":",
        pa.array(start + 1).cast(pa.string()), "-", number_text, ":", pa.array(end + 1).cast(pa.string()), "",
    )  # fmt: skip
    return batch.append_column("url", url)


def _single(values: Places, missing: Mask) -> Any:
    """Make lists of one number each, null where there is no line."""
    import pyarrow as pa

    kept = np.concatenate(([0], np.cumsum(~missing))).astype(np.int32)
    offsets = pa.array(kept, mask=np.append(missing, False))
    return pa.ListArray.from_arrays(offsets, pa.array(values[~missing].astype(np.int32)))
