"""JSON of files that match in their lines or by their path.

The texts of a batch are escaped in one go and cut apart again at a character that JSON never escapes and code hardly
holds; numbers likewise. Each row adds only an entry to a list, and each event joins a slice of it.

A few files, or a few long lines, of which each copy counts, are encoded from Python objects instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.arrays import Int64Array, arrow_array, arrow_strings
from sourcelight.core.batches.codecs.wire_columns import (
    add_entries,
    entries_of_rows,
    file_endings,
    file_keys,
    file_values,
)
from sourcelight.core.batches.events import RepositoryInfo
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.wire.encode import dump

_SEPARATOR = "\x7f"
_LONG_BYTES = 1024
"""Bytes of the average line above which rows are written one by one."""

_FEW = 48
"""Rows up to which Python's own objects are the quicker way."""

_LINE = b'{"line":"'
_NUMBER = b'","lineNumber":'
_SPANS = b',"offsetAndLengths":[['
_NEXT = b"]]}," + _LINE
_LINES = b',"hunks":null,"lineMatches":[' + _LINE
_END = b"]]}]"


class RowEncoder:
    """Rows of type ``content`` and ``path`` as Python values: per file once, per line for all."""

    def __init__(self, rows: MatchRows, repositories: Mapping[str, RepositoryInfo]) -> None:
        self.files = rows.files()
        starts = np.array([start for start, _ in self.files], dtype=np.int64)
        self.kinds, self.paths = (_texts(rows, name, starts) for name in ("type", "path"))
        self.values = file_keys(rows, starts)
        location_columns = (_texts(rows, name, starts) for name in ("repository", "revision", "commit"))
        numbers = rows.numbers("repository_id")[starts].tolist()
        fields_by_key: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.repository_fields = []

        for key, number in zip(zip(*location_columns, strict=True), numbers, strict=True):
            # One dictionary a repository and revision, shared by its files: it is read and never changed.
            if key not in fields_by_key:
                name, revision, commit = key
                fields_by_key[key] = repository_fields(
                    repositories.get(name) or RepositoryInfo(name), number, revision, commit
                )
            self.repository_fields.append(fields_by_key[key])

        self.names = names_of(rows, starts)
        self.entries = entries_of_rows(rows)
        self.lines = rows.line_texts()
        self.numbers = (rows.numbers("line_number") - 1).tolist()
        counts, first = rows.lists("start")
        _, last = rows.lists("end")

        # Lists of all rows lie one after another: row i has the spans from bounds[i] up to bounds[i + 1].
        self.bounds = np.concatenate(([0], np.cumsum(counts))).tolist()
        self.starts, self.ends = first.tolist(), last.tolist()

    def matches(self) -> list[dict[str, Any]]:
        """Return one match for each file."""
        return [self._file(number, start, end) for number, (start, end) in enumerate(self.files)]

    def _file(self, number: int, start: int, end: int) -> dict[str, Any]:
        kind, path, names = self.kinds[number], self.paths[number], self.names[number] if self.names else ()
        file: dict[str, Any] = {"type": kind, "path": path}
        ranges = [name_range(path, lower, upper) for lower, upper in names]
        if ranges and kind == "content":
            file["pathMatches"] = ranges

        file |= self.repository_fields[number]
        if kind == "content":
            file["hunks"] = None
            file["lineMatches"] = [self._line(row) for row in range(start, end)]
            for key, entries in self.entries.items():
                if any(entry is not None for entry in entries[start:end]):
                    file[key] = entries[start:end]

        file |= self.values[number]
        if ranges and kind != "content":
            file["pathMatches"] = ranges

        return file

    def _line(self, row: int) -> dict[str, Any]:
        text, span_start, span_end = self.lines[row], self.bounds[row], self.bounds[row + 1]
        size = len(text)

        # What lies past the end of a line (its newline) is not sent.
        spans = [
            (start, min(end, size) - start)
            for start, end in zip(self.starts[span_start:span_end], self.ends[span_start:span_end], strict=True)
            if min(end, size) > start
        ]
        return {"line": text, "lineNumber": self.numbers[row], "offsetAndLengths": spans}


def _texts(rows: MatchRows, name: str, starts: Int64Array) -> list[str]:
    texts, codes = rows.take_codes(name, starts)
    return [texts[code] for code in codes]


