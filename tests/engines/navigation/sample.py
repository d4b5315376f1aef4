"""Three repositories of Python that import each other, and an engine over them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.engines import tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.search import IndexStore
from sourcelight.repos import Catalog, Viewer
from sourcelight.testing import make_repo

SHAPES: Mapping[str, str] = {
    "src/shapes/__init__.py": '"""Shapes."""\nfrom .plane import Circle as Circle, Square\nfrom .tools import *\n',
    "src/shapes/plane.py": '''"""Flat ones."""
from __future__ import annotations

import math
from typing import Optional, TypeVar

T = TypeVar("T", bound="Shape")


class Shape:
    """Anything with an area."""

    name: str = "shape"

    def __init__(self, name: str, *, scale: float = 1.0) -> None:
        self.name = name
        self.scale = scale
        self.parent: Optional[Shape] = None

    def area(self) -> float:
        """Area in square units."""
        raise NotImplementedError

    def __enter__(self: T) -> T:
        return self

    def __exit__(self, *_: object) -> None: ...


class Circle(Shape):
    def area(self) -> float:
        return math.pi * self.scale**2

    @property
    def outer(self) -> Square:
        return Square("outer", scale=2 * self.scale)

    def largest(self) -> Shape:
        found = self
        while found.parent:
            found = found.parent
        return found


class Square(Shape):
    def area(self) -> float:
        return self.scale**2
''',
    "src/shapes/tools.py": '''from .plane import Shape


def total(shapes: list[Shape]) -> float:
    """Add areas."""
    result = 0.0
    for shape in shapes:
        result += shape.area()
    return result


def first(shapes):
    area = [shape for shape in shapes][0]
    return area


def unused():
    return total([])
''',
    "src/shapes/loop_a.py": "from .loop_b import *\nfrom .loop_b import ghost\n",
    "src/shapes/loop_b.py": "from .loop_a import *\nfrom .loop_a import ghost\nhere = ghost\n",
    "tests/conftest.py": """import pytest
from shapes import Circle

@pytest.fixture
def disc() -> Circle:
    return Circle('d')
""",
    "tests/test_plane.py": "def test_area(disc):\n    assert disc.area() > 0\n    assert disc.outer.scale\n",
}
DRAWING: Mapping[str, str] = {
    "drawing/__init__.py": "",
    "drawing/board.py": """import shapes
from shapes import Circle, total
from shapes.plane import Square as Box


def draw(scale=1):
    with Circle("c", scale=scale) as disc:
        print(disc.outer.area())
    boxes = [Box(str(n)) for n in range(3)]
    boxes[0].area()
    mystery = unknown_thing()
    mystery.area()
    return total([disc, *boxes]), shapes.first(boxes)
""",
}
OTHER: Mapping[str, str] = {
    "area.py": "def area():\n    return 0\n\n\ndef use():\n    return area()\n",
    "main.c": '#include "util.h"\nint main(void) { return helper(1); }\n',
    "util.h": "int helper(int x);\n",
    "util.c": '#include "util.h"\n/* Adds one. */\nint helper(int x) { return x + 1; }\n',
    "notes.txt": "helper is mentioned here, and helper again\n",
    "broken.py": "def ok():\n    return 1\n\nclass ((( \n\ndef later():\n    return ok()\n",
}


def make_engine(folder: Path) -> LocalEngine:
    """Make the repositories ``shapes``, ``drawing`` and ``other``, and an engine with all their definitions."""
    for name, files in (("shapes", SHAPES), ("drawing", DRAWING), ("other", OTHER)):
        make_repo(folder / "code" / name, files)
    engine = open_engine(folder)
    targets = [engine.target_of(repository) for repository in engine.catalog.repositories]
    engine.store.update_symbols(targets)
    return engine


def open_engine(folder: Path) -> LocalEngine:
    """Open an engine over the repositories below a folder, text indexed."""
    engine = LocalEngine(Catalog.open(folder / "code"), IndexStore(str(folder / "index"), workers=1))
    engine.update()
    return engine


def call(
    engine: LocalEngine, name: str, *, served: bool = False, viewer: Viewer | None = None, **arguments: Any
) -> ToolResult:
    """Call a tool or an analysis."""
    return tools.call(name, arguments, tools.ToolContext(engine, viewer or Viewer.owner(), served=served))


def rows(answer: ToolResult) -> list[dict[str, Any]]:
    """Give the rows of an answer."""
    result: list[dict[str, Any]] = answer.table.to_pylist()
    return result


def line_with(files: Mapping[str, str], path: str, text: str) -> int:
    """Give the 1-based line of a file that holds a text first."""
    return files[path][: files[path].index(text)].count("\n") + 1
