"""What every match of a pattern must contain, as a tree of folded byte strings.

An index answers the tree with its posting lists: a text that does not satisfy it can't hold a match.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

SHORTEST_TEXT = 3
"""Bytes below which a text from a regular expression is left out of a formula: it has no trigram."""

FOLD_HAZARDS = ("\N{KELVIN SIGN}".encode(), "\N{LATIN SMALL LETTER LONG S}".encode())
"""The only two non-ASCII characters that equal an ASCII letter (k, s) when case is ignored."""


@dataclass(frozen=True, slots=True)
class RequiredText:
    """The folded text must stand somewhere in the folded haystack; `text` is never empty."""

    text: bytes


@dataclass(frozen=True, slots=True)
class And:
    """Every part must hold; no part at all means that everything passes."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one part must hold; no part at all means that nothing can match."""

    parts: tuple[Formula, ...]


Formula: TypeAlias = RequiredText | And | Or

ANYTHING: Formula = And(())
NOTHING: Formula = Or(())


def fold(text: bytes) -> bytes:
    """Lower the ASCII letters of `text` and leave every other byte alone; the length stays."""
    return bytes(text).lower()


def all_of(parts: Iterable[Formula]) -> Formula:
    """Join formulas that must all hold, flattened and without doubles."""
    kept: dict[Formula, None] = {}
    for part in parts:
        if part == NOTHING:
            return NOTHING
        for inner in part.parts if isinstance(part, And) else (part,):
            kept[inner] = None
    return next(iter(kept)) if len(kept) == 1 else And(tuple(kept))


def any_of(parts: Iterable[Formula]) -> Formula:
    """Join formulas of which one must hold, flattened and without doubles."""
    kept: dict[Formula, None] = {}
    for part in parts:
        if part == ANYTHING:
            return ANYTHING
        for inner in part.parts if isinstance(part, Or) else (part,):
            kept[inner] = None
    return next(iter(kept)) if len(kept) == 1 else Or(tuple(kept))


def satisfies(formula: Formula, text: bytes) -> bool:
    """Tell whether folded `text` passes `formula`: the slow reading of what an index does with its lists."""
    if isinstance(formula, RequiredText):
        return formula.text in text
    if isinstance(formula, And):
        return all(satisfies(part, text) for part in formula.parts)
    return any(satisfies(part, text) for part in formula.parts)
