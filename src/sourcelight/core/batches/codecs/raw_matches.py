"""Matched lines and paths as arrays of the engine, and their JSON.

`encode_files` writes the JSON of record batches.

Making a record batch of a few hundred rows costs more than finding them, and a stream of events needs none. So the
classes here hold the arrays of the engine, and make the record batch on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.arrays import pairs as as_rows
from sourcelight.core.batches.codecs.encode_files import name_range, repository_fields
from sourcelight.core.batches.codecs.wire_columns import CodedValues, add_entries, file_endings, line_entries
from sourcelight.core.batches.events import MatchBatch, RepositoryInfo
from sourcelight.core.code_points import points_in_texts
from sourcelight.core.wire.encode import dump

_SEPARATOR = "\x7f"
_SPLIT = b"\x7f"
_TEXT_PER_EVENT = 512 * 1024
"""Bytes of text in one event, so that a reader gets the first rows soon."""

_LONG_BYTES, _MAX_COPIED_BYTES = 1024, 4 << 20
"""Mean bytes of long lines, and maximum bytes of these that are copied: the copies take several times their size."""

_MAX_TEXT_BYTES, _MAX_SPANS = 1024 * 1024, 100_000
"""Maximum bytes of the lines of a file, and maximum spans of all files, that fit into one event."""

_CONTENT, _PATH = b'{"type":"content","path":"', b'{"type":"path","path":"'
_LINES = b',"hunks":null,"lineMatches":[{"line":"'
_NUMBER = b'","lineNumber":'
_SPANS = b',"offsetAndLengths":[['
_NEXT = b']]},{"line":"'
_END = b"]]}]"


class RepositoryRevision(NamedTuple):
    """The revision of a file: its repository's name and number, the requested revision, and the commit."""

    repository: str
    repository_id: int
    revision: str
    commit: str


@dataclass(frozen=True)
class RawMatches:
    """Files with their matched lines, or matched by path alone, in display order.

    Attributes
    ----------
    locations
        Distinct repositories at a revision.
    in_content
        Mask of the files that have matched lines.
    location_index
        Index of the location of each file.
    file_values
        Other columns of files, by name.
    paths
        The path of each file, in bytes.
    names
        Spans in paths, in code points, by the number of the file.
    lengths
        Rows of each file; 1 for a file without lines.
    numbers
        1-based number of each matched line. This and the next arrays are ordered by file.
    offsets
        Byte of its file at which each line begins.
    line_values
        Other columns of lines, as Arrow arrays, by name.
    sizes
        Bytes of each line, without its newline.
    counts
        Number of spans in each line.
    matches
        Number of spans that begin in each line.
    starts, ends
        The spans, in bytes into their line; the newline counts as one more.
    data
        The lines, each followed by a newline.
    make
        Function that makes the record batch.
    path_json
        JSON text of each path, without quotes; None if it isn't known yet.
    file_numbers
        Number of each file in the corpus of the search; None for files of several corpora, or of another service.
    """

    locations: Sequence[RepositoryRevision]
    in_content: BoolArray
    location_index: Int64Array
    file_values: Mapping[str, CodedValues]
    paths: Sequence[bytes]
    names: Mapping[int, Sequence[tuple[int, int]]]
    lengths: Int64Array
    numbers: Int64Array
    offsets: Int64Array
    line_values: Mapping[str, Any]
    sizes: Int64Array
    counts: Int64Array
    matches: Int64Array
    starts: Int64Array
    ends: Int64Array
    data: bytes
    make: Callable[[], Any]
    path_json: Sequence[bytes] | None = None
    file_numbers: Int64Array | None = None

    @property
    def total(self) -> int:
        """Number of matches."""
        return int(self.file_matches.sum())

    @property
    def num_rows(self) -> int:
        """Rows of the record batch."""
        return len(self.numbers) + len(self.paths) - int(np.count_nonzero(self.in_content))

    @property
    def nbytes(self) -> int:
        """Bytes of text in lines and paths."""
        return len(self.data) + sum(map(len, self.paths))

    @cached_property
    def batch(self) -> Any:
        """The matches as a record batch."""
        return self.make()

    @property
    def repositories(self) -> list[str]:
        """Names of the repositories with a match, in the order of `locations`."""
        # `bincount` finds the locations in one pass; `np.unique` would sort a number for every file.
        indexes = np.bincount(self.location_index).nonzero()[0].tolist()
        return list(dict.fromkeys(self.locations[index].repository for index in indexes))

    @cached_property
    def file_matches(self) -> Int64Array:
        """Matches in each file; one where its path alone matches."""
        if not len(self.numbers):
            return np.ones(len(self.paths), dtype=np.int64)

        all_in_content = bool(self.in_content.all())
        lengths = self.lengths if all_in_content else self.lengths[self.in_content]

        # `reduceat` would be wrong for an empty group, but each file in content has a matched line.
        sums = np.add.reduceat(self.matches, lengths.cumsum() - lengths)
        if all_in_content:
            return sums

        counts = np.ones(len(self.paths), dtype=np.int64)
        counts[self.in_content] = sums
        return counts


