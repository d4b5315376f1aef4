"""The table of matches that both sides share: columns, types, units and the meaning of null.

A row is one matched line, path, repository, symbol, commit message line or diff line. Producers send record batches
with any subset of these columns (a batch of matched lines has no commit columns); a missing column means null in
every row, and `conform` adds it. Line numbers are 1-based; spans are code points into the text beside them, so that
``line[start:end]`` is the match in Python.

A match that goes past the end of its line has an `end` of ``len(line) + 1`` (the newline) and continues in the next
row, whose first span starts at 0; `match_count` counts a match only in the row where it starts.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any, Literal, TypeAlias

ColumnType: TypeAlias = Literal[
    "bool", "int32", "int64", "float64", "string", "dict8", "dict32", "list", "strings", "timestamp"
]
"""Name of an Arrow type: ``dict8`` and ``dict32`` are texts that repeat, at most 127 of them or more; ``list`` is of
int32, ``strings`` of texts; ``timestamp`` has microseconds in UTC."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Schemas, DataFrames, codecs, plots and the reference pages derive from it.

    Parameters
    ----------
    name
        Its name in the table.
    type
        Its Arrow type, as `arrow_type` reads it.
    meaning
        Meaning of a value.
    null
        What null means; empty for a column that is never null.
    unit
        What a number counts: ``lines``, ``commits``. Empty for text, and for numbers that count nothing: places, ranks,
        ratios, identifiers.
    summable
        False for counts whose sum over rows means nothing: running totals, and distinct counts that share members.
    instead
        The column of the same table to add up instead, if this one is not summable.
    is_visible
        False for columns that only protocol code needs and no frame carries.
    commit_key, symbol_key, file_key
        In `MATCHES`, the key that has the value in a commit of the wire, in a definition, or in a file: codecs copy it
        unchanged. An empty text and null aren't keys of a file, and are read as null.
    line_key
        In `MATCHES`, the key of a file that has the values of its lines; columns may share it.
    optional
        In `MATCHES`, whether a service may not know the value: an absent one is null, where other texts are empty.
    """

    name: str
    type: ColumnType
    meaning: str
    null: str = ""
    unit: str = ""
    summable: bool = True
    instead: str = ""
    is_visible: bool = True
    commit_key: str = ""
    symbol_key: str = ""
    file_key: str = ""
    line_key: str = ""
    optional: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it has numbers."""
        return self.type.startswith(("int", "float"))

    @property
    def adds_up(self) -> bool:
        """Whether the values of its rows may be added."""
        return bool(self.unit) and self.summable


AGENT = Column(
    "agent",
    "dict32",
    "coding assistants that the commit names, separated by commas; an empty value doesn't prove that there was none",
    "not provided by the service",
)
MATCHES: tuple[Column, ...] = (
    Column("type", "dict8", "content, path, repo, symbol, commit or diff"),
    Column("repository", "dict32", "name of the repository"),
    Column("repository_id", "int64", "number of the repository at the service that answered"),
    Column("revision", "dict32", "requested revision; empty for the default branch"),
    Column("commit", "dict32", "resolved commit, 40 hex digits", "not provided by the service"),
    Column(
        "path",
        "dict32",
        "path in the repository, with /; invalid UTF-8 as U+FFFD",
        "repo, commit and diff message rows",
    ),
    Column("language", "dict32", "display name of the language", "unknown", file_key="language", optional=True),
    Column(
        "line_number",
        "int32",
        "1-based line in the file (symbol: of its name; diff: in the new or old file)",
        "path and repo rows",
    ),
    Column(
        "line",
        "string",
        "text of the line without its newline; a carriage return before it stays; invalid UTF-8 as U+FFFD",
        "path and repo rows, and definitions from other services",
    ),
    Column("start", "list", "start of each match, code points into line", "rows without line"),
    Column("end", "list", "end of each match (exclusive), code points into line", "rows without line"),
    Column("match_count", "int32", "matches that start in this row, counted as the service counts", unit="matches"),
    Column("name_start", "list", "start of each match in path (repo rows: in repository), code points", "none"),
    Column("name_end", "list", "end of each match in path (repo rows: in repository), code points", "none"),
    Column("chunk", "dict32", "surrounding lines, those of this row included", "not asked for"),
    Column("chunk_start_line", "int32", "1-based line on which chunk starts", "not asked for"),
    Column("truncated", "bool", "whether max_line_bytes truncated a line of chunk", "not asked for"),
    Column(
        "cell",
        "int32",
        "1-based number of the notebook cell with the match",
        "not in a cell, or not determined",
        line_key="cells",
    ),
    Column(
        "cell_kind",
        "dict8",
        "part of the cell with the match: code, markdown, raw or output",
        "not in a cell, or not determined",
        line_key="cells",
    ),
    Column(
        "cell_line",
        "int32",
        "1-based line of the match in the source or output of the cell",
        "not in a cell, or not determined",
        line_key="cells",
    ),
    Column("symbol", "string", "name of the definition", "other rows", symbol_key="name"),
    Column("symbol_kind", "dict32", "kind of the definition, lower case", "other rows"),
    Column("container", "string", "name of the enclosing definition", "other rows", symbol_key="containerName"),
    Column("author", "dict32", "author's name", "other rows", commit_key="authorName"),
    Column("author_date", "timestamp", "author date, UTC", "other rows", commit_key="authorDate"),
    Column("committer", "dict32", "committer's name", "other rows", commit_key="committerName"),
    Column("commit_date", "timestamp", "committer date, UTC", "other rows", commit_key="committerDate"),
    Column("message", "dict32", "whole commit message", "other rows", commit_key="message"),
    replace(AGENT, null=f"other rows, or {AGENT.null}", commit_key="agent", optional=True),
    Column("side", "dict8", "kind of the diff line: added, removed or context", "other rows"),
    Column(
        "url",
        "string",
        "address of the match, relative to the service",
        "other rows",
        commit_key="url",
        symbol_key="url",
    ),
    # What only the wire needs.
    Column("line_offset", "int64", "byte offset of the line in its file", "unknown", is_visible=False),
    Column(
        "byte_start", "list", "start of each match, bytes into the line as stored", "same as start", is_visible=False
    ),
    Column("byte_end", "list", "end of each match, bytes into the line as stored", "same as end", is_visible=False),
    Column("chunk_offset", "int64", "byte offset of chunk in its file", "not asked for", is_visible=False),
    Column(
        "preview", "dict32", "lines around the matches of a diff, as git writes them", "not asked for", is_visible=False
    ),
    Column(
        "preview_line", "int32", "line of the fenced preview that this row is", "not in the preview", is_visible=False
    ),
    Column(
        "cell_language",
        "dict32",
        "language of the cell of a line of JSON",
        "not in a cell, or not determined",
        is_visible=False,
    ),
    Column("author_email", "dict32", "author's address, which the wire does not have", "other rows", is_visible=False),
    Column("detail", "string", "short Markdown on a commit", "other rows", is_visible=False, commit_key="detail"),
    Column("label", "string", "Markdown links to a commit", "other rows", is_visible=False, commit_key="label"),
)
CopiedKeys: TypeAlias = tuple[tuple[Column, str], ...]
COMMIT_KEYS: CopiedKeys = tuple((column, column.commit_key) for column in MATCHES if column.commit_key)
SYMBOL_KEYS: CopiedKeys = tuple((column, column.symbol_key) for column in MATCHES if column.symbol_key)

