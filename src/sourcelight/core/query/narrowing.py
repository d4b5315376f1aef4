"""Add filters to the text of a query, and check that the new text means the query and the filters.

Users see their queries again, so the text stays as it was typed wherever that is right. Each function makes the tree
that is meant and a few candidate texts; the first text that is read as this tree wins, and without one the text is
written from the tree. No text is trusted because of how it looks: quotes, parentheses and ``or`` may change its
meaning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

from sourcelight.core.errors import QueryError
from sourcelight.core.query.alternatives import alternatives
from sourcelight.core.query.build import Expression
from sourcelight.core.query.fields import ALIASES, PATTERN_TYPES
from sourcelight.core.query.normalize import combine
from sourcelight.core.query.parse import parse, read_tree
from sourcelight.core.query.syntax.nodes import Alternative, And, Filter, Node, Or, Pattern, Query
from sourcelight.core.query.syntax.quoting import quote_value

_MAX_POSITIONS = 20
"""Occurrences of a text in a query that are tried."""


def narrow(query: Query, filters: Sequence[tuple[str, str]]) -> str:
    """Return text of `query` with filters added to every one of its alternatives.

    Parameters
    ----------
    query
        The query.
    filters
        Pairs of a field, with a dash in front when negated, and its value.

    Raises
    ------
    QueryError
        No text means the query with these filters.
    """
    if not filters:
        return query.text
    return add_filter(query, " ".join(f"{name}:{quote_value(value)}" for name, value in filters))


def add_filter(query: Query, addition: str, *, at_end: bool = False) -> str:
    """Return text of `query` and of the filters `addition`, which hold for every alternative.

    The text stays as it was typed if possible, with the filters in front of it. With `at_end` they go behind it, so
    that the positions in errors stay right. If filters beside the text would miss an alternative or change its meaning,
    the text is written from the tree, which means the same.

    Raises
    ------
    QueryError
        `addition` can't be parsed, or no text means both.
    """
    _, added = read_tree(addition, "keyword")
    nodes = [node for node in (added, query.root) if node is not None]
    if not nodes:
        return query.text

    candidates = []
    if at_end:
        candidates += [f"{query.text} {addition}".strip(), f"({query.text}) {addition}"]
    candidates += [f"{addition} {query.text}".strip(), f"{addition} ({query.text})"]
    return _write(combine("and", nodes), query.pattern_type, candidates)


def add_filter_text(text: str, pattern_type: str, addition: str) -> str:
    """Return a query with the filters `addition`, as `add_filter` does, for a text that may be invalid without them.

    Raises
    ------
    QueryError
        `text` or `addition` can't be read, or no text means both.
    """
    effective, root = read_tree(text, pattern_type)
    # Only the result is validated: `author:`, for example, is invalid until `type:commit` is added.
    combined = add_filter(Query(text=text, pattern_type=effective, root=root, plan=()), addition)
    parse(combined, pattern_type)
    return combined


def with_timeout(text: str, pattern_type: str | None, version: str, timeout_s: float | None) -> str:
    """Return text of a query with a ``timeout:`` filter of `timeout_s` seconds in every alternative that has none.

    Parameters
    ----------
    text, pattern_type, version
        The query, and how it is read.
    timeout_s
        Seconds; None leaves the text as it is.

    Raises
    ------
    QueryError
        No text means the query with this filter. A text that can't be parsed here raises no error; it is returned
        unchanged, for the service to read.
    """
    if timeout_s is None:
        return text

    try:
        query = parse(text, pattern_type, version=version)
    except QueryError:
        return text

    duration = f"{max(1, round(timeout_s * 1000))}ms"
    limited = [alternative.first("timeout") is not None for alternative in query.plan]
    if not any(limited):
        return add_filter(query, f"timeout:{duration}", at_end=True)
    if all(limited):
        return text

    # Some alternatives have a timeout and others don't: no text in front reaches only the latter.
    parts = []
    for alternative, has_timeout in zip(query.plan, limited, strict=True):
        nodes: list[Node] = [*alternative.filters]
        if not has_timeout:
            nodes.insert(0, Filter("timeout", duration))
        if alternative.pattern is not None:
            nodes.append(alternative.pattern)
        parts.append(combine("and", nodes))

    return str(Expression(combine("or", parts)))


def replace_filter(query: Query, name: str, value: str) -> str:
    """Return text of `query` with the filter ``name:value`` in every alternative, instead of those on the same field.

    Raises
    ------
    QueryError
        No text means that.
    """
    remaining = _without(query.root, {name})
    replacement = f"{name}:{quote_value(value)}"
    nodes: list[Node] = [Filter(name, value)]
    if remaining is not None:
        nodes.append(remaining)

    # Without a filter to replace, what was typed comes first.
    if remaining == query.root:
        text = query.text
        candidates = [f"{text} {replacement}", f"{replacement} {text}"]
    else:
        text = _without_filters(query.text, {name})
        candidates = [f"{replacement} {text}"]

    candidates += [f"({text}) {replacement}", f"{replacement} ({text})"]
    return _write(combine("and", nodes), query.pattern_type, [candidate.strip() for candidate in candidates])


def without_filters(query: Query, names: Collection[str]) -> str:
    """Return text of `query` without its filters on the fields `names`; empty when nothing else is in it.

    Raises
    ------
    QueryError
        No text means that.
    """
    remaining = _without(query.root, names)
    if remaining is None:
        return ""
    if remaining == query.root:
        return query.text
    return _write(remaining, query.pattern_type, (_without_filters(query.text, names),))


def with_pattern(query: Query, pattern: Pattern, node: Node, typed: str, replacement: str) -> str:
    """Return text of `query` with `node` instead of a pattern, at any position.

    Parameters
    ----------
    query
        The query.
    pattern
        Pattern of the query to replace.
    node
        Node to put in its place.
    typed, replacement
        Part of the text, and a text that could replace it. If this replacement is enough, the rest of the text stays.

    Raises
    ------
    QueryError
        The query has no such pattern, or no text expresses the change.
    """
    changed = None if query.root is None else _replace(query.root, pattern, node)
    if changed is None or changed == query.root:
        raise QueryError(f"the query has no pattern {pattern.value}", query=query.text, stage="parse")

    return _write(changed, query.pattern_type, _replaced_texts(query.text, typed, replacement))


def _replaced_texts(text: str, typed: str, replacement: str) -> Iterator[str]:
    """Yield `text` with one occurrence of `typed` replaced, each in turn, and then with all of them."""
    if typed:
        for match in islice(re.finditer(re.escape(typed), text), _MAX_POSITIONS):
            yield text[: match.start()] + replacement + text[match.end() :]

    yield text.replace(typed, replacement)


def with_choice(query: Query, name: str, values: Sequence[str]) -> str:
    """Return the text of `query` with its filters on a field replaced by one: a match has any of `values`.

    Raises
    ------
    QueryError
        The query has several alternatives, or no text means that.
    """
    args: Sequence[Node] = ()
    if isinstance(query.root, And):
        args = query.root.args
    elif query.root is not None:
        args = (query.root,)

    selected = [arg for arg in args if isinstance(arg, Filter) and arg.name == name and not arg.negated]
    remaining = [arg for arg in args if arg not in selected]
    if not selected or len(query.plan) > 1:
        raise QueryError(f"the query has no {name}: filter, or several alternatives", query=query.text, stage="parse")

    choice = combine("or", [Filter(name, value) for value in values])
    choice_text = " or ".join(f"{name}:{quote_value(value)}" for value in values)
    if len(values) > 1:
        choice_text = f"({choice_text})"

    candidate = f"{choice_text} {_without_filters(query.text, {name})}"
    return _write(combine("and", [choice, *remaining]), query.pattern_type, [candidate])


def in_pattern_type(text: str, pattern_type: str) -> str:
    """Return text that means in any search what `text` means in `pattern_type`.

    Raises
    ------
    QueryError
        `text` has no meaning in that type, or no text says so.
    """
    query = parse(text, pattern_type)
    type_filter = Filter("patterntype", pattern_type)
    node = type_filter if query.root is None else combine("and", [type_filter, query.root])
    type_text = f"patternType:{pattern_type}"
    candidates = (f"{text} {type_text}", f"({text}) {type_text}", f"{type_text} {text}", f"{type_text} ({text})")
    return _write(node, pattern_type, candidates, requested=PATTERN_TYPES)


def _write(node: Node, pattern_type: str, candidates: Iterable[str], *, requested: Sequence[str] = ()) -> str:
    """Return the first of `candidates` that means `node`, else a text made from `node`.

    Parameters
    ----------
    node, pattern_type
        What the text must mean, read in this pattern type.
    candidates
        Texts to try.
    requested
        Pattern types of searches in which the text must have `pattern_type`, because it says so itself.
    """
    # Parentheses, quotes and `or` can change the meaning, so each candidate is parsed and compared.
    expected = _meaning(alternatives(node, "", pattern_type))
    for text in candidates:
        try:
            query = parse(text, pattern_type)
            types = {parse(text, requested_type).pattern_type for requested_type in requested}
        except QueryError:
            continue

        types.add(query.pattern_type)
        if types == {pattern_type} and _meaning(query.plan) == expected:
            return text

    return str(Expression(node))


def _without_filters(text: str, names: Collection[str]) -> str:
    """Return `text` without apparent filters on `names`, also in quotes and slashes, to be parsed again."""
    fields = "|".join(alias for alias, name in ALIASES.items() if name in names)
    return re.sub(rf"""(?i)(?<![^\s(])-?(?:{fields}):(?:"[^"]*"|'[^']*'|[^\s()]*)\s*""", "", text).strip()


def _without(node: Node | None, names: Collection[str]) -> Node | None:
    """Return a tree without its filters on `names`; None if nothing else is in it."""
    if isinstance(node, Filter) and node.name in names:
        return None
    if not isinstance(node, And | Or):
        return node

    args = []
    for arg in node.args:
        remaining = _without(arg, names)
        if remaining is not None:
            args.append(remaining)

    return combine(_operator(node), args) if args else None


def _replace(node: Node, pattern: Pattern, replacement: Node) -> Node:
    """Return a tree with `replacement` for each pattern equal to `pattern`."""
    if isinstance(node, And | Or):
        return combine(_operator(node), [_replace(arg, pattern, replacement) for arg in node.args])
    return replacement if node == pattern else node


def _operator(node: And | Or) -> Literal["and", "or"]:
    return "and" if isinstance(node, And) else "or"


def _meaning(plan: Iterable[Alternative]) -> list[tuple[list[str], str]]:
    """Return a value that is the same only for alternatives that mean the same, in any order."""
    return sorted((sorted(map(_bare, item.filters)), _bare(item.pattern)) for item in plan)


def _bare(node: object) -> str:
    # Whether a value is in quotes is part of a node, but not of its meaning.
    return repr(node).replace("quoted=True", "quoted=False")
