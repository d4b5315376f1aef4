"""Files and diffs as HTML, and links from rows to services, code hosts and JupyterLab.

All text is escaped here; DataFrames are in `frame_views`, search results in `result_view`. Styles come from the theme
and may be missing. Start reading in `links`.
"""

from sourcelight.display.notebook.views.links import LinkResolver, anchor

__all__ = ["LinkResolver", "anchor"]
