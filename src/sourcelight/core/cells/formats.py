"""Which files have cells, by their paths, and how each format is read."""

from __future__ import annotations

import dataclasses
import re

from sourcelight.core.cells.json_places import InvalidJson
from sourcelight.core.cells.model import CellDocument
from sourcelight.core.cells.notebook import NoNotebook, read_notebook
from sourcelight.core.cells.scripts import MARKER, read_chunks, read_script
from sourcelight.core.query.languages import language_of

MAX_BYTES = 64 * 1024 * 1024
"""Size above which a notebook is not read."""

CELL_PATHS = r"\.(?:ipynb|qmd|[Rr][Mm][Dd])$"
"""Paths of files that always have cells, as a regular expression that RE2 and Python read alike."""

SCRIPT_PATHS = r"\.(?:py|[rR]|jl|scala|java|groovy|js|ts|cpp|cs|fs|fsx|go|rs|lua|hs|sql|sh|ps1|pl|rb|clj|coffee|m)$"
"""Paths of files that have cells where a line matches `MARKER`: the languages of jupytext."""

_CELLS, _SCRIPTS = re.compile(CELL_PATHS), re.compile(SCRIPT_PATHS)


class UnreadableNotebook(ValueError):
    """Raised for a notebook that is broken, too large or none at all; the text says why."""


def has_cells(path: str) -> bool:
    """Return whether a file at `path` is a notebook by its name, whatever is in it."""
    return _CELLS.search(path) is not None


def is_script(path: str) -> bool:
    """Return whether a file at `path` has cells if a line of it matches `MARKER`."""
    return _SCRIPTS.search(path) is not None


def read_cells(path: str, data: bytes, *, with_outputs: bool = True) -> CellDocument:
    """Return the cells of a file; none for a file of another kind, or a script without markers.

    Raises
    ------
    UnreadableNotebook
        For a notebook that is broken, too large or none at all.
    """
    if not has_cells(path):
        return _with_weight(read_script(data, language_of(path))) if is_script(path) else CellDocument()
    if len(data) > MAX_BYTES:
        raise UnreadableNotebook(f"it has more than {MAX_BYTES // 1024**2} MB")
    if not path.endswith(".ipynb"):
        return _with_weight(read_chunks(data))
    try:
        return _with_weight(read_notebook(data, with_outputs=with_outputs))
    except (InvalidJson, NoNotebook) as error:
        raise UnreadableNotebook(str(error)) from None


def _with_weight(document: CellDocument) -> CellDocument:
    return dataclasses.replace(document, weight=document.weight + sum(text.weight for text in document.texts))


__all__ = ["CELL_PATHS", "MARKER", "SCRIPT_PATHS", "UnreadableNotebook", "has_cells", "is_script", "read_cells"]
