"""The first answer of ``sourcelight mcp``: that of the SDK, before the SDK is loaded, and once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from processor_time import run_and_measure
from sourcelight.cli.startup.first_answers import start_early_answers
from sourcelight.server.mcp.calls import ToolRunner
from sourcelight.server.mcp.handshake import (
    LIST_FILE,
    PROTOCOL_VERSIONS,
    FirstMessages,
    make_answer,
    make_list,
    read_tool_list,
)
from sourcelight.server.mcp.opening import EngineOpening
from sourcelight.server.mcp.protocol import make_server, serve_after
from sourcelight.server.mcp.suites import StdioOptions, default_tool_list, named_tools, stdio_tool_list

COMMAND = [sys.executable, "-c", "from sourcelight.cli import main; main()", "mcp"]
SDK_TYPES = [sys.executable, "-c", "import mcp_types"]
MAX_SHARE = 0.5
"""CPU time until a client has its first answers, as a share of what the SDK's types alone take to load."""


def initialize(version: str = "2025-06-18", number: Any = 7, **fields: Any) -> dict[str, Any]:
    client = {"name": "some client", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {"roots": {"listChanged": True}}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params} | fields


def line_of(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def answers_of_sdk(*lines: bytes, answered_id: Any = None, tools: str = "default") -> list[dict[str, Any]]:
    """What reaches the client from the SDK."""

    def never(*_: Any) -> Any:
        raise AssertionError

    async def main() -> list[dict[str, Any]]:
        calls = ToolRunner(EngineOpening(never), max_tokens=8_000, with_structure=tools == "all")
        server = make_server(named_tools([tools]), calls, never, offers_pages=True)
        first = FirstMessages(lines, answered_id)
        to_server, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, from_server = anyio.create_memory_object_stream[SessionMessage](9)
        with anyio.fail_after(20):
            async with read, from_server, anyio.create_task_group() as tasks:
                tasks.start_soon(serve_after, first, server, read, write)
                ping = types.jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", "id": "last", "method": "ping"})
                await to_server.send(SessionMessage(ping))
                answers = []
                async for answer in from_server:
                    answers.append(json.loads(answer.message.model_dump_json(by_alias=True, exclude_unset=True)))
                    if answers[-1]["id"] == "last":
                        to_server.close()
        return answers

    return anyio.run(main)


@pytest.mark.parametrize("version", sorted(PROTOCOL_VERSIONS))
@pytest.mark.parametrize("number", [0, 7, "seven"])
def test_the_first_answer_is_that_of_the_sdk_and_comes_once(version: str, number: Any) -> None:
    line = line_of(initialize(version, number))
    answered_id, answer = make_answer(line)
    assert answered_id == number
    of_sdk, pong = answers_of_sdk(line)
    assert json.loads(answer) == of_sdk
    assert answers_of_sdk(line, answered_id=answered_id) == [pong]


def test_what_clients_say_of_themselves_does_not_matter() -> None:
    names = ["name", "version", "title", "description", "websiteUrl"]
    params = initialize()["params"] | {"clientInfo": dict.fromkeys(names, "some text")}
    line = line_of(initialize(params=params | {"capabilities": {"sampling": {}, "elicitation": {"form": {}}}}))
    answered_id, answer = make_answer(line)
    assert answered_id == 7
    assert answers_of_sdk(line)[0] == json.loads(answer)


@pytest.mark.parametrize("tools", ["default", "all"])
@pytest.mark.parametrize("version", sorted(PROTOCOL_VERSIONS))
def test_the_list_of_tools_is_that_of_the_sdk(version: str, tools: str) -> None:
    ask = {"jsonrpc": "2.0", "id": "list", "method": "tools/list"}
    initialized = line_of({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for line in (line_of(ask), line_of(ask | {"params": {}})):
        _, of_sdk, _ = answers_of_sdk(line_of(initialize(version)), initialized, line, tools=tools)
        options = StdioOptions((tools,), with_structure=tools == "all")
        answer = make_list(line, partial(stdio_tool_list, options))
        assert json.loads(answer) == of_sdk
    for other in ({"method": "ping"}, {"params": {"cursor": "x"}}, {"params": None}, {"id": None}, {"extra": 1}):
        assert make_list(line_of(ask | other), lambda: b"{}") == b""


def test_the_stored_list_is_that_of_the_default_options() -> None:
    assert Path(LIST_FILE).read_text("utf-8") == default_tool_list(), "run scripts/docs"
    assert json.loads(read_tool_list()) == json.loads(stdio_tool_list(StdioOptions()))
    assert b"\n" not in read_tool_list()


@pytest.mark.parametrize(
    "words", [["--tools", "default"], ["--max-tokens=500"], ["--structured"], ["--committed", "--worktree"], ["-h"]]
)
def test_words_that_may_change_the_answers_are_parsed_first(words: list[str]) -> None:
    assert start_early_answers([*words, "."]) is None


OTHERS = [
    b"", b"\n", b"no json\n", b"[]\n", b"{}\n", b"\xff\n",
    line_of(initialize("2026-07-28")), line_of(initialize("1.0")), line_of(initialize(number=None)),
    line_of(initialize(number=True)), line_of(initialize(number=10**20)), line_of(initialize(number="\ud800")),
    line_of(initialize(number=float("nan"))), b"[" * 100_000 + b"\n", "\ufeff{}\n".encode(), "{}\n".encode("utf-16"),
    line_of(initialize(number=1.5)), line_of(initialize(method="ping")),
    line_of(initialize(params=None)), line_of(initialize(params={"protocolVersion": "2025-06-18"})),
    line_of(initialize(extra=1)), line_of(initialize(jsonrpc="1.0")),
    line_of(initialize() | {"params": initialize()["params"] | {"capabilities": {"roots": 5}}}),
    line_of(initialize() | {"params": initialize()["params"] | {"clientInfo": {"name": 1, "version": "1"}}}),
]  # fmt: skip


@pytest.mark.parametrize("line", OTHERS)
def test_anything_else_is_for_the_sdk(line: bytes) -> None:
    assert make_answer(line) == (None, b"")


@pytest.mark.clock
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the CPU time of a process from /proc")
def test_first_answers_take_less_time_than_loading_the_types_of_the_sdk(tmp_path: Path) -> None:
    of_types = min(run_and_measure(SDK_TYPES) for _ in range(3))
    with subprocess.Popen(
        COMMAND, cwd=tmp_path, env=os.environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line_of(initialize(number=1)))
        process.stdin.write(line_of({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        process.stdin.write(line_of({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))
        process.stdin.flush()
        first, second = json.loads(process.stdout.readline()), json.loads(process.stdout.readline())
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        # The SDK goes on where the first answers end.
        process.stdin.write(line_of({"jsonrpc": "2.0", "id": 3, "method": "ping"}))
        process.stdin.flush()
        third = json.loads(process.stdout.readline())
        process.stdin.write(line_of({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}))
        process.stdin.flush()
        fourth = json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.stdout.read() == b""
    assert [answer["id"] for answer in (first, second, third, fourth)] == [1, 2, 3, 4]
    assert second["result"] == fourth["result"]
    assert second["result"]["tools"]
    assert cpu_s <= MAX_SHARE * of_types


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise")
@pytest.mark.parametrize("messages", [[], [initialize()]], ids=["at once", "after its first message"])
def test_a_client_that_leaves_ends_the_process_normally(messages: list[dict[str, Any]], tmp_path: Path) -> None:
    with subprocess.Popen(
        COMMAND, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        for message in messages:
            process.stdin.write(line_of(message))
            process.stdin.flush()
            process.stdout.readline()
        process.stdout.close()
        process.stdin.write(
            line_of(initialize() if not messages else {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        )
        process.stdin.flush()
        assert process.wait(60) == 0
        assert b"Traceback" not in process.stderr.read()
        process.stdin.close()