class RawMatchBatch(MatchBatch):
    """A ``matches`` event whose record batch is made on demand."""

    __slots__ = ("raw",)

    raw: RawMatches

    def __init__(self, matches: RawMatches, repositories: tuple[RepositoryInfo, ...] = ()) -> None:
        # The base class is frozen; this subclass replaces its field `batch` by a property.
        object.__setattr__(self, "raw", matches)
        object.__setattr__(self, "repositories", repositories)

    @property
    def batch(self) -> Any:
        """The record batch."""
        return self.raw.batch

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.raw.num_rows

    @property
    def nbytes(self) -> int:
        """Approximate number of bytes."""
        return self.raw.nbytes


def can_encode(matches: RawMatches) -> bool:
    """Return whether `raw_payloads` is worthwhile; it isn't for megabytes of long lines, which it would copy."""
    size = len(matches.data)
    is_long = size > max(_LONG_BYTES * len(matches.numbers), _MAX_COPIED_BYTES)
    if is_long or len(matches.starts) > _MAX_SPANS:
        return False
    if size <= _MAX_TEXT_BYTES:
        return True

    # A file can't be split over events, so the largest one decides.
    lengths = matches.lengths[matches.in_content]
    return int(np.add.reduceat(matches.sizes, np.cumsum(lengths) - lengths).max()) <= _MAX_TEXT_BYTES


def raw_payloads(matches: RawMatches, repositories: Mapping[str, RepositoryInfo]) -> Iterator[bytes]:
    """Yield JSON arrays of matches; the files of an array are of one kind."""
    kinds = matches.in_content
    before, after = _files(matches, repositories)
    rows = np.where(kinds, matches.lengths, 0).cumsum().tolist() if len(matches.numbers) else []
    parts = _rows(matches) if rows else []
    in_content = kinds.tolist()

    # First file of each run of one kind: files with lines and files matched by path have different JSON.
    changes = ((kinds[1:] != kinds[:-1]).nonzero()[0] + 1).tolist()
    for first, last in zip([0, *changes], [*changes, len(in_content)], strict=True):
        if not in_content[first]:
            pairs = zip(before[first:last], after[first:last], strict=True)
            yield b"[%b]" % b",".join([b"".join(pair) for pair in pairs])
            continue
        row_start = rows[first - 1] if first else 0
        for start, end in _groups(matches, rows, first=first, last=last, row_start=row_start):
            yield _lines(parts, rows, before=before, after=after, first=start, last=end)


