"""Destructuring patterns: the names that they bind, and the way from the value to each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class Step:
    """One step into a value: a property by its name, an element by its place, or what is left of it."""

    kind: Literal["key", "index", "rest"]
    key: bytes = b""
    index: int = 0


def bound(pattern: Node) -> Iterator[tuple[Node, tuple[Step, ...]]]:
    """Give the names that a pattern binds, each with its steps."""
    waiting: list[tuple[Node, tuple[Step, ...]]] = [(pattern, ())]
    while waiting:
        node, steps = waiting.pop()
        kind = node.type
        if kind in {"identifier", "shorthand_property_identifier_pattern"}:
            if kind != "identifier":
                steps = (*steps, Step("key", node.text or b""))
            yield node, steps
        elif kind == "object_pattern":
            waiting += [(child, steps) for child in reversed(node.named_children)]
        elif kind == "pair_pattern":
            key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
            if key is not None and value is not None:
                waiting.append((value, (*steps, Step("key", (key.text or b"").strip(b"'\"")))))
        elif kind in {"object_assignment_pattern", "assignment_pattern"}:
            left = node.child_by_field_name("left")
            if left is not None:
                waiting.append((left, steps))
        elif kind == "array_pattern":
            places = _elements(node)
            waiting += [(child, (*steps, Step("index", index=place))) for place, child in reversed(places)]
        elif kind == "rest_pattern":
            waiting += [(child, (*steps, Step("rest"))) for child in node.named_children]
        elif kind in {"required_parameter", "optional_parameter"}:
            inner = node.child_by_field_name("pattern")
            if inner is not None:
                waiting.append((inner, steps))


def _elements(node: Node) -> list[tuple[int, Node]]:
    """The elements of an array pattern with their places; a hole takes a place, too."""
    found: list[tuple[int, Node]] = []
    place = 0
    for child in node.children:
        if child.type == ",":
            place += 1
        elif child.is_named and child.type != "comment":
            found.append((place, child))
    return found
