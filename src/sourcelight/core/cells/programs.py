"""The code of a file with cells as one text in one language, for parsers, and the place in the file of each byte.

All cells of a file share a scope, in their order, so their sources are one text. It is not the text of the file: JSON
escapes are decoded, indentation that a whole cell shares is gone, and commands of a kernel are replaced.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cells.json_places import unescape
from sourcelight.core.cells.magics import dedent, mask_magics
from sourcelight.core.cells.model import CellDocument, CellText
from sourcelight.core.query.fields import CODE

DEFAULT_LANGUAGE = "Python"
"""The language of a notebook that names none."""

_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
"""An escape in a string, of which two together write a character beyond U+FFFF."""


@dataclass(frozen=True, eq=False)
class Program:
    """The code of the cells of a file that are in one language.

    Attributes
    ----------
    language
        Display name of the language.
    text
        The code, cell after cell; each starts on a new line.
    line_starts
        Byte of the text at which each line starts.
    cells, cell_lines, file_lines
        For each line the number of its cell, its line in the cell, and its line in the file, all from 1.
    spans
        Start and end of each cell in the text.
    """

    language: str
    text: bytes
    line_starts: Int64Array
    cells: Int64Array
    cell_lines: Int64Array
    file_lines: Int64Array
    spans: Sequence[tuple[int, int]]
    # Between two anchors, a byte of the text is a byte of the file.
    _anchors: Int64Array
    _file_anchors: Int64Array

    def line_at(self, offset: int) -> int:
        """Return the line of the text, from 0, that holds a byte of it."""
        return max(0, int(self.line_starts.searchsorted(offset, side="right")) - 1)

    def file_line(self, line: int) -> int:
        """Return the 1-based line of the file of a 1-based line of the text."""
        return int(self.file_lines[min(max(line, 1), len(self.file_lines)) - 1])

    def cell_at(self, offset: int) -> tuple[int, int]:
        """Return the number of the cell, and the line in it, of a byte of the text."""
        line = self.line_at(offset)
        return int(self.cells[line]), int(self.cell_lines[line])

    def file_offsets(self, offsets: Any) -> Int64Array:
        """Return the byte offsets in the file of byte offsets in the text."""
        values = np.asarray(offsets, dtype=np.int64)
        number = np.maximum(self._anchors.searchsorted(values, side="right") - 1, 0)
        return self._file_anchors[number] + values - self._anchors[number]

    def without(self, cells: Collection[int]) -> Program:
        """Return the same program with blanks for some cells, given by their places in `spans`."""
        parts = []
        for number, (start, end) in enumerate(self.spans):
            text = self.text[start:end]
            parts.append(re.sub(rb"[^\n]", b" ", text) if number in cells else text)
        return replace(self, text=b"".join(parts))


def programs_of(document: CellDocument, data: bytes, languages: Collection[str]) -> list[Program]:
    """Return the code of a file in each of several languages, most code first.

    Parameters
    ----------
    document
        The cells, as `read_cells` returns them.
    data
        The file.
    languages
        Display names of the languages that can be parsed.
    """
    sizes: Counter[str] = Counter()
    by_language: dict[str, list[CellText]] = {}
    for text in document.texts:
        language = text.language or DEFAULT_LANGUAGE
        if text.kind == CODE and language in languages:
            sizes[language] += len(text.text)
            by_language.setdefault(language, []).append(text)

    return [_program(language, by_language[language], data) for language, _ in sizes.most_common()]


@dataclass(slots=True)
class _Anchors:
    """Collects at which bytes of a text those of the file are elsewhere than after the ones before."""

    text: list[int] = field(default_factory=list)
    file: list[int] = field(default_factory=list)

    def add(self, offset: int, file_offset: int) -> None:
        self.text.append(offset)
        self.file.append(file_offset)


def _program(language: str, texts: Sequence[CellText], data: bytes) -> Program:
    parts: list[bytes] = []
    spans: list[tuple[int, int]] = []
    line_starts: list[int] = []
    cells: list[int] = []
    cell_lines: list[int] = []
    file_lines: list[int] = []
    anchors = _Anchors()
    size = 0
    for text in texts:
        code, removed = dedent(mask_magics(text.text, language), language)
        if not code.endswith(b"\n"):
            code += b"\n"

        positions = _text_anchors(text, data)
        # Each line starts after the indentation removed from it and from all lines before.
        starts = [0, *(match.end() for match in re.finditer(b"\n", code))][:-1]
        _add_anchors(anchors, positions, line_starts=text.line_starts, starts=starts, removed=removed, size=size)
        line_starts += [size + start for start in starts]
        count = len(starts)
        cells += [text.cell] * count
        cell_lines += range(1, count + 1)
        file_lines += text.file_lines
        parts.append(code)
        spans.append((size, size + len(code)))
        size += len(code)

    return Program(
        language,
        b"".join(parts),
        line_starts=np.array(line_starts, dtype=np.int64),
        cells=np.array(cells, dtype=np.int64),
        cell_lines=np.array(cell_lines, dtype=np.int64),
        file_lines=np.array(file_lines, dtype=np.int64),
        spans=spans,
        _anchors=np.array(anchors.text or [0], dtype=np.int64),
        _file_anchors=np.array(anchors.file or [0], dtype=np.int64),
    )


def _text_anchors(text: CellText, data: bytes) -> Iterator[tuple[int, int]]:
    """Yield byte offsets in a cell's text and in the file at which the difference between the two changes."""
    for fragment in text.fragments:
        offset, position = fragment.offset, fragment.start
        yield offset, position
        if not fragment.is_json or data.find(b"\\", position, fragment.end) < 0:
            continue
        for escape in _ESCAPE.finditer(data, position, fragment.end):
            offset += escape.start() - position + len(unescape(escape[0]))
            position = escape.end()
            if position < fragment.end:
                yield offset, position


def _add_anchors(
    anchors: _Anchors,
    positions: Iterator[tuple[int, int]],
    *,
    line_starts: Sequence[int],
    starts: Sequence[int],
    removed: int,
    size: int,
) -> None:
    """Add the anchors of a cell; `size` is the size of the program so far."""
    if not removed:
        for offset, file_offset in positions:
            anchors.add(size + offset, file_offset)
        return

    pairs = list(positions)
    offsets, files = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))

    # Within a line the text is the cell's, shifted by the bytes removed so far.
    bounds = sorted({*offsets.tolist(), *(start + removed for start in line_starts)})
    firsts = np.array(line_starts, dtype=np.int64)
    for offset in bounds:
        line = max(0, int(firsts.searchsorted(offset, side="right")) - 1)
        column = offset - line_starts[line] - removed
        number = max(0, int(offsets.searchsorted(offset, side="right")) - 1)
        if column >= 0:
            anchors.add(size + starts[line] + column, int(files[number]) + offset - int(offsets[number]))
