"""What the guide and `server.json` say starts the tools: read as clients read it, started by a stock client."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from docs.snippets import ROOT, snippets
from server.mcp.calling import call_tool
from server.mcp.conftest import ONE
from sourcelight.core.tools.catalog import mcp_tools

GUIDE = ROOT / "docs" / "guides" / "mcp-client.md"
FOLDER = "/home/you/src"
COMMAND = ["sourcelight", "mcp", FOLDER]
SERVER: dict[str, Any] = json.loads((ROOT / "server.json").read_text("utf-8"))


def launches(value: dict[str, Any]) -> Iterator[list[str]]:
    """Command lines of a client's configuration: of every server in it that is a program."""
    (servers,) = value.values()
    for server in servers.values():
        command = server.get("command")
        if command is not None:
            yield [*command, *server.get("args", [])] if isinstance(command, list) else [command, *server["args"]]


def configured() -> Iterator[tuple[str, list[str]]]:
    """Each form of the guide, by its outer key or its client, and the command line that it leads to."""
    for snippet in snippets(GUIDE):
        if snippet.language in {"json", "toml"}:
            value = json.loads(snippet.text) if snippet.language == "json" else tomllib.loads(snippet.text)
            yield from ((next(iter(value)), line) for line in launches(value))
        elif snippet.language == "text":
            for words in map(shlex.split, snippet.text.splitlines()):
                if "--add-mcp" in words:
                    entry = json.loads(words[-1])
                    assert entry["name"] == "sourcelight"
                    yield words[0], [entry["command"], *entry["args"]]
                else:
                    assert words[1:4] == ["mcp", "add", "sourcelight"]
                    yield words[0], [word for word in words[4:] if word != "--"]


def registry_command(path: str) -> list[str]:
    """The command line that a client makes of `server.json`."""
    (package,) = SERVER["packages"]
    return [package["identifier"], *(item.get("value", path) for item in package["packageArguments"])]


def test_each_form_of_configuration_starts_the_same_program() -> None:
    forms = list(configured())
    assert {name for name, _ in forms} == {
        "mcpServers", "servers", "context_servers", "mcp", "mcp_servers", "claude", "codex", "gemini", "code",
    }  # fmt: skip
    assert [line for _, line in forms] == [COMMAND] * len(forms)
    assert registry_command(FOLDER) == COMMAND


def test_a_stock_client_starts_what_the_guide_says(repositories: tuple[Path, tuple[str, ...]], tmp_path: Path) -> None:
    program = tmp_path / "bin" / "sourcelight"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "from sourcelight.cli import main; main()" "$@"\n'
    )
    program.chmod(0o755)
    env = os.environ | {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    command, *remaining = (word.replace(FOLDER, str(repositories[0])) for word in next(configured())[1])
    started = StdioServerParameters(command=command, args=remaining, env=env)

    async def main() -> tuple[set[str], Any]:
        with anyio.fail_after(90):
            async with Client(stdio_client(started), mode="legacy") as client:
                tools = {tool.name for tool in (await client.list_tools()).tools}
                return tools, await call_tool(client, "list_repos", {"query": "one"})

    tools, listing = anyio.run(main)
    assert tools == set(mcp_tools("all"))
    assert ONE in listing.text
    assert not listing.failed


def test_the_instructions_name_only_tools_that_are_offered() -> None:
    (section,) = (snippet.text for snippet in snippets(GUIDE) if snippet.language == "markdown")
    names = set(re.findall(r"`([a-zA-Z_]+)`", section))
    arguments = {"startLine", "endLine"}
    assert arguments <= set(mcp_tools()["read_file"].advertised_schema["properties"])
    assert names - arguments <= set(mcp_tools("all"))
    assert len(names - arguments) >= 12


def test_the_description_for_registries_follows_their_rules() -> None:
    """Those of the schema that it names: lengths, forms, and the marker that proves who owns the package."""
    assert re.fullmatch(
        r"https://static\.modelcontextprotocol\.io/schemas/[\d-]+/server\.schema\.json", SERVER["$schema"]
    )
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", SERVER["name"])
    assert len(SERVER["description"]) <= 100
    (package,) = SERVER["packages"]
    assert {"registryType", "identifier", "version", "transport"} <= set(package)
    assert package["transport"] == {"type": "stdio"}
    for item in package["packageArguments"]:
        assert item["type"] == "positional"
        assert "value" in item or "valueHint" in item
    assert f"mcp-name: {SERVER['name']} " in (ROOT / "packages" / package["identifier"] / "README.md").read_text(
        "utf-8"
    )
