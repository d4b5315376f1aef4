"""``sourcelight serve`` as a process: its first answers, and every way in which a start can end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
import typer.main

from processor_time import run_and_measure
from server.loopback_tls import TLS
from server.mcp.calling import call_tool, connected
from sourcelight.cli.app import app
from sourcelight.cli.startup.first_answers import read_serve_options
from sourcelight.cli.startup.service import ServeOptions
from sourcelight.repos.state import FILE_NAME, State
from sourcelight.testing.repositories import RepositoryBuilder

COMMAND = [sys.executable, "-c", "import sys; from sourcelight.cli import main; sys.exit(main())", "serve"]
SDK_SERVER = [sys.executable, "-c", "import mcp.server.streamable_http_manager"]
MAX_SHARE = 0.5
"""CPU time until a client has its first answers, as a share of what the SDK's own HTTP server takes to load."""
TOKEN = "slo_a-token-made-up-for-tests"
BOUND_S = 120.0
HEADERS = {"accept": "application/json, text/event-stream", "authorization": f"token {TOKEN}"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "some", "version": "1"}},
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start") / "served"
    RepositoryBuilder(folder / "one").commit({"lamp.py": "light = 'lighthouse'\n"}, "start")
    return folder


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def serving(*words: str, home: Path, token: str = TOKEN) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"SOURCELIGHT_HOME": str(home), "SOURCELIGHT_OWNER_TOKEN": token}
    pipe = subprocess.PIPE
    with subprocess.Popen([*COMMAND, *words], stdout=pipe, stderr=pipe, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def client_of(port: int, process: subprocess.Popen[str]) -> Iterator[httpx2.Client]:
    """A client of a service that was started at this moment; connects as soon as it listens."""
    until_s = time.monotonic() + BOUND_S
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            break
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until_s
        time.sleep(0.01)
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=BOUND_S, trust_env=False, verify=TLS) as client:
        yield client


@pytest.mark.clock
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the CPU time of a process from /proc")
def test_first_answers_take_less_time_than_loading_the_server_of_the_sdk(folder: Path, tmp_path: Path) -> None:
    of_sdk = min(run_and_measure(SDK_SERVER) for _ in range(3))
    port = free_port()
    with serving(str(folder), "--port", str(port), home=tmp_path) as process, client_of(port, process) as client:
        first = client.post("/.api/mcp", json=INITIALIZE, headers=HEADERS)
        second = client.post("/.api/mcp", json=LIST, headers=HEADERS)
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        cpu_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    assert first.json()["result"]["serverInfo"]["name"] == "sourcelight"
    assert second.json()["result"]["tools"]
    assert cpu_s <= MAX_SHARE * of_sdk


def test_a_client_that_comes_at_once_gets_all_answers(folder: Path, tmp_path: Path) -> None:
    port = free_port()

    async def main() -> tuple[str, list[str]]:
        with anyio.fail_after(BOUND_S):
            async with connected(f"http://127.0.0.1:{port}/.api/mcp", TOKEN, "legacy") as client:
                tools = [tool.name for tool in (await client.list_tools()).tools]
                while (answer := await call_tool(client, "keyword_search", {"query": "lighthouse"})).failed:
                    # On a busy machine the engine may take longer than a call waits, which says so.
                    assert "retry in a moment" in answer.text
                return answer.text, tools

    with serving(str(folder), "--port", str(port), home=tmp_path) as process, client_of(port, process) as client:
        assert client.get("/healthz").text == "ok\n"
        assert client.get("/.api/search/stream?q=lighthouse").status_code == 401
        text, tools = anyio.run(main)
        search = client.get("/.api/search/stream?q=lighthouse", headers=HEADERS)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=BOUND_S)
    assert "lamp.py" in text
    assert "keyword_search" in tools
    assert b"lighthouse" in search.content
    assert process.returncode == 0
    assert out.startswith(f"sourcelight serves 1 repository on http://127.0.0.1:{port}\n")
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="signals end processes otherwise")
@pytest.mark.parametrize("delay_s", [0.0, 0.2, 0.6, 1.2])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_while_the_engine_opens_ends_the_service_normally(
    folder: Path, tmp_path: Path, number: signal.Signals, status: int, delay_s: float
) -> None:
    port = free_port()
    with serving(str(folder), "--port", str(port), home=tmp_path) as process, client_of(port, process) as client:
        # From here on the service handles signals itself.
        assert client.get("/healthz").status_code == 200
        # The moments differ on purpose: modules load, repositories are found, the index is written.
        time.sleep(delay_s)
        process.send_signal(number)
        _, err = process.communicate(timeout=BOUND_S)
    assert process.returncode == status
    assert "Traceback" not in err
    assert "Fatal" not in err


