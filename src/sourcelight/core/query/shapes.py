"""Read queries that differ only in their words once.

The *shape* of a query is the query with each word replaced by a stand-in: ``foo repo:x`` and ``bar repo:x`` have the
same one. A new query of a known shape is its tree with other words, so that the parser doesn't run. Only words between
spaces are replaced, because no rule of the language looks into them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.syntax.nodes import Alternative, Filter, Node, Pattern, Predicate, Query

_WORD = re.compile(r"(?:(?<= )|\A)(?!(?:and|or|not)(?: |\Z))([a-z_][a-z0-9_]*)(?= |\Z)", re.IGNORECASE | re.ASCII)
_ALTERNATION = re.compile(r"(?:(?<= )|\A)/\(([a-z_]\w*(?:\|[a-z_]\w*)+)\)/(?= |\Z)", re.IGNORECASE | re.ASCII)
_NAME = "WordOfAShape"
_STAND_IN = re.compile(rf"{_NAME}(\d+)z")


def split_query(text: str) -> tuple[str, list[str]] | None:
    """Return the shape of a query and its words, or None without words.

    The words of an alternation, ``/(foo|bar)/``, have a shape of their own, as the parser has none for them.
    """
    match = _ALTERNATION.search(text) if "/(" in text else None
    if match is None:
        return split_words(text)
    words = match[1].split("|")
    shape = f"{text[: match.start()]}/(|{len(words)})/{text[match.end() :]}"
    # The words are told apart by their number alone, so an alternation with more words beside it is not supported.
    return (shape, words) if split_words(shape) is None else None


def split_words(text: str) -> tuple[str, list[str]] | None:
    """Return the shape of a query and the words that its stand-ins replace, or None without such words."""
    # The texts between words, with the words at odd places.
    parts = _WORD.split(text)
    if len(parts) == 1 or _NAME in text:
        return None
    words = parts[1::2]
    parts[1::2] = [f"{_NAME}{number}z" for number in range(len(words))]
    return "".join(parts), words


def has_stand_in(text: str) -> bool:
    """Return whether a text holds a stand-in for a word."""
    return _NAME in text


def is_replaceable(shape: Query, words: int) -> bool:
    """Return whether a tree with other words is that of the query with these words.

    Parameters
    ----------
    shape
        The query of a shape.
    words
        Its number of stand-ins. Each must be part of a literal: in a regular expression or a filter, a word may change
        how the query is checked.
    """
    leaves = [] if shape.root is None or isinstance(shape.root, Filter | Predicate) else patterns_of(shape.root)
    stand_ins = [leaf for leaf in leaves if _NAME in leaf.value]
    return (
        all(leaf.kind == "literal" for leaf in stand_ins)
        and sum(leaf.value.count(_NAME) for leaf in stand_ins) == words
    )


def fill(shape: Query, text: str, words: Sequence[str]) -> Query:
    """Return the query `text` of a known shape. It shares the filters of that shape, which are the same objects."""
    nodes_by_id: dict[int, Node] = {}
    root = None if shape.root is None else _fill_term(shape.root, words, nodes_by_id)
    plan = [_with_words(alternative, words, nodes_by_id) for alternative in shape.plan]
    return Query(text, shape.pattern_type, root, tuple(plan))


def _with_words(alternative: Alternative, words: Sequence[str], nodes_by_id: dict[int, Node]) -> Alternative:
    pattern = None if alternative.pattern is None else _fill_term(alternative.pattern, words, nodes_by_id)
    boost = alternative.boost and fill_text(alternative.boost, words)
    return replace(alternative, pattern=pattern, boost=boost)  # type: ignore[arg-type]  # a pattern stays one


def fill_text(text: str, words: Sequence[str]) -> str:
    """Return a text with words for its stand-ins."""
    return _STAND_IN.sub(lambda match: words[int(match[1])], text)


def _fill_term(node: Node, words: Sequence[str], nodes_by_id: dict[int, Node]) -> Node:
    """Return a node with words for its stand-ins; a node of several alternatives stays one object."""
    if isinstance(node, Filter | Predicate):
        return node
    if id(node) in nodes_by_id:
        return nodes_by_id[id(node)]

    result: Node
    if isinstance(node, Pattern):
        result = Pattern(fill_text(node.value, words), node.kind, node.negated, node.quoted, node.content)
    else:
        result = type(node)(tuple([_fill_term(arg, words, nodes_by_id) for arg in node.args]))

    nodes_by_id[id(node)] = result
    return result
