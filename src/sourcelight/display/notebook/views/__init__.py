"""Files, diffs and facets as HTML for a notebook, and where each row of an answer can be opened.

Every text is escaped before it gets here its tags; styles come from the theme and may be missing.
"""

from sourcelight.display.notebook.views.links import Link, LinkResolver, anchor

__all__ = ["Link", "LinkResolver", "anchor"]
