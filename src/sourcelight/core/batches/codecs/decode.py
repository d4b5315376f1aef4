"""From the JSON of ``matches`` events to record batches, without a dict per match.

The records are read straight into typed structs (more than twice as fast as any reader into dicts), turned into
columns one list at a time, and dropped. An event that does not fit the types (nulls in odd places, unknown kinds,
numbers as text) is read the forgiving way first and then takes the same road. A record that still does not fit costs
no other record: it is kept as it was sent, in `MatchDecoder.take_other`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray
from sourcelight.core.batches import diff_text
from sourcelight.core.batches.codecs.decode_commits import commits_of, diff_rows, message_rows
from sourcelight.core.batches.codecs.decode_lines import ChunkRows, LineRows, OverlappingRanges
from sourcelight.core.batches.codecs.wire_columns import OPTIONAL_KEYS, entry_columns
from sourcelight.core.batches.columns import (
    Columns,
    FileColumns,
    copy_columns,
    dictionary,
    int32,
    name_columns,
    repeats,
)
from sourcelight.core.batches.events import CommitId, MatchBatch, OtherMatch, RepositoryInfo
from sourcelight.core.batches.records import DECODER, RECORD_DECODER, WireRecord, WireSymbol
from sourcelight.core.batches.schema import SYMBOL_KEYS, arrow_type, conform
from sourcelight.core.errors import ProtocolError
from sourcelight.core.wire.decode import decode_match, load
from sourcelight.core.wire.encode import dump, encode_match
from sourcelight.core.wire.events import Match, UnknownMatch

_MAX_RUNS = 32
"""Runs of rows of one kind that are batches of their own; a batch takes all who read it some ten microseconds."""

# A match takes 64 bytes and more, and an event at most 64 MiB. Objects of two bytes each would take minutes.
_MAX_FORGIVEN = 1_000_000
UNKNOWN_TYPE = "a type that this version doesn't know"
"""Reason of an `OtherMatch` without a fault."""
_ALWAYS_COMPLETE = frozenset({"repo", "commit", "diff"})

_SYMBOL_PLACE = re.compile(r"[?&#]L(\d+)")


class MatchDecoder:
    """Decodes the ``matches`` events of one stream; it remembers which repositories were already described.

    Attributes
    ----------
    matches
        Matches that arrived so far, in the unit in which services count: ranges, symbols, or one for a record.
    replaced_events
        Events with invalid UTF-8, which U+FFFD replaces.
    """

    def __init__(self) -> None:
        # Repositories are described once per stream, as a service may repeat their description with every match.
        self._described: set[str] = set()
        self._other: list[OtherMatch] = []
        self.matches = 0
        self.replaced_events = 0

    def take_other(self) -> tuple[OtherMatch, ...]:
        """Return and clear the matches that aren't rows."""
        other, self._other = tuple(self._other), []
        return other

    def decode(self, *events: bytes) -> list[MatchBatch]:
        """Decode the data of one or more events into as few record batches as the order of the wire allows.

        Several small events at once, when they arrived together, cost less than one by one. Matches of one kind are
        one batch; where kinds alternate often, as files with lines and files that match by name, all are.

        Rows of a file are in line order. Columns are those that the wire fills: ``line_offset`` is there only with
        chunks; the byte spans of lines that the file holds in invalid UTF-8 count the replacement characters that were
        sent for it. Matches of unknown types, and matches with a field that can't be read, are in `take_other`.

        Raises
        ------
        ProtocolError
            If the data is not JSON.
        """
        row_count, replaced = len(self._other), self.replaced_events
        try:
            # Each event's records are dropped before the next one is read: memory that is at hand is fast.
            return self._batches(self._read(data) for data in events)
        # One bad record spoils a batch. Undo what the first pass noted, then test each record by itself; this is rare,
        # and costs twice the time.
        except (OverflowError, pa.ArrowInvalid, OverlappingRanges):
            del self._other[row_count:]
            self.replaced_events = replaced

        return self._batches([record for record in self._read(data) if self._fits(record)] for data in events)

    def _batches(self, events: Iterable[list[WireRecord]]) -> list[MatchBatch]:
        kinds: dict[str, _KindColumns] = {}
        seen = 0
        for records in events:
            for kind, (kind_records, positions) in _by_kind(records, seen).items():
                if kind not in kinds:
                    kinds[kind] = _KindColumns(kind)
                kinds[kind].add(kind_records, positions, self._described)
            seen += len(records)

        batches = [
            _DecodedBatch.of(kind, *rows) for kind in kinds.values() if (rows := kind.rows.columns()) is not None
        ]
        # A service sends kinds in runs, so most events need no sorting.
        ordered = [(pending.batch, pending.infos) for pending in batches] if len(batches) < 2 else _in_order(batches)
        self.matches += sum(kind.rows.matches for kind in kinds.values())
        return [MatchBatch(batch, self._describe(repositories)) for batch, repositories in ordered]

    def _fits(self, record: WireRecord) -> bool:
        """Return whether a record can be decoded into columns; otherwise it stays in `other`."""
        try:
            for kind, (records, positions) in _by_kind([record], 0).items():
                rows = _KindColumns(kind)
                rows.add(records, positions, ())
                rows.rows.columns()
        except (OverflowError, pa.ArrowInvalid, OverlappingRanges) as exc:
            payload = {name: value for name, value in msgspec.to_builtins(record).items() if value is not None}
            self._keep(record.type, record.repository, f"a number out of range: {exc}", payload)
            return False

        return True

    def _keep(self, kind: str, repository: str, reason: str, payload: Any) -> None:
        self._other.append(OtherMatch(kind, repository, reason, payload))

    def _read(self, data: bytes) -> list[WireRecord]:
        try:
            # The strict decoder is the fast path: it makes no Python objects for fields that aren't read.
            records = DECODER.decode(data) or []
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._read_records(data)
        return records if all(map(_is_complete, records)) else self._read_records(data)

    def _read_records(self, data: bytes) -> list[WireRecord]:
        """Read the records of an event one by one, in the forgiving way."""
        value = load("matches", data)
        try:
            data.decode()
        except UnicodeDecodeError:
            self.replaced_events += 1

        if not isinstance(value, list):
            if value is not None:
                self._keep(type(value).__name__, "", "an event without a list of matches", value)
            return []

        if len(value) > _MAX_FORGIVEN:
            raise ProtocolError(f"an event has more than {_MAX_FORGIVEN:,} matches, some of them unreadable")

        records = []
        for item in value:
            match = decode_match(item)
            repository = item.get("repository") if isinstance(item, dict) else None
            repository = repository if isinstance(repository, str) else ""
            if isinstance(match, UnknownMatch):
                self._keep(match.type, repository, UNKNOWN_TYPE, item)
                continue

            try:
                record = _record_of(match, item if isinstance(item, dict) else {})
            except (msgspec.DecodeError, TypeError, ValueError) as exc:
                self._keep(match.type, repository, f"a field that can't be read: {exc}", item)
                continue

            if reason := _lack(record, item):
                self._keep(match.type, repository, reason, item)
            else:
                records.append(record)

        return records

    def _describe(self, repositories: dict[str, RepositoryInfo]) -> tuple[RepositoryInfo, ...]:
        new_facts = tuple(f for name, f in repositories.items() if name not in self._described)
        self._described.update(repositories)
        return new_facts


