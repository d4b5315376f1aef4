"""Read nodes of a syntax tree that may be missing.

The parser also returns trees of incomplete code, where any part can be absent: a function without a body, an assignment
without a right side. These functions take None for such a part, so that a rule can ask for the text of the name of a
parameter without a condition at each step. A *path* is the list of nodes from the root down to one node.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


def text_of(node: Node | None) -> bytes:
    """Return the text of a node; empty for none."""
    if node is None:
        return b""
    return node.text or b""


def field_of(node: Node | None, field: str) -> Node | None:
    """Return the child under a field name of the grammar; None for no node."""
    if node is None:
        return None
    return node.child_by_field_name(field)


def field_text(node: Node | None, field: str) -> bytes:
    """Return the text of the child under a field name; empty for none."""
    return text_of(field_of(node, field))


def is_field(parent: Node, field: str, node: Node) -> bool:
    """Return whether a node is the given field of its parent."""
    return any(
        child.start_byte == node.start_byte and child.end_byte == node.end_byte
        for child in parent.children_by_field_name(field)
    )


def children_of(node: Node | None) -> list[Node]:
    """Return the named children of a node, comments included; empty for no node."""
    if node is None:
        return []
    return node.named_children


def code_of(node: Node | None) -> list[Node]:
    """Return the named children of a node without comments, which may stand anywhere; empty for no node."""
    return [child for child in children_of(node) if child.type != "comment"]


def first_child(node: Node | None) -> Node | None:
    """Return the first named child of a node, which may be a comment."""
    children = children_of(node)
    return children[0] if children else None


def last_child(node: Node | None) -> Node | None:
    """Return the last named child of a node, which may be a comment."""
    children = children_of(node)
    return children[-1] if children else None


def child_of_type(node: Node | None, kind: str) -> Node | None:
    """Return the first named child of a type of the grammar."""
    for child in children_of(node):
        if child.type == kind:
            return child
    return None


def nearest(path: Sequence[Node], kinds: Collection[str], end: int | None = None) -> Node | None:
    """Return the innermost node of these kinds in ``path[:end]``, by default in the path above its leaf."""
    index = nearest_index(path[:-1] if end is None else path[:end], kinds)
    return path[index] if index is not None else None


def nearest_index(path: Sequence[Node], kinds: Collection[str]) -> int | None:
    """Return the index of the innermost node of these kinds in a path."""
    for index in range(len(path) - 1, -1, -1):
        if path[index].type in kinds:
            return index
    return None
