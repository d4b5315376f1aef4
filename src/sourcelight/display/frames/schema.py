"""Columns of every DataFrame: name, type, meaning with unit, and the meaning of null.

Those of matches are `sourcelight.core.batches.MATCHES`. A DataFrame always has all of its columns in this order and
with these dtypes, also without rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sourcelight.core.batches.schema import MATCHES, Column, arrow_type
from sourcelight.core.tools.catalog import COLUMNS

PROGRESS: tuple[Column, ...] = (
    Column("done", "bool", "whether this is the final statement"),
    Column("match_count", "int64", "matches found so far, whether or not they were sent"),
    Column("repositories_count", "int64", "repositories with matches so far", "the service did not say"),
    Column("duration_ms", "int64", "milliseconds since the service began"),
    Column("skipped", "int64", "reasons for skipped work known so far"),
    Column("trace", "string", "address of a trace of the request", "none was asked for"),
)
FILTERS: tuple[Column, ...] = (
    Column("kind", "string", "repo, lang, type, utility, or what else the service sends"),
    Column("value", "string", "text to add to the query"),
    Column("label", "string", "text to show"),
    Column("count", "int64", "matches that the filter would keep"),
    Column("exhaustive", "bool", "whether count is the whole truth"),
)
SKIPPED: tuple[Column, ...] = (
    Column("reason", "string", "why work was left out, such as shard-match-limit or excluded-archive"),
    Column("title", "string", "short text to show"),
    Column("message", "string", "long text, Markdown"),
    Column("severity", "string", "info, warn or error"),
    Column("suggested_title", "string", "what the suggestion does", "no suggestion"),
    Column("suggested_query", "string", "text to add to the query to get what was left out", "no suggestion"),
)
ALERTS: tuple[Column, ...] = (
    Column("kind", "string", "info, warning or error; empty from services that don't say"),
    Column("title", "string", "short text to show"),
    Column("description", "string", "long text, Markdown"),
    Column("proposed_queries", "strings", "queries to try instead, best first"),
    Column("proposed_descriptions", "strings", "what each proposed query does"),
)
REPOSITORIES: tuple[Column, ...] = (
    Column("repository", "string", "name of the repository"),
    Column("repository_id", "int64", "its number at the service that answered"),
    Column("matches", "int64", "matches in this answer", "not the answer to a search"),
    Column("stars", "int64", "stars at its code host"),
    Column("description", "string", "one line about it"),
    Column("fork", "bool", "whether it is a fork"),
    Column("archived", "bool", "whether it is archived"),
    Column("private", "bool", "whether only some viewers may see it"),
    Column("topics", "strings", "topics given to it"),
    Column("last_fetched", "timestamp", "when it was last brought up to date, UTC", "unknown"),
    Column("commit", "string", "commit that a search of the default revision reads", "the service did not say"),
    Column("url", "string", "where its code host shows it", "unknown"),
)
SPANS: tuple[Column, ...] = (
    Column("row", "int64", "row of matches that the span is in, from 0"),
    Column("repository", "dict32", "name of the repository"),
    Column("revision", "dict32", "revision as it was asked for; empty for the default branch"),
    Column("path", "dict32", "path in the repository, with /", "repo rows"),
    Column("language", "dict32", "display name of the language", "unknown"),
    Column("line_number", "int32", "1-based line in the file", "path and repo rows"),
    Column("field", "string", "line, path or repository: the text that start and end count in"),
    Column("start", "int32", "start of the match, code points"),
    Column("end", "int32", "end of the match (exclusive), code points"),
    Column("match", "string", "the matched text"),
    Column("continues", "bool", "whether the match goes on in the next row of matches"),
)
NAME = Column("name", "dict32", "name that was given to the search")
SEARCHES: tuple[Column, ...] = (
    Column("name", "string", "name that was given to the search"),
    Column("query", "string", "text of the query"),
    Column("matches", "int64", "matches found"),
    Column("rows", "int64", "rows of matches"),
    Column("status", "string", "complete, partial, limited, interrupted or failed"),
    Column("reasons", "string", "why the status is not complete; empty when it is"),
)
SERVICES: tuple[Column, ...] = (
    Column("service", "string", "name of the service"),
    Column("endpoint", "string", "its address; embedded in this process"),
    Column("status", "string", "complete, partial, limited, interrupted or failed"),
    Column("matches", "int64", "matches of the answer that are of it"),
    Column("rows", "int64", "rows of the answer that are of it"),
    Column("duplicates", "int64", "rows that it gave and that are in the answer from another service"),
    Column("elapsed_s", "float64", "seconds until it had ended"),
    Column("error", "string", "why the status is not complete; empty when it is"),
)
COMPARISON: tuple[Column, ...] = (
    Column("change", "dict8", "removed, kept or added: on which sides the row is"),
    Column("name", "dict32", "name of the search", "of a single search"),
    Column("type", "dict8", "content, path, repo, symbol, commit or diff", "by file or repository"),
    Column("repository", "dict32", "name of the repository"),
    Column("path", "dict32", "path in the repository, with /", "rows without a file, or by repository"),
    Column("language", "dict32", "display name of the language", "unknown"),
    Column("line_number_before", "int32", "1-based line before", "added rows, and rows that are no lines"),
    Column("line_number", "int32", "1-based line after", "removed rows, and rows that are no lines"),
    Column("line", "string", "text of the line without its newline", "rows without line, and by file or repository"),
    Column("symbol_kind", "dict32", "kind of the definition, lower case", "other rows"),
    Column("side", "dict8", "added, removed or context: what a diff line is", "other rows"),
    Column("match_count_before", "int32", "matches that start in the row, before", "added rows"),
    Column("match_count", "int32", "matches that start in the row, after", "removed rows"),
    Column("revision_before", "dict32", "revision as it was asked for, before", "added rows"),
    Column("revision", "dict32", "revision as it was asked for, after", "removed rows"),
    Column("commit_before", "dict32", "resolved commit before, 40 hex digits", "added rows, or not known"),
    Column("commit", "dict32", "resolved commit after, 40 hex digits", "removed rows, or not known"),
)
_FRAMES = {
    "comparison": COMPARISON,
    "matches": tuple(c for c in MATCHES if c.shown),
    "progress": PROGRESS,
    "filters": FILTERS,
    "skipped": SKIPPED,
    "alerts": ALERTS,
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


def columns_of(frame: str) -> tuple[Column, ...]:
    """Columns of a frame by its name: of a result (matches, skipped, searches …), or of a call's table."""
    return _FRAMES[frame] if frame in _FRAMES else COLUMNS[frame]


def column_type(column: Column) -> Any:
    """Arrow type of a column."""
    return arrow_type(column.type)


def table_schema(columns: Iterable[Column]) -> Any:
    """Arrow schema of a frame."""
    import pyarrow as pa

    return pa.schema([pa.field(c.name, column_type(c)) for c in columns])


def pandas_dtype(column: Column) -> str:
    """Dtype of a column in pandas; numbers and truth values that can be null use the nullable dtypes."""
    known = _DTYPES.get(column.type)
    if known is not None:
        return known
    if column.type == "bool":
        return "boolean" if column.null else "bool"
    return column.type.capitalize() if column.null else column.type


def documentation(frame: str) -> str:
    """Markdown table of the columns of a frame, for the reference."""
    rows = [f"| `{c.name}` | `{pandas_dtype(c)}` | {c.meaning} | {c.null or 'never'} |" for c in columns_of(frame)]
    return "\n".join(["| column | dtype | meaning | null means |", "| --- | --- | --- | --- |", *rows])
