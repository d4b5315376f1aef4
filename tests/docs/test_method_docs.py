"""The page of Python methods says what the code does."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import sourcelight as sl
from sourcelight.client.methods import BlockingMethods
from sourcelight.core.tools.catalog import TOOLS
from sourcelight.core.tools.tool import Scope

ROOT = Path(__file__).resolve().parent.parent.parent
METHODS = [name for name in dir(BlockingMethods) if not name.startswith("_")]
RENAMED = {
    ("diff_search", "author"): "authors",
    ("get_contributor_repos", "author"): "authors",
    ("list_repos", "after"): "cursor",
    ("list_repos", "before"): "cursor",
}
"""Arguments of tools that are called otherwise in Python than the fields of their definitions."""
OF_PAGES = {("list_files", "after")}
"""Arguments that no method has, since methods ask for all pages."""
OF_FRAMES = {"commits_behind"}
"""Tools whose arguments a method reads from a frame."""
OF_SEARCHES = {"count", "explain"}
"""Tools whose methods are searches, with more to say than a table: `count` gives a number, `count_by` the table."""
CALLED = [
    name
    for name, tool in TOOLS.items()
    if name not in OF_FRAMES | OF_SEARCHES and (tool.mcp is not None or tool.scope is not Scope.CONVERSATION)
]


def test_the_page_of_methods_is_made_from_the_code() -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "method-docs", "--check"], check=True)


@pytest.mark.parametrize("name", CALLED)
def test_every_tool_is_a_method_that_takes_its_arguments(name: str) -> None:
    parameters = inspect.signature(getattr(sl.Client, name)).parameters
    for field in msgspec.structs.fields(TOOLS[name].arguments):
        assert (name, field.name) in OF_PAGES or RENAMED.get((name, field.name), field.name) in parameters


@pytest.mark.parametrize("name", METHODS)
def test_every_method_tells_its_parameters_and_columns(name: str) -> None:
    doc = inspect.getdoc(getattr(BlockingMethods, name)) or ""
    parameters = list(inspect.signature(getattr(BlockingMethods, name)).parameters)[1:]
    assert doc
    assert "progress" in parameters
