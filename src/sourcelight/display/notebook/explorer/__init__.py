"""The explorer: a widget that filters, sorts and previews the rows of an answer, also while they arrive.

Rows stay in Python. The page in the browser asks for what it shows, so that the state of the widget, which a saved
notebook may hold, has neither code nor credentials in it. anywidget is loaded with `widget` alone.
"""

from sourcelight.display.notebook.explorer.rows import Asked, Rows, Selection
from sourcelight.display.notebook.explorer.source import Source, Told

__all__ = ["Asked", "Rows", "Selection", "Source", "Told"]
