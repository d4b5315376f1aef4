"""Every tool tells MCP clients and models what `tools.json` says: a change of it is meant, and in CHANGELOG.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sourcelight.core.tools.catalog import COLUMNS, TOOLS
from sourcelight.core.tools.tool import Tool

FILE = Path(__file__).parent / "tools.json"
FROZEN: dict[str, dict[str, Any]] = json.loads(FILE.read_text("utf-8"))


def tools() -> dict[str, dict[str, Any]]:
    """Return what each tool tells, in the order of the file, new tools last."""
    return {name: _entry(TOOLS[name]) for name in [*filter(TOOLS.__contains__, FROZEN), *TOOLS]}


def _entry(tool: Tool[Any]) -> dict[str, Any]:
    schema = {"inputSchema": tool.advertised_schema}
    if tool.mcp is None:
        return schema
    return {"title": tool.mcp.title, "description": tool.mcp.description, "readOnly": tool.mcp.read_only, **schema}


def test_there_are_these_tools() -> None:
    assert set(TOOLS) == set(FROZEN), "run scripts/freeze --names"


@pytest.mark.parametrize("name", sorted(FROZEN))
def test_a_tool_has_this_schema_and_text(name: str) -> None:
    tool, frozen = TOOLS[name], FROZEN[name]
    assert tool.columns in COLUMNS
    schema, expected = tool.advertised_schema, frozen["inputSchema"]
    assert schema == expected
    assert list(schema["properties"]) == list(expected["properties"])
    assert (tool.mcp is None) == ("title" not in frozen)
    if tool.mcp is not None:
        # A client that stores a tool's description compares bytes.
        assert json.dumps(schema) == json.dumps(expected)
        assert (tool.mcp.title, tool.mcp.description) == (frozen["title"], frozen["description"])
        assert tool.mcp.read_only == frozen["readOnly"]


def test_arguments_reach_the_wire_as_they_were_given() -> None:
    search = TOOLS["commit_search"]
    wire = {"repos": ["a"], "messageTerms": ["fix"], "count": 3, "useRegex": False}
    assert search.parse(wire).to_wire() == wire
    assert search.requested_rows(wire) == 3
    assert search.requested_rows({"repos": ["a"], "after": "2024-01-01"}) is None
    assert TOOLS["compare_revisions"].requested_rows({"after": "cursor"}) == 0
