"""The tree of a regular expression, and what it says about the expression's matches.

`sourcelight.core.patterns.syntax` makes these trees. ``ab+|[0-9]`` is an `Alternate` of two parts: a `Concat` of the
character ``a`` and a `Repeat` of ``b``, and a `Concat` with the set of the digits.

Every analysis is a superset: what a tree says can match may include more than the expression, and never less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

AnchorKind: TypeAlias = Literal["line-start", "line-end", "text-start", "text-end", "word", "not-word"]

NEWLINE_BIT = 1 << ord("\n")
"""The bit of a newline in `Chars.narrow`."""


@dataclass(frozen=True, slots=True)
class Chars:
    """One code point out of a set.

    `narrow` has bit n set when ASCII character n is a member; `wide` names the other members, None when there are many
    (then any other character may be one).
    """

    narrow: int
    wide: tuple[int, ...] | None = ()


@dataclass(frozen=True, slots=True)
class AnyByte:
    r"""One byte of any value: ``\C``."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A condition on a position, such as ``^``, which matches no character."""

    kind: AnchorKind


@dataclass(frozen=True, slots=True)
class Concat:
    """One part after the other; no part is the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternate:
    """One of the parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part `low` to `high` times; `high` None is without end."""

    part: Node
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class UnknownNode:
    """Any text, newlines and no text included."""


Node: TypeAlias = Chars | AnyByte | Anchor | Concat | Alternate | Repeat | UnknownNode


@dataclass(frozen=True, slots=True)
class ParsedPattern:
    """A pattern that was read.

    Attributes
    ----------
    tree
        Its tree.
    source
        Its source without captures: each ``(`` or ``(?P<name>`` is ``(?:``. None if the tree is unknown.
    greedy
        Whether no repetition is lazy, as in ``a*?``.
    """

    tree: Node
    source: bytes | None
    greedy: bool = True


def matches_newline(node: Node) -> bool:
    """Return whether a match can hold a newline."""
    if isinstance(node, Chars):
        return bool(node.narrow & NEWLINE_BIT)

    if isinstance(node, Concat | Alternate):
        for part in node.parts:
            # Most parts are characters, which need no call.
            if isinstance(part, Chars):
                if part.narrow & NEWLINE_BIT:
                    return True
            elif matches_newline(part):
                return True
        return False

    if isinstance(node, Repeat):
        return node.high != 0 and matches_newline(node.part)

    # Any byte may be a newline. An anchor looks at one and doesn't match it.
    return isinstance(node, AnyByte | UnknownNode)


def nullable(node: Node) -> bool:
    """Return whether a match can be empty (anchors count as met)."""
    if isinstance(node, Concat):
        return all(map(nullable, node.parts))
    if isinstance(node, Alternate):
        return any(map(nullable, node.parts))
    if isinstance(node, Repeat):
        return node.low == 0 or nullable(node.part)
    # Characters and bytes match one of theirs each; the others need none.
    return isinstance(node, Anchor | UnknownNode)


def anchors(node: Node) -> frozenset[AnchorKind]:
    """Return the kinds of all anchors in the tree."""
    if isinstance(node, Anchor):
        return frozenset((node.kind,))

    if isinstance(node, Repeat):
        return anchors(node.part)

    kinds: set[AnchorKind] = set()
    if isinstance(node, Concat | Alternate):
        for part in node.parts:
            # Most parts are characters, which need no call.
            if not isinstance(part, Chars):
                kinds |= anchors(part)
    return frozenset(kinds)


def literal_of(node: Node) -> bytes | None:
    """Return the only text that a tree matches, or None when there are several, or none."""
    parts = node.parts if isinstance(node, Concat) else (node,)
    text = ""
    for part in parts:
        if isinstance(part, Concat):
            inner = literal_of(part)
            if inner is None:
                return None
            text += inner.decode("utf-8", "surrogatepass")
            continue

        code = _only_member(part)
        if code is None:
            return None
        text += chr(code)

    # The empty text is no literal: there is nothing to look for.
    return text.encode("utf-8", "surrogatepass") or None


def _only_member(node: Node) -> int | None:
    """Return the code point of a set of exactly one character; None for all other nodes."""
    if not isinstance(node, Chars) or node.wide is None:
        return None
    if node.narrow.bit_count() + len(node.wide) != 1:
        return None
    if node.wide:
        return node.wide[0]
    return node.narrow.bit_length() - 1


def never_empty(pattern: ParsedPattern) -> ParsedPattern | None:
    """Return ``E+`` for ``E*``: the pattern with its non-empty matches alone, or None for any other pattern.

    A greedy ``E*`` tries one more E first, so its non-empty matches are those of ``E+``; a lazy one is empty at once.
    """
    node = pattern.tree
    while isinstance(node, Concat) and len(node.parts) == 1:
        node = node.parts[0]

    source = pattern.source
    if source is None or not source.endswith(b"*") or not pattern.greedy:
        return None

    # Only a single star: its empty matches are not matches here, and with `+` RE2 never produces them.
    if not isinstance(node, Repeat) or (node.low, node.high) != (0, None):
        return None
    if nullable(node.part):
        return None

    return ParsedPattern(Repeat(node.part, 1, None), source[:-1] + b"+")
