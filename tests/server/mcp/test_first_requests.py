"""The first answers over HTTP are those of the SDK, and anything else is for the SDK, which gets the whole body."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx2
import pytest
from starlette.types import Message, Scope

from server.mcp.conftest import Served
from server.running_service import TOKEN, Serve, Service
from sourcelight.engines.execution import LocalEngine
from sourcelight.server.mcp.addresses import ENDPOINTS, LISTS_FILE, McpOptions, read_tool_list
from sourcelight.server.mcp.first_requests import MAX_INSPECTED_BYTES, answer_first
from sourcelight.server.mcp.handshake import PROTOCOL_VERSIONS
from sourcelight.server.mcp.suites import default_suite_lists, suite_tool_list

HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "some", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
PING = {"jsonrpc": "2.0", "id": 3, "method": "ping"}


def post(service: Service, path: str, message: Any, version: str = "") -> httpx2.Response:
    headers = HEADERS | {"authorization": f"token {TOKEN}"} | ({"mcp-protocol-version": version} if version else {})
    # The first message that the SDK answers waits until it is loaded.
    return service.client.post(path, headers=headers, content=json.dumps(message).encode(), timeout=60)


def seen(answer: httpx2.Response) -> tuple[Any, ...]:
    return answer.status_code, answer.headers.get("content-type"), json.loads(answer.content or b"null")


def test_first_answers_are_those_of_the_sdk(engine: LocalEngine, serve: Serve) -> None:
    service = serve(engine)
    messages = [INITIALIZE, INITIALIZED, LIST, LIST | {"params": {}}]
    requests = [
        (path, message, v) for path in ENDPOINTS for message in messages for v in ("", *sorted(PROTOCOL_VERSIONS))
    ]
    early = [seen(post(service, *request)) for request in requests]
    # Loads the SDK.
    assert post(service, "/.api/mcp", PING).status_code == 200
    assert [seen(post(service, *request)) for request in requests] == early
    assert {status for status, *_ in early} == {200, 202}


def first_answer(body: bytes, headers: dict[str, str]) -> tuple[int | None, bytes]:
    """The status of the early answer, None without one, and the body that is left for the SDK."""
    half = len(body) // 2
    parts = [(body[:half], False), (body[half:], True)]
    messages: list[Message] = [
        {"type": "http.request", "body": part, "more_body": not is_last} for part, is_last in parts
    ]
    raw_headers = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope: Scope = {"type": "http", "method": "POST", "path": "/", "headers": raw_headers}

    async def receive() -> Message:
        return messages.pop(0)

    async def run() -> tuple[int | None, bytes]:
        answer, rest = await answer_first(scope, receive, lambda: b'{"tools":[]}')
        if answer is not None:
            return answer.status_code, b""
        remaining = b""
        while True:
            message = await rest()
            remaining += message["body"]
            if not message["more_body"]:
                return None, remaining

    return anyio.run(run)


def test_plain_first_messages_are_answered_here() -> None:
    statuses = [first_answer(json.dumps(m).encode(), HEADERS)[0] for m in (INITIALIZE, INITIALIZED, LIST)]
    assert statuses == [200, 202, 200]


@pytest.mark.parametrize(
    "body",
    [
        json.dumps(PING).encode(), b"", b"no json", b"[]", json.dumps([INITIALIZE]).encode(),
        json.dumps(INITIALIZED | {"id": 1}).encode(), json.dumps(INITIALIZED | {"params": {"_meta": {}}}).encode(),
        json.dumps(LIST | {"params": {"cursor": "x"}}).encode(), json.dumps(LIST).encode() + b" " * MAX_INSPECTED_BYTES,
    ],
)  # fmt: skip
def test_other_messages_reach_the_sdk_whole(body: bytes) -> None:
    assert first_answer(body, HEADERS) == (None, body)


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "application/json"}, {"accept": "text/event-stream"}, {"content-type": "text/plain"},
        {"mcp-protocol-version": "2026-07-28"}, {"mcp-protocol-version": "1.0"}, {"mcp-session-id": "x"},
        {"mcp-method": "tools/list"}, {"content-encoding": "gzip"},
    ],
)  # fmt: skip
def test_headers_that_the_sdk_judges_reach_it(headers: dict[str, str]) -> None:
    body = json.dumps(LIST).encode()
    assert first_answer(body, HEADERS | headers) == (None, body)


def test_a_first_answer_needs_a_credential(served: Served) -> None:
    answer = served.service.client.post("/.api/mcp", headers=HEADERS | {"authorization": ""}, json=INITIALIZE)
    assert answer.status_code == 401


def test_stored_lists_are_those_of_the_default_options() -> None:
    assert LISTS_FILE.read_text("utf-8") == default_suite_lists(), "run scripts/docs"
    for suite in ENDPOINTS.values():
        assert json.loads(read_tool_list(suite)) == json.loads(suite_tool_list(suite, McpOptions()))


@pytest.mark.parametrize(
    "options",
    [
        McpOptions(disabled_tools=frozenset({"read_file"})), McpOptions(without_deepsearch=True),
        McpOptions(max_tokens=8_000), McpOptions(with_structure=False),
    ],
)  # fmt: skip
def test_options_that_change_a_list_are_not_served_the_stored_ones(options: McpOptions) -> None:
    changed = [suite_tool_list(suite, options) != suite_tool_list(suite, McpOptions()) for suite in ENDPOINTS.values()]
    assert any(changed)
    assert not options.are_default_for_lists
