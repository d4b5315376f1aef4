"""From the JSON of ``matches`` events to record batches, without a dict per match.

The records are read straight into typed structs (more than twice as fast as any reader into dicts), turned into
columns one list at a time, and dropped. An event that does not fit the types (nulls in odd places, unknown kinds,
numbers as text) is read the forgiving way first and then takes the same road.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any, Protocol

import msgspec
import numpy as np
import pyarrow as pa

from sourcelight.core.batches import diffs
from sourcelight.core.batches.chunks import ChunkRows
from sourcelight.core.batches.columns import dictionary, int32, repeats, span_lists, strings
from sourcelight.core.batches.events import MatchBatch, RepositoryFacts
from sourcelight.core.batches.files import Columns, Files, name_columns
from sourcelight.core.batches.lines import LineRows
from sourcelight.core.batches.records import DECODER, Record, Symbol
from sourcelight.core.errors import ProtocolError
from sourcelight.core.wire.decode import decode_matches
from sourcelight.core.wire.encode import dump, encode_match
from sourcelight.core.wire.events import UnknownMatch

_SYMBOL_PLACE = re.compile(r"[?&#]L(\d+)")


class MatchDecoder:
    """Decodes the ``matches`` events of one stream; it remembers which repositories were already described."""

    def __init__(self) -> None:
        self._described: set[str] = set()

    def decode(self, *events: bytes) -> list[MatchBatch]:
        """Record batches of the data of one or more events: one for each kind of match, each in the order of the wire.

        Several small events at once, when they arrived together, cost less than one by one.

        Rows of a file are in line order. Matches of unknown kinds are left out. Columns are those that the wire fills:
        ``line_offset`` is there only with chunks; the byte spans of lines that the file holds in invalid UTF-8 count
        the replacement characters that were sent for it.

        Raises
        ------
        ProtocolError
            If the data is not JSON, or holds a number that no file can have.
        """
        found: dict[str, _Kind] = {}
        try:
            # Each event's records are dropped before the next one is read: memory that is at hand is fast.
            for data in events:
                for kind, records in _by_kind(_read(data)).items():
                    if kind not in found:
                        found[kind] = _Kind(kind)
                    found[kind].add(records, self._described)
            batches = [
                (pa.RecordBatch.from_pydict(columns), kind.facts)
                for kind in found.values()
                if (columns := kind.rows.columns()) is not None
            ]
        except (OverflowError, pa.ArrowInvalid) as exc:
            raise ProtocolError(f"a match holds a number out of range: {exc}", event="matches") from exc
        return [MatchBatch(batch, self._describe(facts)) for batch, facts in batches]

    def _describe(self, facts: dict[str, RepositoryFacts]) -> tuple[RepositoryFacts, ...]:
        fresh = tuple(f for name, f in facts.items() if name not in self._described)
        self._described.update(facts)
        return fresh


class _Rows(Protocol):
    def add(self, records: Sequence[Record]) -> None: ...

    def columns(self) -> Columns | None: ...


class _Kind:
    """Rows in the making of one kind of match, and the facts of their repositories."""

    def __init__(self, kind: str) -> None:
        self.rows = _ROWS[kind]()
        self.facts: dict[str, RepositoryFacts] = {}

    def add(self, records: list[Record], described: Collection[str]) -> None:
        """Go on with `records`; the repositories in `described` need no facts."""
        self.rows.add(records)
        names = {r.repository for r in records}.difference(described, self.facts)
        if names:
            for r in records:
                if r.repository in names and r.repository not in self.facts:
                    self.facts[r.repository] = _facts(r)


class _Whole:
    """Rows of a kind that comes in small numbers: the records are kept until the end."""

    def __init__(self, build: Callable[[list[Record]], Columns | None]) -> None:
        self._build = build
        self._records: list[Record] = []

    def add(self, records: Sequence[Record]) -> None:
        self._records += records

    def columns(self) -> Columns | None:
        return self._build(self._records)


def _facts(r: Record) -> RepositoryFacts:
    return RepositoryFacts(
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


def _read(data: bytes) -> list[Record]:
    try:
        return DECODER.decode(data) or []
    except msgspec.DecodeError:
        pass
    known = [encode_match(m) for m in decode_matches(data) if not isinstance(m, UnknownMatch)]
    try:
        return DECODER.decode(dump(known)) or []
    except msgspec.DecodeError as exc:
        raise ProtocolError(f"a match can't be read: {exc}", event="matches") from exc


def _by_kind(records: list[Record]) -> dict[str, list[Record]]:
    if all(r.type == "content" for r in records):
        whole = sum(1 for r in records if r.chunk_matches)
        if whole in {0, len(records)}:
            return {"chunks" if whole else "lines": records} if records else {}
    found: dict[str, list[Record]] = {}
    last = ""
    group: list[Record] = []
    for r in records:
        kind = ("chunks" if r.chunk_matches else "lines") if r.type == "content" else _kind(r)
        if kind != last:
            last, group = kind, found.setdefault(kind, [])
        group.append(r)
    return {kind: group for kind, group in found.items() if kind in _ROWS}


def _kind(record: Record) -> str:
    if record.type in {"commit", "diff"}:
        return "diff" if record.type == "diff" or diffs.is_diff(record.content or "") else "commit"
    return record.type


def _paths(records: list[Record]) -> Columns:
    ones = np.ones(len(records), np.int32)
    files, take = Files.of(records), repeats(ones)
    return files.columns("path", take) | {"match_count": int32(ones)} | files.name_columns(take)


def _repos(records: list[Record]) -> Columns:
    ones = np.ones(len(records), np.int32)
    names = name_columns([r.repository_matches for r in records], repeats(ones))
    return Files.of(records).repository_columns("repo", repeats(ones)) | {"match_count": int32(ones)} | names


def _symbol_line(symbol: Symbol) -> int | None:
    if symbol.line is not None:
        return symbol.line
    place = _SYMBOL_PLACE.search(symbol.url)
    return None if place is None else int(place[1])


def _symbols(records: list[Record]) -> Columns | None:
    groups = [r.symbols or [] for r in records]
    found = list(chain.from_iterable(groups))
    if not found:
        return None
    take = repeats(np.array([len(group) for group in groups], np.int64))
    return Files.of(records).columns("symbol", take) | {
        "line_number": int32([_symbol_line(s) for s in found]),
        "match_count": int32(np.ones(len(found), np.int32)),
        "symbol": strings([s.name for s in found]),
        "symbol_kind": dictionary([s.kind.lower() for s in found]),
        "container": strings([s.container_name or "" for s in found]),
        "url": strings([s.url for s in found]),
    }


def _time(text: str | None) -> datetime | None:
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


_CommitRow = tuple[str | None, int | None, str | None, list[tuple[int, int]], int, str | None]


def _spans_by_line(record: Record) -> dict[int, list[tuple[int, int]]]:
    spans: dict[int, list[tuple[int, int]]] = {}
    for line, character, length in record.ranges or ():
        spans.setdefault(line, []).append((character, character + length))
    return dict(sorted(spans.items()))


def _message_rows(record: Record) -> list[_CommitRow]:
    text = diffs.unfenced(record.content or "")
    rows: list[_CommitRow] = [
        (None, position, text[position], spans, len(spans), None)
        for position, spans in _spans_by_line(record).items()
        if 0 < position < len(text)
    ]
    return rows or [(None, 1, (record.message or "").partition("\n")[0], [], 1, None)]


def _diff_rows(record: Record) -> list[_CommitRow]:
    known = diffs.read_diff(diffs.unfenced(record.content or ""), by_line := _spans_by_line(record))
    rows: list[_CommitRow] = []
    for position, spans in by_line.items():
        line = known.get(position)
        if line is None:
            continue
        if line.side:
            shifted = [(max(0, a - line.shift), max(0, b - line.shift)) for a, b in spans]
            rows.append((line.path, line.number, line.text, shifted, len(spans), line.side))
        else:
            rows.append((line.path, None, None, [], len(spans), None))
    return rows or [(None, None, None, [], 1, None)]


def _commits_of(kind: str, rows_of: Callable[[Record], list[_CommitRow]]) -> Callable[[list[Record]], Columns]:
    def build(records: list[Record]) -> Columns:
        groups = [rows_of(r) for r in records]
        rows = list(chain.from_iterable(groups))
        take = repeats(np.array([len(group) for group in groups], np.int64))
        start, end = span_lists([row[3] for row in rows])
        times = pa.timestamp("us", tz="UTC")

        def each(values: list[Any], of: Any) -> Any:
            return pa.array(values, of).take(pa.array(take))

        return Files.of(records).repository_columns(kind, take) | {
            "commit": dictionary([r.oid or None for r in records], take),
            "path": dictionary([row[0] for row in rows]),
            "line_number": int32([row[1] for row in rows]),
            "line": strings([row[2] for row in rows]),
            "start": start,
            "end": end,
            "match_count": int32([row[4] for row in rows]),
            "author": dictionary([r.author_name or "" for r in records], take),
            "author_date": each([_time(r.author_date) for r in records], times),
            "committer": dictionary([r.committer_name or "" for r in records], take),
            "commit_date": each([_time(r.committer_date) for r in records], times),
            "message": dictionary([r.message or "" for r in records], take),
            "side": dictionary([row[5] for row in rows], index=pa.int8()),
            "url": each([r.url or "" for r in records], pa.string()),
            "detail": each([r.detail or "" for r in records], pa.string()),
            "label": each([r.label or "" for r in records], pa.string()),
        }

    return build


_ROWS: dict[str, Callable[[], _Rows]] = {
    "lines": LineRows,
    "chunks": ChunkRows,
    "path": partial(_Whole, _paths),
    "symbol": partial(_Whole, _symbols),
    "repo": partial(_Whole, _repos),
    "commit": partial(_Whole, _commits_of("commit", _message_rows)),
    "diff": partial(_Whole, _commits_of("diff", _diff_rows)),
}
