"""Widgets with a kernel: the explorer of rows and the panel of facets.

Rows stay in Python and the browser requests the displayed ones, so a saved notebook has neither code nor credentials of
a widget's state. anywidget loads with `explorer` and `facets` only; static output is in the rooms beside. Start reading
in `explorer`.
"""

from sourcelight.display.notebook.widgets.explorer_rows import ExplorerRows, RowQuery, RowSource, SourceUpdate

__all__ = ["ExplorerRows", "RowQuery", "RowSource", "SourceUpdate"]
