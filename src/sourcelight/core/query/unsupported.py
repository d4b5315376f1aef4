"""Refusing by name what is right in the language but not answered yet."""

from __future__ import annotations

from typing import NoReturn

from sourcelight.core.errors import UnsupportedQuery
from sourcelight.core.query.nodes import Alternative, Filter, Predicate

TEXT_SEARCH: frozenset[str] = frozenset({
    "repo", "file", "lang", "case", "count", "timeout", "fork", "archived", "visibility", "patterntype",
    "type:file", "type:path", "type:repo", "context:global",
})  # fmt: skip
"""What a search over the text of HEAD answers; patterns and ``content:`` need no name."""


_HINTS = {"file:has.contributor": "it needs the history of files, which comes with type:commit and type:diff"}


def refuse_unsupported(alternative: Alternative, supported: frozenset[str] = TEXT_SEARCH) -> None:
    """Raise for the first part of `alternative` that `supported` does not name.

    Parameters
    ----------
    alternative
        One alternative of a query's plan.
    supported
        Names of fields (``repo``, ``count``, ``select`` …), predicates (``repo:has.path``), result types
        (``type:file``), ``context:global`` or ``context`` for every context, ``repo@`` for revisions other than HEAD.
        A value of ``type:`` that is no result type at all is never refused: it selects nothing.

    Raises
    ------
    UnsupportedQuery
        Names the part as it would be typed and says what to do without it.
    """
    for node in alternative.filters:
        if isinstance(node, Predicate):
            if f"{node.on}:{node.name}" not in supported:
                hint = _HINTS.get(f"{node.on}:{node.name}", "leave it out and filter the answer instead")
                _refuse(f"the predicate {node.on}:{node.name}(…)", hint)
            continue
        _refuse_filter(node, supported)
    for kind in alternative.types:
        if f"type:{kind}" not in supported:
            known = " or ".join(sorted(name for name in supported if name.startswith("type:")))
            _refuse(f"type:{kind}", f"use {known}" if known else "leave it out")


def _refuse_filter(node: Filter, supported: frozenset[str]) -> None:
    if node.name == "context":
        if "context" not in supported and not (node.value in {"", "global"} and "context:global" in supported):
            _refuse(f"context:{node.value}", "use context:global, or name the repositories with repo:")
        return
    if node.name == "rev" and "repo@" in supported:
        return
    if node.name not in supported and node.name != "type":
        _refuse(f"the filter {node.name}:", f"leave {node.name}: out of the query")
    if node.name == "repo" and "repo@" not in supported and any(rev not in {"", "HEAD"} for rev in node.revs or ()):
        _refuse(f"the revision in repo:{node.value}@{':'.join(node.revs or ())}", "leave out @…: HEAD is searched")


def _refuse(what: str, hint: str) -> NoReturn:
    raise UnsupportedQuery(f"{what} is not supported here yet: {hint}", hint=hint)
