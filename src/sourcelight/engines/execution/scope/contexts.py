"""Resolve the ``context:`` of a query: a named list of repositories, or a query of its own.

A list narrows the search to its repositories and revisions. The filters of a context's query are added to those of the
query that uses it. They may only choose repositories and files: a context has no pattern.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sourcelight.core.errors import QueryError
from sourcelight.core.query import Alternative, Filter, Predicate, parse
from sourcelight.core.query.fields import FIELDS, FilterScope

_SCOPES = frozenset({FilterScope.REPOSITORY, FilterScope.FILE, FilterScope.TEXT})
"""Scopes of the filters that a context may have."""

_FIELDS = tuple(
    item.name for item in FIELDS.values() if item.is_offered and item.scope in _SCOPES and item.name != "context"
)
"""Filters that the query of a context may have; patterns, including ``content:``, are refused separately."""

_PREDICATES = frozenset({"has.meta", "has.topic", "has.description"})
"""Predicates that a context may have."""

_EVERYTHING = frozenset({"", "global"})
"""Values of ``context:`` that mean all repositories."""


@dataclass(frozen=True, slots=True)
class ScopedAlternative:
    """An alternative whose context is resolved.

    `revisions_by_name` maps each repository of a context with a list to its revisions (empty: the default one); None
    if no list narrows the search. `context` is the context's name, empty without one. `query` is the text of the
    query, and `context_alternatives` are the alternatives of the context's own query.
    """

    alternative: Alternative
    revisions_by_name: Mapping[str, tuple[str, ...]] | None = None
    context: str = field(default="")
    query: str = ""
    context_alternatives: tuple[Alternative, ...] = ()


def context_missing(name: str, query: str) -> QueryError:
    """Return the error of a context that doesn't exist, or contains no repository that is visible to the viewer."""
    hint = "contexts are named in repos.toml; context:global means every repository"
    return QueryError(f'search context "{name}" not found', query=query, hint=hint)


def resolve_context(
    alternative: Alternative, contexts: Mapping[str, Mapping[str, object]], query: str
) -> tuple[ScopedAlternative, ...]:
    """Resolve the ``context:`` of an alternative; returns several if the context's own query has an ``or``.

    If a filter can be given only once, the filter of `alternative` wins over the context's.

    Raises
    ------
    QueryError
        The context doesn't exist, or its query has a filter or pattern that contexts may not have.
    """
    context_filter = alternative.first("context")
    if context_filter is None or context_filter.value in _EVERYTHING:
        return (ScopedAlternative(alternative),)

    context = contexts.get(context_filter.value)
    if context is None:
        raise context_missing(context_filter.value, query)

    own_filters = tuple(item for item in alternative.filters if item is not context_filter)
    unfiltered = replace(alternative, filters=own_filters)
    if "query" not in context:
        revisions_by_name = _read_list(context.get("repositories", ()))
        return (ScopedAlternative(unfiltered, revisions_by_name, context_filter.value, query),)

    filter_lists = _read_query(str(context["query"]), context_filter.value, query)
    context_alternatives = tuple(replace(alternative, filters=filters) for filters in filter_lists)
    narrowed = [replace(alternative, filters=(*own_filters, *filters)) for filters in filter_lists]
    # An empty query has no alternatives, and narrows nothing.
    return tuple(
        ScopedAlternative(item, None, context_filter.value, query, context_alternatives)
        for item in narrowed or [unfiltered]
    )


def _read_list(items: object) -> dict[str, tuple[str, ...]]:
    """Return the revisions of each repository in the list of a context; a repository may be in it twice."""
    revisions_by_name: dict[str, tuple[str, ...]] = {}
    for item in items if isinstance(items, list) else ():
        # The form of `repo:` in queries, `name@one:two`.
        name, _, text = str(item).partition("@")
        revisions = [revision for revision in text.split(":") if revision]
        earlier_revisions = revisions_by_name.get(name, ())
        revisions_by_name[name] = (
            *earlier_revisions,
            *(revision for revision in revisions if revision not in earlier_revisions),
        )

    return revisions_by_name


def _read_query(context_query: str, name: str, query: str) -> list[tuple[Filter | Predicate, ...]]:
    """Return the filters of each alternative of a context's own query; raises `QueryError`."""
    # Always as regular expressions: the meaning of a context must not change with the pattern type of its user.
    parsed = parse(context_query, "regexp")
    filter_lists = []
    for item in parsed.plan:
        _check(item, name, query)
        filter_lists.append(_with_revisions(item))

    return filter_lists


def _check(alternative: Alternative, name: str, query: str) -> None:
    refused_item = ""
    if alternative.pattern is not None:
        refused_item = "a pattern"

    for item in alternative.filters:
        if isinstance(item, Predicate):
            if item.on != "repo" or item.name not in _PREDICATES:
                refused_item = f"{item.on}:{item.name}(…)"
        elif item.name not in _FIELDS:
            refused_item = f"{item.name}:"
        elif any(revision.startswith("*") for revision in item.revs or ()):
            refused_item = "a glob of refs"

    if refused_item:
        *names, last = (f"{name}:" for name in _FIELDS if name not in {"content", "patterntype"})
        hint = f"its query may contain {', '.join(names)} and {last}"
        raise QueryError(
            f'the query of search context "{name}" has {refused_item}, which is not allowed', query=query, hint=hint
        )


def _with_revisions(alternative: Alternative) -> tuple[Filter | Predicate, ...]:
    """Return the filters of a context's query, with its ``rev:`` moved behind each repository as ``@revision``.

    The query that uses the context may have its own ``rev:``, and only one counts.
    """
    filters: list[Filter | Predicate] = []
    for item in alternative.filters:
        if isinstance(item, Filter) and item.name in {"rev", "patterntype"}:
            continue
        if isinstance(item, Filter) and item.name == "repo" and not item.negated and alternative.revisions(item):
            filters.append(replace(item, revs=alternative.revisions(item)))
        else:
            filters.append(item)

    return tuple(filters)
