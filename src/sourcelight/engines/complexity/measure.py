"""Measure a file: its functions, their sizes and complexities."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sourcelight.engines.complexity.control_flow import FUNCTIONS, LAMBDAS, Complexity, complexity_of
from sourcelight.engines.symbols import Definition, definitions
from sourcelight.engines.symbols.definition_parser import MAX_SECONDS, parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

LANGUAGES = ("C", "C++", "Go", "Java", "JavaScript", "Python", "Rust", "TSX", "TypeScript")
"""Display names of the languages whose functions are measured."""

_KINDS = frozenset({"function", "method", "constructor"})
_HOLDERS = frozenset({"variable_declarator", "pair", "public_field_definition", "field_definition",
                      "assignment_expression"})  # fmt: skip
_MAX_DEPTH = 20


@dataclass(frozen=True, slots=True)
class FunctionMeasures:
    """A function and its measures; line numbers are 1-based, and the last one is included."""

    name: str
    kind: str
    begin_line: int
    end_line: int
    code_lines: int
    comment_lines: int
    parameters: int
    cyclomatic: int
    cognitive: int
    nesting: int


@dataclass(slots=True)
class FileMeasures:
    """The functions of a file, and its numbers of lines: all, with code, and with a comment or a docstring.

    Blank lines count as neither, also within strings and comments.

    `incomplete` is the reason if functions may be missing, as in `sourcelight.engines.symbols.FileDefinitions`.
    """

    functions: list[FunctionMeasures] = field(default_factory=list)
    lines: int = 0
    code_lines: int = 0
    comment_lines: int = 0
    cyclomatic: int = 0
    cognitive: int = 0
    incomplete: str = ""


def measure_file(language: str, data: bytes) -> FileMeasures:
    """Measure a file of one of `LANGUAGES`."""
    measures = FileMeasures(lines=data.count(b"\n") + (not data.endswith(b"\n") and bool(data)))
    table = definitions(language, data)
    measures.incomplete = table.incomplete
    tree = None if table.incomplete else parse_tree(language, data, time.monotonic() + MAX_SECONDS)
    if tree is None:
        measures.incomplete = measures.incomplete or "timed-out"
        return measures

    names: list[str] = []
    functions: list[tuple[Definition, str, Node]] = []
    for definition in table.definitions():
        enclosing = names[definition.parent] if definition.parent >= 0 else definition.container
        names.append(
            f"{enclosing}.{definition.name}" if enclosing and enclosing.count(".") < _MAX_DEPTH else definition.name
        )
        node = _function_at(tree, definition) if definition.kind in _KINDS and not definition.declaration else None
        if node is not None:
            functions.append((definition, names[-1], node))

    code, comments, docstrings = _kinds_of_lines(tree, data)
    comments |= docstrings
    separate_spans = frozenset((node.start_byte, node.end_byte) for _, _, node in functions)
    for definition, name, node in functions:
        first = node.start_point[0]
        # The grammar's block includes comments after the last statement; the function doesn't.
        last = max((code | docstrings).intersection(range(first, node.end_point[0] + 1)), default=first)
        complexity = complexity_of(node, definition.name.encode(), separate_spans)
        within = range(first, last + 1)
        measures.functions.append(
            FunctionMeasures(
                name, definition.kind, first + 1, last + 1, len(code.intersection(within)),
                len(comments.intersection(within)), _parameters(node), 1 + complexity.decisions, complexity.cognitive,
                complexity.nesting,
            )
        )  # fmt: skip

    remaining: Complexity = complexity_of(tree.root_node, b"", separate_spans)
    measures.code_lines, measures.comment_lines = len(code), len(comments)
    measures.cyclomatic = remaining.decisions + sum(function.cyclomatic for function in measures.functions)
    measures.cognitive = remaining.cognitive + sum(function.cognitive for function in measures.functions)
    return measures


def _function_at(tree: Tree, definition: Definition) -> Node | None:
    """Return the function whose name is at a definition, or None if it has no body."""
    end = definition.offset + len(definition.name.encode())
    node = tree.root_node.descendant_for_byte_range(definition.offset, end)
    for _ in range(_MAX_DEPTH):
        if node is None:
            return None
        if node.type in FUNCTIONS:
            return node if node.child_by_field_name("body") is not None else None
        if node.type in _HOLDERS:
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            return value if value is not None and value.type in LAMBDAS else None
        node = node.parent

    return None


def _kinds_of_lines(tree: Tree, data: bytes) -> tuple[set[int], set[int], set[int]]:
    """Return the 0-based lines with code, comments and docstrings; a line can have several kinds."""
    code: set[int] = set()
    comments: set[int] = set()
    docstrings: set[int] = set()
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        if "comment" in node.type:
            lines = comments
        elif node.type == "expression_statement" and [child.type for child in node.children] == ["string"]:
            # A Python string as a statement: cloc, lizard and radon don't count it as code, either.
            lines = docstrings
        elif node.child_count and ("string" not in node.type or node.type == "concatenated_string"):
            pending += node.children
            continue
        elif node.end_byte > node.start_byte:
            lines = code
        else:
            continue

        # A node counts for all its lines, except a last line in which it has no characters.
        last = node.end_point[0] - (node.end_point[1] == 0 and node.end_point[0] > node.start_point[0])
        lines.update(range(node.start_point[0], last + 1))

    blank = {number for number, line in enumerate(data.split(b"\n")) if not line.strip()}
    return code - blank, comments - blank, docstrings - blank


def _parameters(node: Node) -> int:
    parameters = node.child_by_field_name("parameters")
    declarator = node.child_by_field_name("declarator")
    while parameters is None and declarator is not None:
        parameters = declarator.child_by_field_name("parameters")
        declarator = declarator.child_by_field_name("declarator")

    if parameters is None:
        return int(node.child_by_field_name("parameter") is not None)

    count = 0
    for child in parameters.named_children:
        if "comment" in child.type or child.type in {"keyword_separator", "positional_separator", "self_parameter"}:
            continue
        # In Go, `a, b int` is one node with two names.
        count += max(len(child.children_by_field_name("name")), 1) if child.type == "parameter_declaration" else 1

    return count
