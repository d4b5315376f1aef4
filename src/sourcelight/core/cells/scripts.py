"""The cells of text notebooks: percent scripts as jupytext pairs them, Quarto and R Markdown."""

from __future__ import annotations

import re

from sourcelight.core.cells.model import CellDocument, CellText, Fragment
from sourcelight.core.query.fields import CODE, MARKDOWN, RAW
from sourcelight.core.query.languages import find_language

MARKER = r"^[ \t]*(?:#|//|--)[ \t]*%%(?:[ \t].*)?\r?$"
"""Marker of a cell in a percent script, for RE2 and Python: ``# %%``, with a title, a kind and options."""

_MARKER = re.compile(MARKER.encode(), re.MULTILINE)
# Applied to a marker alone, where everything is behind its `%%`.
_KIND = re.compile(rb"\[(markdown|md|raw)\]")
_HEADER = re.compile(rb"\A[ \t]*(?:#|//|--)[ \t]*---[ \t]*\r?\n(?:.*\n)*?[ \t]*(?:#|//|--)[ \t]*---[ \t]*\r?(?:\n|\Z)")
# The rules of knitr: https://github.com/yihui/knitr/blob/master/R/pattern.R (`md`).
_CHUNK = re.compile(rb"^[\t >]*(`{3,})[ \t]*\{([a-zA-Z0-9_]+)(?:[ ,\t][^\n]*)?\}[ \t]*\r?$", re.MULTILINE)
_FENCE = re.compile(rb"^[\t >]*(`{3,})[ \t]*\r?$", re.MULTILINE)
_OWN_KEY = re.compile(rb"^(?!jupyter:|---|[ \t\r\n#]).", re.MULTILINE)
_YAML = re.compile(rb"\A---[ \t]*\r?\n(?:.*\n)*?---[ \t]*\r?(?:\n|\Z)")


def read_script(data: bytes, language: str) -> CellDocument:
    """Return the cells of a percent script; none for a script without a marker.

    The line of the marker belongs to no cell. Code before the first marker is a cell; the header of jupytext isn't.
    Markdown cells have their comment marks, as the file has them.
    """
    markers = list(_MARKER.finditer(data))
    if not markers:
        return CellDocument(language=language)

    header = _HEADER.match(data)
    cells = CellBuilder(data)
    start = header.end() if header is not None and header.end() <= markers[0].start() else 0
    if data[start : markers[0].start()].strip():
        cells.add(CODE, language, start, markers[0].start())

    for marker, end in zip(markers, [*(next_marker.start() for next_marker in markers[1:]), len(data)], strict=True):
        kind_match = _KIND.search(marker[0])
        if kind_match is None:
            kind = CODE
        elif kind_match[1] == b"raw":
            kind = RAW
        else:
            kind = MARKDOWN
        cells.add(kind, language, min(marker.end() + 1, len(data)), end)

    return CellDocument(tuple(cells.texts), language, cells.count)


def read_chunks(data: bytes) -> CellDocument:
    """Return the cells of a Quarto or R Markdown file: its chunks, and the text between them as Markdown.

    The lines of the fences belong to no cell; a header in YAML is a raw cell, unless it has jupytext's keys alone.
    """
    chunks = []
    position = 0
    while (opening := _CHUNK.search(data, position)) is not None:
        closing = _FENCE.search(data, opening.end())
        while closing is not None and len(closing[1]) < len(opening[1]):
            closing = _FENCE.search(data, closing.end())
        end = len(data) if closing is None else closing.start()
        chunks.append((opening, end))
        position = len(data) if closing is None else min(closing.end() + 1, len(data))

    languages = [find_language(opening[2].decode()) or "" for opening, _ in chunks]
    main = next(filter(None, languages), "")
    cells = CellBuilder(data)
    header = _YAML.match(data)
    start = 0
    if header is not None:
        start = header.end()
        if has_own_keys(header[0]):
            cells.add(RAW, main, 0, start)

    for (opening, end), language in zip(chunks, languages, strict=True):
        if opening.start() < start:
            continue  # within the header
        if data[start : opening.start()].strip():
            cells.add(MARKDOWN, main, start, opening.start())
        cells.add(RAW if opening[2] == b"raw" else CODE, language, min(opening.end() + 1, len(data)), end)
        newline = data.find(b"\n", end)
        start = len(data) if newline < 0 else newline + 1

    if data[start:].strip():
        cells.add(MARKDOWN, main, start, len(data))

    return CellDocument(tuple(cells.texts), main, cells.count)


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
        self._position, self._line = 0, 1
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
