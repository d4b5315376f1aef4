r"""Weaker patterns in RE2's own syntax, for patterns over which RE2 itself is slow.

Counts such as that in ``\w.{50}x`` need more states than RE2 keeps, and classes such as ``\pL`` thousands of
instructions; it then reads some megabytes a second. A weaker pattern matches wherever the pattern does: its classes
hold every character beyond ASCII where those of the pattern hold many, and ``{50}`` becomes "twice or more".
"""

from __future__ import annotations

from functools import lru_cache

from sourcelight.core.errors import PatternError
from sourcelight.core.patterns.exact import compile_re2
from sourcelight.core.patterns.tree import Alternate, Anchor, Chars, Concat, Node, Repeat

MAX_COUNT = 2
"""Maximum count that a weaker pattern keeps: from ``{3}`` on it says ``{2,}``, which needs few states."""

# Anchors in RE2's syntax.
_ANCHORS = {
    "line-start": "(?m:^)",
    "line-end": "(?m:$)",
    "text-start": r"\A",
    "text-end": r"\z",
    "word": r"\b",
    "not-word": r"\B",
}


class _Unwritable(Exception):
    """A part that has no weaker form here."""


def weaker_patterns(tree: Node) -> tuple[bytes, ...]:
    """Return patterns that match wherever the tree does, each weaker than the one before; case is written out."""
    try:
        sources = [_write(tree, count).encode() for count in (None, MAX_COUNT)]
        for source in sources:
            # RE2 may refuse the weaker form, as too large for one; the pattern is then used as it is.
            compile_re2(source, case_sensitive=True, quoted="")
    except (_Unwritable, PatternError, RecursionError):
        return ()

    return tuple(dict.fromkeys(sources))


def _write(node: Node, max_count: int | None) -> str:
    if isinstance(node, Chars):
        return _class(node)
    if isinstance(node, Anchor):
        return _ANCHORS[node.kind]
    if isinstance(node, Concat):
        return "".join(_write(part, max_count) for part in node.parts)
    if isinstance(node, Alternate):
        return "(?:" + "|".join(_write(part, max_count) for part in node.parts) + ")"
    if isinstance(node, Repeat):
        return _repeat(node, max_count)

    raise _Unwritable


def _class(node: Chars) -> str:
    ascii_part = _ascii_ranges(node.narrow)
    # All of ASCII stays exact: code is mostly ASCII, so the weaker class still rules most lines out.
    if node.wide is None:
        beyond = r"\x{80}-\x{10FFFF}"
    else:
        beyond = "".join(f"\\x{{{code:x}}}" for code in node.wide)

    if not ascii_part and not beyond:
        raise _Unwritable
    return f"[{ascii_part}{beyond}]"


@lru_cache(1_024)  # a long alternation of words has one class for each of its letters
def _ascii_ranges(narrow: int) -> str:
    r"""Return the bits set among the first 128 as ranges of a class: ``\x30-\x39\x5f`` for the digits and ``_``."""
    codes = [code for code in range(128) if narrow >> code & 1]
    starts = [code for code in codes if code - 1 not in codes]
    ends = [code for code in codes if code + 1 not in codes]

    ranges = ""
    for start, end in zip(starts, ends, strict=True):
        ranges += f"\\x{start:02x}"
        if end > start:
            ranges += f"-\\x{end:02x}"
    return ranges


def _repeat(node: Repeat, max_count: int | None) -> str:
    minimum, maximum = node.low, node.high
    # RE2 accepts {0}, of a part that never matches.
    if maximum == 0:
        return ""

    if max_count is not None and max(minimum, maximum or 0) > max_count:
        # {50} becomes {2,}: it matches wherever the exact count does, with few states.
        minimum, maximum = min(minimum, max_count), None

    return f"(?:{_write(node.part, max_count)}){_quantifier(minimum, maximum)}"


def _quantifier(minimum: int, maximum: int | None) -> str:
    """Return ``*``, ``{2,}`` or ``{2,5}``; empty for exactly once."""
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?", (1, 1): ""}
    if (minimum, maximum) in signs:
        return signs[minimum, maximum]
    if maximum is None:
        return f"{{{minimum},}}"
    return f"{{{minimum},{maximum}}}"
