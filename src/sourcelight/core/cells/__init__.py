"""Cells of Jupyter and text notebooks: their texts, and positions in the file.

No index, no files and no queries. Start with `formats.read_cells`; `model` defines cells, and `json_places` reads
JSON with the place of each string.
"""

from __future__ import annotations

from sourcelight.core.cells.formats import (
    CELL_PATHS,
    MARKERS,
    UnreadableNotebook,
    format_of,
    has_cells,
    has_marker,
    is_jupyter,
    is_script,
    may_have_cells,
    read_cells,
)
from sourcelight.core.cells.model import CellDocument, CellPlace, CellText

__all__ = [
    "CELL_PATHS",
    "MARKERS",
    "CellDocument",
    "CellPlace",
    "CellText",
    "UnreadableNotebook",
    "format_of",
    "has_cells",
    "has_marker",
    "is_jupyter",
    "is_script",
    "may_have_cells",
    "read_cells",
]
