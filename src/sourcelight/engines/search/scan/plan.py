"""A query's tree, prepared once for all repositories: its atoms numbered, and which of them give spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.model import All, Atom, MatchTree, Not, TextQuery

Mask = NDArray[np.bool_]
_Node: TypeAlias = int | tuple[str, tuple["_Node", ...]]


@dataclass(frozen=True, slots=True)
class Plan:
    """A query with its atoms numbered; `shown` are those whose spans are given: never those under a NOT."""

    query: TextQuery
    atoms: tuple[Atom, ...]
    shown: frozenset[int]
    root: _Node | None

    @property
    def single(self) -> bool:
        """Whether the tree is one atom and nothing else."""
        return self.root == 0

    def possible(self, may: Callable[[int], bool]) -> bool:
        """Tell whether the tree may hold for any file, from which atoms may; asks of an atom only when it matters."""
        return self.root is None or _possible(self.root, may)

    def true_files(self, values: Sequence[Mask], files: int) -> Mask:
        """Tell for which files the tree holds, from what holds for each atom."""
        return np.ones(files, dtype=np.bool_) if self.root is None else _evaluate(self.root, values)

    def possible_files(self, lower: Sequence[Mask], upper: Sequence[Mask], files: int) -> Mask:
        """Tell for which files the tree may hold, from what surely and what possibly holds for each atom."""
        return np.ones(files, dtype=np.bool_) if self.root is None else _bounds(self.root, lower, upper)[1]


def plan(query: TextQuery) -> Plan:
    """Number the atoms of a query; equal atoms get one number."""
    numbers: dict[Atom, int] = {}
    shown: set[int] = set()

    def convert(node: MatchTree, *, positive: bool) -> _Node:
        if isinstance(node, Atom):
            number = numbers.setdefault(node, len(numbers))
            if positive and node.shown:
                shown.add(number)
            return number
        if isinstance(node, Not):
            return ("not", (convert(node.arg, positive=not positive),))
        kind = "all" if isinstance(node, All) else "any"
        return (kind, tuple(convert(arg, positive=positive) for arg in node.args))

    root = None if query.tree is None else convert(query.tree, positive=True)
    while isinstance(root, tuple) and root[0] in {"all", "any"} and len(root[1]) == 1:
        root = root[1][0]
    return Plan(query, tuple(numbers), frozenset(shown), root)


def _possible(node: _Node, may: Callable[[int], bool]) -> bool:
    if isinstance(node, int):
        return may(node)
    kind, args = node
    if kind == "not":
        return True
    return all(_possible(arg, may) for arg in args) if kind == "all" else any(_possible(arg, may) for arg in args)


def _evaluate(node: _Node, values: Sequence[Mask]) -> Mask:
    if isinstance(node, int):
        return values[node]
    kind, args = node
    parts = [_evaluate(arg, values) for arg in args]
    if kind == "not":
        return ~parts[0]
    return _join(kind, parts, values)


def _bounds(node: _Node, lower: Sequence[Mask], upper: Sequence[Mask]) -> tuple[Mask, Mask]:
    if isinstance(node, int):
        return lower[node], upper[node]
    kind, args = node
    parts = [_bounds(arg, lower, upper) for arg in args]
    if kind == "not":
        return ~parts[0][1], ~parts[0][0]
    return _join(kind, [low for low, _ in parts], lower), _join(kind, [high for _, high in parts], lower)


def _join(kind: str, parts: list[Mask], like: Sequence[Mask]) -> Mask:
    if not parts:
        return np.full(len(like[0]) if like else 0, kind == "all")
    parts = list({id(part): part for part in parts}.values())  # of ten thousand terms most are nowhere, in one mask
    joined: Mask = np.logical_and.reduce(parts) if kind == "all" else np.logical_or.reduce(parts)
    return joined
