"""Formats of files with cells, by their paths, and the reader of each."""

from __future__ import annotations

import dataclasses
import re

from sourcelight.core.cells import markdown, scripts
from sourcelight.core.cells.json_places import InvalidJson
from sourcelight.core.cells.model import CellDocument
from sourcelight.core.cells.notebook import read_notebook
from sourcelight.core.cells.notebook_nodes import NoNotebook
from sourcelight.core.query.languages import language_of

MAX_BYTES = 64 * 1024 * 1024
"""Size above which a notebook is not read."""

CELL_PATHS = r"\.(?:[Ii][Pp][Yy][Nn][Bb]|[Qq][Mm][Dd]|[Rr][Mm][Dd])$"
"""Paths of files that always have cells, as a regular expression that RE2 and Python read alike."""

_SCRIPT_PATHS = r"\.(?:py|[rR]|jl|scala|java|groovy|js|ts|cpp|cs|fs|fsx|go|rs|lua|hs|sql|sh|ps1|pl|rb|clj|coffee|m)$"
_MARKDOWN_PATHS = r"\.(?:md|markdown|myst|mystnb|mnb)$"

MARKERS = {_SCRIPT_PATHS: scripts.MARKER, _MARKDOWN_PATHS: markdown.MARKER}
"""Paths of files that may have cells, and a line that each of those with cells has: the languages of jupytext, and
Markdown."""

_CELLS, _SCRIPTS, _MARKDOWN = map(re.compile, (CELL_PATHS, _SCRIPT_PATHS, _MARKDOWN_PATHS))
_LINE_MARKERS = {pattern: re.compile(marker.encode(), re.MULTILINE) for pattern, marker in MARKERS.items()}


class UnreadableNotebook(ValueError):
    """Raised for a notebook that is broken, too large or none at all; the text says why."""


def has_cells(path: str) -> bool:
    """Return whether a path has the name of a notebook, of any content."""
    return _CELLS.search(path) is not None


def is_jupyter(path: str) -> bool:
    """Return whether a path has the name of a Jupyter notebook, of any content."""
    return path[-6:].lower() == ".ipynb"


def is_script(path: str) -> bool:
    """Return whether a path has the name of a script, which has cells if one of its lines is a marker."""
    return _SCRIPTS.search(path) is not None


def may_have_cells(path: str) -> bool:
    """Return whether a path has the name of a file that has cells, or may have them."""
    return has_cells(path) or is_script(path) or _MARKDOWN.search(path) is not None


def has_marker(path: str, data: bytes) -> bool:
    """Return whether a file has the line that files of its kind need to have cells."""
    if has_cells(path):
        return True
    pattern = _SCRIPT_PATHS if is_script(path) else _MARKDOWN_PATHS
    return may_have_cells(path) and _LINE_MARKERS[pattern].search(data) is not None


def read_cells(path: str, data: bytes, *, with_outputs: bool = True) -> CellDocument:
    """Return the cells of a file; none for a file of another kind, or one without markers.

    Raises
    ------
    UnreadableNotebook
        For a notebook that is broken, too large or none at all.
    """
    if not has_cells(path):
        if is_script(path):
            return _with_weight(scripts.read_script(data, language_of(path)))
        if has_marker(path, data):
            return _with_weight(markdown.read_markdown(data))
        return CellDocument()

    if len(data) > MAX_BYTES:
        raise UnreadableNotebook(f"it has more than {MAX_BYTES // 1024**2} MB")
    if not is_jupyter(path):
        return _with_weight(scripts.read_chunks(data))

    try:
        return _with_weight(read_notebook(data, with_outputs=with_outputs))
    except (InvalidJson, NoNotebook) as error:
        raise UnreadableNotebook(str(error)) from None


def format_of(path: str) -> str:
    """Return the ending of a notebook, or the language: with the content, it decides how a file is read."""
    return path.rpartition(".")[2].lower() if has_cells(path) else language_of(path)


def opens_cell(path: str, line: str) -> bool:
    """Return whether a line is the marker of a cell, or the fence that opens one."""
    data = line.encode("utf-8", "replace")
    if _MARKDOWN.search(path) is not None:
        return markdown.opens_markdown_cell(data)
    return scripts.opens_cell(data)


def _with_weight(document: CellDocument) -> CellDocument:
    return dataclasses.replace(document, weight=document.weight + sum(text.weight for text in document.texts))
