"""What the MCP endpoints add to a tool's own time, and how they do under load.

Run: ``python benchmarks/mcp_calls.py --corpus FOLDER [--rounds N]``.

FOLDER holds git repositories. Four things are measured, each against its goal: what a call in this process adds to
the time of the tool itself; a call over loopback HTTP with a credential, the service being a process of its own; 200
calls of `keyword_search` at once; and what filtering 10,000 repositories by permission adds. It exits with 1 if a goal
is missed or a call fails. Goals are in CPU time (of this process, or of the service's), since what else a machine
does must not decide; times on the clock stand beside.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import psutil
from corpus import Corpus, machine, markdown
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from sourcelight.core.tools.catalog import mcp_tools
from sourcelight.core.tools.files import READ_FILE
from sourcelight.engines import tools
from sourcelight.engines.tools import ToolContext
from sourcelight.engines.tools.registry import handler_of
from sourcelight.repos import Viewer
from sourcelight.repos.viewer import visible
from sourcelight.server.mcp.calls import CallIdentity, ToolRunner
from sourcelight.server.mcp.protocol import make_server

TOKEN = "slo_benchmark-token-of-no-value"  # noqa: S105 - made up, for a service that lives for a minute
OVERHEAD_MS, LOOPBACK_MS, FILTER_MS = 1.0, 5.0, 1.0
AT_ONCE = 200
FAMILIES = ("2026-07-28", "legacy")
HEADERS = {
    "Authorization": f"token {TOKEN}",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}
REPOSITORIES = 10_000
WORDS = ("error", "timeout", "config", "buffer", "index", "parse", "token", "client", "header", "stream")
Row = tuple[str, str, str]


@dataclass
class Cost:
    """What a call took: CPU time of all threads, and the median on the clock, both in milliseconds."""

    cpu_ms: float
    clock_ms: float

    def __str__(self) -> str:
        return f"{self.cpu_ms:.2f} ms CPU, {self.clock_ms:.2f} ms p50"


def cost_of(work: Callable[[], Any], rounds: int) -> Cost:
    """Cost of a call, after three that don't count."""

    async def measure() -> Cost:
        async def awaited() -> None:
            work()

        return await cost_of_awaited(awaited, rounds)

    return anyio.run(measure)


async def cost_of_awaited(
    work: Callable[[], Awaitable[Any]], rounds: int, cpu_s: Callable[[], float] = time.process_time
) -> Cost:
    """As `cost_of`; `cpu_s` reads the CPU time that counts."""
    for _ in range(3):
        await work()
    clock = []
    before = cpu_s()
    for _ in range(rounds):
        began = time.perf_counter()
        await work()
        clock.append((time.perf_counter() - began) * 1000)
    return Cost((cpu_s() - before) * 1000 / rounds, statistics.median(clock))


def judged(value: float, goal: float) -> str:
    """A goal, marked when it was missed."""
    return f"< {goal:g} ms" + ("" if value < goal else " **missed**")


def in_process(corpus: Corpus, arguments: Mapping[str, Any], rounds: int) -> tuple[list[Row], bool]:
    """What checks, rendering, a thread and the protocol add to `read_file`."""
    tool, engine = READ_FILE, corpus.engine
    context = ToolContext(engine, Viewer.owner(), served=True)

    run, parsed = handler_of(tool).run, tool.parse(arguments)

    def call_engine() -> None:
        engine.refresh()
        run(parsed, context)

    calls = ToolRunner(engine)
    server = make_server(mcp_tools(), calls, lambda _: CallIdentity(Viewer.owner()))

    async def measure() -> tuple[Cost, Cost]:
        threaded = await cost_of_awaited(lambda: calls.answer(tool, arguments, CallIdentity(Viewer.owner())), rounds)
        async with Client(server) as client:
            await client.list_tools()
            return threaded, await cost_of_awaited(lambda: client.call_tool("read_file", dict(arguments)), rounds)

    base = cost_of(call_engine, rounds)
    threaded, spoken = anyio.run(measure)
    added = threaded.cpu_ms - base.cpu_ms
    rows = [
        ("read_file itself", str(base), ""),
        ("checks, rendering and a thread in this process", str(threaded), ""),
        ("that adds", f"{added:.2f} ms CPU", judged(added, OVERHEAD_MS)),
        ("the protocol's client and server in this process", str(spoken), ""),
    ]
    return rows, added < OVERHEAD_MS


