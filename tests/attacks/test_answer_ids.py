"""Answers of MCP servers with the id of another request: a client waited for the right one until its timeout, 300 s."""

from __future__ import annotations

import json
from typing import Any

import pytest

import sourcelight as sl
from backends.remote.raw_mcp import RawMcp
from sourcelight.backends.remote.mcp.server_messages import answer_of
from sourcelight.core.errors import ProtocolError

REPOS = {"name": "list_repos", "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}}
FAILURE = {"jsonrpc": "2.0", "error": {"code": -32603, "message": "out of memory"}}
OTHER_ID, NO_ANSWER = "the answer has another id than its request", "the body is not an answer to the request"


def service_with(method: str, message: dict[str, Any]) -> RawMcp:
    """Return a service whose answers to a method have other fields of JSON-RPC."""
    answer = {"content": [], "structuredContent": {"repos": [{"name": "r/x"}]}}

    def change(answered: str, good: dict[str, Any]) -> Any:
        changed = {**good, **message} if answered == method else good
        return {name: value for name, value in changed.items() if value != "absent"}

    return RawMcp([REPOS], lambda _name, _arguments: answer, message=change)


@pytest.mark.clock
@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call"])
@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"id": 777}, OTHER_ID),
        ({"id": 1.5}, OTHER_ID),
        ({"id": None}, OTHER_ID),
        ({**FAILURE, "id": 777, "result": "absent"}, OTHER_ID),
        ({**FAILURE, "id": None, "result": "absent"}, "out of memory"),
        ({"method": "notifications/progress", "id": "absent", "result": "absent", "params": {}}, NO_ANSWER),
        ({"method": "sampling/createMessage", "result": "absent", "params": {}}, NO_ANSWER),
    ],
    ids=range(7),
)
def test_an_answer_to_no_request_is_an_error_at_once(method: str, message: dict[str, Any], reason: str) -> None:
    with (
        service_with(method, message).running() as url,
        sl.connect(url, "token", retries=0, check=False) as code,
        pytest.raises(ProtocolError, match=f"MCP error: {reason}$"),
    ):
        code.list_repos()


def test_the_connection_lives_after_a_wrong_id() -> None:
    service = service_with("tools/call", {"id": 777})
    with service.running() as url, sl.connect(url, "token", retries=0, check=False) as code:
        with pytest.raises(ProtocolError, match=OTHER_ID):
            code.list_repos()
        service.message = lambda _method, message: message
        assert list(code.list_repos()["repository"]) == ["r/x"]


def test_an_id_in_quotation_marks_is_the_id() -> None:
    def quote(_method: str, message: dict[str, Any]) -> Any:
        return {**message, "id": str(message["id"])}

    service = service_with("tools/call", {})
    service.message = quote
    with service.running() as url, sl.connect(url, "token", retries=0, check=False) as code:
        assert list(code.list_repos()["repository"]) == ["r/x"]


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"\xff", b"[" * 100_000, b'{"id": 7, "result": {}}'])
def test_a_body_that_the_sdk_judges_is_unchanged(body: bytes) -> None:
    assert answer_of(body, 7) == body


def test_an_error_keeps_its_text() -> None:
    changed = json.loads(answer_of(json.dumps({**FAILURE, "id": None}).encode(), 7))
    assert changed == {**FAILURE, "id": 7}
