"""Encode objects that occur once per file, chunk or commit: repositories, symbols, commits, ranges.

Rows are lines; the wire has files with chunks, and commits with one text. Chunks that overlap or touch become one,
since a line is never sent twice, and a match that goes on in the next row becomes one range. Values that the wire has
unchanged are copied by the keys of the schema; those that a row lacks, such as addresses and labels, are written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from sourcelight.core.batches import diff_text
from sourcelight.core.batches.codecs.encode_files import repository_fields
from sourcelight.core.batches.codecs.wire_columns import entries_of_rows, file_keys
from sourcelight.core.batches.events import RepositoryInfo
from sourcelight.core.batches.rows import MatchRows, boundaries
from sourcelight.core.batches.schema import COMMIT_KEYS, SYMBOL_KEYS, Column, CopiedKeys
from sourcelight.core.wire.encode import ChunkText, dump, encode_match, repository_json
from sourcelight.core.wire.events import Json, Location, Range, RepoMatch

_RANGE = b'{"start":{"offset":%d,"line":%d,"column":%d},"end":{"offset":%d,"line":%d,"column":%d}}'


class EncodeOptions(NamedTuple):
    """Options of encoding matches."""

    chunk_text: ChunkText
    chunk_matches: bool
    diff_type: Literal["diff", "commit"]
    symbol_lines: bool = False


@dataclass(slots=True)
class EncodedChunk:
    """A chunk in the making; `row` is its first row, `line` its 0-based first line."""

    row: int
    text: str
    line: int
    offset: int
    truncated: bool
    ranges: list[list[int]] = field(default_factory=list)

    @property
    def last_line(self) -> int:
        """The 0-based last line of the text."""
        return self.line + self.text.count("\n") - self.text.endswith("\n")

    def reaches(self, other: EncodedChunk) -> bool:
        """Return whether a later chunk overlaps this one or starts on the line after it."""
        # A notebook may have all of its cells on one line of the file: their lines are not that line.
        is_same_line = other.line == self.line and other.offset != self.offset
        return other.line <= self.last_line + 1 and not is_same_line

    def merge(self, other: EncodedChunk) -> None:
        """Absorb a chunk that overlaps this one or starts on the line after it."""
        shared_lines = self.last_line - other.line + 1
        # The lines that both have are dropped from the second: at most `shared_lines` splits, however long the rest is.
        new_text = other.text.split("\n", shared_lines)
        if len(new_text) > shared_lines and new_text[shared_lines]:
            self.text += ("" if self.text.endswith("\n") else "\n") + new_text[shared_lines]
        self.truncated |= other.truncated
        self.ranges += other.ranges

    def to_json(self, keys: tuple[str, ...]) -> bytes:
        """Return the chunk as JSON with its text under each of `keys`."""
        text = dump(self.text)
        fields = b"".join(b'"%b":%b,' % (key.encode(), text) for key in keys)
        ranges = b",".join([_RANGE % tuple(range_) for range_ in self.ranges])
        tail = b',"contentTruncated":true}' if self.truncated else b"}"
        start = b'"contentStart":{"offset":%d,"line":%d,"column":0}' % (self.offset, self.line)
        return b'{%b%b,"ranges":[%b]%b' % (fields, start, ranges, tail)


def chunks(rows: MatchRows) -> list[EncodedChunk]:
    """Return the chunks of content rows in order; adjacent chunks of a file are joined."""
    result: list[EncodedChunk] = []
    ranges = _ranges(rows)
    with_text = "chunk" in rows
    texts = rows.batch.column("chunk").dictionary.to_pylist() if with_text else []
    lines = [] if with_text else rows.texts("line")
    codes = rows.codes("chunk")
    start_lines = rows.numbers("chunk_start_line" if with_text else "line_number")
    offsets = rows.numbers("chunk_offset" if with_text else "line_offset")
    truncated = rows.numbers("truncated")
    for file_start, file_end in rows.files():
        span = slice(file_start, file_end)
        last: EncodedChunk | None = None
        for start, end in boundaries(file_end - file_start, [start_lines[span], offsets[span]]):
            row = file_start + start
            text = texts[codes[row]] if with_text else lines[row]
            chunk = EncodedChunk(
                row=row,
                text=text or "",
                line=int(start_lines[row]) - 1,
                offset=int(offsets[row]),
                truncated=bool(truncated[row]),
            )
            for i in range(row, file_start + end):
                chunk.ranges += ranges[i]

            # Chunks that touch become one, as the wire never sends a line twice.
            if last is not None and last.reaches(chunk):
                last.merge(chunk)
            else:
                result.append(chunk)
                last = chunk

    return result


def _ranges(rows: MatchRows) -> list[list[list[int]]]:
    """Return for each row the ranges that start in it, as the six numbers of the wire."""
    counts, starts = rows.lists("start")
    _, ends = rows.lists("end")
    _, byte_starts = rows.lists("byte_start")
    _, byte_ends = rows.lists("byte_end")

    # ASCII throughout: bytes and code points are the same, and the byte columns were left out.
    if len(byte_starts) != len(starts):
        byte_starts, byte_ends = starts, ends

    offsets = rows.numbers("line_offset").tolist()
    numbers = (rows.numbers("line_number") - 1).tolist()
    lengths = rows.line_lengths().tolist()
    matches = rows.numbers("match_count").tolist()
    spans = list(zip(starts.tolist(), ends.tolist(), byte_starts.tolist(), byte_ends.tolist(), strict=True))
    result: list[list[list[int]]] = []
    position = 0

    # Matches that continue in the row below. Structures may lie in each other: outer ones come first, here and there.
    unfinished: list[list[int]] = []
    for row, count in enumerate(counts.tolist()):
        ranges: list[list[int]] = []
        offset, number = offsets[row], numbers[row]

        # Lines of a cell need not follow one another in the file, and then no range goes from one to the next.
        continued = unfinished[: max(count - matches[row], 0)] if row and numbers[row - 1] + 1 == number else []
        unfinished = []
        for i, (start, end, byte_start, byte_end) in enumerate(spans[position : position + count]):
            # A match that includes the newline ends at the start of the next line.
            end_position = [number + 1, 0] if end > lengths[row] else [number, end]
            if i < len(continued):
                # The rest of a match that began in an earlier row: only its end moves.
                wire_range = continued[i]
                wire_range[3:] = [offset + byte_end, *end_position]
            else:
                wire_range = [offset + byte_start, number, start, offset + byte_end, *end_position]
                ranges.append(wire_range)

            if end > lengths[row]:
                unfinished.append(wire_range)

        result.append(ranges)
        position += count

    return result


def matches(
    rows: MatchRows, kind: str, repositories: Mapping[str, RepositoryInfo], options: EncodeOptions
) -> Iterator[Json]:
    """Yield the JSON values of matches of the kinds that come in small numbers: all but content and path."""
    if kind in {"commit", "diff"}:
        codes = [rows.codes("repository"), rows.codes("commit")]
        for start, end in boundaries(len(rows), codes):
            yield _commit(rows.slice(start, end), kind, repositories, options)
    elif kind == "symbol":
        yield from _symbol_files(rows, repositories, options)
    else:
        for row in range(len(rows)):
            yield encode_match(_repo(rows, row, repositories))


def _symbol_files(
    rows: MatchRows, repositories: Mapping[str, RepositoryInfo], options: EncodeOptions
) -> Iterator[dict[str, Json]]:
    """Yield the JSON values of files with their definitions."""
    values = file_keys(rows, np.array([start for start, _ in rows.files()], dtype=np.int64))
    numbers = rows.numbers("repository_id")
    for (start, end), file_values in zip(rows.files(), values, strict=True):
        name = rows.text("repository", start)
        info = repositories.get(name) or RepositoryInfo(name)
        revision, commit = rows.text("revision", start), rows.text("commit", start)
        location = repository_fields(info, int(numbers[start]), revision, commit)
        symbols = [_symbol(rows, row, with_line=options.symbol_lines) for row in range(start, end)]
        yield {
            "type": "symbol",
            "path": rows.text("path", start),
            **location,
            **file_values,
            "symbols": symbols,
        }


def _symbol(rows: MatchRows, row: int, *, with_line: bool) -> Json:
    line = rows.value("line_number", row)
    value: dict[str, Json] = {"url": ""} | _copies(rows, row, SYMBOL_KEYS)
    value["url"] = value["url"] or _symbol_url(rows, row, line)
    value["kind"] = rows.text("symbol_kind", row).upper()

    if with_line and rows.value("line", row) is not None:
        value["text"] = rows.text("line", row)
        value["spans"] = _spans(rows, row)
        value["nameSpans"] = _spans(rows, row, "name_start", "name_end")
        if rows.value("cell", row) is not None:
            value["cell"] = [rows.value(name, row) for name in ("cell", "cell_kind", "cell_line")]

    if line is not None:
        value["line"] = line
    return value


def _copies(rows: MatchRows, row: int, keys: CopiedKeys) -> dict[str, Json]:
    """Return the values of a row that the wire sends unchanged, by key."""
    values = {}
    for column, key in keys:
        # The service may not know the value of an optional column, and then the key is left out.
        if not column.optional or rows.value(column.name, row) is not None:
            values[key] = _value(rows, row, column)
    return values


def _value(rows: MatchRows, row: int, column: Column) -> Json:
    if column.type in {"dict8", "dict32", "string"}:
        return rows.text(column.name, row)

    value = rows.value(column.name, row)
    if column.type != "timestamp":
        return value
    return "" if value is None else value.isoformat().replace("+00:00", "Z")


def _spans(rows: MatchRows, row: int, start: str = "start", end: str = "end") -> list[tuple[int, int]]:
    """Return the spans of a row; empty for rows without these columns."""
    starts = rows.value(start, row) or ()
    ends = rows.value(end, row) or ()
    return list(zip(starts, ends, strict=True))


def _symbol_url(rows: MatchRows, row: int, line: int | None) -> str:
    revision = rows.text("revision", row)
    revision_part = f"@{revision}" if revision else ""
    url = f"/{rows.text('repository', row)}{revision_part}/-/blob/{rows.text('path', row)}"
    if line is None:
        return url

    starts = rows.value("start", row)
    column = starts[0] + 1 if starts else 1
    return f"{url}?L{line}:{column}-{line}:{column + len(rows.text('symbol', row))}"


def _repo(rows: MatchRows, row: int, repositories: Mapping[str, RepositoryInfo]) -> RepoMatch:
    repository = _repository(rows, row, repositories)
    info = repositories.get(repository["repository"]) or RepositoryInfo(repository["repository"])
    revision = rows.text("revision", row)
    return RepoMatch(
        repository_matches=_name_ranges(rows, row, repository["repository"]),
        branches=(revision,) if revision else (),
        description=info.description,
        fork=info.fork,
        archived=info.archived,
        private=info.private,
        metadata=info.metadata,
        topics=info.topics,
        **repository,
    )


def _repository(rows: MatchRows, row: int, repositories: Mapping[str, RepositoryInfo]) -> dict[str, Any]:
    name = rows.text("repository", row)
    info = repositories.get(name) or RepositoryInfo(name)
    return {
        "repository": name,
        "repository_id": rows.value("repository_id", row) or info.id,
        "repo_stars": info.stars,
        "repo_last_fetched": info.last_fetched,
    }


def _name_ranges(rows: MatchRows, row: int, name: str) -> tuple[Range, ...]:
    """Return the matches in the name of a repository."""

    def location(column: int) -> Location:
        return Location(len(name[:column].encode()), 0, column)

    spans = _spans(rows, row, "name_start", "name_end")
    return tuple(Range(location(start), location(end)) for start, end in spans)


def _commit(rows: MatchRows, kind: str, repositories: Mapping[str, RepositoryInfo], options: EncodeOptions) -> Json:
    values = _copies(rows, 0, COMMIT_KEYS)
    name, oid, message = rows.first("repository"), rows.first("commit"), values.pop("message")
    url = values.pop("url") or f"/{name}/-/commit/{oid}"
    subject = message.partition("\n")[0]
    label = f"[{name}](/{name}) \u203a [{values['authorName']}]({url}): [{subject}]({url})"
    detail = f"[`{oid[:7]}` {values['authorDate']}]({url})"
    if kind == "diff":
        wire_type: str = options.diff_type
        content = _diff_content(rows)
        entries = _diff_cells(rows)
    else:
        wire_type = kind
        content = _message_content(rows, message)
        entries = {}

    return {
        "type": wire_type,
        "label": values.pop("label") or label,
        "url": url,
        "detail": values.pop("detail") or detail,
        **repository_json(**_repository(rows, 0, repositories)),
        "oid": oid,
        "message": message,
        **values,
        "content": content.text,
        "ranges": content.ranges,
        **entries,
    }


def _diff_cells(rows: MatchRows) -> dict[str, Json]:
    """Return the cells of the lines of a diff, in the order of its content.

    The language marks lines of the file: in a Jupyter notebook these are JSON, not lines of the cell.
    """
    entries = entries_of_rows(rows)
    if not entries:
        return {}

    # A preview has its own order of lines, and leaves some of them out.
    if "preview" in rows and rows.first("preview"):
        positions = rows.column("preview_line").to_pylist()
        order = [row for row, position in enumerate(positions) if position]
        order.sort(key=lambda row: positions[row])
        entries = {key: [row_entries[row] for row in order] for key, row_entries in entries.items()}

    languages = [language for language in rows.texts("language") if language]
    if languages:
        return {**entries, "language": languages[0]}
    return dict(entries)


class _CommitContent(NamedTuple):
    """The text of a commit's match, and its ranges: line of the text, first character, length."""

    text: str
    ranges: tuple[diff_text.WireRange, ...]


