"""The page of Python methods says what the code does."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.client.methods import BlockingMethods
from sourcelight.engines.tools import TOOLS

ROOT = Path(__file__).resolve().parent.parent.parent
METHODS = [name for name in dir(BlockingMethods) if not name.startswith("_")]


def test_the_page_of_methods_is_made_from_the_code() -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "method-docs", "--check"], check=True)


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_every_tool_is_a_method_that_takes_its_arguments(name: str) -> None:
    parameters = inspect.signature(getattr(sl.Client, name)).parameters
    for argument in TOOLS[name].input_schema["properties"]:
        assert argument in parameters or argument.removesuffix("s") in parameters, argument


@pytest.mark.parametrize("name", METHODS)
def test_every_method_tells_its_parameters_and_columns(name: str) -> None:
    doc = inspect.getdoc(getattr(BlockingMethods, name)) or ""
    parameters = list(inspect.signature(getattr(BlockingMethods, name)).parameters)[1:]
    assert doc
    assert "progress" in parameters
