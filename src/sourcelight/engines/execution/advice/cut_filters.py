"""Find filters that an unclosed parenthesis cut short or made text, and signs of patterns that are read as others.

The language allows both and does not mention it: a parenthesis that is never closed is text, as in ``foo(``, which is
how people type the name of a function. In front of a filter it takes the filter with it, and inside a value it ends
the value, so that a query searches for other things than its author sees in it.

`sourcelight.engines.execution.advice.proposals` formats the advice.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from sourcelight.core.errors import QueryError
from sourcelight.core.query import Query
from sourcelight.core.query.fields import ALIASES
from sourcelight.core.query.normalize import escape_bare_parens
from sourcelight.core.query.syntax.lexer import Lexer, RawPattern
from sourcelight.core.query.syntax.parser import Group, Raw, parse_tree

_IN_GROUP = re.compile(r"\(+(-?)([A-Za-z]+):")
"""A filter behind parentheses: ``(-repo:``."""

_SLASHED_TEXT = re.compile(r"(?:[^\\/]+|\\.)*", re.DOTALL)
"""A text between slashes, up to the second slash."""

# Two backslashes, or six, are one that escapes the next character; of three, the last escapes it already.
_DOUBLED = re.compile(r"(?<!\\)(?:\\{4})*\\{2}(?!\\)")


def cut_filters(query: Query) -> Iterator[tuple[str, str]]:
    """Yield (message, fix) for each filter of which a ``(`` without its ``)`` left only a part, or nothing."""
    if query.text.count("(") == query.text.count("\\(") or query.root is None:
        return
    yield from _cut_filters(query.text, query.pattern_type)


# A search reads its notices twice: once for itself, and before its plan is stored for other searches.
@functools.lru_cache(maxsize=64)
def _cut_filters(text: str, pattern_type: str) -> tuple[tuple[str, str], ...]:
    patterns = _patterns_of(text, pattern_type)
    if patterns is None:
        return ()
    return (*_in_groups(patterns), *_cut_values(text, pattern_type))


def _in_groups(patterns: Iterable[RawPattern]) -> Iterator[tuple[str, str]]:
    for pattern in patterns:
        if not (pattern.quoted or pattern.slashed) and _names_filter(pattern.value):
            yield f"`{pattern.value}` is read as text: its parenthesis is never closed", "close the parenthesis"


def _names_filter(text: str) -> bool:
    """Return whether a term is a filter behind parentheses: ``(repo:a``."""
    match = _IN_GROUP.match(text)
    return match is not None and match[2].lower() in ALIASES


def escaped_parentheses(query: Query) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, message, fix) for each bare regular expression of which a parenthesis is read as text.

    The language defines this for ``()`` and for a ``(`` at the end, wherever the pattern type comes from.
    """
    if query.pattern_type != "regexp" or "(" not in query.text or query.root is None:
        return

    for pattern in _patterns_of(query.text, query.pattern_type) or ():
        if pattern.kind != "regexp" or pattern.slashed:
            continue

        escaped = escape_bare_parens(pattern.value)
        if escaped == pattern.value:
            continue

        # Only a `(` at the end is escaped alone.
        unclosed = escaped.count("\\)") == pattern.value.count("\\)")
        kind, problem = ("unclosed-as-text", "is never closed") if unclosed else ("empty-as-text", "holds nothing")
        message = f"`{pattern.value}` is read as `{escaped}`: a parenthesis that {problem} is text"
        yield kind, message, f"write `{escaped}` to make that clear, or complete the group"


def unclosed_groups(query: Query) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, message, fix) for each term that looks like the start of a group: ``(a or b``.

    Without AND or OR, ``(a`` may be a text that somebody looks for.
    """
    if query.text.count("(") <= query.text.count(")") or query.root is None:
        return

    nodes = _nodes_of(query.text, query.pattern_type) or []
    if not any(isinstance(node, Group) and node.kind in {"and", "or"} for node in nodes):
        return

    for pattern in nodes:
        if not isinstance(pattern, RawPattern):
            continue
        text = pattern.value
        if pattern.quoted or pattern.slashed or not text.startswith("(") or text.count("(") <= text.count(")"):
            continue
        if not _names_filter(text):  # `cut_filters` says more of these
            message = f"`{text}` is read as text: its parenthesis is never closed"
            yield "unclosed-as-text", message, "close the parenthesis, or quote the text"


def doubled_backslashes(query: Query) -> Iterator[tuple[str, str, str]]:
    """Yield (kind, message, fix) for each regular expression between slashes with two backslashes, which are one there.

    The language defines this: only after it has read the slashes, an expression is an expression.
    """
    if "\\\\" not in query.text or query.root is None:
        return

    for pattern in _patterns_of(query.text, query.pattern_type) or ():
        if not pattern.slashed:
            continue

        text = match[0] if (match := _SLASHED_TEXT.match(query.text, pattern.value_start)) else ""
        if _DOUBLED.search(text):
            message = (
                f"between slashes, two backslashes are one: `/{text}/` is the regular expression `{pattern.value}`"
            )
            yield "doubled-backslash", message, r"write four, `\\\\`, to find a backslash"


def _cut_values(text: str, pattern_type: str) -> Iterator[tuple[str, str]]:
    # The tree omits filters without a value, so these are searched for in the text.
    lexer = Lexer(text, pattern_type, plain_parens=True)
    position = lexer.skip_white(0)
    while position < len(text):
        term = lexer.negation(position) or position
        try:
            filtered = lexer.filter(term)
            end = filtered[1] if filtered is not None else lexer.pattern(term)[1]
        except QueryError:
            return

        # The lexer ends a value at a parenthesis that isn't balanced.
        if filtered is not None and end < len(text) and text[end] == "(":
            leaf = filtered[0]
            if not leaf.quoted and leaf.predicate is None:
                dash = "-" if leaf.negated else ""
                effect = f"only `{leaf.value}` is its value" if leaf.value else "it is ignored"
                message = (
                    f"is followed by a parenthesis that is never closed, so {effect} and the rest is searched as text"
                )
                fix = f'close the parenthesis, or quote the value: {dash}{leaf.field}:"…"'
                yield f"`{dash}{leaf.field}:` {message}", fix

        position = lexer.skip_white(max(end, position + 1))


def _patterns_of(text: str, pattern_type: str) -> list[RawPattern] | None:
    """Return the patterns of a query as written, in order, or None when the text can't be parsed."""
    nodes = _nodes_of(text, pattern_type)
    return None if nodes is None else [node for node in nodes if isinstance(node, RawPattern)]


def _nodes_of(text: str, pattern_type: str) -> list[Raw] | None:
    """Return all parts of a query as written, a group before its parts, or None when the text can't be parsed."""
    try:
        tree = parse_tree(text, pattern_type)
    except QueryError:
        return None

    nodes: list[Raw] = []
    pending: list[Raw] = [] if tree is None else [tree]
    while pending:
        node = pending.pop()
        nodes.append(node)
        if isinstance(node, Group):
            pending.extend(reversed(node.args))

    return nodes