def repository_fields(info: RepositoryInfo, number: int, revision: str, commit: str) -> dict[str, Any]:
    """Return the fields of a match that identify its file."""
    value: dict[str, Any] = {"repositoryID": number or info.id, "repository": info.name}
    if info.stars:
        value["repoStars"] = info.stars

    if info.last_fetched:
        value["repoLastFetched"] = info.last_fetched

    value["branches"] = [revision]
    if commit:
        value["commit"] = commit

    return value


def names_of(rows: MatchRows, starts: Int64Array) -> list[list[tuple[int, int]]]:
    """Return the spans in the path of each file; empty when there is none in any."""
    counts, first = rows.lists("name_start")
    if not len(first):
        return []
    lower, upper = first.tolist(), rows.lists("name_end")[1].tolist()
    ends, sizes = np.cumsum(counts)[starts].tolist(), counts[starts].tolist()
    bounds = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    return [list(zip(lower[bound], upper[bound], strict=True)) for bound in bounds]


def name_range(path: str, start: int, end: int) -> dict[str, Any]:
    """Return a span in a path as the wire has it."""

    def location(column: int) -> dict[str, int]:
        # The wire counts offsets in bytes and columns in code points.
        return {"offset": len(path[:column].encode()), "line": 0, "column": column}

    return {"start": location(start), "end": location(end)}


def row_payloads(
    rows: MatchRows, groups: Sequence[tuple[int, int]], repositories: Mapping[str, RepositoryInfo]
) -> Iterator[bytes]:
    """Yield the JSON array of each group of whole files, as lines or as paths."""
    for start, end in groups:
        yield dump(RowEncoder(rows.slice(start, end), repositories).matches())


class FileEncoder:
    """The JSON before and after the matches of each file, for rows of type ``content`` and ``path``.

    Attributes
    ----------
    starts
        The first row of each file.
    in_content
        Which files are of type ``content``.
    before, after
        For each file, the text of a JSON object before its matches, and the text after them.
    """

    def __init__(self, rows: MatchRows, repositories: Mapping[str, RepositoryInfo]) -> None:
        self.starts = np.array([start for start, _ in rows.files()], dtype=np.int64)
        kinds, kind = rows.take_codes("type", self.starts)
        self.in_content = [kinds[code] == "content" for code in kind]
        openings = [
            b'{"type":"%b","path":"' % (b"content" if has_content else b"path") for has_content in (False, True)
        ]
        paths = json_texts(rows.take_texts("path", self.starts))
        location_texts = _location_texts(rows, self.starts, repositories)
        join = b"".join
        self.before = [
            join((openings[has_content], path, b'",', location_text))
            for has_content, path, location_text in zip(self.in_content, paths, location_texts, strict=True)
        ]
        self.after = file_endings(file_values(rows, self.starts), len(self.starts))
        add_entries(self.after, entries_of_rows(rows), rows.files())
        names = names_of(rows, self.starts)
        for number in (number for number, spans in enumerate(names) if spans) if names else ():
            path = rows.text("path", int(self.starts[number]))
            ranges = b'"pathMatches":%b' % dump([name_range(path, lower, upper) for lower, upper in names[number]])
            if self.in_content[number]:
                self.before[number] = join((openings[True], paths[number], b'",', ranges, b",", location_texts[number]))
            else:
                self.after[number] = join((self.after[number][:-1], b",", ranges, b"}"))


def file_payloads(
    rows: MatchRows, groups: Sequence[tuple[int, int]], repositories: Mapping[str, RepositoryInfo]
) -> Iterator[bytes]:
    """Yield the JSON array of each group of whole files, as lines or as paths."""
    line = rows.column("line")
    # For few rows, or very long ones, the vectorized way costs more than it saves.
    if len(rows) <= _FEW or line.nbytes > _LONG_BYTES * len(line):
        yield from row_payloads(rows, groups, repositories)
        return

    n = len(rows)
    files = FileEncoder(rows, repositories)
    pairs = _pairs(rows)

    # Six fragments a row in one flat list: a slice assignment fills a column, and one `join` per event writes it.
    parts: list[bytes] = [_NEXT] * (6 * n + 1)
    parts[1::6] = json_texts(line)
    parts[2::6] = [_NUMBER] * n
    parts[3::6] = _numbers(rows.numbers("line_number") - 1)
    parts[4::6] = [_SPANS] * n
    parts[5::6] = pairs

    # A row without a visible span has an empty list, so one bracket less on both sides.
    for index in [index for index, pair in enumerate(pairs) if not pair] if b"" in pairs else ():
        parts[6 * index + 4] = _SPANS[:-1]
        parts[6 * index + 6] = _NEXT[1:]

    openings, closings = [], []
    ends = [*files.starts[1:].tolist(), n]
    before = b""
    for start, end, in_path, head, tail in zip(
        files.starts.tolist(), ends, files.in_content, files.before, files.after, strict=True
    ):
        if in_path:
            opening, closing = head + _LINES, (_END if pairs[end - 1] else _END[1:]) + tail
        else:
            opening, closing = head, tail
            # A file that matches by path has one row and no line; its fragments vanish in the join.
            parts[6 * start + 1 : 6 * end] = [b""] * (6 * (end - start) - 1)

        parts[6 * start] = before + opening
        before = closing + b","
        openings.append(opening)
        closings.append(closing)

    # Groups are given as rows, and begin and end at files.
    number_of = dict(zip(files.starts.tolist(), range(len(ends)), strict=True)) | {n: len(ends)}
    for start, group_end in groups:
        first, last = number_of[start], number_of[group_end] - 1
        yield b"".join((b"[", openings[first], *parts[6 * start + 1 : 6 * group_end], closings[last], b"]"))


