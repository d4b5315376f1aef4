"""The list of tools as clients get it, which needs no SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcelight.core.tools.tool import ROWS_SCHEMA, Tool, with_page_arguments

SIZE_HINT = "anthropic/maxResultSizeChars"
"""Key of ``_meta`` with the most characters of an answer. The client that knows it puts longer ones into a file."""
_WITHOUT_HINT = 50_000
"""Characters that this client takes where there is no hint, which makes one for less needless."""
_MAX_HINT = 500_000
_CHARACTERS_OF_TOKEN = 6
"""More than code and prose have, which is 3 to 5 by our estimate of tokens."""


def advertised_schemas(tools: Mapping[str, Tool[Any]], *, offers_pages: bool) -> dict[str, Mapping[str, Any]]:
    """Return the JSON Schema of each tool's arguments, with those of pages if they are to be named."""
    return {
        name: with_page_arguments(tool.advertised_schema) if offers_pages else tool.advertised_schema
        for name, tool in tools.items()
    }


def list_tools(
    tools: Mapping[str, Tool[Any]], *, offers_pages: bool, with_structure: bool, max_tokens: int | None
) -> dict[str, Any]:
    """Return the result of ``tools/list``.

    Parameters
    ----------
    tools
        Tools by name.
    offers_pages
        Whether schemas name the arguments of pages.
    with_structure
        Whether answers have structured content, whose schema is then told where it is a table.
    max_tokens
        Tokens of an answer for which a call gives no number; None: as many as it has.
    """
    schemas = advertised_schemas(tools, offers_pages=offers_pages)
    size = _MAX_HINT if max_tokens is None else min(_MAX_HINT, _CHARACTERS_OF_TOKEN * max_tokens)
    hint = {"_meta": {SIZE_HINT: size}} if size > _WITHOUT_HINT else {}
    return {"tools": [_entry(tool, schemas[name], with_structure) | hint for name, tool in tools.items()]}


def _entry(tool: Tool[Any], schema: Mapping[str, Any], with_structure: bool) -> dict[str, Any]:  # noqa: FBT001
    text = tool.mcp
    assert text is not None  # noqa: S101 - narrows for the type checker
    return {
        "name": tool.name,
        "title": text.title,
        "description": text.description,
        "inputSchema": dict(schema),
        **({"outputSchema": ROWS_SCHEMA} if with_structure and text.suite == "all" else {}),
        # The protocol gives the two other hints a meaning only for a tool that changes something.
        "annotations": {
            "readOnlyHint": text.read_only,
            **({} if text.read_only else {"destructiveHint": False}),
            "openWorldHint": False,
        },
    }
