"""Each public callable describes every parameter, what it returns and which columns a DataFrame has."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl

FROZEN = Path(__file__).resolve().parent.parent / "frozen" / "signatures.json"
SOURCE = Path(sl.__file__).parent
SECTION = re.compile(r"^(?P<title>[A-Z][A-Za-z]+)\n-{3,}\n", re.MULTILINE)
COLUMNS = re.compile(r"columns_of\(|[Cc]olumns?\b")
AS_IN = re.compile(r"parameters (?:and errors )?as in `(\w+)`")
MADE_BY_CLIENTS = {"Backend", "DeepSearchAnswer", "ManyResult", "Recording", "SearchResult", "q.Expression"}
"""Classes that methods return, or that only other packages subclass: their parameters are no part of the interface."""


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return the public functions, methods and classes with parameters, by the names that `signatures.json` has."""
    for name, shape in json.loads(FROZEN.read_text("utf-8")).items():
        value: Any = sl
        for part in name.split("."):
            value = getattr(value, part)
        if shape != "value" and callable(value) and not (inspect.isclass(value) and issubclass(value, BaseException)):
            yield name, value


def sections(doc: str) -> dict[str, str]:
    """Return the numpy sections of a docstring by title."""
    titles = list(SECTION.finditer(doc))
    ends = [title.start() for title in titles[1:]] + [len(doc)]
    return {title["title"]: doc[title.end() : ends[index]] for index, title in enumerate(titles)}


def described(section: str) -> dict[str, str]:
    """Return the names of a section's entries with the text below each."""
    entries: dict[str, str] = {}
    names: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            names = [name.strip("* ") for name in line.partition(" : ")[0].split(",")]
        for name in names:
            entries[name] = f"{entries.get(name, '')} {line if line.startswith(' ') else ''}".strip()
    return entries


def gaps(name: str, value: Callable[..., Any]) -> list[str]:
    """Return what the docstring of a public callable leaves out."""
    doc = inspect.getdoc(value) or ""
    if not doc:
        return ["docstring"]
    if twin := AS_IN.search(doc):  # an awaited twin, which must have the same parameters
        other = getattr(sl, twin[1])
        same = list(inspect.signature(other).parameters) == list(inspect.signature(value).parameters)
        return gaps(twin[1], other) if same else [f"parameters unlike those of {twin[1]}"]
    parts = sections(doc)
    if inspect.isclass(value):
        has_own = name not in MADE_BY_CLIENTS and value.__init__ is not object.__init__
        parameters = list(inspect.signature(value).parameters) if has_own else []
    else:
        parameters = [name for name in inspect.signature(value).parameters if name not in ("self", "cls")]
    entries = described(parts.get("Parameters", "") + "\n" + parts.get("Attributes", ""))
    missing = [f"parameter {name}" for name in parameters if not entries.get(name)]
    annotation = str(getattr(value, "__annotations__", {}).get("return", "None"))
    if inspect.isclass(value) or annotation in ("None", "NoReturn"):
        return missing
    returns = parts.get("Returns", "") + parts.get("Yields", "")
    if "DataFrame" in annotation:
        return missing if COLUMNS.search(returns) else [*missing, "columns"]
    if parameters and not returns and not re.match(r"Return|Iterate|Yield", doc):
        missing.append("result")
    return missing


CALLABLES = dict(callables())


@pytest.mark.parametrize("name", CALLABLES)
def test_a_public_callable_describes_its_parameters_and_result(name: str) -> None:
    assert gaps(name, CALLABLES[name]) == []


def test_docstrings_describe_parameters_that_exist() -> None:
    """Also in private modules: a renamed parameter keeps no description under its former name."""
    stale = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "    Parameters\n" in text else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                documented = described(sections(ast.get_docstring(node) or "").get("Parameters", ""))
                stale += [f"{path.stem}.{node.name}: {name}" for name in documented if name not in parameters(node)]
    assert not stale, stale


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> set[str]:
    """Return the parameters of a function, or the fields and the parameters of the constructor of a class."""
    if isinstance(node, ast.ClassDef):
        fields = {
            item.target.id
            for item in node.body
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        }
        methods = (item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__")
        return fields.union(*map(parameters, methods))
    arguments = node.args
    stars = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars)}
