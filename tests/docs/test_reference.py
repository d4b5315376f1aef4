"""Everything that has a public name has its place in the reference; what is new and has none fails here."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import commands_page
import pytest

import sourcelight as sl
from sourcelight.client.methods import BlockingMethods
from sourcelight.core.tools.catalog import COLUMNS, mcp_tools
from sourcelight.display.frames import schema
from sourcelight.server.http import settings

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"


def text(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def pages() -> Iterator[str]:
    for page in DOCS.rglob("*.md"):
        yield page.read_text(encoding="utf-8")


def test_every_public_name_is_in_the_library() -> None:
    page = text("library.md")
    documented = set(re.findall(r"^::: sourcelight\.(\w+)", page, re.MULTILINE))
    rooms = {
        "q": "::: sourcelight.core.query.build",
        "parse_query": "::: sourcelight.parse_query",
        "reports": "::: sourcelight.reports.",
        "__version__": "`sl.__version__`",
    }
    for name in sl.__all__:
        assert name in documented or rooms.get(name, "no such room") in page, name


@pytest.mark.parametrize("client", [sl.Client, sl.AsyncClient])
def test_every_method_of_a_client_is_in_the_library_or_among_the_tools(client: type) -> None:
    listing = set(re.findall(r"[\w]+", " ".join(re.findall(r"members: \[([^\]]*)\]", text("library.md")))))
    tools = set(re.findall(r"^### `(\w+)`$", text("tools.md"), re.MULTILINE))
    there = {name for name, _ in inspect.getmembers(client) if not name.startswith("_")}
    assert there - listing - tools - {"close"} == set()
    assert {name for name, _ in inspect.getmembers(BlockingMethods) if not name.startswith("_")} <= tools


@pytest.mark.parametrize("module", [sl, sl.plots, sl.reports, sl.q], ids=lambda module: module.__name__)
def test_completion_offers_only_public_names(module: ModuleType) -> None:
    """Neither the modules of a room nor what it imports for itself."""
    page = text("library.md")
    for name in dir(module):
        value = getattr(module, name)
        assert name in module.__all__, name
        assert inspect.getdoc(value), name
        assert inspect.ismodule(value) or re.search(
            rf"^::: \S+\.{name}$|members: .*\b{name}\b|`sl.{name}`", page, re.MULTILINE
        ), name


def public_members() -> Iterator[tuple[str, type, str]]:
    """The members of all public classes but clients, which have a test of their own, and errors."""
    for module in (sl, sl.plots, sl.reports):
        for name in dir(module):
            value = getattr(module, name)
            if inspect.isclass(value) and not issubclass(value, (sl.Client, sl.AsyncClient, BaseException)):
                yield from ((name, value, member) for member in dir(value) if not member.startswith("_"))


def test_completion_offers_only_documented_members() -> None:
    """A member is a tool, an attribute that the class explains, or in the library, which has those with docstrings."""
    page, tools = text("library.md"), set(re.findall(r"^### `(\w+)`$", text("tools.md"), re.MULTILINE))
    members_of = dict(
        re.findall(r"^::: \S+\.(\w+)\n    options:\n(?:      .*\n)*?      members: (.*)\n", page, re.MULTILINE)
    )

    def is_documented(owner: type, member: str) -> bool:
        members = " ".join(members_of.get(base.__name__, "") for base in owner.__mro__)
        has_text = inspect.getdoc(inspect.getattr_static(owner, member)) and "true" in members
        return bool(has_text or re.search(rf"\b{member}\b", f"{members} {owner.__doc__}"))

    missing = [
        f"{name}.{member}"
        for name, owner, member in public_members()
        if member not in tools and not is_documented(owner, member)
    ]
    assert missing == []


def test_every_builder_of_queries_is_in_the_library() -> None:
    listing = re.findall(r"members: \[([^\]]*)\]", text("library.md"))
    functions = {
        name for name, member in inspect.getmembers(sl.q, inspect.isfunction) if member.__module__ == sl.q.__name__
    }
    public = {name for name in functions if not name.startswith("_")}
    assert any(public <= set(re.findall(r"\w+", item)) for item in listing), public


@pytest.mark.parametrize("name", sorted({*COLUMNS, *schema.FRAMES}))
def test_every_column_of_a_table_is_in_the_reference(name: str) -> None:
    row = "| `{0.name}` | `{1}` | {0.meaning} | {2} |"
    required = [
        row.format(c, schema.pandas_dtype(c), c.null or "never") + (f" {c.unit} |" if c.unit else "")
        for c in schema.columns_of(name)
    ]
    assert any(all(item in page for item in required) for page in (text("tools.md"), text("frames.md"))), name


def test_every_setting_is_in_the_configuration_with_its_values() -> None:
    section = text("service.md").split("## Configuration")[1].split("\n## ")[0]
    assert set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)) == set(settings.SETTING_KEYS)


def test_every_tool_and_each_of_its_arguments_is_in_the_reference() -> None:
    page = text("mcp-tools.md")
    assert set(re.findall(r"^## `(\w+)`$", page, re.MULTILINE)) == set(mcp_tools("all"))
    for tool in mcp_tools("all").values():
        section = page.split(f"## `{tool.name}`\n")[1].split("\n## ")[0]
        assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == set(tool.advertised_schema["properties"])


def test_every_command_and_each_of_its_options_is_in_the_reference() -> None:
    page = text("commands.md")
    assert page == commands_page.page()
    for name, callback in commands_page.commands():
        section = page.split(f"## `{name}`\n")[1].split("\n## ")[0]
        for option, meaning, _ in commands_page.parameters(callback):
            assert f"| `{option.replace('|', chr(92) + '|')}` |" in section, (name, option)
            assert meaning, (name, option)


def test_the_page_of_commands_has_what_the_help_has() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from sourcelight.cli import main; sys.exit(main())", "search", "--help"],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"}, timeout=60,
    )  # fmt: skip
    section = text("commands.md").split("## `sourcelight search`\n")[1].split("\n## ")[0]
    assert set(re.findall(r"--[a-z][\w-]*", section)) == set(re.findall(r"--[a-z][\w-]*", done.stdout)) - {"--help"}


def test_every_environment_variable_that_is_read_is_documented() -> None:
    table = set(re.findall(r"^\| `(S[A-Z_]+)` \|", text("environment.md"), re.MULTILINE))
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    variables = set(re.findall(r"\b((?:SOURCELIGHT|SRC)_[A-Z_]*[A-Z])\b", sources))
    of_git_children = {"SOURCELIGHT_USER", "SOURCELIGHT_SECRET"}  # set for one run of git, read by it alone
    constants = {"SRC_CLI_VERSION", "SRC_HEADER"}  # a name in the code; the start of SRC_HEADER_NAME
    assert variables - of_git_children - constants == table


def test_every_error_that_is_public_is_said_to_be_raised_or_stands_in_the_tree() -> None:
    tree = (ROOT / "src" / "sourcelight" / "core" / "errors.py").read_text("utf-8").split('"""')[1]
    for name in sl.__all__:
        member = getattr(sl, name)
        if inspect.isclass(member) and issubclass(member, sl.SourcelightError):
            assert re.search(rf"\b{name}\b", tree), name


def test_every_page_has_its_place_in_the_navigation() -> None:
    listing = set(re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8").split("\nnav:")[1]))
    assert {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} <= listing
    assert {f"notebooks/{path.stem}.md" for path in (ROOT / "notebooks").glob("*.ipynb")} <= listing