def json_texts(column: Any) -> list[bytes]:
    """Return the JSON text between the quotes of each string of `column`; null is empty."""
    if column.null_count:
        # A value made by Arrow: its conversion of a text of Python loads pandas.
        column = pc.fill_null(column.cast(pa.string()), arrow_strings([""])[0])

    one_list = pa.ListArray.from_arrays(arrow_array(np.array([0, len(column)], np.int32)), column)
    # All strings are joined and escaped in one call: a call per row costs more than the escaping. The separator
    # survives JSON unchanged.
    line = pc.binary_join(one_list, arrow_strings([_SEPARATOR])[0])[0].as_py()
    parts = dump(line).split(_SEPARATOR.encode())

    # A text contained the separator itself.
    if len(parts) != len(column):
        return [dump(text)[1:-1] for text in column.to_pylist()]

    parts[0] = parts[0][1:]
    parts[-1] = parts[-1][:-1]
    return parts


def _location_texts(
    rows: MatchRows, rows_of_files: Int64Array, repositories: Mapping[str, RepositoryInfo]
) -> list[bytes]:
    """Return the JSON that says where the files at some rows are, without braces."""
    coded = [rows.take_codes(column, rows_of_files) for column in ("repository", "revision", "commit")]
    numbers = rows.numbers("repository_id")
    by_codes: dict[tuple[int, ...], bytes] = {}
    links = []
    for row, key in enumerate(zip(*(codes for _, codes in coded), strict=True)):
        text = by_codes.get(key)
        if text is None:
            name, revision, commit = (texts[code] for (texts, _), code in zip(coded, key, strict=True))
            value = repository_fields(
                repositories.get(name) or RepositoryInfo(name), int(numbers[rows_of_files[row]]), revision, commit
            )
            text = by_codes[key] = dump(value)[1:-1]
        links.append(text)

    return links


def _numbers(values: Int64Array) -> list[bytes]:
    import orjson

    return orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")


def _pairs(rows: MatchRows) -> list[bytes]:
    """Return each row's (start, length) pairs as JSON, without the brackets of the list and of its outermost pairs.

    What lies past the end of a line (its newline) is not sent; a row without any pair is empty.
    """
    import orjson

    counts, starts = rows.lists("start")
    _, ends = rows.lists("end")
    row = np.repeat(np.arange(len(rows)), counts)
    length = np.minimum(ends, rows.line_lengths()[row]) - starts

    # Spans beyond a truncated line are dropped.
    is_short = length > 0
    if not is_short.all():
        starts, length = starts[is_short], length[is_short]
        counts = np.bincount(row[is_short], minlength=len(rows))

    if not len(starts):
        return [b""] * len(rows)

    table = np.ascontiguousarray(np.column_stack([starts, length]))
    # One dump for all pairs, cut into the text of each; brackets at both ends go.
    pairs = orjson.dumps(table, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].split(b"],[")
    if (counts == 1).all():
        return pairs

    first = np.cumsum(counts) - counts
    out = [b""] * len(rows)
    single = np.flatnonzero(counts == 1).tolist()
    for index, number in zip(single, first[single].tolist(), strict=True):
        out[index] = pairs[number]

    many = np.flatnonzero(counts > 1).tolist()
    for index, number, count in zip(many, first[many].tolist(), counts[many].tolist(), strict=True):
        out[index] = b"],[".join(pairs[number : number + count])

    return out
