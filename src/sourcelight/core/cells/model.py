"""The cells of one file: their texts, and the position of each of their lines in the file.

A text is searched as a reader of the notebook sees it, and its matches are reported as places of the file. In JSON a
character may be an escape of several bytes, so only the starts of lines are mapped exactly. Formats whose lines are one
string each compute this mapping on request (`LinePlaces`) instead of holding a fragment for every line.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

from sourcelight.core.query.fields import OUTPUT

_TEXT_BYTES = 200
"""Approximate bytes of memory of a text or fragment, without its characters."""


class Fragment(NamedTuple):
    """A run of bytes of the file that holds a piece of a cell's text.

    Attributes
    ----------
    start, end
        Bytes of the fragment in the file, without the quotes of a JSON string.
    line
        1-based line of the file on which it starts.
    offset
        Byte offset of the fragment in the text of the cell.
    is_json
        Whether the file has it as a JSON string, in which a newline is an escape and doesn't start a line of the file.
    breaks
        For a JSON string, the byte of the file after each escaped newline, except a newline at the end of the string.
    """

    start: int
    end: int
    line: int
    offset: int
    is_json: bool
    breaks: tuple[int, ...] = ()


class LinePlaces(Protocol):
    """Positions of a text whose lines are one string of the file each."""

    @property
    def first(self) -> int:
        """The first byte of the text in the file."""
        ...

    def file_offset(self, number: int) -> int:
        """Return the byte at which a line, counted from 0, starts."""
        ...

    def file_lines(self) -> Sequence[int]:
        """Return the 1-based line of the file of each line."""
        ...

    def fragments(self, line_starts: Sequence[int]) -> tuple[Fragment, ...]:
        """Return a fragment for each line of a text whose lines start at `line_starts`."""
        ...


@dataclass(frozen=True)
class CellText:
    """The source of a cell, or the text of its outputs.

    Attributes
    ----------
    cell
        1-based number of the cell in its file.
    kind
        ``code``, ``markdown``, ``raw`` or ``output``.
    language
        Display name of the language, for a notebook the kernel's; empty if the file names none.
    text
        The text in UTF-8, as a reader of the notebook sees it; invalid bytes are kept.
    source_map
        Positions of the text in the file, in the order of the text.
    """

    cell: int
    kind: str
    language: str
    text: bytes
    source_map: tuple[Fragment, ...] | LinePlaces

    @cached_property
    def fragments(self) -> tuple[Fragment, ...]:
        """The fragments of the file that make up the text."""
        if isinstance(self.source_map, tuple):
            return self.source_map
        return self.source_map.fragments(self.line_starts)

    @property
    def file_start(self) -> int:
        """The first byte of the file that belongs to the text."""
        if isinstance(self.source_map, tuple):
            return self.source_map[0].start
        return self.source_map.first

    @property
    def weight(self) -> int:
        """Approximate bytes of memory."""
        fragments = len(self.source_map) if isinstance(self.source_map, tuple) else 1
        return len(self.text) + _TEXT_BYTES * (1 + fragments)

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of each line of the text. A newline at the end starts no further line; an empty text has no line."""
        starts = [0] if self.text else []
        newline = self.text.find(b"\n")
        while 0 <= newline < len(self.text) - 1:
            starts.append(newline + 1)
            newline = self.text.find(b"\n", newline + 1)
        return starts

    def line(self, number: int) -> bytes:
        """Return the text of a line, counted from 0, without its newline."""
        starts = self.line_starts
        end = starts[number + 1] - 1 if number + 1 < len(starts) else len(self.text) - self.text.endswith(b"\n")
        return self.text[starts[number] : end]

    def fragment_at(self, offset: int) -> Fragment:
        """Return the fragment at an offset of the text, or the last one before it."""
        return self.fragments[max(0, bisect.bisect_right(self._offsets, offset) - 1)]

    @cached_property
    def _offsets(self) -> list[int]:
        return [fragment.offset for fragment in self.fragments]

    def file_offset(self, number: int) -> int:
        """Return the byte of the file at which a line of the text, counted from 0, starts."""
        if not isinstance(self.source_map, tuple):
            return self.source_map.file_offset(number)

        offset = self.line_starts[number]
        fragment = self.fragment_at(offset)
        if not fragment.is_json:
            return fragment.start + offset - fragment.offset

        # In JSON, characters may be escapes of up to twelve bytes, so bytes of the file can't be counted in the text:
        # only the starts of lines are known, in `breaks`.
        breaks = self.text.count(b"\n", fragment.offset, offset)
        return fragment.breaks[breaks - 1] if breaks else fragment.start

    def line_at(self, fragment: Fragment, offset: int) -> int:
        """Return the line of the text, counted from 0, that a byte of the file in a fragment belongs to."""
        before = self.text.count(b"\n", 0, fragment.offset)
        if fragment.is_json:
            return before + bisect.bisect_right(fragment.breaks, offset)
        return before + self.text.count(b"\n", fragment.offset, fragment.offset + offset - fragment.start)

    @cached_property
    def file_lines(self) -> Sequence[int]:
        """The 1-based line of the file on which each line of the text starts."""
        if not isinstance(self.source_map, tuple):
            return self.source_map.file_lines()

        first = self.fragments[0] if self.fragments else None
        if first is None or not first.is_json:
            # A run of whole lines of the file.
            start = 0 if first is None else first.line
            return range(start, start + len(self.line_starts))

        return [self.fragment_at(offset).line for offset in self.line_starts]


class CellPlace(NamedTuple):
    """Number and kind of a cell, the line in its source or output, from 1, and the cell's language."""

    cell: int
    kind: str
    line: int
    language: str


@dataclass(frozen=True)
class CellDocument:
    """The cells of one file.

    Attributes
    ----------
    texts
        Sources and outputs, in the order of the file.
    language
        Display name of its language; empty when it names none.
    cells
        Number of cells, including empty ones.
    malformed
        Number of cells that aren't objects, or whose source is neither text, lines of text nor null.
    """

    texts: tuple[CellText, ...] = ()
    language: str = ""
    cells: int = 0
    malformed: int = 0
    weight: int = field(default=0, compare=False)

    @property
    def sources(self) -> tuple[CellText, ...]:
        """The texts of sources, without outputs."""
        return tuple(text for text in self.texts if text.kind != OUTPUT)

    @cached_property
    def _by_start(self) -> tuple[list[int], list[CellText]]:
        texts = sorted((text for text in self.texts if text.text), key=lambda text: text.file_start)
        return [text.file_start for text in texts], texts

    def text_at(self, offset: int) -> tuple[CellText, Fragment] | None:
        """Return the text of the cell at a byte of the file, and its fragment, or None for a byte outside of cells."""
        starts, texts = self._by_start
        number = bisect.bisect_right(starts, offset) - 1
        if number < 0:
            return None

        # Texts don't overlap in the file, so only the last one that starts before the byte can contain it.
        text = texts[number]
        fragment = text.fragments[bisect.bisect_right(text.fragments, offset, key=lambda item: item.start) - 1]
        return (text, fragment) if offset < fragment.end else None

    def place_at(self, offset: int) -> CellPlace | None:
        """Return the position in a cell of a byte of the file, or None for a byte outside all cells."""
        position = self.text_at(offset)
        if position is None:
            return None
        text, fragment = position
        return CellPlace(text.cell, text.kind, text.line_at(fragment, offset) + 1, text.language)
