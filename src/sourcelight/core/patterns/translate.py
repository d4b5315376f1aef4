r"""Trees written as Hyperscan patterns over bytes.

A translated pattern finds every place that the tree matches, and may find more. Case is written out in the classes;
``\A`` and ``\z`` become line bounds, since a scan of many ranges in one call knows no text bounds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import IntEnum

from sourcelight.core.patterns.syntax import Alternate, Anchor, AnyByte, Chars, Concat, Node, Repeat, Unknown

LONGEST_COUNT = 400
"""Repeats above this are left without an upper end: a longer counter costs compile time and memory."""
LONGEST_EXPRESSION = 8000
"""Bytes above which an alternation is given in several bundles: Hyperscan refuses expressions of 16,000."""
LARGEST_PATTERN = 60_000
"""Bytes above which compiling takes seconds, longer than RE2 takes to scan."""
LONGEST_GROUP_COUNT = 16
"""The same for repeated groups, whose automaton is copied for each repeat."""

_ANCHORS = {
    "line-start": b"^",
    "line-end": b"$",
    "text-start": b"^",
    "text-end": b"$",
    "word": rb"\b",
    "not-word": rb"\B",
}


class Untranslatable(Exception):
    """Raised for trees that Hyperscan can't be asked about."""


class Precision(IntEnum):
    """On which text a translated pattern finds nothing beyond the tree."""

    NEVER = 0
    ASCII = 1
    ALWAYS = 2


@dataclass(slots=True)
class _Writer:
    one_line: bool
    precision: Precision = Precision.ALWAYS

    def weaken(self, precision: Precision) -> None:
        self.precision = min(self.precision, precision)

    def narrow(self, node: Chars) -> int:
        return node.narrow & ~(1 << 10) if self.one_line else node.narrow

    def node(self, node: Node) -> bytes:
        if isinstance(node, Chars):
            return self.chars(node)
        if isinstance(node, AnyByte):
            self.weaken(Precision.ASCII)
            return rb"[^\n]" if self.one_line else rb"[\x00-\xff]"
        if isinstance(node, Anchor):
            return _ANCHORS[node.kind]
        if isinstance(node, Concat):
            return b"".join(map(self.node, node.parts))
        if isinstance(node, Alternate):
            return b"(?:" + b"|".join(map(self.node, node.parts)) + b")"
        if isinstance(node, Repeat):
            return self.repeat(node)
        raise Untranslatable

    def chars(self, node: Chars) -> bytes:
        narrow = self.narrow(node)
        choices = [_byte_set(narrow)] if narrow else []
        if node.wide is None:
            self.weaken(Precision.ASCII)
            choices.append(rb"[\xc2-\xff][\x80-\xbf]{1,3}")
        else:
            choices += [_escape(chr(code).encode("utf-8", "surrogatepass")) for code in node.wide]
        if not choices:
            raise Untranslatable
        return choices[0] if len(choices) == 1 else b"(?:" + b"|".join(choices) + b")"

    def repeat(self, node: Repeat) -> bytes:
        low, high = node.low, node.high
        if high == 0:
            return b""
        if isinstance(node.part, Chars) and node.part.wide is None:
            self.weaken(Precision.ASCII if high is None else Precision.NEVER)
            part = _byte_set(self.narrow(node.part), wide=True)
            high = None if high is None else high * 4
            limit = LONGEST_COUNT
        else:
            part = b"(?:" + self.node(node.part) + b")"
            limit = LONGEST_COUNT if isinstance(node.part, Chars) and not node.part.wide else LONGEST_GROUP_COUNT
        if low > limit or (high is not None and high > limit):
            self.weaken(Precision.NEVER)
            low, high = min(low, limit), None
        return part + _count(low, high)


def _count(low: int, high: int | None) -> bytes:
    if (low, high) == (1, 1):
        return b""
    if high is None:
        return {0: b"*", 1: b"+"}.get(low, b"{%d,}" % low)
    return b"?" if (low, high) == (0, 1) else b"{%d,%d}" % (low, high)


def _escape(text: bytes) -> bytes:
    return b"".join(bytes((byte,)) if chr(byte).isalnum() and byte < 128 else b"\\x%02x" % byte for byte in text)


@functools.lru_cache(maxsize=4096)
def _byte_set(mask: int, *, wide: bool = False) -> bytes:
    if not wide and mask.bit_count() == 1:
        return _escape(bytes((mask.bit_length() - 1,)))
    if wide:
        mask |= ((1 << 256) - 1) & ~((1 << 128) - 1)
    pieces: list[bytes] = []
    code = 0
    while mask >> code:
        if not mask >> code & 1:
            code += 1
            continue
        last = code
        while mask >> (last + 1) & 1:
            last += 1
        pieces.append(b"\\x%02x" % code if last == code else b"\\x%02x-\\x%02x" % (code, last))
        code = last + 1
    return b"[" + b"".join(pieces) + b"]"


def _trimmed(node: Node, *, tail: bool) -> Node:
    """Cut a repeat at an open end of the tree to its least count: a place matches if, and only if, it did before."""
    if isinstance(node, Repeat):
        if node.low == 0:
            return Concat(())
        if node.low == 1:
            return _trimmed(node.part, tail=tail)
        return Repeat(node.part, node.low, node.low)
    if isinstance(node, Concat):
        parts = list(node.parts)
        while parts:
            at = -1 if tail else 0
            parts[at] = _trimmed(parts[at], tail=tail)
            if parts[at] != Concat(()):
                break
            parts.pop(at)
        return Concat(tuple(parts))
    if isinstance(node, Alternate):
        return Alternate(tuple(_trimmed(part, tail=tail) for part in node.parts))
    return node


def _unknown(node: Node) -> bool:
    if isinstance(node, Concat | Alternate):
        return any(map(_unknown, node.parts))
    return isinstance(node, Unknown) or (isinstance(node, Repeat) and _unknown(node.part))


def _bundled(branches: list[bytes]) -> list[bytes]:
    bundles: list[bytes] = []
    for branch in branches:
        if bundles and len(bundles[-1]) + len(branch) < LONGEST_EXPRESSION:
            bundles[-1] += b"|" + branch
        else:
            bundles.append(branch)
    return bundles


def translate(tree: Node, *, one_line: bool) -> tuple[list[bytes], Precision]:
    """Write `tree` for Hyperscan as one or more alternatives, and tell on which text the result is precise.

    With `one_line` a match holds no newline: right where a tree is asked about many texts that are joined by newlines
    and hold none.

    Raises
    ------
    Untranslatable
        For unknown parts, sets without a member, and patterns of more than `LARGEST_PATTERN`.
    """
    if _unknown(tree):
        raise Untranslatable
    writer = _Writer(one_line)
    trimmed = _trimmed(_trimmed(tree, tail=True), tail=False)
    written = [writer.node(trimmed)]
    if len(written[0]) > LARGEST_PATTERN:
        raise Untranslatable
    if len(written[0]) > LONGEST_EXPRESSION and isinstance(trimmed, Alternate):
        written = _bundled([writer.node(part) for part in trimmed.parts])
    return written, writer.precision
