"""Which alternatives of a query can be answered before the repositories are indexed."""

from __future__ import annotations

from sourcelight.core.query import Alternative
from sourcelight.engines.execution.scope.selection import predicates_of, reads_files
from sourcelight.engines.execution.structures import structures_of

_COMMITS = {"commit", "diff"}
_SELECTS_BY_INDEX = {"symbol", "owners"}


def needs_no_index(alternative: Alternative) -> bool:
    """Return whether contents, paths and commits answer it alone.

    Definitions, cells, structures, owners and contributors need the index, and so do predicates that ask for files of
    a repository.
    """
    types = set(alternative.types)
    if reads_files(item for item in predicates_of(alternative) if item.name != "has.commit.after"):
        return False
    if types and types <= _COMMITS:
        return True
    return (
        "symbol" not in types
        and not _SELECTS_BY_INDEX.intersection(alternative.select())
        and alternative.first("cell") is None
        and alternative.yes_no_only("index") != "only"
        and all(predicate.name == "has.content" for predicate in alternative.predicates("file"))
        and not structures_of(alternative)
    )
