"""Trees of AND, OR and NOT: simplified ones mean the same, and folds visit no more than they need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.boolean import ALWAYS, NEVER, And, Boolean, Not, Or, fold, leaves, simplify

LETTERS = "abcd"


def nodes(inner: st.SearchStrategy[Boolean[str]]) -> st.SearchStrategy[Boolean[str]]:
    args = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(args.map(And), args.map(Or), inner.map(Not))


TREES: st.SearchStrategy[Boolean[str]] = st.recursive(st.sampled_from(LETTERS), nodes, max_leaves=12)


def holds(tree: Boolean[str], true: frozenset[str]) -> bool:
    return fold(tree, true.__contains__, all_of=all, any_of=any, negate=lambda value: not value)


def holds_by_hand(tree: Boolean[str], true: frozenset[str]) -> bool:
    match tree:
        case And(args):
            return all(holds_by_hand(arg, true) for arg in args)
        case Or(args):
            return any(holds_by_hand(arg, true) for arg in args)
        case Not(arg):
            return not holds_by_hand(arg, true)
        case leaf:
            return leaf in true


def subtrees(tree: Boolean[str]) -> Iterator[Boolean[str]]:
    yield tree
    if isinstance(tree, And | Or):
        for arg in tree.args:
            yield from subtrees(arg)
    elif isinstance(tree, Not):
        yield from subtrees(tree.arg)


@given(TREES, st.frozensets(st.sampled_from(LETTERS)))
def test_a_fold_and_a_simplified_tree_mean_what_the_tree_means(tree: Boolean[str], true: frozenset[str]) -> None:
    expected = holds_by_hand(tree, true)
    assert holds(tree, true) == expected
    assert holds(simplify(tree), true) == expected


@given(TREES)
def test_a_simplified_tree_has_nothing_left_to_simplify(tree: Boolean[str]) -> None:
    simple = simplify(tree)
    assert simplify(simple) == simple
    for node in subtrees(simple):
        if isinstance(node, And | Or):
            assert len(node.args) != 1
            assert len(set(node.args)) == len(node.args)
            assert not any(isinstance(arg, type(node)) for arg in node.args)
            assert node.args or node is simple
        if isinstance(node, Not):
            assert not isinstance(node.arg, Not)


@given(TREES)
def test_leaves_come_in_the_order_of_the_text(tree: Boolean[str]) -> None:
    assert list(leaves(tree)) == [node for node in subtrees(tree) if isinstance(node, str)]


@given(TREES, st.frozensets(st.sampled_from(LETTERS)))
def test_a_positive_leaf_can_only_help(tree: Boolean[str], true: frozenset[str]) -> None:
    negative = set(leaves(tree)) - set(leaves(tree, positive=True))
    opposite: Boolean[str] = Not(tree)
    for letter in set(leaves(tree, positive=True)) - set(leaves(opposite, positive=True)):
        assert holds(tree, true - {letter}) <= holds(tree, true | {letter})
    for letter in negative:
        assert holds(tree, true | {letter}) <= holds(tree, true - {letter})


@pytest.mark.parametrize(
    ("tree", "simple"),
    [
        (And((ALWAYS, Or((ALWAYS, "a")))), ALWAYS),
        (And(("a", Not(ALWAYS))), NEVER),
        (Or(("a", Not(NEVER))), ALWAYS),
        (Or(("a", And(("a", "a")))), "a"),
        (And(("a", And(("b", Not(Not("a")))))), And(("a", "b"))),
    ],
)
def test_constants_and_repetitions_go(tree: Boolean[str], simple: Boolean[str]) -> None:
    assert simplify(tree) == simple


def test_a_fold_stops_where_the_answer_is_known() -> None:
    visited: list[str] = []

    def visit(leaf: str) -> bool:
        visited.append(leaf)
        return leaf == "a"

    assert fold(Or(("a", "b")), visit, all_of=all, any_of=any)
    assert not fold(And(("c", "d")), visit, all_of=all, any_of=any)
    assert visited == ["a", "c"]


def test_a_fold_without_negation_refuses_one() -> None:
    with pytest.raises(TypeError, match="NOT"):
        fold(Not("a"), str, all_of=" ".join, any_of=" ".join)