class _RowDecoder(Protocol):
    @property
    def matches(self) -> int: ...

    def add(self, records: Sequence[WireRecord]) -> None: ...

    def columns(self) -> tuple[Columns, AnyArray] | None:
        """Return the columns of all rows, and the record of each row, ascending, or None if there are none."""
        ...


class _KindColumns:
    """Builders for rows of one kind of match, the positions of its records, and information on their repositories."""

    def __init__(self, kind: str) -> None:
        self.rows = _ROWS[kind]()
        self.infos: dict[str, RepositoryInfo] = {}
        self.positions: list[Sequence[int]] = []

    def add(self, records: list[WireRecord], positions: Sequence[int], described: Collection[str]) -> None:
        """Add `records`, which are at `positions`; the repositories in `described` need no information."""
        self.rows.add(records)
        self.positions.append(positions)

        # A set first: the loop over all records runs only for the first event of a repository.
        names = {record.repository for record in records}.difference(described, self.infos)
        if names:
            for r in records:
                if r.repository in names and r.repository not in self.infos:
                    self.infos[r.repository] = _info_of(r)


@dataclass(frozen=True, slots=True)
class _DecodedBatch:
    """The rows of one kind, their positions on the wire, and information on their repositories."""

    batch: Any
    positions: AnyArray
    infos: dict[str, RepositoryInfo]

    @classmethod
    def of(cls, kind: _KindColumns, columns: Columns, take: AnyArray) -> _DecodedBatch:
        positions = np.concatenate([np.asarray(part, dtype=np.int32) for part in kind.positions])
        return cls(pa.RecordBatch.from_pydict(columns), positions[take], kind.infos)


