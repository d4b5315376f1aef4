"""From the JSON of ``matches`` events to record batches, without a dict per match.

The records are read straight into typed structs (more than twice as fast as any reader into dicts), turned into
columns one list at a time, and dropped. An event that does not fit the types (nulls in odd places, unknown kinds,
numbers as text) is read the forgiving way first, by `sourcelight.core.wire.decode`, and then takes the same road. A
record that still does not fit costs no other record: it is kept as it was sent, in `MatchDecoder.take_other`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray
from sourcelight.core.batches.codecs.decode_chunks import OverlappingRanges
from sourcelight.core.batches.codecs.row_decoders import ROW_DECODERS, kind_of
from sourcelight.core.batches.codecs.wire_columns import OPTIONAL_KEYS
from sourcelight.core.batches.events import CommitId, MatchBatch, OtherMatch, RepositoryInfo
from sourcelight.core.batches.records import DECODER, RECORD_DECODER, WireRecord
from sourcelight.core.batches.schema import conform
from sourcelight.core.errors import ProtocolError
from sourcelight.core.wire.decode import decode_match, load
from sourcelight.core.wire.encode import dump, encode_match
from sourcelight.core.wire.events import Match, UnknownMatch

_MAX_RUNS = 32
"""Runs of rows of one kind that are batches of their own; a batch takes all who read it some ten microseconds."""

_MAX_FORGIVEN = 1_000_000
"""Matches of an event that are read the forgiving way.

A match takes 64 bytes and more, and an event at most 64 MiB. Objects of two bytes each would take minutes.
"""

UNKNOWN_TYPE = "a type that this version doesn't know"
"""Reason of an `OtherMatch` without a fault."""

_FILE_TYPES = frozenset({"content", "path", "symbol"})
_COMMIT_TYPES = frozenset({"commit", "diff"})
"""Types of matches that are rows whatever fields they lack."""

_UNFIT = (OverflowError, pa.ArrowInvalid, OverlappingRanges)
"""Errors of records that can't become columns: numbers out of range, and ranges that lie in each other."""


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
        other_count, replaced = len(self._other), self.replaced_events
        try:
            # Each event's records are dropped before the next one is read: memory that is at hand is fast.
            return self._batches(self._read(data) for data in events)
        except _UNFIT:
            # One bad record spoils a batch. Undo what the first pass noted, then test each record by itself; this is
            # rare, and costs twice the time.
            del self._other[other_count:]
            self.replaced_events = replaced

        return self._batches([record for record in self._read(data) if self._fits(record)] for data in events)

    def _batches(self, events: Iterable[list[WireRecord]]) -> list[MatchBatch]:
        kinds: dict[str, _KindColumns] = {}
        seen = 0
        for records in events:
            for kind, group in _by_kind(records, seen).items():
                if kind not in kinds:
                    kinds[kind] = _KindColumns(kind)
                kinds[kind].add(group, self._described)
            seen += len(records)

        batches = []
        for kind_columns in kinds.values():
            batch = kind_columns.batch()
            if batch is not None:
                batches.append(batch)
            self.matches += kind_columns.rows.matches

        # A service sends kinds in runs, so most events need no sorting.
        if len(batches) > 1:
            batches = _in_order(batches)
        return [MatchBatch(batch.rows, self._describe(batch.infos)) for batch in batches]

    def _fits(self, record: WireRecord) -> bool:
        """Return whether a record can be decoded into columns; otherwise it stays in `other`."""
        rows = ROW_DECODERS[kind_of(record)]()
        try:
            rows.add([record])
            rows.columns()
        except _UNFIT as exc:
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

        if all(map(_is_complete, records)):
            return records
        return self._read_records(data)

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
            record = self._read_record(item)
            if record is not None:
                records.append(record)
        return records

    def _read_record(self, item: object) -> WireRecord | None:
        """Read one record in the forgiving way, or keep it as it was sent and return None."""
        fields = item if isinstance(item, dict) else {}
        repository = fields.get("repository")
        if not isinstance(repository, str):
            repository = ""

        match = decode_match(item)
        if isinstance(match, UnknownMatch):
            self._keep(match.type, repository, UNKNOWN_TYPE, item)
            return None

        try:
            record = _record_of(match, fields)
        except (msgspec.DecodeError, TypeError, ValueError) as exc:
            self._keep(match.type, repository, f"a field that can't be read: {exc}", item)
            return None

        problem = _lack(record, fields)
        if problem:
            self._keep(match.type, repository, problem, item)
            return None

        return record

    def _describe(self, repositories: Mapping[str, RepositoryInfo]) -> tuple[RepositoryInfo, ...]:
        """Return information on those repositories that this stream has not described before."""
        new_infos = tuple(info for name, info in repositories.items() if name not in self._described)
        self._described.update(repositories)
        return new_infos


@dataclass(slots=True)
class _KindRecords:
    """Records of one kind, and the position of each among all records."""

    records: list[WireRecord] = field(default_factory=list)
    positions: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class _DecodedBatch:
    """Rows of one kind, the position of the record of each, and information on their repositories."""

    rows: pa.RecordBatch
    positions: AnyArray
    infos: Mapping[str, RepositoryInfo]


