"""``sourcelight mcp PATH``: the same tools for a client that starts the program itself."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from server.mcp.calling import call_tool
from server.mcp.conftest import ONE
from sourcelight.core.errors import ConfigurationError
from sourcelight.core.markup.counts import estimate_tokens
from sourcelight.core.tools.catalog import mcp_tools
from sourcelight.server.mcp.suites import named_tools
from sourcelight.testing.repositories import RepositoryBuilder


def test_a_client_starts_the_tools_itself(repositories: tuple[Path, tuple[str, ...]]) -> None:
    command = ["-c", "from sourcelight.cli import main; main()", "mcp", "--structured", str(repositories[0])]
    started = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))

    async def main() -> tuple[Any, Any, Any, dict[str, str]]:
        with anyio.fail_after(90):
            async with Client(stdio_client(started), mode="legacy") as client:
                tools = (await client.list_tools()).tools
                result = await call_tool(client, "keyword_search", {"query": "lighthouse file:py"})
                refused = await call_tool(client, "read_file", {"repo": ONE, "path": "big.txt"})
                lamp = {"repo": ONE, "path": "src/lamp.py"}
                requests: dict[str, dict[str, Any]] = {
                    "read_file": lamp | {"startLine": 1, "endLine": 3},
                    "list_repos": {"query": "one"},
                    "go_to_definition": lamp | {"symbol": "Lamp"},
                    "find_references": lamp | {"symbol": "Lamp"},
                    "commit_search": {"repos": [ONE], "messageTerms": ["grow"]},
                    "diff_search": {"repos": [ONE], "pattern": "lighthouse'"},
                }
                texts = {
                    name: str((await call_tool(client, name, arguments)).content)
                    for name, arguments in requests.items()
                }
                deep = await call_tool(client, "deepsearch", {"question": "Where is class Lamp defined?"})
                return tools, result, refused, texts | {"deepsearch": deep.text}

    tools, result, refused, texts = anyio.run(main)
    assert {tool.name for tool in tools} == set(mcp_tools("all"))
    assert {block["file"] for block in result.content["blocks"]} == {"src/lamp.py", "key.py"}
    head = repositories[1][1]
    assert {block["url"] for block in result.content["blocks"]} >= {f"{ONE}@{head}:src/lamp.py"}
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


def test_without_options_answers_are_short_texts(repositories: tuple[Path, tuple[str, ...]]) -> None:
    command = ["-c", "from sourcelight.cli import main; main()", "mcp", "--tools", "read_file,list_repos"]
    started = StdioServerParameters(
        command=sys.executable, args=[*command, "--max-tokens", "2000", str(repositories[0])], env=dict(os.environ)
    )

    async def main() -> tuple[list[Any], list[Any]]:
        with anyio.fail_after(90):
            async with Client(stdio_client(started), mode="legacy") as client:
                tools = (await client.list_tools()).tools
                long = {"repo": ONE, "path": "big.txt", "endLine": 5000}
                first = await call_tool(client, "read_file", long)
                cursor = re.search(r"cursor (\S+)\)", first.text)
                assert cursor is not None
                return tools, [first, await call_tool(client, "read_file", {**long, "cursor": cursor[1]})]

    tools, (first, second) = anyio.run(main)
    assert {tool.name for tool in tools} == {"read_file", "list_repos"}
    assert {"maxTokens", "cursor"} <= set(tools[0].input_schema["properties"])
    assert (first.content, second.content) == (None, None)
    assert max(estimate_tokens(first.text), estimate_tokens(second.text)) <= 2000
    last = int(re.findall(r"^(\d+): ", first.text, re.MULTILINE)[-1])
    assert f"\n{last + 1}: " in second.text


def test_a_tool_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigurationError, match="unknown tool 'rgrep'; available: default, all, read_file"):
        named_tools(("default", "rgrep"))
    assert set(named_tools(("default",))) == set(mcp_tools())


def test_a_file_changed_a_moment_ago_is_found_and_the_answer_says_what_it_read(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "fresh")
    head = builder.commit({"lamp.py": "lamp = 1\n", ".gitignore": "ignored.py\n", "gone.py": "lamp\n"}, "start")
    command = ["-c", "from sourcelight.cli import main; main()", "mcp", str(tmp_path)]
    env = {**os.environ, "SOURCELIGHT_HOME": str(tmp_path / "home")}

    async def answers(*options: str) -> list[Any]:
        started = StdioServerParameters(command=sys.executable, args=[*command, *options], env=env)
        with anyio.fail_after(90):
            async with Client(stdio_client(started), mode="legacy") as client:
                clean = await call_tool(client, "keyword_search", {"query": "lamp"})
                (builder.path / "lamp.py").write_text("lamp = 1\nlantern = 2\n", "utf-8")
                (builder.path / "new.py").write_text("lantern = 3\n", "utf-8")
                (builder.path / "ignored.py").write_text("lantern = 4\n", "utf-8")
                (builder.path / "gone.py").unlink()
                result = await call_tool(client, "keyword_search", {"query": "lantern"})
                read = await call_tool(client, "read_file", {"repo": "fresh", "path": "new.py"})
                count = await call_tool(client, "count", {"query": "lantern", "by": ["path"]})
                builder.git("add", "-A")
                builder.git("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-qm", "keep")
                return [clean, result, read, count, await call_tool(client, "keyword_search", {"query": "lantern"})]

    clean, result, read, count, after = anyio.run(answers)
    assert clean.text.endswith(f"(Read from fresh@{head[:12]}.)\n")
    assert set(re.findall(r"^# fresh – (.+)$", result.text, re.MULTILINE)) == {"lamp.py", "new.py"}  # noqa: RUF001 - the dash
    assert f"(Read from fresh@{head[:12]} and 3 files of its work tree that differ.)" in result.text
    assert "1: lantern = 3" in read.text
    assert count.text.startswith("2 matches, complete\n")
    assert after.text.endswith(f"(Read from fresh@{builder.git('rev-parse', 'HEAD')[:12]}.)\n")


def test_committed_files_alone_are_searched_on_request(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "fresh")
    builder.commit({"lamp.py": "lamp = 1\n"}, "start")
    (builder.path / "new.py").write_text("lamp = 3\n", "utf-8")
    command = ["-c", "from sourcelight.cli import main; main()", "mcp", "--committed", str(tmp_path)]
    env = {**os.environ, "SOURCELIGHT_HOME": str(tmp_path / "home")}

    async def main() -> Any:
        started = StdioServerParameters(command=sys.executable, args=command, env=env)
        with anyio.fail_after(90):
            async with Client(stdio_client(started), mode="legacy") as client:
                return await call_tool(client, "count", {"query": "lamp", "by": ["path"]})

    assert "1 match, complete" in anyio.run(main).text
