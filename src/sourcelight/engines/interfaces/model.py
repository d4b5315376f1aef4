"""A public definition, the paths of tools, and shared code of the readers of all languages."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.engines.symbols.definition_parser import MAX_FILE_BYTES, MAX_SECONDS, parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_SIGNATURE = 2_000
"""Characters of a signature; a longer one is cut, with an ellipsis."""

MAX_DEPTH = 20
"""Definitions within definitions; deeper ones are generated or hostile, and are not read."""


_TOOLING = re.compile(
    # vitest.config.ts, .eslintrc.js, gulpfile.ts and the like: their tools read them by name.
    r"(?:^|/)(?:[^/]+\.config|\.[^/]+|(?:gulp|grunt|jake|rollup)file)\.[cm]?[jt]sx?$"
    # At the top only: inside a package such a name may be one of its own.
    r"|^(?:docs?|website|scripts|bench)/"
    r"|^packages/(?:docs?|website|scripts|bench|fixtures?|integration|playground)/|(?:^|/)\.[^/]+/"
)

_SPACE = re.compile(r"\s+")
"""Blanks and newlines."""

_INNER = re.compile(r"(?<=[(\[]) | (?=[)\],;])|,(?= [)\]])")
"""Blanks within brackets, and a comma at their end."""


_QUOTED = re.compile(r"'([^'\"\\]*)'")
"""A string in single quotes, which could be in double quotes."""


def comparable_signature(language: str, signature: str) -> str:
    """Return a signature in a form that is equal for declarations that mean the same.

    Examples
    --------
    >>> comparable_signature("Python", "class Client(object)"), comparable_signature("Go", "Value interface{}")
    ('class Client', 'Value any')
    """
    if language == "Go":
        # `any` is an alias of the empty interface since Go 1.18.
        return signature.replace("interface{}", "any")
    if language == "Python":
        # Every class has this base in Python 3; in parentheses alone, it says nothing.
        signature = re.sub(r"^(class \w+)\((?:object)?\)$", r"\1", signature)
    return signature if language == "Java" else _QUOTED.sub(r'"\1"', signature)


def is_tooling(path: str) -> bool:
    """Return whether a file configures a tool, builds a site or is a script of its repository: no one imports it."""
    return _TOOLING.search(path) is not None


@dataclass(frozen=True, slots=True)
class PublicSymbol:
    """A public definition.

    Attributes
    ----------
    module
        What other code imports: a Python module, the directory of a Go package, a Java package, a TypeScript file.
    name
        Qualified name within the module, with dots.
    kind
        Kind of definition, as `sourcelight.engines.symbols.KINDS` has it.
    signature
        Its declaration on one line, without body, documentation and values.
    line
        1-based line of its name.
    listed_in
        Module and name, with dots, under which another public module lists the same definition; empty for none.
    is_resolved
        Whether the definition is known; if not, the signature is only the name.
    """

    module: str
    name: str
    kind: str
    signature: str
    line: int
    listed_in: str = ""
    is_resolved: bool = True


def parse(language: str, data: bytes) -> tuple[Node | None, str]:
    """Parse a file; None, with the reason, if it can't be parsed."""
    if len(data) > MAX_FILE_BYTES:
        return None, "too-large"
    tree = parse_tree(language, data, time.monotonic() + MAX_SECONDS)
    if tree is None:
        return None, "timed-out"
    return tree.root_node, "unparsable" if tree.root_node.is_error else ""


def text_of(node: Node | None, data: bytes) -> str:
    """Return the text of a node; empty for none."""
    if node is None:
        return ""
    return data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def line_of(node: Node) -> int:
    """Return the 1-based line where a node begins."""
    return int(node.start_point[0]) + 1


def one_line(text: str) -> str:
    """Return a declaration on one line, so that layout changes don't count."""
    line = _INNER.sub("", _INNER.sub("", _SPACE.sub(" ", text))).strip().rstrip(";,").rstrip()
    return line if len(line) <= MAX_SIGNATURE else f"{line[:MAX_SIGNATURE]}\u2026"


def before_body(node: Node, data: bytes) -> str:
    """Return the text of a declaration up to its body, or all of it without one; comments within are left out."""
    body = node.child_by_field_name("body")
    return span_text(node, data, node.start_byte, node.end_byte if body is None else body.start_byte)


def span_text(node: Node, data: bytes, start: int, end: int) -> str:
    """Return the text of a part of a node without its comments."""
    parts, position = [], start
    for comment in _comments(node, end):
        if comment.start_byte >= start:
            parts.append(data[position : comment.start_byte])
            position = comment.end_byte
    return b" ".join([*parts, data[position:end]]).decode("utf-8", "replace")


def _comments(node: Node, end: int) -> Iterator[Node]:
    pending = [node]
    while pending:
        current = pending.pop()
        if "comment" in current.type:
            yield current
        elif current.child_count:
            pending += [child for child in reversed(current.children) if child.start_byte < end]
