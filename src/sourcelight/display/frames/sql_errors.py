"""Errors of DuckDB as messages of `sql`, with a correction. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

_TABLE = re.compile(r"Table with name (\S+) does not exist")
_COLUMN = re.compile(
    r"Referenced (?:column|table) \"([^\"]+)\" not found|does not have a column named \"([^\"]+)\"|"
    r"column \"([^\"]+)\" does not exist"
)
_FUNCTION = re.compile(r"(?:Scalar |Aggregate |Table )?Function with name (\S+) does not exist", re.IGNORECASE)
_GROUP = re.compile(r"column \"([^\"]+)\" must appear in the GROUP BY clause")
_SYNTAX = re.compile(r"syntax error at or near \"([^\"]*)\"|syntax error at end of input")
_SHUT = re.compile(r"disabled by configuration|Permission Error|locked", re.IGNORECASE)
_TYPES = re.compile(r"No function matches the given name and argument types '([^'(]+)\(([^']*)\)'")
_KIND = re.compile(r"^[A-Z][A-Za-z ]* Error: ")
"""The kind of an error at the start of its message: ``Binder Error: ``."""

_MAX_COLUMNS = 30
"""Columns of a table that a message lists."""

_MIN_SIMILARITY = 0.6
"""Share of equal letters, as `difflib` measures it, from which another name is suggested."""


def explain_error(message: str, query: str, tables: Mapping[str, Sequence[str]]) -> str:
    """Return the fault of a statement, and how to write it.

    Parameters
    ----------
    message
        DuckDB's message.
    query
        The statement.
    tables
        Columns of each table that the statement can read.
    """
    # The first form that fits: the message about GROUP BY names a column, too.
    forms = (_table_error, _group_error, _column_error, _function_error, _syntax_error, _type_error, _access_error)
    for form in forms:
        text = form(message, query, tables)
        if text:
            return text

    first_line = message.strip().partition("\n")[0]
    return _KIND.sub("", first_line)


def _table_error(message: str, _query: str, tables: Mapping[str, Sequence[str]]) -> str:
    match = _TABLE.search(message)
    if match is None:
        return ""
    return f"unknown table {match[1]!r}{_suggest(match[1], list(tables))}; tables: {', '.join(tables)}"


def _group_error(message: str, _query: str, _tables: Mapping[str, Sequence[str]]) -> str:
    match = _GROUP.search(message)
    if match is None:
        return ""
    name = match[1]
    return f"column {name!r} is neither grouped nor aggregated; add it to GROUP BY, or write any_value({name})"


def _column_error(message: str, query: str, tables: Mapping[str, Sequence[str]]) -> str:
    match = _COLUMN.search(message)
    if match is None:
        return ""

    name = next(group for group in match.groups() if group)
    columns: dict[str, None] = {}  # in order, each once
    for table in _used_tables(query, tables):
        columns.update(dict.fromkeys(tables[table]))

    return f"unknown column {name!r}{_suggest(name, list(columns))}; {_list_columns(query, tables)}"


def _function_error(message: str, _query: str, _tables: Mapping[str, Sequence[str]]) -> str:
    match = _FUNCTION.search(message)
    return f"DuckDB has no function {match[1]!r}{_own_suggestion(message)}" if match else ""


def _syntax_error(message: str, _query: str, _tables: Mapping[str, Sequence[str]]) -> str:
    match = _SYNTAX.search(message)
    if match is None:
        return ""
    position = f"at {match[1]!r}" if match[1] else "at its end"
    return f"the statement can't be read {position}{_marked_line(message)}"


def _type_error(message: str, _query: str, _tables: Mapping[str, Sequence[str]]) -> str:
    match = _TYPES.search(message)
    if match is None:
        return ""
    types = match[2].replace("_LITERAL", "")
    return f"{match[1]!r} can't take {types}; convert with CAST(… AS …)"


def _access_error(message: str, _query: str, tables: Mapping[str, Sequence[str]]) -> str:
    if _SHUT.search(message) is None:
        return ""
    return f"the statement reads or changes something outside of its tables; it can read {', '.join(tables)} alone"


def _used_tables(query: str, tables: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the tables that a statement names; all where it names none."""
    tokens = set(re.findall(r"\w+", query.casefold()))
    return [name for name in tables if name.casefold() in tokens] or list(tables)


def _list_columns(query: str, tables: Mapping[str, Sequence[str]]) -> str:
    texts = []
    for name in _used_tables(query, tables):
        columns = list(tables[name])
        remainder = f" and {len(columns) - _MAX_COLUMNS} more" if len(columns) > _MAX_COLUMNS else ""
        texts.append(f"columns of {name}: {', '.join(columns[:_MAX_COLUMNS])}{remainder}")
    return "; ".join(texts)


def _suggest(name: str, names: Sequence[str]) -> str:
    """Return a question for the name that was probably meant, or nothing."""
    lowered = name.casefold()
    near = [candidate for candidate in names if candidate.casefold().startswith(lowered)]
    if not near:
        near = difflib.get_close_matches(lowered, names, n=1, cutoff=_MIN_SIMILARITY)
    return f"; did you mean {near[0]!r}?" if near else ""


def _own_suggestion(message: str) -> str:
    """Return DuckDB's suggestion in the same form, or nothing."""
    match = re.search(r"Did you mean \"([^\"]+)\"", message)
    return f"; did you mean {match[1]!r}?" if match else ""


def _marked_line(message: str) -> str:
    """Return the line of the statement with the mark below it, as DuckDB sets them."""
    match = re.search(r"^LINE \d+: (.*)\n( *)\^", message, re.MULTILINE)
    if match is None:
        return ""
    indent = max(len(match[2]) - (match.start(1) - match.start()), 0)
    return f"\n{match[1]}\n{' ' * indent}^"
