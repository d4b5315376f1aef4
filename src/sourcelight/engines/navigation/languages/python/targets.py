"""The names that a target binds: of an assignment, a loop, a ``with``, or the pattern of a ``case``.

A target may unpack its value. In ``a, (b, *c) = value``, the *steps* from the value to `b` are its index 1, then 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sourcelight.engines.navigation.nodes import last_child

if TYPE_CHECKING:
    from tree_sitter import Node

_UNPACKED = frozenset({"pattern_list", "tuple_pattern", "list_pattern", "tuple", "list"})
_STARRED = frozenset({"list_splat_pattern", "list_splat"})

REST = -1
"""The step to the values after a star: their number depends on the length of the sequence."""


def names_in(target: Node) -> Iterator[tuple[Node, tuple[int, ...]]]:
    """Yield the names in a target, each with its steps: an index each, or `REST`.

    In ``a, (b, *c)``, these are `a` with (0,), `b` with (1, 0) and `c` with (1, REST).
    """
    # A stack: targets of generated code nest deeper than Python recurses. Children are pushed in reverse, so that names
    # come in source order.
    pending: list[tuple[Node, tuple[int, ...]]] = [(target, ())]
    while pending:
        part, steps = pending.pop()
        if part.type == "identifier":
            yield part, steps
        elif part.type in _UNPACKED:
            elements = list(enumerate(part.named_children))
            pending += [(element, (*steps, index)) for index, element in reversed(elements)]
        elif part.type in _STARRED and part.named_children:
            # The star's own index says nothing: it takes as many values as the names around it leave.
            pending.append((part.named_children[0], (*steps[:-1], REST)))
        elif part.type == "parenthesized_expression" and part.named_children:
            pending.append((part.named_children[0], steps))


def captures_in(case: Node) -> Iterator[tuple[Node, Node]]:
    """Yield the names that the pattern of a ``case`` captures, each with the pattern that captures it.

    ``case Point(x=0, y=height)`` captures `height`.
    """
    pending = [case]
    while pending:
        pattern = pending.pop()
        children = pattern.named_children
        if pattern.type == "case_pattern" and len(children) == 1:
            name = _captured_name(children[0])
            if name is not None:
                yield name, case
                continue

        if pattern.type == "class_pattern":
            # The class in front of the parentheses is a value.
            children = children[1:]
        elif pattern.type == "keyword_pattern":
            name = _captured_name(last_child(pattern))
            if name is not None:
                yield name, case
                continue
            children = children[1:]
        elif pattern.type in {"as_pattern", "splat_pattern"} and children and children[-1].type == "identifier":
            yield children[-1], pattern
            children = children[:-1]

        pending += reversed(children)


def _captured_name(pattern: Node | None) -> Node | None:
    """Return the name of a pattern that captures its value, or None for other patterns.

    A single name captures, a dotted one is a value to compare with (PEP 634).
    """
    if pattern is not None and pattern.type == "dotted_name" and len(pattern.named_children) == 1:
        return pattern.named_children[0]
    return None
