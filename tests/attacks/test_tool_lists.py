"""Lists of tools with malformed entries, and schemas of answers that keep a client busy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

import sourcelight as sl
from backends.remote.raw_mcp import RawMcp
from sourcelight.core.errors import ProtocolError, UnsupportedTool

REPOS = {
    "name": "list_repos",
    "description": "List repositories",
    "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}},
}


def reply(name: str, arguments: Mapping[str, Any]) -> Any:
    del name, arguments
    return {"content": [{"type": "text", "text": "{}"}], "structuredContent": {"repos": [{"name": "r/x"}]}}


MALFORMED: list[Any] = [
    {"name": "other"},
    {"name": "other", "inputSchema": None},
    {"name": "other", "inputSchema": {"type": "string"}},
    {"name": "other", "inputSchema": {"properties": ["query"], "required": "query"}},
    {"name": "other", "inputSchema": {"type": "object", "properties": {"query": 3}, "required": [3], "$schema": 7}},
    {"name": "other", "inputSchema": {"type": "object"}, "description": 3, "title": 4, "icons": "x", "_meta": []},
    {"name": "other", "inputSchema": {"type": "object"}, "annotations": "none", "outputSchema": "none"},
    {"name": "other", "inputSchema": {"type": "object"}, "outputSchema": {"type": "array"}},
]


@pytest.mark.parametrize("tool", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_tool_hides_no_other(tool: Any) -> None:
    """The SDK refused the whole list for one entry of another form."""
    service = RawMcp([tool, REPOS], reply)
    with service.running() as url, sl.connect(url, "token", retries=0, check=False) as code:
        assert set(code.tools) == {"other", "list_repos"}
        assert list(code.list_repos()["repository"]) == ["r/x"]
        code.tools["other"]()
    assert service.calls == ["list_repos", "other"]


def test_a_tool_without_a_name_is_counted() -> None:
    service = RawMcp([None, "list_files", {"name": ["list_files"]}, {"name": ""}, REPOS], reply)
    with service.running() as url, sl.connect(url, "token", retries=0, check=False) as code:
        assert list(code.tools) == ["list_repos"]
        with pytest.raises(UnsupportedTool, match=r"it has list_repos, and lists 4 tools without a name"):
            code.list_files("r/x")


@pytest.mark.clock
def test_a_schema_of_answers_keeps_nothing_busy() -> None:
    """A pattern of the server was matched here, in Python's `re`: 2 ** 40 steps."""
    text = "a" * 40 + "!"
    slow = {"type": "object", "properties": {"repos": {"items": {"properties": {"name": {"pattern": "^(a+)+$"}}}}}}

    def answer(name: str, arguments: Mapping[str, Any]) -> Any:
        del name, arguments
        return {"content": [], "structuredContent": {"repos": [{"name": text}]}}

    service = RawMcp([REPOS | {"outputSchema": slow}], answer)
    with service.running() as url, sl.connect(url, "token", retries=0, check=False) as code:
        assert list(code.list_repos()["repository"]) == [text]


def test_an_answer_against_its_own_schema_is_read() -> None:
    """The SDK said that the service is no MCP server."""
    strict = {"type": "object", "required": ["repositories"]}
    service = RawMcp([REPOS | {"outputSchema": strict}], reply)
    with service.running() as url, sl.connect(url, "token", retries=0, check=False) as code:
        assert list(code.list_repos()["repository"]) == ["r/x"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"structuredContent": {"repos": []}}, "content: Field required"),
        ({"content": "text"}, "content: Input should be a valid list"),
        ({"content": [], "structuredContent": [1]}, "structuredContent: Input should be a valid dictionary"),
        ("text", "Failed to parse JSON response"),
    ],
)
def test_a_malformed_answer_is_named_as_such(answer: Any, reason: str) -> None:
    """It was "not an MCP server", with the models and addresses of the SDK's validator."""
    service = RawMcp([REPOS], lambda _name, _arguments: answer)
    with (
        service.running() as url,
        sl.connect(url, "token", retries=0, check=False) as code,
        pytest.raises(ProtocolError, match=f"{reason}$"),
    ):
        code.list_repos()


def test_an_answer_that_is_too_large_is_named_as_such() -> None:
    """The connection was only closed."""
    service = RawMcp([REPOS], lambda _name, _arguments: {"content": [{"type": "text", "text": "x" * (65 << 20)}]})
    with service.running() as url, sl.connect(url, "token", retries=0, check=False) as code:
        with pytest.raises(ProtocolError, match="sent more than 67,108,864 bytes at once"):
            code.list_repos()
        service.reply = reply
        assert list(code.list_repos()["repository"]) == ["r/x"]