def _in_order(batches: list[_DecodedBatch]) -> list[tuple[Any, dict[str, RepositoryInfo]]]:
    """Return the rows of several kinds in the order of the wire."""
    kinds = np.repeat(np.arange(len(batches)), [item.batch.num_rows for item in batches])
    # Stable: the rows of one record have the same position and must stay in line order.
    order = np.argsort(np.concatenate([item.positions for item in batches]), kind="stable")
    kinds = kinds[order]

    # Starts of runs of one kind, with the end of the last: `pairwise` gives the runs.
    bounds = np.flatnonzero(np.concatenate(([True], kinds[1:] != kinds[:-1], [True]))).tolist()
    # Kinds that alternate would make a batch of a few rows each; one copy into a joint table costs less.
    if len(bounds) - 1 > max(_MAX_RUNS, len(batches)):
        # `conform` gives all batches the same columns; columns that no batch had are dropped again.
        table = conform([item.batch for item in batches])
        names = {name for item in batches for name in item.batch.schema.names}
        table = table.select([name for name in table.schema.names if name in names]).unify_dictionaries()
        (batch,) = table.take(order).combine_chunks().to_batches()
        return [(batch, {name: fact for item in batches for name, fact in item.infos.items()})]

    used_rows = [0] * len(batches)
    parts = []
    for start, end in pairwise(bounds):
        number, size = int(kinds[start]), end - start
        item, first = batches[number], used_rows[number]
        parts.append((item.batch.slice(first, size), {} if first else item.infos))
        used_rows[number] += size

    return parts


class _Complete:
    """Rows of a rare kind: the records are collected until the end."""

    def __init__(self, build: Callable[[list[WireRecord]], tuple[Columns, AnyArray] | None]) -> None:
        self._build = build
        self._records: list[WireRecord] = []

    @property
    def matches(self) -> int:
        return sum(map(_matches_of, self._records))

    def add(self, records: Sequence[WireRecord]) -> None:
        self._records += records

    def columns(self) -> tuple[Columns, AnyArray] | None:
        return self._build(self._records)


def _record_of(match: Match, item: Mapping[str, Any]) -> WireRecord:
    """Return a match that was read the forgiving way, sent as `item`, as a record."""
    value = encode_match(match)
    extra = {key: item[key] for key in OPTIONAL_KEYS if key in item and key not in value}
    try:
        return RECORD_DECODER.decode(dump(value | extra))
    except (msgspec.DecodeError, TypeError, ValueError):
        # A value of another type than expected counts as absent.
        if not extra:
            raise

    return RECORD_DECODER.decode(dump(value))


def _matches_of(record: WireRecord) -> int:
    if record.type == "symbol":
        return len(record.symbols or ())
    return max(1, len(record.ranges or ())) if record.type in {"commit", "diff"} else 1


def _info_of(r: WireRecord) -> RepositoryInfo:
    return RepositoryInfo(
        name=r.repository,
        id=r.repository_id or 0,
        stars=r.repo_stars or 0,
        last_fetched=r.repo_last_fetched or "",
        description=r.description or "",
        fork=bool(r.fork),
        archived=bool(r.archived),
        private=bool(r.private),
        topics=tuple(r.topics or ()),
        metadata=r.metadata or {},
        commit=CommitId("" if r.revision else (r.commit or "")),
    )


def _is_complete(record: WireRecord) -> bool:
    """Return whether a record can be decoded into rows without reading its other fields."""
    kind = record.type
    if kind == "content":
        return record.path is not None and bool(record.line_matches or record.chunk_matches)
    return kind in _ALWAYS_COMPLETE or (record.path is not None and kind in _ROWS)


def _lack(record: WireRecord, item: Mapping[str, Any]) -> str:
    """Return the fields that a record, sent as `item`, needs to become rows; empty if it has all."""
    if not record.repository:
        return "no repository"
    has_path = any(isinstance(item.get(name), str) for name in ("path", "name"))
    if record.type in {"content", "path", "symbol"} and not has_path:
        return "no path"
    return "no matched lines" if record.type == "content" and not _is_complete(record) else ""