FILE_KEYS: CopiedKeys = tuple((column, column.file_key) for column in MATCHES if column.file_key)
"""Columns that codecs copy, with the key of each in a commit, in a definition and in a file of the wire."""

LOCATION_COLUMNS = ("repository", "repository_id", "revision", "commit")
"""Columns of `MATCHES` that say which commit of which repository a row is of."""


def _group_by_line_key() -> Iterator[tuple[str, tuple[Column, ...]]]:
    keys = dict.fromkeys(column.line_key for column in MATCHES if column.line_key)
    for key in keys:
        yield key, tuple(column for column in MATCHES if column.line_key == key)


LINE_KEYS: tuple[tuple[str, tuple[Column, ...]], ...] = tuple(_group_by_line_key())
"""Columns of lines by the key of a file that has their values."""

SERVICE = Column("service", "dict8", "service of the federation that the row is of")
"""Stands beside the columns of a table, as its first, where several services are searched as one."""


@cache
def arrow_type(name: ColumnType) -> Any:
    """Return the Arrow type behind a type name of this module."""
    import pyarrow as pa

    return {
        "dict8": pa.dictionary(pa.int8(), pa.string()),
        "dict32": pa.dictionary(pa.int32(), pa.string()),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "bool": pa.bool_(),
        "string": pa.string(),
        "float64": pa.float64(),
        "list": pa.list_(pa.int32()),
        "strings": pa.list_(pa.string()),
        "timestamp": pa.timestamp("us", tz="UTC"),
    }[name]


@cache
def matches_schema(*, visible_only: bool = False) -> Any:
    """Return the Arrow schema of matches: all columns, or only the columns of a frame."""
    import pyarrow as pa

    return pa.schema(
        [pa.field(column.name, arrow_type(column.type)) for column in MATCHES if column.is_visible or not visible_only]
    )


def schema_of(names: Container[str]) -> Any:
    """Return the Arrow schema of some columns of matches, in the order that all readers expect."""
    import pyarrow as pa

    return pa.schema([column for column in matches_schema() if column.name in names])


def batch_of_rows(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return a record batch of rows of matches; what a row lacks of the columns of the others is null."""
    import pyarrow as pa

    return pa.RecordBatch.from_pylist(rows, schema=schema_of(set(chain.from_iterable(rows))))


def conform(batches: list[Any], *, visible_only: bool = False) -> Any:
    """Return one Arrow table of the full schema from batches that each carry a subset of its columns.

    Row order is the order of `batches`. Columns are in the order of `MATCHES`; a column that a batch lacks is null in
    its rows. No text is copied.
    """
    import pyarrow as pa

    schema = matches_schema(visible_only=visible_only)
    columns = []
    for f in schema:
        chunks = []
        for batch in batches:
            index = batch.schema.get_field_index(f.name)
            chunks.append(batch.column(index) if index >= 0 else pa.nulls(batch.num_rows, f.type))
        columns.append(pa.chunked_array(chunks, type=f.type))

    return pa.Table.from_arrays(columns, schema=schema)
