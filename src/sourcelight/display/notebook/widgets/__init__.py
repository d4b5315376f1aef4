"""Widgets in a notebook: the explorer of rows, and the panel of facets.

Rows stay in Python. The page in the browser asks for what it shows, so that the state of the widget, which a saved
notebook may hold, has neither code nor credentials in it. anywidget is loaded with `explorer` and `facets` alone.
"""

from sourcelight.display.notebook.widgets.explorer_rows import (
    ExplorerRows,
    RowQuery,
    RowSelection,
    RowSource,
    SourceUpdate,
)

__all__ = ["ExplorerRows", "RowQuery", "RowSelection", "RowSource", "SourceUpdate"]
