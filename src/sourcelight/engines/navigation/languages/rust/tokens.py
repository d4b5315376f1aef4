"""Names of Rust where the grammar gives no declaration: in the lists of a ``use``, and among the tokens of a macro.

`rust` reads everything else. The expansion of a macro is unknown, so only neighboring tokens distinguish a declaration
from a use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.languages.declared import Declaration, NameUse, declare
from sourcelight.engines.navigation.nodes import is_field, text_of

if TYPE_CHECKING:
    from tree_sitter import Node


def use_path(path: Sequence[Node]) -> tuple[bytes, ...]:
    """Return the path of a name inside a `use` and its lists; an alias has the path that it renames."""
    leaf = path[-1]
    parts: list[bytes] = []
    for index in range(len(path) - 2, -1, -1):
        node, child = path[index], path[index + 1]
        if node.type == "scoped_use_list" and is_field(node, "list", child):
            parts = [*_split(text_of(node.child_by_field_name("path"))), *parts]
        elif node.type in {"scoped_identifier", "scoped_use_list"} and is_field(node, "name", child):
            parts = [*_split(text_of(node.child_by_field_name("path"))), *(parts or [text_of(leaf)])]
        # An alias means the item that it renames, so it has the item's path.
        elif node.type == "use_as_clause" and is_field(node, "alias", child):
            parts = _split(text_of(node.child_by_field_name("path")))
        elif not parts and child is leaf:
            parts = [text_of(leaf)]

        if node.type == "use_declaration":
            break

    return tuple(parts)


def _split(path: bytes) -> list[bytes]:
    return [part for part in re.sub(rb"\s+", b"", path).split(b"::") if part]


def macro_declaration(leaf: Node, tree: Node) -> Declaration | None:
    """Return the declaration of a ``let`` or a closure parameter among the tokens of a macro."""
    # Inside a macro there are only tokens, so a declaration is recognized by its neighbors.
    before = leaf.prev_sibling
    while before is not None and before.type in {"mut", "mutable_specifier", "ref"}:
        before = before.prev_sibling

    after = leaf.next_sibling
    next_type = "" if after is None else after.type
    previous_type = "" if before is None else before.type
    if previous_type not in {"let", "for", "|"} and not (previous_type == "," and next_type == ":"):
        return None

    # A bar also means "or": only between bars, commas and colons is the name a closure's parameter.
    if previous_type == "|" and next_type not in {":", ",", "|"}:
        return None

    type_name = _type_behind(after) if after is not None and next_type == ":" else None
    # In `f(a, b: 1)`, what stands behind the colon is no type.
    if previous_type == "," and type_name is None:
        return None

    return declare("variable", leaf, tree, tree, visible=leaf.start_byte, declared_type=type_name)


def _type_behind(colon: Node) -> Node | None:
    """Return the name of a type behind a colon and marks of references, or None if something else is there."""
    node = colon.next_sibling
    while node is not None and node.type in {"&", "mut", "mutable_specifier"}:
        node = node.next_sibling

    is_name = node is not None and node.type in {"identifier", "type_identifier"}
    return node if is_name else None


def macro_use(leaf: Node) -> NameUse:
    """Return the use of a name inside a macro, from the tokens around it."""
    before, after = leaf.prev_sibling, leaf.next_sibling
    is_called = after is not None and after.type == "token_tree"
    if before is not None and before.type == ".":
        # If the receiver isn't a plain name, the dot stands for it: the use has a receiver of unknown type.
        receiver = before.prev_sibling
        if receiver is None or receiver.type not in {"identifier", "self"}:
            receiver = before
        return NameUse(role="attribute", receiver=receiver, is_called=is_called)

    parts = [text_of(leaf)]
    while before is not None and before.type == "::" and before.prev_sibling is not None:
        before = before.prev_sibling
        parts.append(text_of(before))
        before = before.prev_sibling

    if len(parts) == 1:
        return NameUse(role="name", is_called=is_called)
    return NameUse(role="attribute", path=tuple(reversed(parts)), is_called=is_called)
