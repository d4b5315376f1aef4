"""What is bound twice, for type checkers and for run time, means what a type checker reads."""

from __future__ import annotations

import pytest

from engines.navigation.marked import Marked

FACTORY = """from typing import TYPE_CHECKING, Protocol
import typing

if TYPE_CHECKING:
    class Factory(Protocol):
        def __call__(self) -> Lamp: ...
else:
    class Factory: ...

if not typing.TYPE_CHECKING:
    Shade = object
else:
    class Shade:
        def dim(self): ...

class Lamp:
    def light(self): ...

class Candle:
    def light(self): ...
    def dim(self): ...
"""
USE = """from factory import Factory, Shade

def use(factory: Factory, shade: Shade) -> None:
    lamp = factory()
    lamp.light()
    shade.dim()
"""


@pytest.fixture(scope="module")
def marked_text(tmp_path_factory: pytest.TempPathFactory) -> Marked:
    """One repository with stand-ins for run time."""
    return Marked(tmp_path_factory.mktemp("checks"), {"r": {"factory.py": FACTORY, "use.py": USE}})


@pytest.mark.parametrize(
    ("name", "line", "method"),
    [("lamp.§light()", 17, "type"), ("shade.§dim()", 14, "type"), ("factory: §Factory", 5, "import")],
)
def test_the_branch_that_type_checkers_read_is_meant(marked_text: Marked, name: str, line: int, method: str) -> None:
    first = marked_text.ask("r", "use.py", name)[0]
    assert (FACTORY.encode()[: first.start].count(b"\n") + 1, first.rule) == (line, method)