def test_a_missing_directory_ends_the_service_with_its_error(tmp_path: Path) -> None:
    with serving(str(tmp_path / "gone"), "--port", "0", home=tmp_path, token="") as process:
        out, err = process.communicate(timeout=BOUND_S)
    assert process.returncode == 2
    assert "gone" in err
    assert "Traceback" not in err
    # A token is shown only once, so none is made before there is a service.
    assert out == ""
    with State(str(tmp_path / FILE_NAME)) as state:
        assert state.tokens.all() == []


@pytest.mark.parametrize("text", ["no json", '{"auth.pubic": true}', '{"auth.public": 5}'])
def test_a_broken_configuration_ends_the_service_before_it_answers(folder: Path, tmp_path: Path, text: str) -> None:
    config = tmp_path / "site.json"
    config.write_text(text, encoding="utf-8")
    with serving(str(folder), "--port", "0", "--config", str(config), home=tmp_path) as process:
        out, err = process.communicate(timeout=BOUND_S)
    assert (process.returncode, out) == (2, "")
    assert str(config) in err


def test_a_damaged_state_ends_the_service_before_it_answers(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "state.sqlite").write_bytes(b"no database" * 1_000)
    with serving(str(folder), "--port", "0", home=tmp_path) as process:
        out, err = process.communicate(timeout=BOUND_S)
    assert (process.returncode, out) == (2, "")
    assert "state.sqlite" in err
    assert "Traceback" not in err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise")
def test_output_without_a_reader_ends_the_service_normally(folder: Path, tmp_path: Path) -> None:
    with serving(str(folder), "--port", "0", home=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(BOUND_S) == 0
        assert "Traceback" not in process.stderr.read()


PLAIN = [
    [], ["."], ["a", "./b/"], ["--port", "80"], ["--port=0"], ["--host", "::1", "x"], ["--host=0.0.0.0"],
    ["--worktree"], ["x", "--config", "site.json", "--worktree", "y"], ["--config=a/../b.json"],
    ["--port", "080"], ["a b", "--port=7"],
]  # fmt: skip
OTHERS = [
    ["--help"], ["-h"], ["--port"], ["--port", "x"], ["--port", "-1"], ["--port", "65536"], ["--port=1", "--port=2"],
    ["--port="], ["--host", "--worktree"], ["--worktree=1"], ["--unknown"], ["--", "x"], ["-"], ["--cluster", "x"],
    ["--storage", "s"], ["--tls", "t"], ["--config"], ["--host="], ["--port", "٣"], ["--por", "1"],
]  # fmt: skip


@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_plain_words_mean_what_they_mean_to_the_framework(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ServeOptions] = []
    monkeypatch.setattr("sourcelight.cli.serve.serve", seen.append)
    command = typer.main.get_command(app)
    command(["serve", *words], standalone_mode=False)
    assert seen == [read_serve_options(words)]


@pytest.mark.parametrize("words", OTHERS, ids=" ".join)
def test_other_words_are_for_the_framework(words: list[str]) -> None:
    assert read_serve_options(words) is None