def _groups(matches: RawMatches, rows: list[int], *, first: int, last: int, row_start: int) -> list[tuple[int, int]]:
    """Split a run of files with lines, so that each part has about as much text as one event should."""
    if len(matches.data) < _TEXT_PER_EVENT:
        return [(first, last)]

    # 64 bytes count for the JSON around a line: numbers, spans and keys.
    sizes = np.concatenate(([0], np.cumsum(matches.sizes + 64)))
    ends = (sizes[rows[first:last]] - sizes[row_start]).tolist()
    groups, index, base = [], first, 0
    for number, end in enumerate(ends, first + 1):
        if end - base >= _TEXT_PER_EVENT:
            groups.append((index, number))
            index, base = number, end

    if index < last:
        groups.append((index, last))

    return groups


def _lines(
    parts: list[bytes], rows: list[int], *, before: list[bytes], after: list[bytes], first: int, last: int
) -> bytes:
    """Write files with lines; the text between two rows of `parts` ends one and starts the next."""
    row_start = rows[first - 1] if first else 0
    row_end = rows[last - 1]

    # The slice begins after the first separator and ends before the next one, which belongs to another file.
    selected = parts[6 * row_start + 1 : 6 * row_end]
    for number in range(first, last - 1):
        part_index = 6 * (rows[number] - row_start) - 1
        closed = _END if selected[part_index - 1] else _END[1:]
        selected[part_index] = b"".join((closed, after[number], b",", before[number + 1], _LINES))

    closed = _END if selected[-1] else _END[1:]
    return b"".join((b"[", before[first], _LINES, *selected, closed, after[last - 1], b"]"))


def _rows(matches: RawMatches) -> list[bytes]:
    """Return the fragments of all lines, six each; the first is the text before the line."""
    n = len(matches.numbers)
    text, is_valid = _decode(matches.data)
    texts, pairs = _texts(text), _pairs(matches, is_valid=is_valid)

    # Filled by strides: one slice assignment per fragment replaces a loop over lines in Python.
    parts: list[bytes] = [_NEXT] * (6 * n)
    parts[1::6] = texts
    parts[2::6] = [_NUMBER] * n
    parts[3::6] = _dump(matches.numbers - 1)[1:-1].split(b",")
    parts[4::6] = [_SPANS] * n
    parts[5::6] = pairs
    for index in [index for index, pair in enumerate(pairs) if not pair] if b"" in pairs else ():
        parts[6 * index + 4] = _SPANS[:-1]
        if index + 1 < n:
            parts[6 * index + 6] = _NEXT[1:]

    return parts


def _decode(data: bytes) -> tuple[str, bool]:
    """Return a text with invalid bytes replaced, and whether there are none."""
    try:
        return str(data, "utf-8"), True
    except UnicodeDecodeError:
        return str(data, "utf-8", "replace"), False


def _texts(text: str) -> list[bytes]:
    """Return the JSON text of each line, without quotes."""
    if _SEPARATOR in text:
        return [dump(line)[1:-1] for line in text.split("\n")[:-1]]
    return dump(text.replace("\n", _SEPARATOR))[1:].split(_SPLIT)[:-1]


def _pairs(matches: RawMatches, *, is_valid: bool) -> list[bytes]:
    """Return each line's (start, length) pairs, without the outer brackets of the list and of its first and last pair.

    Spans are cut at the end of the line, before its newline. A line without pairs is empty.
    """
    n, counts = len(matches.numbers), matches.counts
    single = len(matches.starts) == n
    row = None if single else np.arange(n).repeat(counts)
    lengths = matches.sizes if row is None else matches.sizes[row]
    starts, ends = np.minimum(matches.starts, lengths), np.minimum(matches.ends, lengths)
    if not matches.data.isascii():
        line_starts = np.cumsum(matches.sizes + 1) - matches.sizes - 1
        data = np.frombuffer(matches.data, np.uint8)
        of_spans = line_starts if row is None else line_starts[row]
        starts, ends = points_in_texts(data, of_spans, (starts, ends), is_valid=is_valid)

    length = ends - starts
    is_short = length > 0
    if not is_short.all():
        row = np.arange(n) if row is None else row
        starts, length = starts[is_short], length[is_short]
        counts = np.bincount(row[is_short], minlength=n)
        single = False

    if not len(starts):
        return [b""] * n

    pairs = _dump(as_rows(starts, length))[2:-2].split(b"],[")
    if single:
        return pairs

    # The pair of each line with one, as most lines have, and then the others.
    last = counts.cumsum()
    first = last - counts
    out = [pairs[number] for number in np.minimum(first, len(pairs) - 1).tolist()]
    exception_rows = (counts != 1).nonzero()[0]
    for line, start, end in zip(
        exception_rows.tolist(), first[exception_rows].tolist(), last[exception_rows].tolist(), strict=True
    ):
        out[line] = b"],[".join(pairs[start:end])

    return out


