r"""Patterns against changed lines: each line is a text of its own, as for ``git log -G``, so none holds a newline.

``\s`` and ``[^a]b`` can match a newline and are found in lines all the same. ``foo\nbar`` can't match without one: who
asks for it is told so, in place of an answer that is always empty.
"""

from __future__ import annotations

from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.patterns.syntax import Alternate, Chars, Concat, Node, Repeat, parse

_NEWLINE = 1 << ord("\n")


def fits_a_line(pattern: CompiledPattern) -> bool:
    """Tell whether a pattern can match in a text without newlines; True where that can't be told."""
    if pattern.kind == "literal":
        return "\n" not in pattern.text
    if not pattern.multi_line:
        return True
    return _fits(parse(pattern.text, fold=not pattern.case_sensitive, multi_line=not pattern.whole_text).tree)


def _fits(node: Node) -> bool:
    if isinstance(node, Chars):
        return node.wide is None or bool(node.wide) or bool(node.narrow & ~_NEWLINE)
    if isinstance(node, Concat):
        return all(map(_fits, node.parts))
    if isinstance(node, Alternate):
        return any(map(_fits, node.parts))
    return node.low == 0 or _fits(node.part) if isinstance(node, Repeat) else True
