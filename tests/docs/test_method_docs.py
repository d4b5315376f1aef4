"""The page of Python methods says what the code does."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.client.methods import BlockingMethods
from sourcelight.engines.tools import TOOLS

ROOT = Path(__file__).resolve().parent.parent.parent
METHODS = [name for name in dir(BlockingMethods) if not name.startswith("_")]
RENAMED = {
    ("commit_search", "count"): "limit",
    ("compare_revisions", "after"): "cursor",
    ("compare_revisions", "first"): "limit",
    ("diff_search", "author"): "authors",
    ("diff_search", "count"): "limit",
    ("get_contributor_repos", "author"): "authors",
    ("list_repos", "after"): "cursor",
    ("list_repos", "before"): "cursor",
}
"""Arguments of tools that are called otherwise in Python; all others are snake_case of the wire name."""


def test_the_page_of_methods_is_made_from_the_code() -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "method-docs", "--check"], check=True)


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_every_tool_is_a_method_that_takes_its_arguments(name: str) -> None:
    parameters = inspect.signature(getattr(sl.Client, name)).parameters
    for argument in TOOLS[name].input_schema["properties"]:
        assert RENAMED.get((name, argument), re.sub("[A-Z]", r"_\g<0>", argument).lower()) in parameters


@pytest.mark.parametrize("name", METHODS)
def test_every_method_tells_its_parameters_and_columns(name: str) -> None:
    doc = inspect.getdoc(getattr(BlockingMethods, name)) or ""
    parameters = list(inspect.signature(getattr(BlockingMethods, name)).parameters)[1:]
    assert doc
    assert "progress" in parameters
