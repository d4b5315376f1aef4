"""``sourcelight mcp PATH``: the same tools for a client that starts the program itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from server.mcp.calling import said
from server.mcp.conftest import ONE
from sourcelight.core.tools.catalog import mcp_tools


def test_a_client_starts_the_tools_itself(repositories: tuple[Path, tuple[str, ...]]) -> None:
    command = [sys.executable, "-c", "from sourcelight.cli import main; main()", "mcp", str(repositories[0])]
    started = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))

    async def main() -> tuple[Any, Any, Any]:
        with anyio.fail_after(40):
            async with Client(stdio_client(started), mode="legacy") as client:
                tools = (await client.list_tools()).tools
                found = await said(client, "keyword_search", {"query": "lighthouse file:py"})
                return tools, found, await said(client, "read_file", {"repo": ONE, "path": "big.txt"})

    tools, found, refused = anyio.run(main)
    assert {tool.name for tool in tools} == set(mcp_tools())
    assert {block["file"] for block in found.content["blocks"]} == {"src/lamp.py", "key.py"}
    assert found.content["blocks"][0]["url"].startswith("/example.org/team/")
    assert refused.failed
    assert "startLine" in refused.text
