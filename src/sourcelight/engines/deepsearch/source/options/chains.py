"""Read defaults in chains of calls, whose names are those of libraries for options, settings and schemas.

Arg::new("port")                clap: the calls below describe the option of the first line
    .default_value("8080")
->integerNode('port')           Symfony: the calls behind a node, up to the next one
    ->defaultValue(8080)
z.number().default(5)           zod and others: a call behind the name of the option
Expect::int(8080)               Nette: a type takes the default, unless a call behind it changes that
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.source.options.scanner import MAX_LINE, DescribedValue

_MAX_CHAIN = 16
"""Lines of a chain of calls that are read."""

LITERAL = r"(?:-?\d[\w.]*|\"[^\"\n]{0,80}\"|'[^'\n]{0,80}'|(?i:true|false))"
"""A number, a short text or a truth value."""

_CHAIN_HEAD = re.compile(
    r"\b(?:[Aa]rg|[Oo]pt(?:ion)?|[Ff]lag|[Aa]rgument)(?:::\w{1,20})?\(\s*[\"'](?:-\w\W{1,3})?(?:--)?"
    r"(?P<name>[A-Za-z][\w-]{0,60})[^\"'\n]{0,60}[\"'][^()\n]{0,200}\)\s*$"
)
"""The first line of an option that calls below describe: ``Arg::new("port")`` of clap."""

_CHAINED = re.compile(rf"(?:\.|->)default(?:Value|_value|_value_t)?\(\s*(?P<value>{LITERAL}|[A-Z][A-Z\d_]+)\s*\)")
"""The call with the default: `.default_value("8080")`, `.default(MAX_SIZE)`."""

_NODE = re.compile(
    r"->(?:scalar|boolean|integer|float|enum|variable)Node\(\s*[\"'](?P<name>[A-Za-z][\w-]{0,60})[\"']\s*\)"
)
"""A node of a configuration tree of Symfony: `->integerNode('port')`."""

_OF_NODE = re.compile(
    rf"->default(?:(?P<truth>True|False|Null)\(\s*\)|Value\(\s*(?P<value>{LITERAL}|[A-Z][\w:]{{0,60}})\s*\))"
)
"""The default of a node, on its line or in the calls below: `->defaultTrue()`, `->defaultValue(8080)`."""

_END_OF_NODE = re.compile(r"->(?:end|\w{1,20}Node)\(")
"""The end of a node, or the beginning of the next one: `->end()`, `->scalarNode('host')`."""

_SCHEMA = re.compile(
    rf"Expect::(?:string|int|float|bool|array|list|mixed|scalar)\(\s*(?P<value>{LITERAL}|[A-Z][\w\\]{{0,60}}::[A-Z]\w{{0,60}})\s*\)"
)
"""An entry of a schema of Nette, whose types take the default as their argument: `Expect::int(8080)`."""

_CHANGES_SCHEMA = re.compile(r"->(?:default|required|dynamic|before|castTo|transform)\(")
"""A call that changes the default of such an entry, or forbids it: `->required()`."""


@dataclass(frozen=True, slots=True)
class OptionDefault:
    """The default of an option: its name, the value as written, and where both stand.

    Attributes
    ----------
    name
        The name of the option, without dashes before it.
    value
        As written, in one line.
    column
        Where the name begins, from 0.
    begin_line, end_line
        The lines of name and value, from 1.
    declared_line
        The line that has the name, if the value stands elsewhere; 0 otherwise.
    """

    name: str
    value: str
    column: int
    begin_line: int
    end_line: int
    declared_line: int = 0


def read_node(lines: Sequence[str], number: int) -> OptionDefault | None:
    """Return the node of a configuration tree on a line; None for one without a default."""
    node = _NODE.search(lines[number - 1])
    default = None if node is None else _default_of_node(lines, number, node.end())
    if node is None or default is None:
        return None
    return OptionDefault(node["name"], default.value, node.start("name"), number, default.line)


def _default_of_node(lines: Sequence[str], number: int, column: int) -> DescribedValue | None:
    """Return the default that the calls behind a node give it; None where the node ends first."""
    for below in range(number, min(number + _MAX_CHAIN, len(lines)) + 1):
        text = lines[below - 1][column:] if below == number else lines[below - 1]
        if len(text) > MAX_LINE or (below > number and not text.lstrip().startswith("->")):
            return None

        # A call in a text, as in `info("use ->defaultValue(3)")`, ends here too: the text has an odd number of marks.
        default = _OF_NODE.search(text)
        if default is not None and any(text[: default.start()].count(mark) % 2 for mark in "\"'"):
            return None

        end = _END_OF_NODE.search(text)
        if default is not None and (end is None or default.start() < end.start()):
            return DescribedValue(default["value"] or default["truth"].lower(), below)
        if end is not None:
            return None

    return None


def read_chain(lines: Sequence[str], number: int) -> OptionDefault | None:
    """Return the option that a line begins; None if no call below gives it a default."""
    head = _CHAIN_HEAD.search(lines[number - 1])
    default = None if head is None else _default_of_chain(lines, number)
    if head is None or default is None:
        return None
    return OptionDefault(head["name"], default.value, head.start("name"), number, default.line)


def _default_of_chain(lines: Sequence[str], number: int) -> DescribedValue | None:
    """Return the default that the calls below a line (from 1) give an option, each on a line that begins with a dot."""
    for below in range(number + 1, min(number + _MAX_CHAIN, len(lines)) + 1):
        text = lines[below - 1]
        if len(text) > MAX_LINE or not text.lstrip().startswith("."):
            return None

        default = _CHAINED.match(text.lstrip())
        if default is not None:
            return DescribedValue(default["value"], below)

    return None


def chained_default(lines: Sequence[str], number: int, column: int, opening: re.Match[str]) -> DescribedValue | None:
    """Return the default that a chain gives, which begins in a column of a line (from 1) with `opening`."""
    text = lines[number - 1]
    schema = _SCHEMA.match(text, column)
    if schema is not None and not _is_schema_changed(lines, number, schema.end()):
        return DescribedValue(schema["value"], number)

    chained = _CHAINED.search(text, opening.end())
    if chained is not None and opening[0].endswith("("):
        return DescribedValue(chained["value"], number)
    return None


def _is_schema_changed(lines: Sequence[str], number: int, column: int) -> bool:
    """Return whether calls behind an entry of a schema, on its line or below, may change or forbid its default."""
    line_below = lines[number] if number < len(lines) else ""
    is_changed = _CHANGES_SCHEMA.search(lines[number - 1][column:]) is not None
    return is_changed or line_below.lstrip().startswith("->")
