"""Quote values and patterns so that they read as themselves inside a query."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from sourcelight.core.errors import QueryError
from sourcelight.core.query.fields import PREDICATE_NAMES
from sourcelight.core.query.syntax.lexer import RawFilter, RawPattern
from sourcelight.core.query.syntax.parser import Group, Raw, parse_tree

_CONTROLS = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
"""Escapes of control characters within quotes."""

_SLASHED = re.compile(r"\\(?=[\\/nrt]|\Z)|/")
_MUST_ESCAPE = re.compile(r"""\\(?=[\\"nrt]|\Z)|\"""")  # other escapes inside a pattern's quotes stay as they are
_OPEN_MARK = re.compile(r"""(["'/])(?:(?!\1)[^\\]|\\.)*\\?""", re.DOTALL)  # a later term may close it
_SAFE_VALUE = re.compile(r"(?:[\w./^$@:*+|-]|\\[.\w+-])+", re.ASCII)


def quote_value(value: str) -> str:
    r"""Return `value` as it is written after a filter's colon: unchanged, or in double quotes with escapes.

    Examples
    --------
    >>> quote_value(r"^github\.com/a/b$")
    '^github\\.com/a/b$'
    >>> quote_value("5 days ago")
    '"5 days ago"'
    """
    # Only fields with predicates read a value in a way of their own; all others read it alike.
    is_plain = value and all(is_plain_value(field, value) for field in PREDICATE_NAMES)
    return value if is_plain else in_quotes(value)


def quote_pattern(text: str) -> str:
    """Return `text` as one literal of keyword search: as it is when that is safe anywhere, else in double quotes."""
    return text if text and read_alone(text, "keyword") == text else in_quotes(text)


def slash_regexp(regexp: str) -> str:
    """Return the regular expression between slashes, as keyword, standard and regexp search read it."""
    return f"/{_SLASHED.sub(lambda match: chr(92) + match.group(), regexp)}/"


def in_quotes(text: str, *, few_escapes: bool = False) -> str:
    """Return `text` in double quotes; `few_escapes`, for patterns only, escapes no more than it must."""
    if few_escapes:
        escaped = _MUST_ESCAPE.sub(lambda match: "\\" + match.group(), text)
    else:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    for char, escape in _CONTROLS.items():
        escaped = escaped.replace(char, escape)
    return f'"{escaped}"'


@lru_cache(maxsize=1 << 12)
def is_plain_value(field: str, value: str) -> bool:
    """Return whether the parser reads `value` without quotes as one value, wherever its filter occurs."""
    if _SAFE_VALUE.fullmatch(value):  # spares six parses for each repository of a large answer
        return True
    return _value_between(f"{field}:{value}") == value


def _value_between(text: str) -> str | None:
    value = None
    for wrapped, terms in ((f"(x {text} x)", 3), (f"(x {text})", 2)):
        term = second_term(wrapped, "keyword", terms=terms)
        if not isinstance(term, RawFilter) or term.quoted or term.predicate is not None:
            return None
        value = term.value
    return value


def read_alone(text: str, pattern_type: str) -> str | None:
    """Return how a term `text` between any two others is read, None when it isn't one plain positive term."""
    value = None
    for wrapped, terms in ((f"(x and {text} and x)", 3), (f"(x and {text})", 2)):
        term = second_term(wrapped, pattern_type, terms=terms)
        if not isinstance(term, RawPattern) or term.quoted or term.slashed or term.negated:
            return None
        value = term.value
    return None if _OPEN_MARK.fullmatch(text) else value


def second_term(text: str, pattern_type: str, *, terms: int) -> Raw | None:
    """Return the second of the `terms` terms of `text`, None when it has another number of them."""
    try:
        tree = parse_tree(text, pattern_type)
    except QueryError:
        return None
    leaves = sorted(_flat([tree]), key=lambda term: term.start) if tree is not None else []
    return leaves[1] if len(leaves) == terms else None


def _flat(trees: Iterable[Raw]) -> Iterable[RawFilter | RawPattern]:
    for tree in trees:
        if isinstance(tree, Group):
            yield from _flat(tree.args)
        else:
            yield tree
