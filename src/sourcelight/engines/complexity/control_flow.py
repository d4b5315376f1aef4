"""Branches in syntax trees, and the cyclomatic and cognitive complexity that follow from them.

Sources: T. J. McCabe, "A Complexity Measure" (1976) adds one for each decision. G. A. Campbell, "Cognitive Complexity"
(SonarSource, version 1.7) adds one for each break of the flow, and one more for each level of nesting around it.

A node type means the same in all grammars that have it, so one table serves all languages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

IFS = frozenset({"if_statement", "if_expression"})
LOOPS = frozenset({
    "for_statement", "for_in_statement", "for_range_loop", "enhanced_for_statement", "while_statement", "do_statement",
    "for_expression", "while_expression", "loop_expression",
})  # fmt: skip
SWITCHES = frozenset({
    "switch_statement", "switch_expression", "expression_switch_statement", "type_switch_statement", "select_statement",
    "match_statement", "match_expression",
})  # fmt: skip
CASES = frozenset({
    "switch_case", "case_clause", "match_arm", "expression_case", "type_case", "communication_case", "case_statement",
    "switch_label",
})  # fmt: skip
CATCHES = frozenset({"catch_clause", "except_clause", "except_group_clause"})
TERNARIES = frozenset({"ternary_expression", "conditional_expression"})
COMPREHENSIONS = frozenset({"for_in_clause", "if_clause"})
BOOLEANS = frozenset({"binary_expression", "boolean_operator"})
OPERATORS = frozenset({"&&", "||", "and", "or"})
LAMBDAS = frozenset({"lambda", "lambda_expression", "arrow_function", "function_expression", "generator_function",
                     "closure_expression", "func_literal"})  # fmt: skip
JUMPS = frozenset({"break_statement", "continue_statement", "break_expression", "continue_expression"})
_LABELS = frozenset({"label", "label_name", "statement_identifier", "identifier"})
CALLS = {"call": "function", "call_expression": "function", "method_invocation": "name"}
FUNCTIONS = frozenset({
    "function_definition", "function_declaration", "generator_function_declaration", "method_definition",
    "method_declaration", "constructor_declaration", "compact_constructor_declaration", "function_item",
})  # fmt: skip


@dataclass(slots=True)
class Complexity:
    """Complexities of a piece of code, and its deepest nesting; `decisions` doesn't include the base of 1."""

    decisions: int = 0
    cognitive: int = 0
    nesting: int = 0


@dataclass(frozen=True, slots=True)
class _Visit:
    node: Node
    nesting: int
    is_else_if: bool = False


def complexity_of(root: Node, own_name: bytes, function_spans: frozenset[tuple[int, int]]) -> Complexity:
    """Measure a function or a file, without the functions at `function_spans` (first byte, end).

    The walk keeps its own stack: code nested a thousand levels deep would exceed Python's recursion limit.
    """
    total = Complexity()
    is_recursive = False
    stack = [_Visit(child, 0) for child in reversed(root.children)]
    while stack:
        visit = stack.pop()
        node, nesting = visit.node, visit.nesting
        kind = node.type
        if not node.is_named or ((node.start_byte, node.end_byte) in function_spans and kind in FUNCTIONS | LAMBDAS):
            continue

        if kind in IFS:
            total.decisions += 1
            total.cognitive += 1 if visit.is_else_if else 1 + nesting
            total.nesting = max(total.nesting, nesting + 1)
            stack.extend(_if_parts(node, nesting, total))
            continue

        inner = nesting
        if kind in LOOPS or kind in CATCHES or kind in TERNARIES:
            # A loop without a condition (Rust's `loop`) counts too: it branches at its exit.
            total.decisions += 1
            total.cognitive += 1 + nesting
            inner += 1
        elif kind in SWITCHES:
            total.cognitive += 1 + nesting
            inner += 1
        elif kind in CASES:
            total.decisions += not _is_default(node)
        elif kind in COMPREHENSIONS:
            total.decisions += 1
        elif kind in LAMBDAS or kind in FUNCTIONS:
            inner += 1
        elif kind in JUMPS:
            total.cognitive += any(child.type in _LABELS for child in node.named_children)
        elif kind == "goto_statement":
            total.cognitive += 1
        elif kind in BOOLEANS and _operator(node) and not _is_inner(node):
            operators = list(_operators(node))
            total.decisions += len(operators)
            # Each run of the same operator adds one.
            total.cognitive += 1 + sum(operator != following for operator, following in pairwise(operators))
        elif kind in CALLS and own_name and not is_recursive:
            is_recursive = _callee(node) == own_name
            total.cognitive += is_recursive

        total.nesting = max(total.nesting, inner)
        stack.extend(_Visit(child, inner) for child in reversed(node.children))

    return total


def _if_parts(node: Node, nesting: int, total: Complexity) -> Iterator[_Visit]:
    """Yield the parts of an `if`; each `else` adds one, at any nesting."""
    alternatives = node.children_by_field_name("alternative")
    for child in node.children:
        if child in alternatives:
            continue
        is_body = child == node.child_by_field_name("consequence")
        yield _Visit(child, nesting + is_body)

    for alternative in alternatives:
        inner = alternative
        if alternative.type == "else_clause" and alternative.named_children:
            inner = next((candidate for candidate in alternative.named_children if candidate.type in IFS), alternative)

        if inner.type in IFS:
            yield _Visit(inner, nesting, is_else_if=True)
        elif inner.type == "elif_clause":
            total.decisions += 1
            total.cognitive += 1
            body = inner.child_by_field_name("consequence")
            yield from (_Visit(child, nesting + (child == body)) for child in inner.children)
        else:
            total.cognitive += 1
            yield from (_Visit(child, nesting + 1) for child in (inner.children or [inner]))


def _is_default(node: Node) -> bool:
    """Return whether a case is the default case."""
    if any(child.type == "default" for child in node.children):
        return True
    pattern = next((child for child in node.named_children if child.type in {"case_pattern", "match_pattern"}), None)
    return pattern is not None and (pattern.text or b"") == b"_"


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None and operator.type in OPERATORS else ""


def _is_inner(node: Node) -> bool:
    """Return whether a logical operation is an operand of another one."""
    parent = node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        parent = parent.parent
    return parent is not None and parent.type in BOOLEANS and bool(_operator(parent))


def _operators(node: Node) -> Iterator[str]:
    """Yield the logical operators of an expression in source order."""
    pending: list[Node | str] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            yield item
        elif item.type == "parenthesized_expression":
            # Skip comments: `( # why`.
            pending += [child for child in item.named_children if "comment" not in child.type][:1]
        elif item.type in BOOLEANS and _operator(item):
            left, right = item.child_by_field_name("left"), item.child_by_field_name("right")
            pending += [part for part in (right, _operator(item), left) if part is not None]


def _callee(node: Node) -> bytes:
    """Return the name of the called function; empty for a member of an object other than `self` and `this`."""
    target = node.child_by_field_name(CALLS[node.type])
    if target is None:
        return b""

    text = target.text or b""
    if node.type == "method_invocation":
        holder = node.child_by_field_name("object")
        return text if holder is None or holder.type == "this" else b""

    return text.removeprefix(b"self.").removeprefix(b"this.")