def over_loopback(
    url: str, arguments: Mapping[str, Any], rounds: int, service: psutil.Process
) -> tuple[list[Row], bool]:
    """The same call by a bare HTTP client and by the SDK's."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
               "params": {"name": "read_file", "arguments": dict(arguments)}}  # fmt: skip

    def usage() -> float:
        times = service.cpu_times()
        return float(times.user + times.system)

    async def bare() -> Cost:
        async with httpx2.AsyncClient(headers=HEADERS, timeout=30, trust_env=False) as http:

            async def post() -> None:
                answer = await http.post(url, json=message)
                if answer.status_code != 200 or '"isError":true' in answer.text:
                    raise AssertionError(answer.text)

            return await cost_of_awaited(post, rounds, usage)

    async def spoken(family: str) -> Cost:
        http = httpx2.AsyncClient(headers={"Authorization": f"token {TOKEN}"}, timeout=30, trust_env=False)
        async with http, Client(streamable_http_client(url, http_client=http), mode=family) as client:
            await client.list_tools()
            return await cost_of_awaited(lambda: client.call_tool("read_file", dict(arguments)), rounds, usage)

    bare_cost = anyio.run(bare)
    name = "loopback with a credential, the service's CPU"
    rows = [(f"{name}; bare HTTP client", str(bare_cost), judged(bare_cost.cpu_ms, LOOPBACK_MS))]
    rows += [(f"{name}; the SDK's client, {family}", str(anyio.run(spoken, family)), "") for family in FAMILIES]
    return rows, bare_cost.cpu_ms < LOOPBACK_MS


def at_once(url: str) -> tuple[list[Row], bool]:
    """Many searches at the same time, each over a connection of its own."""
    took: list[float] = []
    failed: list[str] = []

    async def call_once(number: int) -> None:
        query = f"{WORDS[number % 10]} {WORDS[number // 10 % 10]}"
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"name": "keyword_search", "arguments": {"query": query}}}  # fmt: skip
        began = time.perf_counter()
        answer = await http.post(url, json=message)
        took.append((time.perf_counter() - began) * 1000)
        if answer.status_code != 200 or '"isError":true' in answer.text:
            failed.append(f"{query}: {answer.status_code} {answer.text[:200]}")

    limits = httpx2.Limits(max_connections=AT_ONCE)
    http = httpx2.AsyncClient(headers=HEADERS, timeout=120, limits=limits, trust_env=False)

    async def main() -> float:
        began = time.perf_counter()
        async with http, anyio.create_task_group() as tasks:
            for number in range(AT_ONCE):
                tasks.start_soon(call_once, number)
        return time.perf_counter() - began

    everything = anyio.run(main)
    for error in failed[:5]:
        print(error, file=sys.stderr)
    p95 = statistics.quantiles(took, n=20)[-1]
    rows = [
        (f"{AT_ONCE} keyword_search at once: failed", str(len(failed)), "0" + (" **missed**" if failed else "")),
        (f"{AT_ONCE} keyword_search at once: all, p50, p95",
         f"{everything:.2f} s, {statistics.median(took):.0f} ms, {p95:.0f} ms", ""),
    ]  # fmt: skip
    return rows, not failed


def filtering(corpus: Corpus, rounds: int) -> tuple[list[Row], bool]:
    """What `Catalog.visible` takes for a viewer with grants, over that of the owner."""
    repository = corpus.repositories[0]
    many = tuple(
        replace(repository, info=replace(repository.info, name=f"example.org/team/{number}", private=number % 2 == 0))
        for number in range(REPOSITORIES)
    )
    viewer = Viewer("user", sees_private=False, granted=frozenset(r.info.name for r in many[::4]))
    added = cost_of(lambda: visible(many, viewer), rounds).cpu_ms
    name = f"permissions over {REPOSITORIES:,} repositories add"
    return [(name, f"{added:.2f} ms CPU", judged(added, FILTER_MS))], added < FILTER_MS


def served(corpus: str, home: str) -> tuple[subprocess.Popen[str], str]:
    """A service in a process of its own, and its endpoint."""
    command = [sys.executable, "-c", "from sourcelight.cli import main; main()", "serve", corpus, "--port", "0"]
    environment = os.environ | {"SOURCELIGHT_HOME": home, "SOURCELIGHT_OWNER_TOKEN": TOKEN}
    log = Path(home, "serve.log").open("w", encoding="utf-8")  # noqa: SIM115 - the process keeps it
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
    for line in process.stdout or ():
        if result := re.search(r"on (http://\S+)", line):
            return process, f"{result[1]}/.api/mcp"
    raise AssertionError(f"the service did not start: {Path(home, 'serve.log').read_text('utf-8')[-500:]}")


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--rounds", type=int, default=200)
    request = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        corpus = Corpus(request.corpus, home)
        name = corpus.repositories[0].name
        listing = tools.call("list_files", {"repo": name}, ToolContext(corpus.engine, Viewer.owner()))
        path = next(row["path"] for row in listing.table.to_pylist() if row["kind"] == "file")
        arguments = {"repo": name, "path": path, "startLine": 1, "endLine": 40}
        rows, right = in_process(corpus, arguments, request.rounds)
        parts = [(rows, right), filtering(corpus, request.rounds)]
        process, url = served(request.corpus, home)
        try:
            parts += [over_loopback(url, arguments, request.rounds, psutil.Process(process.pid)), at_once(url)]
        finally:
            process.terminate()
            process.wait(30)
    print(machine())
    print(markdown(("what", "measured", "goal"), [row for rows, _ in parts for row in rows]))
    return 0 if all(good for _, good in parts) else 1


if __name__ == "__main__":
    sys.exit(main())
