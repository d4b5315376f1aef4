"""The local bridge mcp-remote, as users run it: with registration, with a client of an administrator, with a header."""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from server.loopback_tls import TLS
from server.oauth.flow import CALLBACK, Flow
from server.running_service import Service
from sourcelight.repos.state import State

VERSION = "0.15.1"
BOUND_S = 60.0
pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.slow,
    pytest.mark.skipif(not (shutil.which("node") and shutil.which("npm")), reason="needs Node and npm"),
]


@pytest.fixture(scope="session")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bridge's program, installed from the package registry."""
    folder = tmp_path_factory.mktemp("bridge")
    npm = shutil.which("npm")
    assert npm is not None
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", f"mcp-remote@{VERSION}"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip("the package registry did not answer in time")
    if done.returncode:
        pytest.skip(f"mcp-remote {VERSION} can't be installed here: {done.stderr.strip()[-200:]}")
    return folder / "node_modules" / "mcp-remote" / "dist" / "proxy.js"


class Bridge:
    """A running bridge: lines in, lines out, and what it says on standard error."""

    def __init__(self, program: Path, home: Path, arguments: list[str]) -> None:
        node = shutil.which("node")
        assert node is not None
        environment = os.environ | {"MCP_REMOTE_CONFIG_DIR": str(home), "BROWSER": "true", "NO_PROXY": "*"}
        self._process = subprocess.Popen(
            [node, str(program), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._stderr: queue.Queue[str] = queue.Queue()
        self.log = ""
        for stream, lines in ((self._process.stdout, self._lines), (self._process.stderr, self._stderr)):
            threading.Thread(target=self._read, args=(stream, lines), daemon=True).start()

    def address(self) -> str:
        """The address that a user is asked to visit."""
        until = time.monotonic() + BOUND_S
        while time.monotonic() < until:
            with suppress(queue.Empty):
                self.log += self._stderr.get(timeout=1.0)
            if result := re.search(r"(http://\S+/authorize\?\S+)", self.log):
                return result[1]
        raise AssertionError(self.log)

    def call(self, number: int, method: str, **params: Any) -> dict[str, Any]:
        """One request and its answer."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        until = time.monotonic() + BOUND_S
        while time.monotonic() < until:
            message: dict[str, Any] = json.loads(self._lines.get(timeout=BOUND_S))
            if message.get("id") == number:
                return message
        raise AssertionError(self.log)

    def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def tools(self) -> list[str]:
        """Say hello and list the tools."""
        client = {"name": "test", "version": "1"}
        self.call(1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return [tool["name"] for tool in self.call(2, "tools/list")["result"]["tools"]]

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=10)

    @staticmethod
    def _read(stream: Any, lines: queue.Queue[str]) -> None:
        for line in stream:
            lines.put(line)


@pytest.fixture
def port() -> int:
    """A free port for the bridge: any of this machine may call back, whichever was registered."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("way", ["registration", "static client"])
def test_the_bridge_signs_in_and_lists_tools(
    bridge: Path, port: int, flow: Flow, state: State, tmp_path: Path, way: str
) -> None:
    arguments = [f"{flow.url}/.api/mcp", str(port), "--allow-http"]
    if way == "static client":
        client, _ = state.clients.create("Bridge", [CALLBACK])
        arguments += ["--static-oauth-client-info", json.dumps({"client_id": client.id})]
        arguments += ["--static-oauth-client-metadata", '{"scope":"mcp"}']
    running = Bridge(bridge, tmp_path, arguments)
    try:
        address = running.address()
        page = flow.follow(flow.browser.get(address))
        page = flow.follow(flow.sign_in(page, "ann"))
        answer = flow.decide(page)
        assert answer.headers["location"].startswith(f"http://localhost:{port}/oauth/callback?code=")
        assert httpx2.get(answer.headers["location"], timeout=20, trust_env=False, verify=TLS).status_code == 200
        assert "keyword_search" in running.tools()
    finally:
        running.stop()
    registered = [item for item in state.clients.all() if item.dynamic and "MCP CLI Proxy" in item.name]
    assert registered if way == "registration" else True


def test_the_bridge_sends_a_token_in_a_header(bridge: Path, service: Service, state: State, tmp_path: Path) -> None:
    _, token = state.tokens.create("ann", ("mcp",))
    header = ["--header", f"Authorization:token {token}"]
    running = Bridge(bridge, tmp_path, [f"{service.url}/.api/mcp", "--allow-http", *header])
    try:
        assert "keyword_search" in running.tools()
    finally:
        running.stop()
