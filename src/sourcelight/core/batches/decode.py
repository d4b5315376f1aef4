"""From the JSON of ``matches`` events to record batches, without a dict per match.

The records are read straight into typed structs (more than twice as fast as any reader into dicts), turned into
columns one list at a time, and dropped. An event that does not fit the types (nulls in odd places, unknown kinds,
numbers as text) is read the forgiving way first and then takes the same road.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain, pairwise
from typing import Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa

from sourcelight.core.batches import diff_text
from sourcelight.core.batches.columns import (
    Columns,
    FileColumns,
    Numbers,
    dictionary,
    int32,
    name_columns,
    repeats,
    span_lists,
    strings,
)
from sourcelight.core.batches.decode_lines import ChunkRows, LineRows
from sourcelight.core.batches.events import MatchBatch, RepositoryInfo
from sourcelight.core.batches.records import DECODER, WireRecord, WireSymbol
from sourcelight.core.batches.schema import conform
from sourcelight.core.errors import ProtocolError
from sourcelight.core.wire.decode import decode_matches
from sourcelight.core.wire.encode import dump, encode_match
from sourcelight.core.wire.events import UnknownMatch

_MAX_RUNS = 32
"""Runs of rows of one kind that are batches of their own; a batch takes all who read it some ten microseconds."""

_SYMBOL_PLACE = re.compile(r"[?&#]L(\d+)")


class MatchDecoder:
    """Decodes the ``matches`` events of one stream; it remembers which repositories were already described."""

    def __init__(self) -> None:
        self._described: set[str] = set()

    def decode(self, *events: bytes) -> list[MatchBatch]:
        """Record batches of the data of one or more events, in the order of the wire: as few as that allows.

        Several small events at once, when they arrived together, cost less than one by one. Matches of one kind are
        one batch; where kinds alternate often, as files with lines and files that match by name, all are.

        Rows of a file are in line order. Matches of unknown kinds are left out. Columns are those that the wire fills:
        ``line_offset`` is there only with chunks; the byte spans of lines that the file holds in invalid UTF-8 count
        the replacement characters that were sent for it.

        Raises
        ------
        ProtocolError
            If the data is not JSON, or holds a number that no file can have.
        """
        kinds: dict[str, _KindColumns] = {}
        seen = 0
        try:
            # Each event's records are dropped before the next one is read: memory that is at hand is fast.
            for data in events:
                records = _read(data)
                for kind, (kind_records, positions) in _by_kind(records, seen).items():
                    if kind not in kinds:
                        kinds[kind] = _KindColumns(kind)
                    kinds[kind].add(kind_records, positions, self._described)
                seen += len(records)
            batches = [
                _DecodedBatch.of(kind, *rows) for kind in kinds.values() if (rows := kind.rows.columns()) is not None
            ]
        except (OverflowError, pa.ArrowInvalid) as exc:
            raise ProtocolError(f"a match holds a number out of range: {exc}", event="matches") from exc
        ordered = [(one.batch, one.facts) for one in batches] if len(batches) < 2 else _in_order(batches)
        return [MatchBatch(batch, self._describe(facts)) for batch, facts in ordered]

    def _describe(self, facts: dict[str, RepositoryInfo]) -> tuple[RepositoryInfo, ...]:
        new_facts = tuple(f for name, f in facts.items() if name not in self._described)
        self._described.update(facts)
        return new_facts


class _RowDecoder(Protocol):
    def add(self, records: Sequence[WireRecord]) -> None: ...

    def columns(self) -> tuple[Columns, Numbers] | None:
        """The columns of all rows, and the record of each row, ascending; None if there are none."""
        ...


class _KindColumns:
    """Rows in the making of one kind of match, where its records stand, and the facts of their repositories."""

    def __init__(self, kind: str) -> None:
        self.rows = _ROWS[kind]()
        self.facts: dict[str, RepositoryInfo] = {}
        self.places: list[Sequence[int]] = []

    def add(self, records: list[WireRecord], positions: Sequence[int], described: Collection[str]) -> None:
        """Go on with `records`, which stand at `positions`; the repositories in `described` need no facts."""
        self.rows.add(records)
        self.places.append(positions)
        names = {r.repository for r in records}.difference(described, self.facts)
        if names:
            for r in records:
                if r.repository in names and r.repository not in self.facts:
                    self.facts[r.repository] = _facts(r)


@dataclass(frozen=True, slots=True)
class _DecodedBatch:
    """The rows of one kind, the place of each on the wire, and what is told of their repositories."""

    batch: Any
    places: Numbers
    facts: dict[str, RepositoryInfo]

    @classmethod
    def of(cls, kind: _KindColumns, columns: Columns, take: Numbers) -> _DecodedBatch:
        positions = np.concatenate([np.asarray(part, dtype=np.int32) for part in kind.places])
        return cls(pa.RecordBatch.from_pydict(columns), positions[take], kind.facts)


def _in_order(batches: list[_DecodedBatch]) -> list[tuple[Any, dict[str, RepositoryInfo]]]:
    """The rows of several kinds in the order of the wire."""
    kinds = np.repeat(np.arange(len(batches)), [item.batch.num_rows for item in batches])
    order = np.argsort(np.concatenate([item.places for item in batches]), kind="stable")
    kinds = kinds[order]
    bounds = np.flatnonzero(np.concatenate(([True], kinds[1:] != kinds[:-1], [True]))).tolist()
    if len(bounds) - 1 > max(_MAX_RUNS, len(batches)):
        table = conform([item.batch for item in batches])
        names = {name for item in batches for name in item.batch.schema.names}
        table = table.select([name for name in table.schema.names if name in names]).unify_dictionaries()
        (batch,) = table.take(order).combine_chunks().to_batches()
        return [(batch, {name: fact for item in batches for name, fact in item.facts.items()})]
    used_rows = [0] * len(batches)
    parts = []
    for start, end in pairwise(bounds):
        number, size = int(kinds[start]), end - start
        item, first = batches[number], used_rows[number]
        parts.append((item.batch.slice(first, size), {} if first else item.facts))
        used_rows[number] += size
    return parts


class _Whole:
    """Rows of a kind that comes in small numbers: the records are kept until the end."""

    def __init__(self, build: Callable[[list[WireRecord]], tuple[Columns, Numbers] | None]) -> None:
        self._build = build
        self._records: list[WireRecord] = []

    def add(self, records: Sequence[WireRecord]) -> None:
        self._records += records

    def columns(self) -> tuple[Columns, Numbers] | None:
        return self._build(self._records)


def _facts(r: WireRecord) -> RepositoryInfo:
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
        commit="" if r.revision else (r.commit or ""),
    )


def _read(data: bytes) -> list[WireRecord]:
    try:
        return DECODER.decode(data) or []
    except msgspec.DecodeError:
        pass
    decodable = [encode_match(m) for m in decode_matches(data) if not isinstance(m, UnknownMatch)]
    try:
        return DECODER.decode(dump(decodable)) or []
    except msgspec.DecodeError as exc:
        raise ProtocolError(f"a match can't be read: {exc}", event="matches") from exc


def _by_kind(records: list[WireRecord], seen: int) -> dict[str, tuple[list[WireRecord], Sequence[int]]]:
    """The records of each kind, and where they stand, the first of all at `seen`."""
    if all(r.type == "content" for r in records):
        with_chunks = sum(1 for r in records if r.chunk_matches)
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
    return {kind: group for kind, group in kinds.items() if kind in _ROWS}


def _kind(record: WireRecord) -> str:
    if record.type in {"commit", "diff"}:
        return "diff" if record.type == "diff" or diff_text.is_diff(record.content or "") else "commit"
    return record.type


def _paths(records: list[WireRecord]) -> tuple[Columns, Numbers]:
    ones = np.ones(len(records), np.int32)
    files, take = FileColumns.of(records), repeats(ones)
    return files.columns("path", take) | {"match_count": int32(ones)} | files.name_columns(take), take


def _repos(records: list[WireRecord]) -> tuple[Columns, Numbers]:
    ones = np.ones(len(records), np.int32)
    take = repeats(ones)
    names = name_columns([r.repository_matches for r in records], take)
    return FileColumns.of(records).repository_columns("repo", take) | {"match_count": int32(ones)} | names, take


def _symbol_line(symbol: WireSymbol) -> int | None:
    if symbol.line is not None:
        return symbol.line
    match = _SYMBOL_PLACE.search(symbol.url)
    return None if match is None else int(match[1])


def _symbols(records: list[WireRecord]) -> tuple[Columns, Numbers] | None:
    groups = [r.symbols or [] for r in records]
    symbols = list(chain.from_iterable(groups))
    if not symbols:
        return None
    take = repeats(np.array([len(group) for group in groups], np.int64))
    columns = FileColumns.of(records).columns("symbol", take) | {
        "line_number": int32([_symbol_line(s) for s in symbols]),
        "match_count": int32(np.ones(len(symbols), np.int32)),
        "symbol": strings([s.name for s in symbols]),
        "symbol_kind": dictionary([s.kind.lower() for s in symbols]),
        "container": strings([s.container_name or "" for s in symbols]),
        "url": strings([s.url for s in symbols]),
    }
    return columns, take


def _time(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


_CommitRow = tuple[str | None, int | None, str | None, list[tuple[int, int]], int, str | None]


def _spans_by_line(record: WireRecord) -> dict[int, list[tuple[int, int]]]:
    spans: dict[int, list[tuple[int, int]]] = {}
    for line, character, length in record.ranges or ():
        spans.setdefault(line, []).append((character, character + length))
    return dict(sorted(spans.items()))


def _message_rows(record: WireRecord) -> list[_CommitRow]:
    text = diff_text.strip_fence(record.content or "")
    rows: list[_CommitRow] = [
        (None, position, text[position], spans, len(spans), None)
        for position, spans in _spans_by_line(record).items()
        if 0 < position < len(text)
    ]
    return rows or [(None, 1, (record.message or "").partition("\n")[0], [], 1, None)]


def _diff_rows(record: WireRecord) -> list[_CommitRow]:
    diff_lines = diff_text.read_diff(diff_text.strip_fence(record.content or ""), by_line := _spans_by_line(record))
    rows: list[_CommitRow] = []
    for position, spans in by_line.items():
        line = diff_lines.get(position)
        if line is None:
            continue
        if line.side:
            shifted = [(max(0, a - line.shift), max(0, b - line.shift)) for a, b in spans]
            rows.append((line.path, line.number, line.text, shifted, len(spans), line.side))
        else:
            rows.append((line.path, None, None, [], len(spans), None))
    return rows or [(None, None, None, [], 1, None)]


def _commits_of(
    kind: str, rows_of: Callable[[WireRecord], list[_CommitRow]]
) -> Callable[[list[WireRecord]], tuple[Columns, Numbers]]:
    def build(records: list[WireRecord]) -> tuple[Columns, Numbers]:
        groups = [rows_of(r) for r in records]
        rows = list(chain.from_iterable(groups))
        take = repeats(np.array([len(group) for group in groups], np.int64))
        start, end = span_lists([row[3] for row in rows])
        times = pa.timestamp("us", tz="UTC")

        def column(values: list[Any], value: Any) -> Any:
            return pa.array(values, value).take(pa.array(take))

        columns = FileColumns.of(records).repository_columns(kind, take) | {
            "commit": dictionary([r.oid or None for r in records], take),
            "path": dictionary([row[0] for row in rows]),
            "line_number": int32([row[1] for row in rows]),
            "line": strings([row[2] for row in rows]),
            "start": start,
            "end": end,
            "match_count": int32([row[4] for row in rows]),
            "author": dictionary([r.author_name or "" for r in records], take),
            "author_date": column([_time(r.author_date) for r in records], times),
            "committer": dictionary([r.committer_name or "" for r in records], take),
            "commit_date": column([_time(r.committer_date) for r in records], times),
            "message": dictionary([r.message or "" for r in records], take),
            "side": dictionary([row[5] for row in rows], index=pa.int8()),
            "url": column([r.url or "" for r in records], pa.string()),
            "detail": column([r.detail or "" for r in records], pa.string()),
            "label": column([r.label or "" for r in records], pa.string()),
        }
        return columns, take

    return build


_ROWS: dict[str, Callable[[], _RowDecoder]] = {
    "lines": LineRows,
    "chunks": ChunkRows,
    "path": partial(_Whole, _paths),
    "symbol": partial(_Whole, _symbols),
    "repo": partial(_Whole, _repos),
    "commit": partial(_Whole, _commits_of("commit", _message_rows)),
    "diff": partial(_Whole, _commits_of("diff", _diff_rows)),
}
