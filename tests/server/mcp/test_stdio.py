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

    async def main() -> tuple[Any, Any, Any, dict[str, str]]:
        with anyio.fail_after(90):
            async with Client(stdio_client(started), mode="legacy") as client:
                tools = (await client.list_tools()).tools
                found = await said(client, "keyword_search", {"query": "lighthouse file:py"})
                refused = await said(client, "read_file", {"repo": ONE, "path": "big.txt"})
                lamp = {"repo": ONE, "path": "src/lamp.py"}
                asked: dict[str, dict[str, Any]] = {
                    "read_file": lamp | {"startLine": 1, "endLine": 3},
                    "list_repos": {"query": "one"},
                    "go_to_definition": lamp | {"symbol": "Lamp"},
                    "find_references": lamp | {"symbol": "Lamp"},
                    "commit_search": {"repos": [ONE], "messageTerms": ["grow"]},
                    "diff_search": {"repos": [ONE], "pattern": "lighthouse'"},
                }
                texts = {name: str((await said(client, name, given)).content) for name, given in asked.items()}
                deep = await said(client, "deepsearch", {"question": "Where is class Lamp defined?"})
                return tools, found, refused, texts | {"deepsearch": deep.text}

    tools, found, refused, texts = anyio.run(main)
    assert {tool.name for tool in tools} == set(mcp_tools())
    assert {block["file"] for block in found.content["blocks"]} == {"src/lamp.py", "key.py"}
    head = repositories[1][1]
    assert {block["url"] for block in found.content["blocks"]} >= {f"{ONE}@{head}:src/lamp.py"}
    assert f"'{ONE}@{head}:src/lamp.py#L1-3'" in texts["read_file"]
    assert f"'url': '{ONE}'" in texts["list_repos"]
    assert f"'url': '{ONE}@{head}:src/lamp.py#L1-" in texts["go_to_definition"]
    assert f"'url': '{ONE}@{head}:src/lamp.py'" in texts["find_references"]
    assert f"'url': '{ONE}@{head}'" in texts["commit_search"]
    assert f"'url': '{ONE}@{head}'" in texts["diff_search"]
    assert f"({ONE}@{head}:src/lamp.py#L" in texts["deepsearch"]
    assert not [name for name, text in texts.items() if "/-/" in text]
    assert refused.failed
    assert "startLine" in refused.text
