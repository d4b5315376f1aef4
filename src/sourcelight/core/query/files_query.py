"""Keyword queries that return files and nothing else."""

from __future__ import annotations

from sourcelight.core.errors import ToolError
from sourcelight.core.query.build import Expression
from sourcelight.core.query.fields import COUNT_RANKED
from sourcelight.core.query.nodes import Filter, Query
from sourcelight.core.query.normalize import combine
from sourcelight.core.query.parse import parse


def files_query(text: str) -> str:
    """The query with files and paths as the only results, best first; all of them, unless it says how many."""
    query: Query = parse(text, "keyword")
    if query.root is None:
        raise ToolError("keyword_search: the query is empty; type what to search for", tool="keyword_search")
    for alternative in query.plan:
        for name in ("type", "select"):
            found_filter = alternative.first(name)
            if found_filter is not None and (name == "select" or found_filter.value not in {"file", "path"}):
                raise ToolError(
                    f"keyword_search finds text in files and can't take {name}:{found_filter.value}; commit_search and "
                    "diff_search find commits, list_repos finds repositories",
                    tool="keyword_search",
                    argument="query",
                )
    filters = []
    if not any(alternative.first("type") for alternative in query.plan):
        filters += [Filter("type", "file"), Filter("type", "path")]
    if not any(alternative.first("count") for alternative in query.plan):
        filters.append(Filter("count", str(COUNT_RANKED)))
    return str(Expression(combine("and", [query.root, *filters])))
