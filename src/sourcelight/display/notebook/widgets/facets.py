"""The panel's widget. Loads anywidget; facets go by message, so that the widget's state has only which are ticked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anywidget
import traitlets

from sourcelight.core.markup import escape, one_line
from sourcelight.core.wire.events import SuggestedFilter, facet_title
from sourcelight.display.notebook.html_pages import display_widget
from sourcelight.display.notebook.programs import program, style

_WORDS = {"repo": "Repository", "lang": "Language", "file": "File", "type": "Type", "symbol type": "Kind of symbol",
          "utility": "Include", "author": "Author", "commit date": "Date", "count": "Limit"}  # fmt: skip
"""Titles of kinds of filters, in the order in which the panel has them; other kinds follow."""

_FIRST = 8
"""Values of a kind that are shown at first; a button shows the rest."""

_MAX_VALUES = 60
"""Values of a kind that the page gets at all."""


@dataclass(frozen=True, slots=True)
class _Suggestion:
    """A suggested filter, and its position among all, by which the page names it."""

    position: int
    filter: SuggestedFilter

    @property
    def plus(self) -> str:
        """The sign behind the number of matches: a plus if there may be more, else empty."""
        return "" if self.filter.exhaustive else "+"

    @property
    def short_value(self) -> str:
        return one_line(self.filter.value, 80)


@dataclass(frozen=True, slots=True)
class _FacetGroup:
    """The suggestions of one kind."""

    title: str
    suggestions: Sequence[_Suggestion]


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

    def _groups(self) -> list[_FacetGroup]:
        by_kind: dict[str, list[_Suggestion]] = {}
        for position, item in enumerate(self._filters):
            by_kind.setdefault(item.kind, []).append(_Suggestion(position, item))

        order = list(_WORDS)
        groups = []
        for kind in sorted(by_kind, key=lambda kind: order.index(kind) if kind in order else len(order)):
            suggestions = by_kind[kind]
            word = _WORDS.get(kind, one_line(kind, 40))
            title = facet_title(word, [suggestion.filter for suggestion in suggestions])
            groups.append(_FacetGroup(title, suggestions))

        return groups

    def _ticked_positions(self) -> list[int]:
        """Return the selected suggestions, each once; unknown ones from the page are ignored."""
        return [position for position in dict.fromkeys(self.selected) if 0 <= position < len(self._filters)]

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        if isinstance(message, Mapping) and message.get("kind") == "facets":
            self._send_selection()

    def _send_selection(self) -> None:
        ticked = set(self._ticked_positions())
        groups = []
        for group in self._groups():
            visible = group.suggestions[:_MAX_VALUES]
            groups.append(
                {
                    "title": group.title,
                    "first": _FIRST,
                    "more": len(group.suggestions) - len(visible),
                    "facets": [_to_json(item, is_ticked=item.position in ticked) for item in visible],
                }
            )

        self.send({"kind": "facets", "groups": groups, "query": one_line(self.query, 1000)})

    def __repr__(self) -> str:
        lines = [f"FacetPanel: {len(self._filters)} suggested filters of {one_line(self._narrow([]), 100)}"]
        for group in self._groups():
            lines.append(f"  {group.title}")
            lines += [
                f"    {item.filter.count:>8,}{item.plus} {item.short_value}" for item in group.suggestions[:_FIRST]
            ]
            if len(group.suggestions) > _FIRST:
                lines.append(f"    {_FIRST} of {len(group.suggestions):,}")

        return "\n".join(lines)

    def _ipython_display_(self) -> None:
        display_widget(self._repr_mimebundle_(), repr(self), self._html())

    def _html(self) -> str:
        """Return the first filters of each kind as tables, for readers without a kernel."""
        tables = []
        for group in self._groups():
            rows = "".join(
                f"<tr><td>{item.filter.count:,}{item.plus}</td><td style='text-align:left'>"
                f"<code>{escape(item.short_value)}</code></td></tr>"
                for item in group.suggestions[:_FIRST]
            )
            remaining = ""
            if len(group.suggestions) > _FIRST:
                remaining = f"<div>and {len(group.suggestions) - _FIRST:,} more</div>"
            tables.append(f"<div><b>{escape(group.title)}</b><table><tbody>{rows}</tbody></table>{remaining}</div>")

        query = escape(one_line(self._narrow([]), 100))
        return f"<div>Suggested filters of <code>{query}</code></div>{''.join(tables)}"

    def _repr_mimebundle_(self, **options: Any) -> Any:
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**(data or {}), "text/plain": repr(self), "text/html": f"<pre>{escape(repr(self))}</pre>"}


def _to_json(item: _Suggestion, *, is_ticked: bool) -> dict[str, Any]:
    """Return a suggestion as the page's script reads it."""
    return {
        "at": item.position,
        "label": one_line(item.filter.label, 80),
        "value": one_line(item.filter.value, 200),
        "count": item.filter.count,
        "limited": not item.filter.exhaustive,
        "selected": is_ticked,
    }
