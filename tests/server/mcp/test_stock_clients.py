"""Clients of other makers over the real service: the official conformance suite and the local bridge.

They need Node 22 and some packages, which ``scripts/test clients`` installs; elsewhere these tests are skipped.
"""

from __future__ import annotations

import json
import os
import queue
import re
import runpy
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from docs.snippets import ROOT
from server.mcp.conformance_tools import fixture_server
from server.mcp.conftest import ONE, Served
from sourcelight.server.http.listener import address_of, bind
from sourcelight.server.http.run import BoundedHttp
from sourcelight.server.mcp.protocol import serve_request

PACKAGES = os.environ.get("SOURCELIGHT_STOCK_CLIENTS", "")
NODE = os.environ.get("SOURCELIGHT_NODE", "") or shutil.which("node") or "node"
BOUND_S = 50

pytestmark = [
    pytest.mark.clients,
    pytest.mark.skipif(
        not PACKAGES, reason="no Node 22 with the conformance suite and mcp-remote: scripts/test clients installs them"
    ),
]

REAL = {
    "2025-11-25": ("server-initialize", "server-session-lifecycle", "server-sse-polling", "ping", "tools-list",
                   "dns-rebinding-protection"),
    "2026-07-28": ("tools-list", "dns-rebinding-protection", "http-header-validation"),
}  # fmt: skip
FIXTURE = (
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-image",
    "tools-call-mixed-content",
)
# These checks of server-stateless ask a server to have diagnostic tools.
DIAGNOSTIC = {
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-missing-capability-http-400",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2575-server-rejects-undeclared-capability",
}


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    listener = bind("127.0.0.1", 0)
    running = uvicorn.Server(
        uvicorn.Config(app, http=BoundedHttp, lifespan="off", log_config=None, timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield address_of(listener)
    finally:
        running.should_exit = True
        thread.join(10)
        listener.close()


@pytest.fixture(scope="module")
def real(served: Served) -> Iterator[str]:
    """The real application; the suite can't send a credential, so one is put in."""
    credential = (b"authorization", f"token {served.tokens['mcp']}".encode())

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await served.service.app({**scope, "headers": [*scope["headers"], credential]}, receive, send)

    with serving(app) as url:
        yield f"{url}/.api/mcp"


@pytest.fixture(scope="module")
def fixture_endpoint() -> Iterator[str]:
    server = fixture_server()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await serve_request(server, scope, receive, send)

    with serving(app) as url:
        yield f"{url}/mcp"


def conformance(url: str, scenario: str, revision: str) -> tuple[int, int, str]:
    """Checks passed, checks failed, and what the suite printed."""
    script = Path(PACKAGES) / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [NODE, str(script), "server", "--url", url, "--scenario", scenario, "--spec-version", revision]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND_S, check=False)
    result = re.search(r"Passed: (\d+)/(\d+), (\d+) failed", done.stdout)
    assert result, done.stdout + done.stderr
    return int(result[1]), int(result[3]), done.stdout


@pytest.mark.parametrize(("revision", "scenario"), [(r, s) for r, names in REAL.items() for s in names])
def test_the_service_conforms(real: str, revision: str, scenario: str) -> None:
    pass_count, failure_count, output = conformance(real, scenario, revision)
    assert failure_count == 0, output
    assert pass_count or scenario.startswith("server-s"), output


def test_the_service_is_stateless(real: str) -> None:
    pass_count, _, output = conformance(real, "server-stateless", "2026-07-28")
    failed = set(re.findall(r"\[([a-z0-9-]+) *\] \S*FAILURE", output))
    assert failed == DIAGNOSTIC, output
    assert pass_count > 20


@pytest.mark.parametrize("revision", list(REAL))
@pytest.mark.parametrize("scenario", FIXTURE)
def test_our_way_of_serving_conforms(fixture_endpoint: str, revision: str, scenario: str) -> None:
    pass_count, failure_count, output = conformance(fixture_endpoint, scenario, revision)
    assert (pass_count > 0, failure_count) == (True, 0), output


class Bridge:
    """A running mcp-remote: messages by line on its standard input and output."""

    def __init__(self, url: str, folder: Path, *arguments: str) -> None:
        script = Path(PACKAGES) / "node_modules" / "mcp-remote" / "dist" / "proxy.js"
        self.process = subprocess.Popen(
            [NODE, str(script), url, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "bridge.log").open("wb"),
            env=os.environ | {"MCP_REMOTE_CONFIG_DIR": str(folder)},
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, number: int, method: str, params: dict[str, Any]) -> Any:
        self.send(id=number, method=method, params=params)
        while True:
            answer = json.loads(self._lines.get(timeout=BOUND_S))
            if answer.get("id") == number:
                return answer["result"]

    def close(self) -> None:
        self.process.kill()
        self.process.wait(10)
        self._reader.join(10)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_local_bridge_works_with_a_token(served: Served, tmp_path: Path) -> None:
    bridge = Bridge(served.url, tmp_path, "--header", f"Authorization:token {served.tokens['mcp']}", "--allow-http")
    try:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        assert bridge.ask(1, "initialize", hello)["serverInfo"]["name"] == "sourcelight"
        bridge.send(method="notifications/initialized")
        assert "read_file" in {tool["name"] for tool in bridge.ask(2, "tools/list", {})["tools"]}
        call = {"name": "read_file", "arguments": {"repo": ONE, "path": "README.md"}}
        assert bridge.ask(3, "tools/call", call)["structuredContent"]["totalLines"] == 3
    finally:
        bridge.close()


def test_the_bundle_passes_the_checks_of_its_format(tmp_path: Path) -> None:
    """Those of the tool of its authors: the schema of the manifest, and a file that it can unpack."""
    target = runpy.run_path(str(ROOT / "scripts" / "bundle"))["write_bundle"](tmp_path)
    program = Path(PACKAGES) / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
    folder = tmp_path / "unpacked"
    for words in (["unpack", target, folder], ["validate", folder / "manifest.json"]):
        done = subprocess.run(
            [NODE, program, *words], capture_output=True, text=True, timeout=BOUND_S, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "src" / "server.py").is_file()
