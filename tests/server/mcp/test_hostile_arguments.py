"""Whatever a caller sends, it gets an answer that it can read, and never an internal error."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client import Client

from server.mcp.conftest import ONE, SECRET, Served
from server.mcp.test_endpoints import MESSAGE, post
from sourcelight.core.tools.catalog import mcp_tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.server.mcp.calls import CallIdentity, ToolRunner
from sourcelight.server.mcp.protocol import make_server

FUZZED = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
texts = st.one_of(
    st.sampled_from([ONE, SECRET, "README.md", "src", "..", "HEAD~1", "lamp", "(", "/", "repo:^", "rev:", "\x00", "%"]),
    st.text(max_size=20),
)
fitting = {
    "string": texts,
    "integer": st.integers(-2, 200) | st.integers(),
    "boolean": st.booleans(),
    "array": st.lists(texts, max_size=3),
}
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    tool = mcp_tools()[draw(st.sampled_from(sorted(mcp_tools())))]
    properties = tool.input_schema["properties"]
    arguments: dict[str, Any] = {}
    for name, schema in properties.items():
        if name in tool.input_schema["required"] or draw(st.booleans()):
            arguments[name] = draw(fitting[schema["type"]] if draw(st.integers(0, 9)) else anything)
    if not draw(st.integers(0, 9)):
        arguments[draw(texts)] = draw(anything)
    return tool.name, arguments


@FUZZED
@given(calls=st.lists(calls(), min_size=3, max_size=6))
def test_any_arguments_have_an_answer(engine: LocalEngine, calls: list[tuple[str, dict[str, Any]]]) -> None:
    server = make_server(mcp_tools(), ToolRunner(engine, timeout_s=5.0), lambda _: CallIdentity(Viewer.anonymous()))

    async def main() -> None:
        async with Client(server, mode="2026-07-28") as client:
            await client.list_tools()
            for name, arguments in calls:
                result = await client.call_tool(name, arguments)
                text = result.content[0].text  # type: ignore[union-attr]
                assert "internal error" not in text, (name, arguments)
                assert result.is_error or isinstance(result.structured_content, dict)
                json.dumps(result.structured_content)
                assert "hidden lighthouse" not in text

    with anyio.from_thread.start_blocking_portal() as portal:
        portal.call(main)


@FUZZED
@given(body=anything, method=st.sampled_from(["tools/call", "tools/list", "initialize", "nothing", ""]))
def test_any_message_has_an_answer(served: Served, body: Any, method: str) -> None:
    for message in (body, {"jsonrpc": "2.0", "id": 1, "method": method, "params": body}):
        answer = post(
            served.service, "/.api/mcp", content=json.dumps(message), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code < 500
        assert "Internal" not in answer.text


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_lone_surrogates_do_no_harm(served: Served, version: str) -> None:
    modern = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "list_files", "arguments": {"repo": "\ud800"}, "_meta": modern},
    }
    headers = {
        **MESSAGE,
        "Content-Type": "application/json",
        "MCP-Protocol-Version": version,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "list_files",
    }
    answer = post(served.service, "/.api/mcp", content=json.dumps(call), headers=headers)
    assert answer.status_code < 500
    assert "Internal" not in answer.text
