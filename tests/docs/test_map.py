"""The map of CONTRIBUTING.md and the docstrings of rooms name what is in the tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "src" / "sourcelight"
FLOORS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py") if path.parent.name != "testing")
ROOMS = sorted(path.parent for path in PACKAGE.rglob("__init__.py") if path.parent != PACKAGE)


def rooms_below(floor: str) -> set[str]:
    return {path.parent.name for path in (PACKAGE / floor).glob("*/__init__.py")}


def rows() -> dict[str, str]:
    """Rows of the map, by floor."""
    section = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## Where things live")[1].split("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", section, re.MULTILINE))


def start_of(text: str) -> Iterator[str]:
    """Names that a docstring tells a reader to start with."""
    for sentence in re.findall(r"(?:Start|start) (?:with|at|reading)([^.]*)", text):
        yield from re.findall(r"`([a-z_]+)`", sentence)


def names_in(room: Path) -> set[str]:
    """Modules and rooms of a room, and what its modules define and import."""
    names = {path.stem for path in room.glob("*.py")} | {path.parent.name for path in room.glob("*/__init__.py")}
    for path in room.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.ImportFrom | ast.Import):
                names.update(alias.asname or alias.name for alias in node.names)
    return names


def test_the_map_has_every_floor() -> None:
    assert sorted(rows()) == FLOORS


@pytest.mark.parametrize("floor", FLOORS)
def test_the_map_has_every_room_of_a_floor_and_no_other(floor: str) -> None:
    rooms = set(re.findall(r"`(\w+)`:", rows()[floor]))
    assert rooms == rooms_below(floor)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(PACKAGE)))
def test_a_room_says_what_lives_there_and_where_to_start(room: Path) -> None:
    text = ast.get_docstring(ast.parse((room / "__init__.py").read_text("utf-8"))) or ""
    assert text.count(".") >= 3, "three sentences: what lives here, what does not, where to start"
    assert [name for name in start_of(text) if name not in names_in(room)] == []
