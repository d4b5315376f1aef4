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

PACKAGES = os.environ.get("SOURCELIGHT_STOCK_CLIENTS", "")
NODE = os.environ.get("SOURCELIGHT_NODE", "") or shutil.which("node") or "node"
PROGRAM = Path(PACKAGES) / "node_modules" / "mcp-remote" / "dist" / "proxy.js"
BOUND_S = 60.0
pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not PACKAGES, reason="no Node 22 with mcp-remote: scripts/test clients installs them"),
]


class Bridge:
    """A running bridge: lines in, lines out, and what it says on standard error."""

    def __init__(self, home: Path, arguments: list[str]) -> None:
        environment = os.environ | {"MCP_REMOTE_CONFIG_DIR": str(home), "BROWSER": "true", "NO_PROXY": "*"}
        self._process = subprocess.Popen(
            [NODE, str(PROGRAM), *arguments],
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
def test_the_bridge_signs_in_and_lists_tools(port: int, flow: Flow, state: State, tmp_path: Path, way: str) -> None:
    arguments = [f"{flow.url}/.api/mcp", str(port), "--allow-http"]
    if way == "static client":
        client, _ = state.clients.create("Bridge", [CALLBACK])
        arguments += ["--static-oauth-client-info", json.dumps({"client_id": client.id})]
        arguments += ["--static-oauth-client-metadata", '{"scope":"mcp"}']
    running = Bridge(tmp_path, arguments)
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


def test_the_bridge_sends_a_token_in_a_header(service: Service, state: State, tmp_path: Path) -> None:
    _, token = state.tokens.create("ann", ("mcp",))
    header = ["--header", f"Authorization:token {token}"]
    running = Bridge(tmp_path, [f"{service.url}/.api/mcp", "--allow-http", *header])
    try:
        assert "keyword_search" in running.tools()
    finally:
        running.stop()
