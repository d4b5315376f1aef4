"""The panel's widget. Loads anywidget; facets go by message, so that the widget's state holds none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget

from sourcelight.core.markup import escape, one_line
from sourcelight.core.wire.events import SuggestedFilter, facet_title
from sourcelight.display.notebook.static_pages import display_widget

_HERE = Path(__file__).parent.parent / "programs"
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

    _esm = _HERE / "facets.js"
    _css = _HERE / "facets.css"

    def __init__(
        self,
        filters: Sequence[SuggestedFilter],
        narrow: Callable[[Sequence[SuggestedFilter]], str],
        search: Callable[[str], Any],
    ) -> None:
        self._filters = tuple(filters)
        self._narrow = narrow
        self._search = search
        self._chosen: tuple[int, ...] = ()
        super().__init__()
        self.on_msg(self._on_message)

    @property
    def query(self) -> str:
        """Text of the query with the checked filters."""
        return self._narrow([self._filters[at] for at in self._chosen])

    def choose(self, *values: str) -> str:
        """Tick the suggestions with these values, such as ``lang:go``, and no others; gives `query`.

        Raises
        ------
        KeyError
            For what was not suggested.
        """
        known = {one.value: at for at, one in enumerate(self._filters)}
        self._chosen = tuple(known[value] for value in values)
        return self.query

    def search(self) -> Any:
        """Search for `query`: gives a `SearchResult`."""
        return self._search(self.query)

    def _groups(self) -> list[tuple[str, list[tuple[int, SuggestedFilter]]]]:
        groups: dict[str, list[tuple[int, SuggestedFilter]]] = {}
        for at, one in enumerate(self._filters):
            groups.setdefault(one.kind, []).append((at, one))
        order = list(_WORDS)
        kinds = sorted(groups, key=lambda kind: order.index(kind) if kind in order else len(order))
        return [
            (facet_title(_WORDS.get(kind, one_line(kind, 40)), [one for _, one in groups[kind]]), groups[kind])
            for kind in kinds
        ]

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if not isinstance(message, Mapping):
            return
        if message.get("kind") == "chosen" and isinstance(message.get("at"), list):
            indexes = [at for at in message["at"] if isinstance(at, int) and 0 <= at < len(self._filters)]
            self._chosen = tuple(dict.fromkeys(indexes))
        groups = [
            {
                "title": title,
                "first": _FIRST,
                "more": max(len(filters) - _MAX_VALUES, 0),
                "facets": [
                    {"at": at, "label": one_line(one.label, 80), "value": one_line(one.value, 200), "count": one.count,
                     "limited": not one.exhaustive, "chosen": at in self._chosen}
                    for at, one in filters[:_MAX_VALUES]
                ],
            }
            for title, filters in self._groups()
        ]  # fmt: skip
        self.send({"kind": "facets", "groups": groups, "query": one_line(self.query, 1000)})

    def __repr__(self) -> str:
        lines = [f"FacetPanel: {len(self._filters)} suggested filters of {one_line(self._narrow([]), 100)}"]
        for title, group in self._groups():
            lines.append(f"  {title}")
            lines += [f"    {one.count:>8,}{'' if one.exhaustive else '+'} {one_line(one.value, 80)}"
                      for _, one in group[:_FIRST]]  # fmt: skip
            if len(group) > _FIRST:
                lines.append(f"    {_FIRST} of {len(group):,}")
        return "\n".join(lines)

    def _ipython_display_(self) -> None:
        display_widget(self._repr_mimebundle_(), repr(self), self._html())

    def _html(self) -> str:
        """The first filters of each kind as tables, for readers without a kernel."""
        tables = []
        for title, filters in self._groups():
            rows = "".join(
                f"<tr><td>{one.count:,}{'' if one.exhaustive else '+'}</td><td style='text-align:left'>"
                f"<code>{escape(one_line(one.value, 80))}</code></td></tr>"
                for _, one in filters[:_FIRST]
            )
            left = f"<div>and {len(filters) - _FIRST:,} more</div>" if len(filters) > _FIRST else ""
            tables.append(f"<div><b>{escape(title)}</b><table><tbody>{rows}</tbody></table>{left}</div>")
        query = escape(one_line(self._narrow([]), 100))
        return f"<div>Suggested filters of <code>{query}</code></div>{''.join(tables)}"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**(data or {}), "text/plain": repr(self), "text/html": f"<pre>{escape(repr(self))}</pre>"}
