"""Columns of every DataFrame: name, type, meaning with unit, and the meaning of null.

Those of matches are `sourcelight.core.batches.MATCHES`. A DataFrame always has all of its columns in this order and
with these dtypes, also without rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.batches.schema import MATCHES, Column, arrow_type
from sourcelight.core.tools.catalog import COLUMNS

PROGRESS: tuple[Column, ...] = (
    Column("done", "bool", "whether this is the final statement"),
    Column("match_count", "int64", "matches so far, sent or not", unit="matches"),
    Column(
        "repositories_count",
        "int64",
        "repositories with matches so far",
        "not provided by the service",
        unit="repositories",
    ),
    Column("duration_ms", "int64", "milliseconds since the service began", unit="milliseconds"),
    Column("skipped", "int64", "reasons for skipped work known so far", unit="reasons"),
    Column("trace", "string", "address of a trace of the request", "none was requested"),
)
FILTERS: tuple[Column, ...] = (
    Column("kind", "string", "repo, lang, type, utility, or another kind of the service"),
    Column("value", "string", "text to add to the query"),
    Column("label", "string", "text to show"),
    Column("count", "int64", "number of `unit`: usually matches of the search with this filter"),
    Column("unit", "string", "unit of `count`: matches, commits, matches left out, repositories left out"),
    Column("exhaustive", "bool", "whether `count` is exact; otherwise it is a minimum"),
)
SKIPPED: tuple[Column, ...] = (
    Column("reason", "string", "reason for skipping, such as shard-match-limit or excluded-archive"),
    Column("title", "string", "short text to show"),
    Column("message", "string", "long text, Markdown"),
    Column("severity", "string", "info, warn or error"),
    Column("suggested_title", "string", "effect of the suggestion", "no suggestion"),
    Column("suggested_query", "string", "text to add to the query to include skipped items", "no suggestion"),
)
ALERTS: tuple[Column, ...] = (
    Column("kind", "string", "info, warning or error; empty if the service doesn't send it"),
    Column("title", "string", "short text to show"),
    Column("description", "string", "long text, Markdown"),
    Column("proposed_queries", "strings", "queries to try instead, best first"),
    Column("proposed_descriptions", "strings", "effect of each proposed query"),
)
OTHER: tuple[Column, ...] = (
    Column("type", "string", "type of the match, as the service names it"),
    Column("repository", "string", "name of the repository", "the match names none"),
    Column("reason", "string", "reason why `matches` has no row for it"),
    Column("payload", "string", "the match as it was sent, as JSON"),
)
REPOSITORIES: tuple[Column, ...] = (
    Column("repository", "string", "name of the repository"),
    Column("repository_id", "int64", "its number at the service that answered"),
    Column("matches", "int64", "matches in this answer", unit="matches"),
    Column("stars", "int64", "stars at its code host", unit="stars"),
    Column("description", "string", "one line about it"),
    Column("fork", "bool", "whether it is a fork"),
    Column("archived", "bool", "whether it is archived"),
    Column("private", "bool", "whether only some viewers may see it"),
    Column("topics", "strings", "its topics"),
    Column("last_fetched", "timestamp", "when it was last brought up to date, UTC", "unknown"),
    Column("commit", "string", "commit that a search of the default revision reads", "not provided by the service"),
    Column("url", "string", "where its code host shows it", "unknown"),
)
SPANS: tuple[Column, ...] = (
    Column("row", "int64", "row of matches that the span is in, from 0"),
    Column("repository", "dict32", "name of the repository"),
    Column("revision", "dict32", "requested revision; empty for the default branch"),
    Column("path", "dict32", "path in the repository, with /", "repo rows"),
    Column("language", "dict32", "display name of the language", "unknown"),
    Column("line_number", "int32", "1-based line in the file", "path and repo rows"),
    Column("field", "string", "line, path or repository: the text that start and end count in"),
    Column("start", "int32", "start of the match, code points"),
    Column("end", "int32", "end of the match (exclusive), code points"),
    Column("match", "string", "the matched text"),
    Column("continues", "bool", "whether the match continues in the next row of matches"),
)
NAME = Column("name", "dict32", "name of the search")
SEARCHES: tuple[Column, ...] = (
    Column("name", "string", "name of the search"),
    Column("query", "string", "text of the query"),
    Column("matches", "int64", "matches found", unit="matches"),
    Column("rows", "int64", "rows of matches", unit="rows"),
    Column("status", "string", "complete, partial, limited, interrupted or failed"),
    Column("reasons", "string", "why the status is not complete; empty when it is"),
)
SERVICES: tuple[Column, ...] = (
    Column("service", "string", "name of the service"),
    Column("endpoint", "string", "its address; embedded in this process"),
    Column("status", "string", "complete, partial, limited, interrupted or failed"),
    Column("matches", "int64", "matches in the result that come from it", unit="matches"),
    Column("rows", "int64", "rows in the result that come from it", unit="rows"),
    Column("duplicates", "int64", "rows that another service also had", unit="rows"),
    Column("elapsed_s", "float64", "seconds until it had ended", unit="seconds"),
    Column("error", "string", "why the status is not complete; empty when it is"),
)
COMPARISON: tuple[Column, ...] = (
    Column("change", "dict8", "whether the row was removed, kept or added"),
    Column("name", "dict32", "name of the search", "of a single search"),
    Column("type", "dict8", "content, path, repo, symbol, commit or diff", "by file or repository"),
    Column("repository", "dict32", "name of the repository"),
    Column("path", "dict32", "path in the repository, with /", "rows without a file, or by repository"),
    Column("language", "dict32", "display name of the language", "unknown"),
    Column("line_number_before", "int32", "1-based line before", "added rows, and rows that aren't lines"),
    Column("line_number", "int32", "1-based line after", "removed rows, and rows that aren't lines"),
    Column("line", "string", "text of the line without its newline", "rows without line, and by file or repository"),
    Column("symbol_kind", "dict32", "kind of the definition, lower case", "other rows"),
    Column("side", "dict8", "kind of the diff line: added, removed or context", "other rows"),
    Column("match_count_before", "int32", "matches that start in the row, before", "added rows", unit="matches"),
    Column("match_count", "int32", "matches that start in the row, after", "removed rows", unit="matches"),
    Column("revision_before", "dict32", "requested revision, before", "added rows"),
    Column("revision", "dict32", "requested revision, after", "removed rows"),
    Column("commit_before", "dict32", "resolved commit before, 40 hex digits", "added rows, or not known"),
    Column("commit", "dict32", "resolved commit after, 40 hex digits", "removed rows, or not known"),
)
FRAMES: Mapping[str, tuple[Column, ...]] = {
    "comparison": COMPARISON,
    "matches": tuple(column for column in MATCHES if column.is_visible),
    "progress": PROGRESS,
    "filters": FILTERS,
    "skipped": SKIPPED,
    "alerts": ALERTS,
    "other": OTHER,
    "repositories": REPOSITORIES,
    "spans": SPANS,
    "searches": SEARCHES,
    "services": SERVICES,
}
_DTYPES = {
    "dict8": "category",
    "dict32": "category",
    "string": "str",
    "list": "(0,)int32",
    "strings": "(0,)object",
    "timestamp": "datetime64[us, UTC]",
    "float64": "float64",
}


@checks_arguments
def columns_of(frame: str) -> tuple[Column, ...]:
    """Return the columns of a DataFrame by its name.

    Parameters
    ----------
    frame
        ``matches``, ``skipped``, ``searches`` or another table of a result, or the name of a tool's table.

    Returns
    -------
    tuple of Column
        Name, type, meaning, unit and meaning of null of each column, in order.
    """
    return FRAMES[frame] if frame in FRAMES else COLUMNS[frame]


def column_type(column: Column) -> Any:
    """Return Arrow type of a column."""
    return arrow_type(column.type)


def table_schema(columns: Iterable[Column]) -> Any:
    """Return Arrow schema of a frame."""
    import pyarrow as pa

    return pa.schema([pa.field(column.name, column_type(column)) for column in columns])


def pandas_dtype(column: Column) -> str:
    """Return a column's dtype in pandas; numbers and truth values that can be null use the nullable dtypes."""
    dtype = _DTYPES.get(column.type)
    if dtype is not None:
        return dtype
    if column.type == "bool":
        return "boolean" if column.null else "bool"
    return column.type.capitalize() if column.null else column.type


def documentation(frame: str) -> str:
    """Return Markdown table of the columns of a frame, for the reference; with units where a column has one."""
    columns = columns_of(frame)
    has_units = any(column.unit for column in columns)
    heads = ["column", "dtype", "meaning", "null means", *(["unit"] if has_units else [])]
    rows = [
        [
            f"`{column.name}`",
            f"`{pandas_dtype(column)}`",
            column.meaning,
            column.null or "never",
            *([column.unit] if has_units else []),
        ]
        for column in columns
    ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))
