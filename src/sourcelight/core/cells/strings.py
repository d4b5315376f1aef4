"""A notebook at the speed of a JSON library: its values from orjson, the places of its strings from its quotes.

The strings of a JSON text, keys included, are between its unescaped quotes, in the order of a walk over the value. So
the place of a string is its number in that walk, and no parser of places runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import orjson

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cells.model import Fragment

MAX_VALUES = 500_000
"""Maximum commas, colons and brackets of a large file read this way, which bounds the memory of its values."""

SMALL_BYTES = 2 * 1024 * 1024
"""Size up to which any values of a file take little memory."""

_QUOTE, _BACKSLASH, _NEWLINE = ord('"'), ord("\\"), ord("\n")
# A character that no text of orjson has: it refuses lone surrogates.
_SEPARATOR = "\ud800"
_LINE_END = f"\n{_SEPARATOR}"
_STRINGS_ONLY = {str}

Int32Array: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]


class UnknownPlaces(ValueError):
    """Raised for a text whose strings can't be numbered: `json_places` reads it."""


@dataclass(frozen=True, slots=True, eq=False)
class StringTable:
    """Offsets of the strings of a file, without quotes, and of its line ends."""

    starts: Int32Array
    ends: Int32Array
    newlines: Int32Array

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.starts.nbytes + self.ends.nbytes + self.newlines.nbytes


@dataclass(frozen=True, slots=True)
class LineStrings:
    """A text with one string of the file per line, as in nearly all sources and outputs.

    Attributes
    ----------
    table
        The strings of the file.
    runs
        Numbers of the strings, in the order of the text.
    """

    table: StringTable
    runs: tuple[range, ...]

    @property
    def first(self) -> int:
        """The first byte of the file."""
        return int(self.table.starts[self.runs[0].start])

    def file_offset(self, number: int) -> int:
        """Return the byte at which a line, counted from 0, starts."""
        for run in self.runs:
            if number < len(run):
                return int(self.table.starts[run[number]])
            number -= len(run)
        raise IndexError(number)

    def file_lines(self) -> Sequence[int]:
        """Return the 1-based line of the file of each string."""
        starts = self._in_runs(self.table.starts)
        lines: list[int] = (np.searchsorted(self.table.newlines, starts, side="right") + 1).tolist()
        return lines

    def fragments(self, line_starts: Sequence[int]) -> tuple[Fragment, ...]:
        """Return the strings as fragments of a text whose lines start at `line_starts`."""
        starts, ends = (self._in_runs(positions).tolist() for positions in (self.table.starts, self.table.ends))
        positions = zip(starts, ends, self.file_lines(), line_starts, strict=True)
        return tuple(Fragment(start, end, line, offset, is_json=True) for start, end, line, offset in positions)

    def _in_runs(self, positions: Int32Array) -> Int32Array:
        position_runs = [positions[run.start : run.stop] for run in self.runs]
        if len(position_runs) == 1:
            return position_runs[0]
        return np.concatenate(position_runs)


class StringRun(NamedTuple):
    """Strings that are joined, and the number of the first one in the walk."""

    strings: list[str]
    first: int


def string_table(data: bytes) -> StringTable:
    """Return the places of all strings of a valid JSON text."""
    values = np.frombuffer(data, dtype=np.uint8)
    quotes: Int64Array = np.flatnonzero(values == _QUOTE)
    after_backslash = values[quotes - 1] == _BACKSLASH
    if after_backslash.any():
        backslashes = np.flatnonzero(values == _BACKSLASH)
        is_first = np.ones(len(backslashes), dtype=np.bool_)
        is_first[1:] = np.diff(backslashes) > 1
        run_starts = np.maximum.accumulate(np.where(is_first, backslashes, 0))
        candidates = quotes[after_backslash]
        runs = candidates - run_starts[np.searchsorted(backslashes, candidates - 1)]
        after_backslash[after_backslash] = runs % 2 == 1
        quotes = quotes[~after_backslash]

    bounds: Int32Array = quotes.astype(np.int32)
    newlines = np.flatnonzero(values == _NEWLINE).astype(np.int32)
    return StringTable(bounds[::2] + np.int32(1), bounds[1::2], newlines)


def load_json(data: bytes) -> Any:
    """Return the value of a JSON text, or None if orjson refuses it, or if its values may fill the memory."""
    if len(data) > SMALL_BYTES and sum(map(data.count, (b",", b":", b"[", b"{"))) > MAX_VALUES:
        return None
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return None


def count_strings(value: Any) -> int:
    """Return how many strings a value of JSON has, keys included."""
    total = 0
    pending = [value]
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is str:
            total += 1
        elif kind is dict:
            total += len(node)
            pending += node.values()
        elif kind is list:
            pending += node

    return total


def run_of(value: Any, first: int) -> StringRun:
    """Return the strings of a source: one, or a list of them.

    Raises
    ------
    UnknownPlaces
        For a list that also holds other values.
    """
    if type(value) is str:
        return StringRun([value], first)
    if type(value) is not list:
        return StringRun([], first)

    # `map` and `set` run without a step of Python for each line.
    if value and set(map(type, value)) != _STRINGS_ONLY:
        raise UnknownPlaces

    return StringRun(value, first)


def join_lines(runs: Iterable[StringRun], table: StringTable) -> tuple[bytes, LineStrings] | None:
    """Join runs of one string a line; each starts on a new line. None if a string isn't a line."""
    parts: list[str] = []
    positions: list[range] = []
    for strings, first in runs:
        count = len(strings)
        if not count or (count == 1 and not strings[0]):
            continue

        text = "".join(strings)
        last = strings[-1]
        if not last or text.count("\n") != count - 1 + last.endswith("\n"):
            return None
        if count > 1 and _SEPARATOR.join(strings).count(_LINE_END) != count - 1:
            return None

        if parts and not parts[-1].endswith("\n"):
            parts.append("\n")

        parts.append(text)
        positions.append(range(first, first + count))

    return "".join(parts).encode(), LineStrings(table, tuple(positions))
