"""All tools, and the columns of their tables, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sourcelight.core.batches.schema import MATCHES, Column, arrow_type
from sourcelight.core.errors import UnsupportedTool
from sourcelight.core.tools import (
    analyses,
    blame,
    commits,
    conversations,
    evolution,
    files,
    inspection,
    navigation,
    quality,
)
from sourcelight.core.tools.tool import Scope, Tool

_ALL_TOOLS: tuple[Tool[Any], ...] = (
    *files.TOOLS,
    *navigation.TOOLS,
    *commits.TOOLS,
    *blame.TOOLS,
    *analyses.TOOLS,
    *evolution.TOOLS,
    *quality.TOOLS,
    *inspection.TOOLS,
    *conversations.TOOLS,
)
TOOLS: dict[str, Tool[Any]] = {tool.name: tool for tool in _ALL_TOOLS}
"""Definitions by the name of the tool, in the order in which MCP clients list them."""

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    **files.COLUMNS,
    **commits.COLUMNS,
    **blame.COLUMNS,
    **analyses.COLUMNS,
    **evolution.COLUMNS,
    **quality.COLUMNS,
    **inspection.COLUMNS,
    **navigation.COLUMNS,
    **conversations.COLUMNS,
}
"""Columns of the tables of tools, by the name that `Tool.columns` has."""

_WITH_ATTRIBUTES = frozenset({"commit_search", "find_references", "nls_search"})
"""Tools of the specification with attributes that MCP doesn't carry: clients call them as analyses."""


def columns_by_origin(attrs: Mapping[Any, Any]) -> Sequence[Column] | None:
    """Return the columns of the table that a DataFrame came from, by its `attrs`, or None if they don't name one."""
    tool = TOOLS.get(str(attrs.get("call") or ""))
    if tool is not None:
        return COLUMNS[tool.columns]
    return MATCHES if "query" in attrs else None


def columns_named(name: str) -> list[Column]:
    """Return all columns with this name, over all tables."""
    columns = []
    for table in (MATCHES, *COLUMNS.values()):
        columns += [column for column in table if column.name == name]
    return columns


def mcp_tools(suite: Literal["default", "all"] = "default") -> dict[str, Tool[Any]]:
    """Return the tools that MCP clients may call, by name: those of the specification, or all.

    The rest are analyses, which only clients offer.
    """
    return {name: tool for name, tool in TOOLS.items() if tool.mcp is not None and suite in {"all", tool.mcp.suite}}


def analysis_tools() -> dict[str, Tool[Any]]:
    """Return the analyses by name: the tools outside the specification, except conversations."""
    specified = mcp_tools().keys() - _WITH_ATTRIBUTES
    return {
        name: tool for name, tool in TOOLS.items() if name not in specified and tool.scope is not Scope.CONVERSATION
    }


def is_conversation(name: str) -> bool:
    """Return whether this tool belongs to deep search."""
    return name in TOOLS and TOOLS[name].scope is Scope.CONVERSATION


def find_tool(name: str) -> Tool[Any]:
    """Return the tool with this name; raises `UnsupportedTool`."""
    tool = TOOLS.get(name)
    if tool is None:
        message = f"unknown tool {name!r}; available: {', '.join(TOOLS)}"
        raise UnsupportedTool(message, tool=name, accepted=tuple(TOOLS))
    return tool


def table_of(name: str, rows: int, **values: Any) -> Any:
    """Return an Arrow table of the columns `name`; a scalar fills every row, a missing value is null."""
    import pyarrow as pa

    fields, columns = [], []
    for column in COLUMNS[name]:
        kind = arrow_type(column.type)
        value = values.get(column.name)
        fields.append(pa.field(column.name, kind))
        columns.append(_array_of(value, kind, rows))

    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def table_of_rows(name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return an Arrow table of the columns `name`; what a row lacks is null, other keys of it are ignored."""
    values = {}
    for column in COLUMNS[name]:
        values[column.name] = [row.get(column.name) for row in rows]
    return table_of(name, len(rows), **values)


def _array_of(value: Any, kind: Any, rows: int) -> Any:
    import pyarrow as pa

    is_dictionary = pa.types.is_dictionary(kind)
    if isinstance(value, list):
        if is_dictionary:
            return pa.array(value, pa.string()).dictionary_encode().cast(kind)
        return pa.array(value, kind)
    if value is None:
        return pa.nulls(rows, kind)
    if is_dictionary:
        codes = pa.array([0], kind.index_type).take(pa.array([0] * rows, pa.int32()))
        return pa.DictionaryArray.from_arrays(codes, pa.array([value], pa.string()))

    return pa.array([value] * rows, kind)
