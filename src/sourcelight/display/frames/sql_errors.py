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
_MAX_COLUMNS = 30


def explain_error(  # noqa: PLR0911 - one for each kind of error
    message: str, query: str, tables: Mapping[str, Sequence[str]]
) -> str:
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
    if match := _TABLE.search(message):
        return f"unknown table {match[1]!r}{_near(match[1], list(tables))}; tables: {', '.join(tables)}"
    if match := _GROUP.search(message):
        name = match[1]
        return f"column {name!r} is neither grouped nor aggregated; add it to GROUP BY, or write any_value({name})"
    if match := _COLUMN.search(message):
        name = next(group for group in match.groups() if group)
        return f"unknown column {name!r}{_near(name, _columns(query, tables))}; {_list_columns(query, tables)}"
    if match := _FUNCTION.search(message):
        return f"DuckDB has no function {match[1]!r}{_suggestion(message)}"
    if match := _SYNTAX.search(message):
        position = f"at {match[1]!r}" if match[1] else "at its end"
        return f"the statement can't be read {position}{_marked_line(message)}"
    if match := _TYPES.search(message):
        return f"{match[1]!r} can't take {match[2].replace('_LITERAL', '')}; convert with CAST(… AS …)"
    if _SHUT.search(message):
        return f"the statement reads or changes something outside of its tables; it can read {', '.join(tables)} alone"

    return _KIND.sub("", message.strip().partition("\n")[0])


def _columns(query: str, tables: Mapping[str, Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(column for name in _used_tables(query, tables) for column in tables[name]))


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


def _near(name: str, names: Sequence[str]) -> str:
    close_names = [candidate for candidate in names if candidate.casefold().startswith(name.casefold())]
    close_names = close_names or difflib.get_close_matches(name.casefold(), names, 1, 0.6)
    return f"; did you mean {close_names[0]!r}?" if close_names else ""


def _suggestion(message: str) -> str:
    match = re.search(r"Did you mean \"([^\"]+)\"", message)
    return f"; did you mean {match[1]!r}?" if match else ""


def _marked_line(message: str) -> str:
    """Return the line of the statement with the mark below it, as DuckDB sets them."""
    match = re.search(r"^LINE \d+: (.*)\n( *)\^", message, re.MULTILINE)
    if match is None:
        return ""
    indent = max(len(match[2]) - (match.start(1) - match.start()), 0)
    return f"\n{match[1]}\n{' ' * indent}^"
