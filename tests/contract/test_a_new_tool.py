"""One definition, one handler and one method make a tool: nothing else names the tools."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import anyio
import pytest
from mcp.client import Client as McpClient
from msgspec import Meta

import sourcelight as sl
from sourcelight.client import Client
from sourcelight.client.methods.call import ToolCaller
from sourcelight.client.portal import blocking
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.tools.catalog import TOOLS, table_of
from sourcelight.core.tools.tool import Arguments, Limit, McpText, Repo, Scope, Tool
from sourcelight.display.notebook import ProgressChoice
from sourcelight.engines.tools import Handler, ToolContext, register
from sourcelight.engines.tools.handler import Rendered
from sourcelight.repos import Viewer
from sourcelight.server.http import settings
from sourcelight.server.mcp.addresses import McpOptions
from sourcelight.server.mcp.calls import CallIdentity, ToolRunner
from sourcelight.server.mcp.protocol import make_server
from sourcelight.server.mcp.suites import is_quick_tool, suite_tools
from sourcelight.testing import make_repo

if TYPE_CHECKING:
    from pandas import DataFrame

SCRIPTS = Path(__file__).resolve().parent.parent.parent / "scripts"


# core/tools/<domain>


class EchoArguments(Arguments, frozen=True):
    repo: Repo
    max_words: Annotated[Limit | None, Meta(description="Words to give.")] = None


ECHO = Tool(
    "echo",
    EchoArguments,
    "file_lines",
    Scope.REPOSITORY,
    McpText("Echo a name", "Give the words of the name of a repository."),
    mcp_maximum={"maxWords": 2},
    immediate=True,
)


# engines/tools/<domain>


def run(arguments: EchoArguments, context: ToolContext) -> ToolResult:
    repository = context.engine.catalog.get(arguments.repo, context.viewer)
    words = repository.name.split("-")[: arguments.max_words]
    return ToolResult("file_lines", table_of("file_lines", len(words), repository=repository.name, line=words))


def render(answer: ToolResult, context: ToolContext) -> Rendered:
    del context
    words = answer.table.column("line").to_pylist()
    return {"words": words}, " ".join(words)


# client/methods/<domain>


async def echo(
    self: ToolCaller, repo: str, max_words: int | None = None, *, progress: ProgressChoice = None
) -> DataFrame:
    """Give the words of the name of a repository."""
    return await self._call(ECHO, EchoArguments(repo=repo, max_words=max_words), progress)


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOOLS, ECHO.name, ECHO)
    register(Handler(ECHO, run, render))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_repo(tmp_path / "one-two-three", {"a.py": "a = 1\n"})
    return tmp_path


@pytest.mark.usefixtures("catalog")
def test_it_answers_in_this_process(folder: Path) -> None:
    with sl.open(folder, index_dir=folder / "index") as code:
        frame = blocking(echo)(code, "one-two-three", 1)
        assert frame["line"].tolist() == ["one"]
        assert frame.attrs["status"] == "complete"  # the caller asked for one
        with pytest.raises(ToolError, match="echo: max_words must be 1 or more, got 0"):
            blocking(echo)(code, "one-two-three", 0)
        with pytest.raises(sl.RepositoryNotFound):
            blocking(echo)(code, "other")


@pytest.mark.usefixtures("catalog")
def test_it_is_served_over_mcp(folder: Path) -> None:
    with sl.open(folder, index_dir=folder / "index") as code:
        code.list_repos()
        engine = code.backend.engine  # type: ignore[attr-defined]
        tools = suite_tools("default", McpOptions())
        assert "echo" in tools
        assert "echo" not in suite_tools("deepsearch", McpOptions())
        assert is_quick_tool("echo")
        server = make_server(tools, ToolRunner(engine), lambda _: CallIdentity(Viewer.owner()))

        async def main() -> None:
            async with McpClient(server) as client:
                listing = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert listing["echo"].input_schema == ECHO.advertised_schema
                assert listing["echo"].title == "Echo a name"
                answer = await client.call_tool("echo", {"repo": "one-two-three", "maxWords": 2})
                assert answer.structured_content == {"words": ["one", "two"]}
                refused = await client.call_tool("echo", {"repo": "one-two-three", "maxWords": 3})
                assert refused.is_error

        anyio.run(main)


@pytest.mark.usefixtures("catalog")
def test_settings_know_it(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text('{"mcp.tools.disabled": ["echo"]}', "utf-8")
    assert set(settings.load_settings(str(file), {}).mcp_tools_disabled) == {"echo"}


@pytest.mark.usefixtures("catalog")
def test_the_reference_pages_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SCRIPTS)
    assert "## `echo`\n\nGive the words of the name of a repository." in script("docs").tools_page()
    page = script("method-docs").section("echo", blocking(echo))
    assert "code.echo(repo, max_words=None)" in page
    assert "A tool of every service." in page


def script(name: str) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(SCRIPTS / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_a_client_has_a_method_of_every_tool_of_the_service() -> None:
    assert [name for name, tool in TOOLS.items() if tool.mcp is not None and not hasattr(Client, name)] == []
