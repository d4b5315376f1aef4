"""The two arguments that every tool takes over MCP beside its own: how long an answer may be, and where it goes on.

They belong to the transport: no handler sees them, and no method has them, since nothing limits an answer in Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEFAULT_MAX_TOKENS = 8_000
"""Tokens of an answer where a caller pays for each: clients cut answers at about 25,000."""
MIN_TOKENS = 300
MAX_TOKENS = 1_000_000
"""A limit that no answer reaches: what a caller asks for who wants no cut."""

MAX_TOKENS_ARGUMENT = "maxTokens"
CURSOR_ARGUMENT = "cursor"
PAGE_SCHEMA: Mapping[str, Mapping[str, Any]] = {
    MAX_TOKENS_ARGUMENT: {"type": "integer"},
    CURSOR_ARGUMENT: {"type": "string"},
}
"""Schemas of both. The instructions of the server say once what they mean, not each of the tools."""

ROWS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "columns": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "array"}},
    },
    "required": ["columns", "rows", "limitHit"],
}
"""JSON Schema of structured content that is a table: rows of values, in the order of the columns.

It is in the list once for each tool, so that it has no more than tells a table; docs/mcp.md has the keys beside it.
"""


def with_page_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments with these two."""
    return {**schema, "properties": {**schema["properties"], **PAGE_SCHEMA}}
