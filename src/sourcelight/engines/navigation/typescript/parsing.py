"""Parsing, with a way around what the grammar can't read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sourcelight.engines.symbols import parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node, Tree
_ENDS = re.compile(rb"[\w>)\]}'\"]$")


def parsed(language: str, text: bytes, deadline: float) -> Tree | None:
    """Parse a file; None when that is not done at `deadline` (of `time.monotonic`)."""
    tree = parse_tree(language, text, deadline)
    if tree is None or not tree.root_node.has_error or language == "JavaScript":
        return tree
    spared = _separated(text)
    if spared == text:
        return tree
    other = parse_tree(language, spared, deadline)
    return other if other is not None and _rubble(other) < _rubble(tree) else tree


def _separated(text: bytes) -> bytes:
    """The text with a semicolon in place of the line break before a line that begins with a parameter list.

    The grammar takes such a list for a part of the type before it, so that an interface with several call signatures
    becomes rubble. All offsets stay.
    """
    found = bytearray(text)
    at, ends = 0, -1
    for line in text.splitlines(keepends=True):
        code = line.strip()
        if ends >= 0 and code.startswith((b"<", b"(")):
            found[ends] = ord(";")
        if code and not code.startswith((b"//", b"/*", b"*")):
            complete = line.endswith(b"\n") and b"//" not in code and _ENDS.search(code) is not None
            ends = at + len(line) - 1 if complete else -1
        at += len(line)
    return bytes(found)


def _rubble(tree: Tree) -> int:
    """Bytes that belong to no construct of the language."""
    total = 0
    waiting: list[Node] = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR":
            total += node.end_byte - node.start_byte
        elif node.has_error:
            waiting += node.named_children
    return total
