"""Cells of notebooks: what is read of Jupyter notebooks, percent scripts, Quarto and R Markdown, and where it stands.

No index, no files and no queries. Start with `formats.read_cells`; `model` says what a cell is, and `json_places` reads
JSON with the place of each string.
"""

from __future__ import annotations

from sourcelight.core.cells.formats import (
    CELL_PATHS,
    MARKER,
    SCRIPT_PATHS,
    UnreadableNotebook,
    has_cells,
    is_script,
    read_cells,
)
from sourcelight.core.cells.model import CellDocument, CellPlace, CellText, Fragment

__all__ = [
    "CELL_PATHS",
    "MARKER",
    "SCRIPT_PATHS",
    "CellDocument",
    "CellPlace",
    "CellText",
    "Fragment",
    "UnreadableNotebook",
    "has_cells",
    "is_script",
    "read_cells",
]