def _by_kind(records: list[WireRecord], seen: int) -> Mapping[str, tuple[list[WireRecord], Sequence[int]]]:
    """Return the records of each kind with their positions, which start at `seen`."""
    if all(record.type == "content" for record in records):
        # The common case first: all lines, or all chunks, need no regrouping.
        with_chunks = sum(1 for record in records if record.chunk_matches)
        if with_chunks in {0, len(records)}:
            positions = range(seen, seen + len(records))
            return {"chunks" if with_chunks else "lines": (records, positions)} if records else {}

    kinds: dict[str, tuple[list[WireRecord], list[int]]] = {}
    last = ""
    group: tuple[list[WireRecord], list[int]] = ([], [])
    for position, r in enumerate(records, seen):
        kind = ("chunks" if r.chunk_matches else "lines") if r.type == "content" else _kind(r)
        if kind != last:
            last, group = kind, kinds.setdefault(kind, ([], []))
        group[0].append(r)
        group[1].append(position)

    return kinds


def _kind(record: WireRecord) -> str:
    if record.type in {"commit", "diff"}:
        return "diff" if record.type == "diff" or diff_text.is_diff(record.content or "") else "commit"
    return record.type


def _paths(records: list[WireRecord]) -> tuple[Columns, AnyArray]:
    ones = np.ones(len(records), np.int32)
    files, take = FileColumns.of(records), repeats(ones)
    return files.columns("path", take) | {"match_count": int32(ones)} | files.name_columns(take), take


def _repos(records: list[WireRecord]) -> tuple[Columns, AnyArray]:
    ones = np.ones(len(records), np.int32)
    take = repeats(ones)
    names = name_columns([record.repository_matches for record in records], take)
    return FileColumns.of(records).repository_columns("repo", take) | {"match_count": int32(ones)} | names, take


def _symbols(records: list[WireRecord]) -> tuple[Columns, AnyArray] | None:
    groups = [record.symbols or [] for record in records]
    symbols = list(chain.from_iterable(groups))
    if not symbols:
        return None

    take = repeats(np.array([len(group) for group in groups], np.int64))
    columns = FileColumns.of(records).columns("symbol", take) | {
        "line_number": int32([_symbol_line(s) for s in symbols]),
        "match_count": int32(np.ones(len(symbols), np.int32)),
        "symbol_kind": dictionary([s.kind.lower() for s in symbols]),
        **copy_columns(symbols, SYMBOL_KEYS),
    }
    if any(symbol.text is not None for symbol in symbols):
        columns |= _symbol_lines(symbols)

    if any(symbol.cell is not None for symbol in symbols):
        columns |= entry_columns("cells", [symbol.cell for symbol in symbols])

    return columns, take


def _symbol_line(symbol: WireSymbol) -> int | None:
    if symbol.line is not None:
        return symbol.line
    match = _SYMBOL_PLACE.search(symbol.url)
    return None if match is None else int(match[1])


def _symbol_lines(symbols: Sequence[WireSymbol]) -> Columns:
    """Return the lines of definitions, and the places in them, of a service that sends them."""
    columns: Columns = {"line": pa.array([symbol.text for symbol in symbols], arrow_type("string"))}
    for prefix, groups in (("", [s.spans for s in symbols]), ("name_", [s.name_spans for s in symbols])):
        # A value outside of lines and paths can't be a column number.
        spans = [None if group is None else [pair for pair in group if _is_span(*pair)] for group in groups]
        for side, name in enumerate(("start", "end")):
            values = [None if group is None else [pair[side] for pair in group] for group in spans]
            columns[prefix + name] = pa.array(values, arrow_type("list"))

    return columns


def _is_span(start: int, end: int) -> bool:
    return 0 <= start <= end < 1 << 31


_ROWS: dict[str, Callable[[], _RowDecoder]] = {
    "lines": LineRows,
    "chunks": ChunkRows,
    "path": partial(_Complete, _paths),
    "symbol": partial(_Complete, _symbols),
    "repo": partial(_Complete, _repos),
    "commit": partial(_Complete, commits_of("commit", message_rows)),
    "diff": partial(_Complete, commits_of("diff", diff_rows)),
}
