"""The cells of text notebooks: percent scripts as jupytext pairs them, Quarto and R Markdown.

A percent script has a marker before each cell, Quarto and R Markdown have their code between fences::

    # %% [markdown]                     Some text.
    # Some text.
                                        ```{python}
    # %%                                print(1)
    print(1)                            ```
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sourcelight.core.cells.model import CellDocument, CellText, Fragment
from sourcelight.core.query.fields import CODE, MARKDOWN, RAW
from sourcelight.core.query.languages import find_language

MARKER = r"^[ \t]*(?:#|//|--)[ \t]*%%(?:[ \t].*)?\r?$"
"""Marker of a cell in a percent script, for RE2 and Python: ``# %%``, with a title, a kind and options."""

_MARKER = re.compile(MARKER.encode(), re.MULTILINE)
"""The line before a cell: ``# %%``."""

# Applied to a marker alone, where everything is behind its `%%`.
_KIND = re.compile(rb"\[(markdown|md|raw)\]")
"""The kind in ``# %% [markdown]``; a cell without one is code."""

_HEADER = re.compile(rb"\A[ \t]*(?:#|//|--)[ \t]*---[ \t]*\r?\n(?:.*\n)*?[ \t]*(?:#|//|--)[ \t]*---[ \t]*\r?(?:\n|\Z)")
"""The comment with jupytext's settings at the start of a script, between two lines ``# ---``."""

# The rules of knitr: https://github.com/yihui/knitr/blob/master/R/pattern.R (`md`).
_CHUNK = re.compile(rb"^[\t >]*(`{3,})[ \t]*\{([a-zA-Z0-9_]+)(?:[ ,\t][^\n]*)?\}[ \t]*\r?$", re.MULTILINE)
"""The line that opens a chunk: three backticks and ``{r, echo=FALSE}``."""

_FENCE = re.compile(rb"^[\t >]*(`{3,})[ \t]*\r?$", re.MULTILINE)
"""The end of a chunk of R Markdown."""

_OWN_KEY = re.compile(rb"^(?!jupyter:|---|[ \t\r\n#]).", re.MULTILINE)
"""The start of a key of the outermost level that isn't ``jupyter:``, such as ``title: Retries``."""

_YAML = re.compile(rb"\A---[ \t]*\r?\n(?:.*\n)*?---[ \t]*\r?(?:\n|\Z)")
"""A header at the start of a file, between two lines ``---``."""


def read_script(data: bytes, language: str) -> CellDocument:
    """Return the cells of a percent script; none for a script without a marker.

    The line of the marker belongs to no cell. Code before the first marker is a cell; the header of jupytext isn't.
    Markdown cells have their comment marks, as the file has them.
    """
    markers = list(_MARKER.finditer(data))
    if not markers:
        return CellDocument(language=language)

    cells = CellBuilder(data)
    first_marker = markers[0].start()
    start = 0
    header = _HEADER.match(data)
    # Two lines of hyphens around the first marker are no header.
    if header is not None and header.end() <= first_marker:
        start = header.end()
    if data[start:first_marker].strip():
        cells.add(CODE, language, start, first_marker)

    # Each cell goes to the next marker.
    ends = [marker.start() for marker in markers[1:]]
    ends.append(len(data))
    for marker, end in zip(markers, ends, strict=True):
        line_end = min(marker.end() + 1, len(data))
        cells.add(_kind_of(marker[0]), language, line_end, end)

    return CellDocument(tuple(cells.texts), language, cells.count)


def _kind_of(marker: bytes) -> str:
    match = _KIND.search(marker)
    if match is None:
        return CODE
    if match[1] == b"raw":
        return RAW
    return MARKDOWN


def read_chunks(data: bytes) -> CellDocument:
    """Return the cells of a Quarto or R Markdown file: its chunks, and the text between them as Markdown.

    The lines of the fences belong to no cell; a header in YAML is a raw cell, unless it has jupytext's keys alone.
    """
    chunks = _find_chunks(data)
    languages = [chunk.language for chunk in chunks]
    main = next(filter(None, languages), "")
    cells = CellBuilder(data)
    header = _YAML.match(data)
    start = 0
    if header is not None:
        start = header.end()
        if has_own_keys(header[0]):
            cells.add(RAW, main, 0, start)

    for chunk in chunks:
        # A fence within the header opens nothing.
        if chunk.opening < start:
            continue
        if data[start : chunk.opening].strip():
            cells.add(MARKDOWN, main, start, chunk.opening)
        cells.add(chunk.kind, chunk.language, chunk.start, chunk.end)
        start = _next_line(data, chunk.end)

    if data[start:].strip():
        cells.add(MARKDOWN, main, start, len(data))

    return CellDocument(tuple(cells.texts), main, cells.count)


class _CodeChunk(NamedTuple):
    """A chunk of a file: its kind and language, the start of its fence, and the start and the end of its lines."""

    kind: str
    language: str
    opening: int
    start: int
    end: int


def _find_chunks(data: bytes) -> list[_CodeChunk]:
    chunks: list[_CodeChunk] = []
    opening = _CHUNK.search(data)
    while opening is not None:
        closing = _FENCE.search(data, opening.end())
        # A fence within the chunk is shorter than its own.
        while closing is not None and len(closing[1]) < len(opening[1]):
            closing = _FENCE.search(data, closing.end())

        end = len(data)
        position = len(data)
        if closing is not None:
            end = closing.start()
            position = min(closing.end() + 1, len(data))

        kind = RAW if opening[2] == b"raw" else CODE
        language = find_language(opening[2].decode()) or ""
        chunks.append(_CodeChunk(kind, language, opening.start(), min(opening.end() + 1, len(data)), end))
        opening = _CHUNK.search(data, position)

    return chunks


def _next_line(data: bytes, position: int) -> int:
    newline = data.find(b"\n", position)
    if newline < 0:
        return len(data)
    return newline + 1


def has_own_keys(header: bytes) -> bool:
    """Return whether a header has keys other than jupytext's own; jupytext then makes it a raw cell."""
    return b"jupyter:" not in header or _OWN_KEY.search(header) is not None


def opens_cell(line: bytes) -> bool:
    """Return whether a line is the marker of a cell in a script, or the fence that opens a chunk."""
    return _MARKER.match(line) is not None or _CHUNK.match(line) is not None


class CellBuilder:
    """Collects cells that are runs of whole lines, in the order of the file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0
        self._line = 1
        self.texts: list[CellText] = []
        self.count = 0

    def add(self, kind: str, language: str, start: int, end: int) -> None:
        """Add the cell of the bytes from `start` to `end`; an empty one is counted only."""
        self.count += 1
        self._line += self._data.count(b"\n", self._position, start)
        self._position = start
        if end > start:
            fragment = Fragment(start=start, end=end, line=self._line, offset=0, is_json=False)
            self.texts.append(
                CellText(
                    cell=self.count, kind=kind, language=language, text=self._data[start:end], source_map=(fragment,)
                )
            )
