"""The panel's widget. Loads anywidget; facets go by message, so that the widget's state has only which are ticked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from sourcelight.core.markup import escape, one_line
from sourcelight.core.wire.events import SuggestedFilter, facet_title
from sourcelight.display.notebook.html_pages import display_widget
from sourcelight.display.notebook.programs import program, style

_WORDS = {"repo": "Repository", "lang": "Language", "file": "File", "type": "Type", "symbol type": "Kind of symbol",
          "utility": "Include", "author": "Author", "commit date": "Date", "count": "Limit"}  # fmt: skip
_FIRST = 8
_MAX_VALUES = 60


class FacetPanel(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget's bases ship no types
    """Suggested filters to tick; made by ``facets()`` of a result.

    Parameters
    ----------
    filters
        The suggestions.
    narrow
        Gives the text of the query with some suggestions' values added.
    search
        Searches for a text.
    """

    _esm = program("facets")
    _css = style("facets")
    selected = traitlets.List(traitlets.Int()).tag(sync=True)
    """Numbers of the ticked suggestions; reactive notebooks run the cells that use the panel when it changes."""

    def __init__(
        self,
        filters: Sequence[SuggestedFilter],
        narrow: Callable[[Sequence[SuggestedFilter]], str],
        search: Callable[[str], Any],
    ) -> None:
        self._filters = tuple(filters)
        self._narrow = narrow
        self._search = search
        super().__init__()
        self.on_msg(self._on_message)
        self.observe(lambda _: self._send_selection(), "selected")

    @property
    def query(self) -> str:
        """Text of the query with the checked filters."""
        return self._narrow([self._filters[position] for position in self._ticked_positions()])

    def choose(self, *values: str) -> str:
        """Tick the suggestions with these values, such as ``lang:go``, and no others; gives `query`.

        Raises
        ------
        KeyError
            For a filter that was not suggested.
        """
        by_value = {item.value: index for index, item in enumerate(self._filters)}
        self.selected = [by_value[value] for value in values]
        return self.query

    def search(self) -> Any:
        """Search for `query`: gives a `SearchResult`."""
        return self._search(self.query)

    def _groups(self) -> list[tuple[str, list[tuple[int, SuggestedFilter]]]]:
        groups: dict[str, list[tuple[int, SuggestedFilter]]] = {}
        for index, item in enumerate(self._filters):
            groups.setdefault(item.kind, []).append((index, item))

        order = list(_WORDS)
        kinds = sorted(groups, key=lambda kind: order.index(kind) if kind in order else len(order))
        return [
            (facet_title(_WORDS.get(kind, one_line(kind, 40)), [item for _, item in groups[kind]]), groups[kind])
            for kind in kinds
        ]

    def _ticked_positions(self) -> list[int]:
        """Return the selected suggestions, each once; unknown ones from the page are ignored."""
        return [position for position in dict.fromkeys(self.selected) if 0 <= position < len(self._filters)]

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if isinstance(message, Mapping) and message.get("kind") == "facets":
            self._send_selection()

    def _send_selection(self) -> None:
        ticked = set(self._ticked_positions())
        groups = [
            {
                "title": title,
                "first": _FIRST,
                "more": max(len(filters) - _MAX_VALUES, 0),
                "facets": [
                    {"at": position, "label": one_line(item.label, 80), "value": one_line(item.value, 200),
                     "count": item.count,
                     "limited": not item.exhaustive, "selected": position in ticked}
                    for position, item in filters[:_MAX_VALUES]
                ],
            }
            for title, filters in self._groups()
        ]  # fmt: skip
        self.send({"kind": "facets", "groups": groups, "query": one_line(self.query, 1000)})

    def __repr__(self) -> str:
        lines = [f"FacetPanel: {len(self._filters)} suggested filters of {one_line(self._narrow([]), 100)}"]
        for title, group in self._groups():
            lines.append(f"  {title}")
            lines += [f"    {item.count:>8,}{'' if item.exhaustive else '+'} {one_line(item.value, 80)}"
                      for _, item in group[:_FIRST]]  # fmt: skip
            if len(group) > _FIRST:
                lines.append(f"    {_FIRST} of {len(group):,}")

        return "\n".join(lines)

    def _ipython_display_(self) -> None:
        display_widget(self._repr_mimebundle_(), repr(self), self._html())

    def _html(self) -> str:
        """Return the first filters of each kind as tables, for readers without a kernel."""
        tables = []
        for title, filters in self._groups():
            rows = "".join(
                f"<tr><td>{item.count:,}{'' if item.exhaustive else '+'}</td><td style='text-align:left'>"
                f"<code>{escape(one_line(item.value, 80))}</code></td></tr>"
                for _, item in filters[:_FIRST]
            )
            remaining = f"<div>and {len(filters) - _FIRST:,} more</div>" if len(filters) > _FIRST else ""
            tables.append(f"<div><b>{escape(title)}</b><table><tbody>{rows}</tbody></table>{remaining}</div>")

        query = escape(one_line(self._narrow([]), 100))
        return f"<div>Suggested filters of <code>{query}</code></div>{''.join(tables)}"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**(data or {}), "text/plain": repr(self), "text/html": f"<pre>{escape(repr(self))}</pre>"}
