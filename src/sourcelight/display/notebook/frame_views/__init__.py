"""DataFrames on a screen: filled columns first, links, short commits, highlighted lines.

Only the view changes; the data stays as it is, and columns are described in `frames.schema`. Clients register a
function that finds links, as they live above this room. Start reading in `table`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sourcelight.display.notebook.views.links import LinkResolver

LinksFinder = Callable[[Mapping[Any, Any]], LinkResolver]
_finders: list[LinksFinder] = []


def use_links(finder: LinksFinder) -> None:
    """Set the function that gives the places of an answer by the `attrs` of its frame; clients live above this room."""
    _finders[:] = [finder]


def links_of(attrs: Mapping[Any, Any]) -> LinkResolver:
    """Return places of an answer by the `attrs` of its frame; without any where its client is not open."""
    return _finders[0](attrs) if _finders else LinkResolver()
