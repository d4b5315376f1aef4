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
CATCHES = frozenset({"catch_clause", "except_clause", "except_group_clause"})
TERNARIES = frozenset({"ternary_expression", "conditional_expression"})
_BRANCHES = LOOPS | CATCHES | TERNARIES
"""Nodes that are a decision and nest what is in them. Rust's `loop` has no condition, and branches at its exit."""

SWITCHES = frozenset({
    "switch_statement", "switch_expression", "expression_switch_statement", "type_switch_statement", "select_statement",
    "match_statement", "match_expression",
})  # fmt: skip
CASES = frozenset({
    "switch_case", "case_clause", "match_arm", "expression_case", "type_case", "communication_case", "case_statement",
    "switch_label",
})  # fmt: skip
COMPREHENSIONS = frozenset({"for_in_clause", "if_clause"})
BOOLEANS = frozenset({"binary_expression", "boolean_operator"})
OPERATORS = frozenset({"&&", "||", "and", "or"})
"""Nodes that may combine conditions, and the operators with which they do."""

LAMBDAS = frozenset({"lambda", "lambda_expression", "arrow_function", "function_expression", "generator_function",
                     "closure_expression", "func_literal"})  # fmt: skip
FUNCTIONS = frozenset({
    "function_definition", "function_declaration", "generator_function_declaration", "method_definition",
    "method_declaration", "constructor_declaration", "compact_constructor_declaration", "function_item",
})  # fmt: skip
JUMPS = frozenset({"break_statement", "continue_statement", "break_expression", "continue_expression"})
_LABELS = frozenset({"label", "label_name", "statement_identifier", "identifier"})
"""Jumps, which break the flow if they have a label."""

CALLS = {"call": "function", "call_expression": "function", "method_invocation": "name"}
"""Calls, and the field of each that has what is called."""


@dataclass(slots=True)
class Complexity:
    """Complexities of a piece of code, and its deepest nesting; `decisions` doesn't include the base of 1."""

    decisions: int = 0
    cognitive: int = 0
    nesting: int = 0


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node to visit, and how many branches, loops and functions are around it.

    `is_operand`: it is an operand of a logical operation, with or without brackets.
    """

    node: Node
    nesting: int
    is_else_if: bool = False
    is_operand: bool = False


def complexity_of(root: Node, own_name: bytes, function_spans: frozenset[tuple[int, int]]) -> Complexity:
    """Measure a function or a file, without the functions at `function_spans` (first byte, end).

    Parameters
    ----------
    own_name
        Name of the function, by which it may call itself; empty for a file.
    """
    total = Complexity()
    is_recursive = False
    # The walk keeps its own stack: code nested a thousand levels deep would exceed Python's recursion limit.
    stack = [_Visit(child, 0) for child in reversed(root.children)]
    while stack:
        visit = stack.pop()
        node, nesting = visit.node, visit.nesting
        kind = node.type
        is_separate = kind in FUNCTIONS | LAMBDAS and (node.start_byte, node.end_byte) in function_spans
        if is_separate or not node.is_named:
            continue

        if kind in IFS:
            total.decisions += 1
            total.cognitive += 1 if visit.is_else_if else 1 + nesting
            total.nesting = max(total.nesting, nesting + 1)
            stack.extend(_if_parts(node, nesting, total))
            continue

        inner_nesting = nesting
        if kind in _BRANCHES:
            total.decisions += 1
            total.cognitive += 1 + nesting
            inner_nesting += 1
        elif kind in SWITCHES:
            total.cognitive += 1 + nesting
            inner_nesting += 1
        elif kind in LAMBDAS or kind in FUNCTIONS:
            inner_nesting += 1
        elif kind in CALLS and own_name and not is_recursive:
            # A function that calls itself adds one, however often it does.
            is_recursive = _callee(node) == own_name
            total.cognitive += is_recursive
        else:
            _add_flat(visit, total)

        total.nesting = max(total.nesting, inner_nesting)
        # Not by `Node.parent`, which goes down from the root: a chain of 60,000 operators took hours.
        has_operands = (kind in BOOLEANS and bool(_operator(node))) or (
            kind == "parenthesized_expression" and visit.is_operand
        )
        children = reversed(node.children)
        stack.extend(_Visit(child, inner_nesting, is_operand=has_operands) for child in children)

    return total


def _add_flat(visit: _Visit, total: Complexity) -> None:
    """Add what a node counts that adds the same at any nesting."""
    node, kind = visit.node, visit.node.type
    if kind in CASES:
        total.decisions += not _is_default(node)
    elif kind in COMPREHENSIONS:
        total.decisions += 1
    elif kind in JUMPS:
        total.cognitive += any(child.type in _LABELS for child in node.named_children)
    elif kind == "goto_statement":
        total.cognitive += 1
    elif kind in BOOLEANS and _operator(node) and not visit.is_operand:
        operators = list(_operators(node))
        total.decisions += len(operators)
        # Each run of the same operator adds one.
        total.cognitive += 1 + sum(operator != following for operator, following in pairwise(operators))


def _if_parts(node: Node, nesting: int, total: Complexity) -> Iterator[_Visit]:
    """Yield the parts of an `if`, and add what its alternatives count: each `else` adds one, at any nesting."""
    alternatives = node.children_by_field_name("alternative")
    body = node.child_by_field_name("consequence")
    for child in node.children:
        if child not in alternatives:
            yield _Visit(child, nesting + (child == body))

    for alternative in alternatives:
        branch = _else_if_of(alternative)
        if branch.type in IFS:
            yield _Visit(branch, nesting, is_else_if=True)
        elif branch.type == "elif_clause":
            total.decisions += 1
            total.cognitive += 1
            body = branch.child_by_field_name("consequence")
            for child in branch.children:
                yield _Visit(child, nesting + (child == body))
        else:
            total.cognitive += 1
            for child in branch.children or [branch]:
                yield _Visit(child, nesting + 1)


def _else_if_of(alternative: Node) -> Node:
    """Return the `if` of an ``else if`` in grammars that have a clause around it; any other alternative itself."""
    if alternative.type == "else_clause":
        for child in alternative.named_children:
            if child.type in IFS:
                return child
    return alternative


def _is_default(node: Node) -> bool:
    """Return whether a case is the default case."""
    if any(child.type == "default" for child in node.children):
        return True
    pattern = next((child for child in node.named_children if child.type in {"case_pattern", "match_pattern"}), None)
    return pattern is not None and (pattern.text or b"") == b"_"


def _operator(node: Node) -> str:
    """Return the logical operator of an expression; empty for any other operator."""
    operator = node.child_by_field_name("operator")
    if operator is None or operator.type not in OPERATORS:
        return ""
    return operator.type


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
            # A stack: what comes first in the source is pushed last.
            pending += [part for part in (right, _operator(item), left) if part is not None]


def _callee(node: Node) -> bytes:
    """Return the name of the called function; empty for a member of an object other than `self` and `this`."""
    target = node.child_by_field_name(CALLS[node.type])
    if target is None:
        return b""

    text = target.text or b""
    if node.type == "method_invocation":
        receiver = node.child_by_field_name("object")
        is_own = receiver is None or receiver.type == "this"
        return text if is_own else b""

    return text.removeprefix(b"self.").removeprefix(b"this.")
