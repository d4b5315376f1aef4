"""Columns that a DataFrame displays, and their order.

A frame that still has all columns of its documented table displays those that its rows fill, places and text first. A
frame whose columns the reader chose displays exactly these, in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from sourcelight.core.batches.schema import SERVICE
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.display.frames.schema import FRAMES, NAME

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_FIRST: Mapping[str, tuple[str, ...]] = {
    "matches": (
        "repository", "revision", "path", "line_number", "side", "line", "symbol", "symbol_kind", "container",
        "commit", "author", "author_date", "match_count", "language",
    ),
    "commits": ("repository", "commit", "author_date", "author", "subject", "files", "additions", "deletions"),
    "diff_lines": ("repository", "path", "line_number", "side", "line", "commit", "author", "author_date", "subject"),
    "blame_lines": ("path", "line_number", "line", "commit", "author", "author_date", "subject"),
    "definitions": ("rank", "repository", "path", "line_number", "line", "symbol", "kind", "container", "how", "score"),
    "references": ("repository", "path", "line_number", "line", "role", "container", "how", "score"),
    "symbols": ("repository", "path", "line_number", "symbol", "kind", "signature", "container", "depth"),
    "found_chunks": ("repository", "path", "start_line", "end_line", "chunk", "score", "match_count"),
    "calls": ("caller_path", "line_number", "line", "caller", "callee", "callee_path", "depth", "how", "score"),
    "file_lines": ("path", "line_number", "line"),
    "last_changes": ("repository", "path", "commit", "author", "commit_date", "subject", "changed_commits"),
    "file_diffs": ("repository", "path", "status", "additions", "deletions", "patch"),
    "conversation": ("repository", "path", "start_line", "end_line", "type", "role", "status"),
    "conversations": ("title", "status", "questions", "updated_at", "starred", "shared", "id"),
    "repositories": ("repository", "description", "matches", "commit", "last_fetched", "url"),
    "comparison": (
        "change", "name", "repository", "path", "line_number", "line_number_before", "line", "symbol_kind", "side",
        "match_count",
    ),
    "groups": ("repository", "path", "line_number", "side", "match", "author", "author_date"),
    "contributors": (
        "repository", "period", "author", "author_email", "commits", "merges", "co_authored", "additions", "deletions",
        "files", "first_date", "last_date", "bot",
    ),
    "identities": ("name", "email", "canonical_name", "canonical_email", "commits", "co_authored", "bot"),
    "imports": ("repository", "path", "line_number", "module", "member", "alias", "target_repository", "target_path"),
    "repository_map": ("path", "line_number", "text"),
    "path_history": (
        "repository", "commit", "commit_date", "author", "subject", "status", "path", "old_path", "additions",
        "deletions",
    ),
    "symbol_history": (
        "repository", "commit", "commit_date", "author", "subject", "status", "symbol", "path", "line_number",
        "additions", "deletions",
    ),
    "api_changes": (
        "repository", "status", "module", "symbol", "kind", "signature", "old_signature", "path", "line_number",
    ),
    "complexity": (
        "repository", "path", "symbol", "line_number", "cyclomatic", "cognitive", "nesting", "code_lines",
        "comment_lines", "parameters", "functions", "commits", "hotspot",
    ),
    "complexity_trend": (
        "repository", "revision", "commit_date", "path", "symbol", "files", "functions", "code_lines", "cyclomatic",
        "cognitive", "comment_ratio", "test_ratio",
    ),
    "spans": ("row", "repository", "path", "line_number", "match", "start", "end", "field"),
}  # fmt: skip
"""Columns on display of tables with too many for a page; a table that is not here displays all that its rows fill."""

_EMPTY_MATCHES = ("repository", "path", "line_number", "line")
_SHOWN_TABLES: Mapping[str, tuple[str, ...]] = {
    **{name: tuple(column.name for column in columns) for name, columns in {**FRAMES, **COLUMNS}.items()},
    "groups": (
        "row", "repository", "revision", "commit", "path", "language", "line_number", "author", "author_date", "side",
        "start", "end", "match",
    ),
}  # fmt: skip

_CROWDED: Mapping[str, frozenset[str]] = {"matches": frozenset({"commit", "match_count", "language"})}
"""Columns that a table hides when the reader adds others: a page is too narrow for all."""

_DETAILS = ("_author_email", "_author_date")
"""Endings of columns that `blame` and others add, and that the author and the date make redundant."""

_WORKING = frozenset({"person", "period", "weekday", "hour", "merge", "size", "organization"})
"""Columns by which reports count commits; the rows behind a number show those of the history."""

_LEADING = (SERVICE.name, NAME.name)
_HIDDEN = frozenset({"url", "repository_id", "start", "end", "name_start", "name_end"})

_COUNTED_ROWS = 100_000
"""Rows that are looked at to learn whether a column is filled; the rest of a larger frame costs too much time."""


@lru_cache(maxsize=256)
def table_of(names: tuple[str, ...]) -> str:
    """Return the name of the largest documented table whose columns are all in `names`; empty for none."""
    present = set(names)
    tables = [table for table, columns in _SHOWN_TABLES.items() if present.issuperset(columns)]
    # By name among equal ones, so that the choice doesn't depend on the order above.
    return max(tables, key=lambda table: (len(_SHOWN_TABLES[table]), table), default="")


def displayed_columns(frame: DataFrame, *, every: bool = False) -> list[str]:
    """Return names of the columns to display, in order.

    Parameters
    ----------
    frame
        DataFrame with text as column names.
    every
        Whether to display all columns, in the order of the frame.
    """
    names = [str(name) for name in frame.columns]
    table = table_of(tuple(names))
    if every or not table:
        return names

    documented = set(_SHOWN_TABLES[table])
    selected = _match_columns(frame) if table == "matches" else _table_columns(table)
    leading = [name for name in _LEADING if name in names and name not in selected and name not in documented]
    added = [name for name in names if name not in documented and name not in leading]
    if added:
        selected = [name for name in selected if name not in _CROWDED.get(table, ())]

    # Columns that the reader added, but for those that repeat others, or serve only to count.
    if table == "commits":
        added = [name for name in added if name not in _WORKING]
    elif table == "matches":
        added = [name for name in added if not name.endswith(_DETAILS)]

    if len(frame):
        selected = [name for name in selected if is_filled(frame[name])]

    return [*leading, *selected, *added] or names


def _table_columns(table: str) -> list[str]:
    if table in _FIRST:
        return list(_FIRST[table])
    return [name for name in _SHOWN_TABLES[table] if name not in _HIDDEN]


def _match_columns(frame: DataFrame) -> list[str]:
    """Return the columns of a frame of matches, which depend on the types of its rows."""
    if not len(frame):
        return list(_EMPTY_MATCHES)

    selected = list(_FIRST["matches"])
    types = set(frame["type"].dropna().unique())
    # The line number of a commit counts lines of its message.
    if types == {"commit"}:
        selected.remove("line_number")
    if len(types) > 1:
        selected.append("type")
    if not is_filled(frame["line"]):
        selected.append("message")

    selected.append("chunk")
    return selected


def is_filled(values: Series) -> bool:
    """Return whether the first 100,000 rows have a value that is neither null nor an empty text or list."""
    head = values.head(_COUNTED_ROWS).dropna()
    if not len(head):
        return False
    kind = str(head.dtype)
    if kind.startswith("("):  # lists
        return any(len(value) for value in head)
    if kind in {"category", "str", "object"}:
        return bool((head.astype("str") != "").any())
    return True


def shown_rows(total: int, limit: int | None, least: int | None) -> tuple[Sequence[int], Sequence[int]]:
    """Return the rows that a table displays at its head and tail, by pandas' options for the maximum and minimum."""
    if not limit or total <= limit:
        return range(total), ()

    rows = min(least, limit) if least else limit
    half = max(rows // 2, 1)
    return range(half), range(total - half, total)
