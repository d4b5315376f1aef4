"""What an expression may be, and how far it is worked out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from sourcelight.engines.navigation.model import Document
from sourcelight.engines.navigation.typescript.scopes import Binding

if TYPE_CHECKING:
    from tree_sitter import Node

Place = tuple[tuple[str, str, bytes], int]

DEPTH = 14
"""Expressions and types inside each other that are followed."""

MOST = 4
"""Alternatives that are kept."""


@dataclass(frozen=True, slots=True)
class Value:
    """One thing that an expression may be.

    ``instance``: of the class or interface `node`; ``class``: that class itself; ``shape``: an object type; ``object``:
    an object literal; ``function``; ``module``: a file; ``enum`` and ``namespace``; ``array``, ``promise``, ``map``:
    of `items`; ``tuple``: of the types in `node`. `known` says what type parameters mean there.
    """

    kind: Literal[
        "instance", "class", "shape", "object", "function", "module", "enum", "namespace", "array", "promise", "map",
        "tuple",
    ]  # fmt: skip
    document: Document
    node: Node | None = None
    known: Known = field(default_factory=dict)
    items: tuple[Value, ...] = ()

    @property
    def place(self) -> tuple[object, ...]:
        """What makes two the same."""
        at = (self.node.start_byte, self.node.end_byte) if self.node is not None else ()
        return self.kind, self.document.key, at, tuple(item.place for item in self.items)


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A type argument where it is written, read when it is asked for: most of them never are."""

    document: Document
    node: Node
    known: Known


Known = Mapping[Place, tuple[Value, ...] | Given]
"""What type parameters mean at a place."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A declaration in a file, with what type parameters mean at it; without a declaration the file, as a module."""

    document: Document
    binding: Binding | None = None
    known: Known = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """What makes two the same."""
        return self.document.key, self.binding.start if self.binding is not None else -1


def distinct(values: Iterable[Value]) -> list[Value]:
    """Give the first few, each once."""
    found: dict[object, Value] = {}
    for value in values:
        found.setdefault(value.place, value)
        if len(found) >= MOST:
            break
    return list(found.values())