def _dump(values: Int64Array) -> bytes:
    import orjson

    return orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)


def _files(matches: RawMatches, repositories: Mapping[str, RepositoryInfo]) -> tuple[list[bytes], list[bytes]]:
    """Return the JSON before and after the lines of each file."""
    texts = json_paths(matches.paths) if matches.path_json is None else matches.path_json
    # Only the locations of this result, which are few.
    location_texts = {
        index: location_text(matches.locations[index], repositories) for index in set(matches.location_index.tolist())
    }
    columns = zip(matches.in_content.tolist(), texts, matches.location_index.tolist(), strict=True)
    join = b"".join
    before = [
        join((_CONTENT if has_content else _PATH, text, b'",', location_texts[index]))
        for has_content, text, index in columns
    ]
    after = file_endings({name: _by_code(values) for name, values in matches.file_values.items()}, len(texts))
    if matches.line_values:
        ends = np.cumsum(np.where(matches.in_content, matches.lengths, 0)).tolist()
        entries = line_entries({name: values.to_pylist() for name, values in matches.line_values.items()})
        add_entries(after, entries, list(pairwise([0, *ends])))

    for number, spans in matches.names.items():
        path = str(matches.paths[number], "utf-8", "replace")
        ranges = b'"pathMatches":%b' % dump([name_range(path, start, end) for start, end in spans])
        if matches.in_content[number]:
            before[number] = join(
                (_CONTENT, texts[number], b'",', ranges, b",", location_texts[matches.location_index[number]])
            )
        else:
            after[number] = join((after[number][:-1], b",", ranges, b"}"))

    return before, after


def json_paths(paths: Any) -> list[bytes]:
    """Return the JSON text of each path, without quotes."""
    texts = dump(str(_SPLIT.join(paths), "utf-8", "replace"))[1:-1].split(_SPLIT)
    if len(texts) != len(paths):
        return [dump(str(path, "utf-8", "replace"))[1:-1] for path in paths]
    return texts


def location_text(target: RepositoryRevision, repositories: Mapping[str, RepositoryInfo]) -> bytes:
    """Return the JSON keys of a location, without braces."""
    info = repositories.get(target.repository)
    if info is None:
        return _location_json(target.repository, target.repository_id, 0, "", target.revision, target.commit)
    number = target.repository_id or info.id
    return _location_json(info.name, number, info.stars, info.last_fetched, target.revision, target.commit)


@lru_cache(maxsize=4096)
def _location_json(name: str, number: int, stars: int, last_fetched: str, revision: str, commit: str) -> bytes:
    """Return the JSON keys of a location, without braces."""
    info = RepositoryInfo(name, stars=stars, last_fetched=last_fetched)
    return dump(repository_fields(info, number, revision, commit))[1:-1]


def _by_code(coded: CodedValues) -> tuple[dict[int, Any], list[int]]:
    """Return the used values by code, and the code of each file."""
    values, numbers = coded
    codes = numbers.tolist()
    return {code: values[code] for code in set(codes)}, codes
