"""Measure a file: its functions, their sizes and complexities.

Complexity is counted twice: *cyclomatic* is the number of paths through a function, *cognitive* weighs nested
decisions more (`control_flow`). A function inside another is measured on its own and not as a part of the other.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sourcelight.engines.complexity.control_flow import FUNCTIONS, LAMBDAS, Complexity, complexity_of
from sourcelight.engines.symbols import Definition, FileDefinitions, definitions
from sourcelight.engines.symbols.definition_parser import MAX_SECONDS, parse_tree

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

LANGUAGES = ("C", "C++", "Go", "Java", "JavaScript", "Python", "Rust", "TSX", "TypeScript")
"""Display names of the languages whose functions are measured."""

_KINDS = frozenset({"function", "method", "constructor"})
_HOLDERS = frozenset({"variable_declarator", "pair", "public_field_definition", "field_definition",
                      "assignment_expression"})  # fmt: skip
_MAX_DEPTH = 20
"""Maximum definitions inside each other that a name shows, and nodes between a name and its function."""


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

    functions = _functions_in(tree, table)
    lines = _kinds_of_lines(tree, data)
    separate_spans = frozenset((function.node.start_byte, function.node.end_byte) for function in functions)
    measures.functions = [_measure(function, lines, separate_spans) for function in functions]

    remaining: Complexity = complexity_of(tree.root_node, b"", separate_spans)
    measures.code_lines = len(lines.code)
    measures.comment_lines = len(lines.comments)
    measures.cyclomatic = remaining.decisions + sum(function.cyclomatic for function in measures.functions)
    measures.cognitive = remaining.cognitive + sum(function.cognitive for function in measures.functions)
    return measures


@dataclass(frozen=True, slots=True)
class _Function:
    """A function with a body; `name` has the names of the classes and functions around it."""

    definition: Definition
    name: str
    node: Node


@dataclass(frozen=True, slots=True)
class _LineKinds:
    """The 0-based lines with code, with comments or docstrings, and with code or docstrings, which are statements."""

    code: set[int]
    comments: set[int]
    statements: set[int]


def _functions_in(tree: Tree, table: FileDefinitions) -> list[_Function]:
    names: list[str] = []
    functions: list[_Function] = []
    for definition in table.definitions():
        enclosing = names[definition.parent] if definition.parent >= 0 else definition.container
        if enclosing and enclosing.count(".") < _MAX_DEPTH:
            names.append(f"{enclosing}.{definition.name}")
        else:
            names.append(definition.name)

        if definition.kind in _KINDS and not definition.declaration:
            node = _function_at(tree, definition)
            if node is not None:
                functions.append(_Function(definition, names[-1], node))

    return functions


def _measure(function: _Function, lines: _LineKinds, separate_spans: frozenset[tuple[int, int]]) -> FunctionMeasures:
    """Measure a function; functions inside it, at `separate_spans`, are left out of its complexity."""
    node = function.node
    first = node.start_point[0]
    # The grammar's block includes comments after the last statement; the function doesn't.
    last = max(lines.statements.intersection(range(first, node.end_point[0] + 1)), default=first)
    own_lines = range(first, last + 1)
    complexity = complexity_of(node, function.definition.name.encode(), separate_spans)
    return FunctionMeasures(
        name=function.name,
        kind=function.definition.kind,
        begin_line=first + 1,
        end_line=last + 1,
        code_lines=len(lines.code.intersection(own_lines)),
        comment_lines=len(lines.comments.intersection(own_lines)),
        parameters=_parameters(node),
        cyclomatic=1 + complexity.decisions,
        cognitive=complexity.cognitive,
        nesting=complexity.nesting,
    )


def _function_at(tree: Tree, definition: Definition) -> Node | None:
    """Return the function whose name is at a definition, or None if it has no body."""
    end = definition.offset + len(definition.name.encode())
    node = tree.root_node.descendant_for_byte_range(definition.offset, end)
    for _ in range(_MAX_DEPTH):
        if node is None:
            return None
        if node.type in FUNCTIONS:
            has_body = node.child_by_field_name("body") is not None
            return node if has_body else None
        if node.type in _HOLDERS:
            # `const f = () => …`: the name is the variable's.
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            is_function = value is not None and value.type in LAMBDAS
            return value if is_function else None
        node = node.parent

    return None


def _kinds_of_lines(tree: Tree, data: bytes) -> _LineKinds:
    code: set[int] = set()
    comments: set[int] = set()
    docstrings: set[int] = set()
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        if "comment" in node.type:
            comments.update(_lines_of(node))
        elif node.type == "expression_statement" and [child.type for child in node.children] == ["string"]:
            # A Python string as a statement: cloc, lizard and radon don't count it as code, either.
            docstrings.update(_lines_of(node))
        elif node.child_count and ("string" not in node.type or node.type == "concatenated_string"):
            pending += node.children
        elif node.end_byte > node.start_byte:
            code.update(_lines_of(node))

    blank = {number for number, line in enumerate(data.split(b"\n")) if not line.strip()}
    # United once: a file may have thousands of functions, and each looks for its lines.
    return _LineKinds(code - blank, (comments | docstrings) - blank, (code | docstrings) - blank)


def _lines_of(node: Node) -> range:
    """Return the 0-based lines of a node, except a last line in which it has no characters."""
    first, (last, end_column) = node.start_point[0], node.end_point
    if end_column == 0 and last > first:
        last -= 1
    return range(first, last + 1)


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
        if child.type == "parameter_declaration":
            # In Go, `a, b int` is one node with two names.
            count += max(len(child.children_by_field_name("name")), 1)
        else:
            count += 1

    return count