class _KindColumns:
    """Builders for rows of one kind of match, the positions of its records, and information on their repositories."""

    def __init__(self, kind: str) -> None:
        self.rows = ROW_DECODERS[kind]()
        self._infos: dict[str, RepositoryInfo] = {}
        self._positions: list[Sequence[int]] = []

    def add(self, group: _KindRecords, described: Collection[str]) -> None:
        """Add records; the repositories in `described` need no information."""
        self.rows.add(group.records)
        self._positions.append(group.positions)

        # A set first: the loop over all records runs only for the first event of a repository.
        names = {record.repository for record in group.records}.difference(described, self._infos)
        if not names:
            return
        for record in group.records:
            if record.repository in names and record.repository not in self._infos:
                self._infos[record.repository] = _info_of(record)

    def batch(self) -> _DecodedBatch | None:
        """Return the rows of all records, or None without rows."""
        decoded = self.rows.columns()
        if decoded is None:
            return None
        columns, take = decoded
        positions = np.concatenate([np.asarray(part, dtype=np.int32) for part in self._positions])
        return _DecodedBatch(pa.RecordBatch.from_pydict(columns), positions[take], self._infos)


def _in_order(batches: list[_DecodedBatch]) -> list[_DecodedBatch]:
    """Return the rows of several kinds in the order of the wire."""
    # Stable: the rows of one record have the same position and must stay in line order.
    positions = np.concatenate([batch.positions for batch in batches])
    order = np.argsort(positions, kind="stable")
    positions = positions[order]
    batch_indices = np.repeat(np.arange(len(batches)), [batch.rows.num_rows for batch in batches])[order]

    # Starts of runs of one kind, with the end of the last: `pairwise` gives the runs.
    is_start = batch_indices[1:] != batch_indices[:-1]
    bounds = np.flatnonzero(np.concatenate(([True], is_start, [True]))).tolist()

    # Kinds that alternate would make a batch of a few rows each; one copy into a joint table costs less.
    if len(bounds) - 1 > max(_MAX_RUNS, len(batches)):
        infos: dict[str, RepositoryInfo] = {}
        for batch in batches:
            infos |= batch.infos
        return [_DecodedBatch(_joint_rows(batches, order), positions, infos)]

    used_rows = [0] * len(batches)
    runs = []
    for start, end in pairwise(bounds):
        index = int(batch_indices[start])
        batch, first = batches[index], used_rows[index]
        # The first run of a kind carries the information on its repositories.
        infos = {} if first else dict(batch.infos)
        runs.append(_DecodedBatch(batch.rows.slice(first, end - start), positions[start:end], infos))
        used_rows[index] += end - start

    return runs


def _joint_rows(batches: Sequence[_DecodedBatch], order: AnyArray) -> pa.RecordBatch:
    """Return the rows of all batches as one, in this order, with the columns that any of them has."""
    # `conform` gives all batches the same columns; columns that no batch had are dropped again.
    table = conform([batch.rows for batch in batches])
    names = set()
    for batch in batches:
        names.update(batch.rows.schema.names)

    table = table.select([name for name in table.schema.names if name in names]).unify_dictionaries()
    (rows,) = table.take(order).combine_chunks().to_batches()
    return rows


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


def _info_of(record: WireRecord) -> RepositoryInfo:
    return RepositoryInfo(
        name=record.repository,
        id=record.repository_id or 0,
        stars=record.repo_stars or 0,
        last_fetched=record.repo_last_fetched or "",
        description=record.description or "",
        fork=bool(record.fork),
        archived=bool(record.archived),
        private=bool(record.private),
        topics=tuple(record.topics or ()),
        metadata=record.metadata or {},
        # Of a revision that was asked for, the commit isn't that of the repository's default.
        commit=CommitId("" if record.revision else (record.commit or "")),
    )


def _is_complete(record: WireRecord) -> bool:
    """Return whether a record can be decoded into rows without reading its other fields."""
    if record.type == "content":
        return record.path is not None and bool(record.line_matches or record.chunk_matches)
    if record.type == "symbol":
        return record.path is not None and bool(record.symbols)
    if record.type in _COMMIT_TYPES:
        return record.oid is not None
    return record.type == "repo" or (record.path is not None and record.type in _FILE_TYPES)


def _lack(record: WireRecord, fields: Mapping[str, Any]) -> str:
    """Return what a record, sent with these fields, needs to become rows; empty if it has all."""
    if not record.repository:
        return "no repository"

    has_path = isinstance(fields.get("path"), str) or isinstance(fields.get("name"), str)
    if record.type in _FILE_TYPES and not has_path:
        return "no path"
    if record.type == "content" and not _is_complete(record):
        return "no matched lines"
    if record.type == "symbol" and not (record.symbols and all(symbol.name for symbol in record.symbols)):
        return "no name of a definition"
    if record.type in _COMMIT_TYPES and not (record.oid or record.url or record.content):
        return "no commit"
    return ""


def _by_kind(records: list[WireRecord], seen: int) -> Mapping[str, _KindRecords]:
    """Return the records of each kind with their positions, which start at `seen`."""
    if not records:
        return {}

    # The common case first: all lines, or all chunks, need no regrouping.
    if all(record.type == "content" for record in records):
        with_chunks = sum(1 for record in records if record.chunk_matches)
        if with_chunks in {0, len(records)}:
            group = _KindRecords(records, range(seen, seen + len(records)))
            return {kind_of(records[0]): group}

    groups: dict[str, _KindRecords] = {}
    positions: dict[str, list[int]] = {}
    for position, record in enumerate(records, seen):
        kind = kind_of(record)
        if kind not in groups:
            positions[kind] = []
            groups[kind] = _KindRecords(positions=positions[kind])
        groups[kind].records.append(record)
        positions[kind].append(position)

    return groups