def _message_content(rows: MatchRows, message: str) -> _CommitContent:
    ranges: list[diff_text.WireRange] = []
    for row, number in enumerate(rows.numbers("line_number").tolist()):
        ranges += diff_text.wire_ranges(number, _spans(rows, row), 0)
    return _CommitContent(diff_text.write_message(message), tuple(ranges))


def _diff_content(rows: MatchRows) -> _CommitContent:
    preview = rows.first("preview") if "preview" in rows else ""
    ranges: list[diff_text.WireRange] = []
    if preview:
        for row, position in enumerate(rows.column("preview_line").to_pylist()):
            if position is not None:
                ranges += diff_text.wire_ranges(position, _spans(rows, row), diff_text.SIGN_WIDTH)
        return _CommitContent(diff_text.fence_diff(preview), tuple(sorted(ranges)))

    numbers = rows.numbers("line_number").tolist()
    side_rows = [row for row in range(len(rows)) if rows.text("side", row)]
    lines = [
        diff_text.DiffLine(rows.text("path", row), rows.text("side", row), numbers[row], rows.text("line", row))
        for row in side_rows
    ]
    content, positions = diff_text.write_diff(lines)
    for row, position in zip(side_rows, positions, strict=True):
        ranges += diff_text.wire_ranges(position, _spans(rows, row), diff_text.SIGN_WIDTH)
    return _CommitContent(content, tuple(ranges))
