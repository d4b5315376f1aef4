"""From the JSON of ``matches`` events to record batches, without a dict per match.

The records are read straight into typed structs (more than twice as fast as any reader into dicts), turned into
columns one list at a time, and dropped. An event that does not fit the types (nulls in odd places, unknown kinds,
numbers as text) is read the forgiving way first and then takes the same road.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sourcelight.core.batches import chunks, diffs
from sourcelight.core.batches.columns import constant, dictionary, int32, lists, repeats, span_lists, strings
from sourcelight.core.batches.events import MatchBatch, RepositoryFacts
from sourcelight.core.batches.records import DECODER, Extent, Record, Symbol
from sourcelight.core.errors import ProtocolError
from sourcelight.core.wire.decode import decode_matches
from sourcelight.core.wire.encode import dump, encode_match
from sourcelight.core.wire.events import UnknownMatch

_SYMBOL_PLACE = re.compile(r"[?&#]L(\d+)")

_Columns = dict[str, Any]


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
        by_kind: dict[str, list[Record]] = {}
        for record in chain.from_iterable(map(_read, events)):
            by_kind.setdefault(_kind(record), []).append(record)
        batches = []
        try:
            for kind, group in by_kind.items():
                builder = _BUILDERS.get(kind)
                columns = None if builder is None else builder(group)
                if columns is not None:
                    batches.append((pa.RecordBatch.from_pydict(columns), group))
        except (OverflowError, pa.ArrowInvalid) as exc:
            raise ProtocolError(f"a match holds a number out of range: {exc}", event="matches") from exc
        return [MatchBatch(batch, self._describe(group)) for batch, group in batches]

    def _describe(self, records: list[Record]) -> tuple[RepositoryFacts, ...]:
        names = {r.repository for r in records} - self._described
        if not names:
            return ()
        self._described |= names
        found: dict[str, RepositoryFacts] = {}
        for r in records:
            if r.repository in names and r.repository not in found:
                found[r.repository] = RepositoryFacts(
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
        return tuple(found.values())


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


def _kind(record: Record) -> str:
    if record.type == "content":
        return "chunks" if record.chunk_matches else "lines"
    if record.type in {"commit", "diff"}:
        return "diff" if record.type == "diff" or diffs.is_diff(record.content or "") else "commit"
    return record.type


def _name_spans(extents: Sequence[Extent] | None) -> list[tuple[int, int]]:
    return [(x.start.column, x.end.column) for x in extents or ()]


def _name_columns(found: list[list[Extent] | None], take: Any = None) -> _Columns:
    start, end = span_lists([_name_spans(x) if x else () for x in found], take)
    return {"name_start": start, "name_end": end}


def _repository_columns(kind: str, records: list[Record], take: Any) -> _Columns:
    return _described(kind, records, take, {})


def _file_columns(kind: str, records: list[Record], take: Any) -> _Columns:
    return _described(kind, records, take, {"commit": 3, "language": 4}) | {
        "path": dictionary([r.path or "" for r in records], take),
    }


def _described(kind: str, records: list[Record], take: Any, further: dict[str, int]) -> _Columns:
    # A stream holds few repositories and languages: look each combination up once, and the columns come from these.
    known: dict[tuple[str, int, str, str | None, str | None], int] = {}
    codes = [
        known.setdefault(
            (
                r.repository,
                r.repository_id or 0,
                r.branches[0] if r.branches else "",
                r.commit or None,
                r.language or None,
            ),
            len(known),
        )
        for r in records
    ]
    rows = np.array(codes, np.int32)[np.asarray(take)]
    keys = list(known)
    columns: _Columns = {
        "type": constant(kind, len(rows)),
        "repository": dictionary([key[0] for key in keys], rows),
        "repository_id": int32(np.array([key[1] for key in keys], np.int32)[rows]),
        "revision": dictionary([key[2] for key in keys], rows),
    }
    for name, at in further.items():
        columns[name] = dictionary([None if key[at] is None else str(key[at]) for key in keys], rows)
    return columns


def _lines(records: list[Record]) -> _Columns | None:
    groups = [r.line_matches or () for r in records]
    found = list(chain.from_iterable(groups))
    if not found:
        return None
    rows = np.array([len(group) for group in groups], np.int64)
    take = repeats(rows)
    numbers = np.array([x.line_number for x in found], np.int32)
    files = np.asarray(take)
    if ((np.diff(numbers) < 0) & (np.diff(files) == 0)).any():
        found = [found[i] for i in np.lexsort((numbers, files)).tolist()]
        numbers = np.array([x.line_number for x in found], np.int32)
    texts = [x.line for x in found]
    line = strings(texts)
    pairs = [x.offset_and_lengths for x in found]
    counts = np.array([len(pair) for pair in pairs], np.int64)
    flat = np.array([number for pair in pairs for part in pair for number in part], np.int32)
    starts, ends = flat[0::2], flat[0::2] + flat[1::2]
    start, end = lists(counts, starts), lists(counts, ends)
    byte_start, byte_end = start, end
    if not all(map(str.isascii, texts)):
        byte_start, byte_end = (lists(counts, _in_bytes(line, counts, at)) for at in (starts, ends))
    return _file_columns("content", records, take) | {
        "line_number": int32(numbers + np.int32(1)),
        "line": line,
        "start": start,
        "end": end,
        "match_count": int32(counts),
        **_name_columns([r.path_matches for r in records], take),
        "byte_start": byte_start,
        "byte_end": byte_end,
    }


def _in_bytes(line: Any, counts: NDArray[np.int64], at: NDArray[np.int32]) -> NDArray[np.int32]:
    """Code point offsets `at` (of each line as many as `counts` says) as byte offsets into its UTF-8."""
    bounds = np.frombuffer(line.buffers()[1], np.int32)[: len(line) + 1]
    text = np.frombuffer(line.buffers()[2], np.uint8)[: bounds[-1]]
    points = np.append(np.flatnonzero((text & 0xC0) != 0x80), len(text))
    first = np.searchsorted(points, bounds)
    row = np.repeat(np.arange(len(counts)), counts)
    point = np.minimum(first[row] + np.maximum(at, 0), first[row + 1])
    return (points[point] - bounds[row]).astype(np.int32)


def _chunks(records: list[Record]) -> _Columns | None:
    rows, counts = chunks.rows_of(records)
    if not rows.line:
        return None
    take = repeats(counts)
    names = _name_columns([r.path_matches for r in records], take)
    return _file_columns("content", records, take) | rows.columns() | names


def _paths(records: list[Record]) -> _Columns:
    ones = np.ones(len(records), np.int64)
    names = _name_columns([r.path_matches for r in records])
    return _file_columns("path", records, repeats(ones)) | {"match_count": int32(ones)} | names


def _repos(records: list[Record]) -> _Columns:
    ones = np.ones(len(records), np.int64)
    names = _name_columns([r.repository_matches for r in records])
    return _repository_columns("repo", records, repeats(ones)) | {"match_count": int32(ones)} | names


def _symbol_line(symbol: Symbol) -> int | None:
    if symbol.line is not None:
        return symbol.line
    place = _SYMBOL_PLACE.search(symbol.url)
    return None if place is None else int(place[1])


def _symbols(records: list[Record]) -> _Columns | None:
    groups = [r.symbols or [] for r in records]
    found = list(chain.from_iterable(groups))
    if not found:
        return None
    take = repeats(np.array([len(group) for group in groups], np.int64))
    return _file_columns("symbol", records, take) | {
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
    known = diffs.read_diff(diffs.unfenced(record.content or ""))
    rows: list[_CommitRow] = []
    for position, spans in _spans_by_line(record).items():
        line = known.get(position)
        if line is None:
            continue
        if line.side:
            shifted = [(max(0, a - line.shift), max(0, b - line.shift)) for a, b in spans]
            rows.append((line.path, line.number, line.text, shifted, len(spans), line.side))
        else:
            rows.append((line.path, None, None, [], len(spans), None))
    return rows or [(None, None, None, [], 1, None)]


def _commits_of(kind: str, rows_of: Callable[[Record], list[_CommitRow]]) -> Callable[[list[Record]], _Columns]:
    def build(records: list[Record]) -> _Columns:
        groups = [rows_of(r) for r in records]
        rows = list(chain.from_iterable(groups))
        take = repeats(np.array([len(group) for group in groups], np.int64))
        start, end = span_lists([row[3] for row in rows])
        times = pa.timestamp("us", tz="UTC")

        def each(values: list[Any], of: Any) -> Any:
            return pa.array(values, of).take(take)

        return _repository_columns(kind, records, take) | {
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


_BUILDERS: dict[str, Callable[[list[Record]], _Columns | None]] = {
    "lines": _lines,
    "chunks": _chunks,
    "path": _paths,
    "symbol": _symbols,
    "repo": _repos,
    "commit": _commits_of("commit", _message_rows),
    "diff": _commits_of("diff", _diff_rows),
}
