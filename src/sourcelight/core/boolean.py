"""Trees of AND, OR and NOT over leaves of any type.

A tree with no argument means the neutral element: ``And(())`` always holds, ``Or(())`` never does. Leaves need
equality and a hash only to be simplified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

L = TypeVar("L")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class And(Generic[L]):
    """Every argument must hold."""

    args: tuple[Boolean[L], ...]


@dataclass(frozen=True, slots=True)
class Or(Generic[L]):
    """At least one argument must hold."""

    args: tuple[Boolean[L], ...]


@dataclass(frozen=True, slots=True)
class Not(Generic[L]):
    """The argument must not hold."""

    arg: Boolean[L]


Boolean: TypeAlias = L | And[L] | Or[L] | Not[L]

ALWAYS: And[Any] = And(())
"""The tree that always holds."""

NEVER: Or[Any] = Or(())
"""The tree that never holds."""


def refuse_negation(_: object) -> Any:
    """Raise: for folds over trees that hold no NOT by construction."""
    raise TypeError("this tree can't hold a NOT")


def fold(
    tree: Boolean[L],
    leaf: Callable[[L], R],
    *,
    all_of: Callable[[Iterable[R]], R],
    any_of: Callable[[Iterable[R]], R],
    negate: Callable[[R], R] = refuse_negation,
) -> R:
    """Reduce a tree to one value, from its leaves up.

    Parameters
    ----------
    leaf
        The value of a leaf.
    all_of, any_of
        The value of an AND, and of an OR, from an iterator over the values of its arguments. An argument is visited
        when the iterator reaches it, so `all` and `any` stop at the first one that decides.
    negate
        The value of a NOT. Without it, a tree with a NOT raises TypeError.
    """

    def value_of(node: Boolean[L]) -> R:
        if isinstance(node, And):
            return all_of(map(value_of, node.args))
        if isinstance(node, Or):
            return any_of(map(value_of, node.args))
        if isinstance(node, Not):
            return negate(value_of(node.arg))
        return leaf(node)

    return value_of(tree)


def leaves(tree: Boolean[L], *, positive: bool = False) -> Iterator[L]:
    """Yield the leaves from left to right, repeated ones too.

    With `positive`, only those under an even number of NOTs: making one of these hold can't make the tree fail.
    """
    pending: list[tuple[Boolean[L], bool]] = [(tree, True)]
    while pending:
        node, is_positive = pending.pop()
        if isinstance(node, And | Or):
            pending.extend((arg, is_positive) for arg in reversed(node.args))
        elif isinstance(node, Not):
            pending.append((node.arg, not is_positive))
        elif is_positive or not positive:
            yield node


def simplify(tree: Boolean[L]) -> Boolean[L]:
    """Return an equivalent tree without nested nodes of one kind, repeated arguments, double negation or constants."""
    if isinstance(tree, And):
        return all_of(map(simplify, tree.args))
    if isinstance(tree, Or):
        return any_of(map(simplify, tree.args))
    return negate(simplify(tree.arg)) if isinstance(tree, Not) else tree


def all_of(trees: Iterable[Boolean[L]]) -> Boolean[L]:
    """Return the AND of simplified trees, flattened and without repetitions; `ALWAYS` for none."""
    distinct: dict[Boolean[L], None] = {}
    for tree in trees:
        if tree == NEVER:
            return NEVER
        distinct.update(dict.fromkeys(tree.args if isinstance(tree, And) else (tree,)))
    return next(iter(distinct)) if len(distinct) == 1 else And(tuple(distinct))


def any_of(trees: Iterable[Boolean[L]]) -> Boolean[L]:
    """Return the OR of simplified trees, flattened and without repetitions; `NEVER` for none."""
    distinct: dict[Boolean[L], None] = {}
    for tree in trees:
        if tree == ALWAYS:
            return ALWAYS
        distinct.update(dict.fromkeys(tree.args if isinstance(tree, Or) else (tree,)))
    return next(iter(distinct)) if len(distinct) == 1 else Or(tuple(distinct))


def negate(tree: Boolean[L]) -> Boolean[L]:
    """Return the opposite of a simplified tree."""
    if isinstance(tree, Not):
        return tree.arg
    if tree == ALWAYS:
        return NEVER
    return ALWAYS if tree == NEVER else Not(tree)
