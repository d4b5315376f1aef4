"""``context:``: the named scopes of `repos.toml`, put in the place of the filter that names them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sourcelight.core.errors import QueryError
from sourcelight.core.query import Alternative, Filter, Predicate, parse

_FIELDS = frozenset({"repo", "rev", "file", "lang", "case", "fork", "archived", "visibility", "patterntype"})
_PREDICATES = frozenset({"has.meta", "has.topic", "has.description"})
_EVERYTHING = frozenset({"", "global"})


@dataclass(frozen=True, slots=True)
class Scoped:
    """An alternative whose context is resolved.

    `listed` maps the name of each repository of a listed context to its revisions (none: the default one); None where
    no list narrows the search. `context` is the context's name, empty without one; `query` is what was asked, and `own`
    are the alternatives of the context's own query.
    """

    alternative: Alternative
    listed: Mapping[str, tuple[str, ...]] | None = None
    context: str = field(default="")
    query: str = ""
    own: tuple[Alternative, ...] = ()


def context_missing(name: str, query: str) -> QueryError:
    """The fault of a context that is not there, or none of whose repositories exists for whoever asks."""
    hint = "contexts are named in repos.toml; context:global means every repository"
    return QueryError(f'search context "{name}" not found', query=query, hint=hint)


def scoped(alternative: Alternative, contexts: Mapping[str, Mapping[str, object]], query: str) -> tuple[Scoped, ...]:
    """Resolve the ``context:`` of an alternative; more than one result where the context's own query has an ``or``.

    A filter of `alternative` wins over one of the context that can be given only once.

    Raises
    ------
    QueryError
        For a context that is not there, or whose query uses what a context may not.
    """
    named = alternative.first("context")
    if named is None or named.value in _EVERYTHING:
        return (Scoped(alternative),)
    context = contexts.get(named.value)
    if context is None:
        raise context_missing(named.value, query)
    own = tuple(item for item in alternative.filters if item is not named)
    if "query" not in context:
        listed: dict[str, tuple[str, ...]] = {}
        items = context.get("repositories", ())
        for item in items if isinstance(items, list) else ():
            name, _, revisions = str(item).partition("@")
            known = listed.get(name, ())
            listed[name] = (*known, *(part for part in revisions.split(":") if part and part not in known))
        return (Scoped(replace(alternative, filters=own), listed, named.value, query),)
    parsed = parse(str(context["query"]), "regexp")
    parts = []
    for part in parsed.plan:
        _check(part, named.value, query)
        parts.append(_with_revisions(part))
    alone = tuple(replace(alternative, filters=part) for part in parts)
    narrowed = [replace(alternative, filters=(*own, *part)) for part in parts] or [replace(alternative, filters=own)]
    return tuple(Scoped(each, None, named.value, query, alone) for each in narrowed)


def _check(part: Alternative, name: str, query: str) -> None:
    wrong = ""
    if part.pattern is not None:
        wrong = "a pattern"
    for item in part.filters:
        if isinstance(item, Predicate):
            if item.on != "repo" or item.name not in _PREDICATES:
                wrong = f"{item.on}:{item.name}(…)"
        elif item.name not in _FIELDS:
            wrong = f"{item.name}:"
        elif any(revision.startswith("*") for revision in item.revs or ()):
            wrong = "a glob of refs"
    if wrong:
        hint = "its query may hold repo:, rev:, file:, lang:, case:, fork:, archived: and visibility:"
        raise QueryError(f'the query of search context "{name}" has {wrong}, which it may not', query=query, hint=hint)


def _with_revisions(part: Alternative) -> tuple[Filter | Predicate, ...]:
    """The filters of a context's query with its ``rev:`` put where it belongs, since the reader may give one too."""
    found: list[Filter | Predicate] = []
    for item in part.filters:
        if isinstance(item, Filter) and item.name in {"rev", "patterntype"}:
            continue
        if isinstance(item, Filter) and item.name == "repo" and not item.negated and part.revisions(item):
            found.append(replace(item, revs=part.revisions(item)))
        else:
            found.append(item)
    return tuple(found)
