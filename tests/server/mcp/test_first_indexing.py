"""A service answers at once, whatever its first indexing takes; what waits for the index says so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from core.wire.strict_decoder import read_strictly
from server.mcp.calling import call, call_tool, over
from server.running_service import TOKEN, Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.tools.catalog import mcp_tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import IndexStore
from sourcelight.repos import Catalog
from sourcelight.testing.repositories import RepositoryBuilder

NAME = "example.org/team/lamp"
SOON_S = 15.0
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"x","version":"1"}}}\n'
)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
LIST_REPOS = (
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_repos","arguments":{"query":"lamp"}}}\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    builder = RepositoryBuilder(tmp_path / "src" / "lamp", origin=f"https://{NAME}.git")
    builder.commit({"lamp.py": "def light():\n    return 'lamp'\n\n\nlight()\n"}, "start")
    return tmp_path / "src"


def hold_index(folder: Path, index: Path) -> ExitStack:
    """Hold the locks of all indexes, as another process that writes them does, until the stack closes."""
    store, stack = IndexStore(os.fspath(index)), ExitStack()
    for repository in Catalog.open([folder]).repositories:
        stack.enter_context(store.repository_folder(repository.key).lock(lambda: None))
    return stack


@pytest.fixture
def engine(folder: Path, tmp_path: Path) -> Iterator[LocalEngine]:
    engine = open_engine([folder], index=tmp_path / "index", index_now=False)
    engine.indexing.wait_s = 0.2
    yield engine
    engine.close()


def test_a_service_answers_while_it_indexes(engine: LocalEngine, folder: Path, tmp_path: Path) -> None:
    with hold_index(folder, tmp_path / "index") as index_lock:
        engine.start_indexing()
        with running(engine) as service:
            url = f"{service.url}/.api/mcp"
            names = over(url, TOKEN, _tool_names, bound_s=SOON_S)
            assert names == set(mcp_tools())
            assert call(url, TOKEN, "list_repos", {"query": ""}).content["repos"][0]["name"] == NAME
            assert "lamp.py" in call(url, TOKEN, "list_files", {"repo": NAME}).text
            assert "1: def light" in call(url, TOKEN, "read_file", {"repo": NAME, "path": "lamp.py"}).text
            assert (service.client.get("/readyz").status_code, service.client.get("/healthz").status_code) == (503, 200)

            keyword = call(url, TOKEN, "keyword_search", {"query": "lamp"})
            ranked = call(url, TOKEN, "nls_search", {"query": "light of a lamp"})
            assert [block["file"] for block in keyword.content["blocks"]] == ["lamp.py"]
            assert (ranked.failed, ranked.content["blocks"], ranked.content["limitHit"]) == (False, [], True)
            assert "being indexed for the first time" in ranked.content["notice"]
            arguments = {"repo": NAME, "path": "lamp.py", "symbol": "light"}
            definition = call(url, TOKEN, "go_to_definition", arguments)
            assert definition.failed
            assert "being indexed for the first time; retry" in definition.text
            assert _left_out(service, "lamp") == []
            assert _left_out(service, "lamp index:only") == ["repository-indexing"]

            index_lock.close()
            engine.indexing.wait_s = SOON_S
            deque(engine.indexing.wait(Cancellation()), maxlen=0)
            assert _left_out(service, "lamp index:only") == []
            assert service.client.get("/readyz").status_code == 200
            assert call(url, TOKEN, "keyword_search", {"query": "lamp"}).content["matchCount"]
            assert not call(url, TOKEN, "go_to_definition", arguments).failed


def test_a_search_of_text_reads_what_is_not_indexed(engine: LocalEngine, folder: Path, tmp_path: Path) -> None:
    engine.indexing.wait_s = SOON_S
    with hold_index(folder, tmp_path / "index"):
        engine.start_indexing()
        with running(engine) as service:
            events = list(read_strictly(service.search("lamp count:all").content))
    progress = [data for name, data in events if name == "progress"]
    assert [item["reason"] for data in progress if not data["done"] for item in data["skipped"]]
    assert progress[-1]["skipped"] == []
    assert progress[-1]["matchCount"] == 2


def test_a_search_that_needs_the_index_waits_a_while_for_it(engine: LocalEngine, folder: Path, tmp_path: Path) -> None:
    engine.indexing.wait_s = SOON_S
    with hold_index(folder, tmp_path / "index") as index_lock:
        engine.start_indexing()
        with (
            running(engine) as service,
            service.client.stream("GET", "/.api/search/stream", params={"q": "lamp index:only"}) as r,
        ):
            lines = r.iter_lines()
            pending = next(line for line in lines if '"repository-indexing"' in line)
            assert '"done":false' in pending
            index_lock.close()
            remaining = "\n".join(lines)
            assert "lamp.py" in remaining
            assert '"done":true' in remaining


def test_a_client_that_starts_the_tools_waits_for_no_index(folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"

    async def main(index_lock: ExitStack) -> None:
        with anyio.fail_after(60):
            async with Client(_started(folder, home), mode="legacy") as client:
                with anyio.fail_after(SOON_S):
                    assert await _tool_names(client) == set(mcp_tools("all"))
                unread = await call_tool(client, "keyword_search", {"query": "lamp"})
                assert [block["file"] for block in unread.content["blocks"]] == ["lamp.py"]
                index_lock.close()
                result = await call_tool(client, "keyword_search", {"query": "lamp"})
                assert [block["file"] for block in result.content["blocks"]] == ["lamp.py"]

    with hold_index(folder, home / "index") as index_lock:
        anyio.run(main, index_lock)


def test_a_folder_without_a_repository_serves_the_next_one_made_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    folder.mkdir()

    async def main() -> None:
        with anyio.fail_after(60):
            async with Client(_started(folder, tmp_path / "home"), mode="legacy") as client:
                assert await _tool_names(client) == set(mcp_tools("all"))
                nothing = await call_tool(client, "list_repos", {"query": ""})
                assert nothing.failed
                assert f"no repository found below {folder}" in nothing.text
                RepositoryBuilder(folder / "lamp").commit({"lamp.py": "lamp\n"}, "start")
                assert (await call_tool(client, "list_repos", {"query": ""})).content["repos"][0]["name"] == "lamp"

    anyio.run(main)


def test_a_client_that_stops_reading_ends_the_tools_normally(folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from sourcelight.cli import main; main()", "mcp", str(folder)]
    env = os.environ | {"SOURCELIGHT_HOME": str(tmp_path / "home")}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        # The answer to a call comes once the SDK has taken over standard output.
        process.stdin.write(INITIALIZE + INITIALIZED + LIST_REPOS)
        process.stdin.flush()
        assert b"protocolVersion" in process.stdout.readline()
        assert NAME.encode() in process.stdout.readline()
        process.stdout.close()
        try:
            assert process.wait(60) == 0
        finally:
            process.kill()
        assert process.stderr.read() == b""


def _started(folder: Path, home: Path) -> Any:
    command = ["-c", "from sourcelight.cli import main; main()", "mcp", "--structured", str(folder)]
    env = os.environ | {"SOURCELIGHT_HOME": str(home)}
    return stdio_client(StdioServerParameters(command=sys.executable, args=command, env=env))


async def _tool_names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def _left_out(service: Service, query: str) -> list[str]:
    last = [data for name, data in read_strictly(service.search(query).content) if name == "progress"][-1]
    return [item["reason"] for item in last["skipped"]]
