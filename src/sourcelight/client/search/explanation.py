"""The explanation of a query, and a query with suggested filters added.

Suggested filters of one kind are alternatives; filters of different kinds must all hold. The display escapes all text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.errors import QueryError
from sourcelight.core.markup import visible
from sourcelight.core.query import parse
from sourcelight.core.query.narrowing import add_filter
from sourcelight.core.query.syntax.nodes import tree_text
from sourcelight.core.wire.events import SuggestedFilter
from sourcelight.core.wire.request import SearchRequest

_UNTOLD = "{name} doesn't report which repositories and files the query selects; this is how the client parses it."

_ALTERNATIVES = frozenset({"repo", "lang", "type", "symbol type", "author"})
"""Filters of which any one has to match; of all others, each has to."""


class QueryExplanation:
    """The explanation of a query; made by `explain` of a client.

    Attributes
    ----------
    data
        Everything as plain lists, dicts, texts and numbers: ``tree``, ``alternatives`` (what each searches, what its
        filters come down to, what the index saves), ``warnings``.
    text
        The same, to be read.
    note
        Reason for missing figures; empty if nothing is missing.
    """

    def __init__(self, data: Mapping[str, Any], note: str = "") -> None:
        self.note = note
        self.data = {name: value for name, value in data.items() if name != "text"}
        self.text = visible("\n\n".join(part for part in (str(data["text"]), note) if part))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Likely mistakes in the query, each with a suggestion."""
        items = self.data.get("warnings", ())
        return tuple("; ".join(filter(None, (item["message"], item.get("fix", "")))) for item in items)

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        from sourcelight.display.notebook.explanation_html import explanation_html

        return {"text/plain": self.text, "text/html": explanation_html(self.data, self.note)}


def from_tree(request: SearchRequest, name: str) -> QueryExplanation:
    """Explain a query from its tree alone, for a backend `name` that can't explain it.

    Raises
    ------
    QueryError
        The query can't be parsed.
    """
    query = parse(request.query, request.pattern_type, version=request.version)
    tree = tree_text(query.root)
    data = {
        "query": query.text,
        "pattern_type": query.pattern_type,
        "tree": query.canonical(),
        "tree_text": tree,
        "alternatives": (),
        "warnings": (),
        "text": f"{query.text}\nread as {query.pattern_type}\n\n{tree}",
    }
    return QueryExplanation(data, _UNTOLD.format(name=name))


def add_facets(query: str, facets: Sequence[SuggestedFilter], pattern_type: str = "standard") -> str:
    """Return text of `query` with some suggestions added.

    Parameters
    ----------
    query
        Text of the query.
    facets
        Suggestions of its answer.
    pattern_type
        Meaning of its patterns.
    """
    kinds: dict[str, list[str]] = {}
    for facet in facets:
        kinds.setdefault(facet.kind, []).append(facet.value)

    parts = []
    for kind, values in kinds.items():
        if len(values) > 1 and kind in _ALTERNATIVES:
            parts.append(f"({' or '.join(values)})")
        else:
            parts += values

    if not parts:
        return query

    front = " ".join(parts)
    try:
        read = parse(query, pattern_type)
    except QueryError:
        return f"{front} {query}".strip()  # reported to the caller

    return add_filter(read, front)
