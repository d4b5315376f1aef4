"""Read lists of parameters and arguments: the name and the value of each, in the notations of many languages.

Items of a list are expressions between commas. An item is split into a name, a type and a value by signs that differ by
language: ``size: int = 5``, ``int size = 5``, ``size int``, ``size: 5``. Where a list gives types alone, no names are
made up.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sourcelight.engines.deepsearch.source.function_heads import parameter_block
from sourcelight.engines.deepsearch.source.value_ends import join_types, split_column
from sourcelight.engines.deepsearch.source.values.expressions import (
    CLOSING,
    MAX_LINES,
    SourceExpression,
    blank_brackets,
    in_one_line,
    read_expression,
)

ASSIGNED = re.compile(r"(?::=|\\\\|(?<![=!<>+\-*/%&|^~:])=(?![=>~]))")
"""An equals sign that assigns, and isn't part of `==`, `<=`, `+=`, `=>` or `=~`."""

_MAX_ITEMS = 200
"""Items of a list that are read."""

_HEAD_BEFORE_LIST = re.compile(
    r"\*?\s*+(?:<[^()]*>|\[[^()]*\])?\s*+(?:(?:=|<-)\s*+(?:async\s++)?(?:function\b\s*+\w*+)?\s*+)?\("
)
"""Text between a name and its list: nothing, type parameters, the function that the name is set to, a star of Nim."""

_NAME_FIRST = re.compile(r"[*&.]{0,3}\s*(?P<name>[A-Za-z_$][\w$]*)\s*\??\s*(?::|$)")
"""A name before a type: `size: int`, `*args`, `size?: number`."""

_NAME_LAST = re.compile(r"(?P<name>[A-Za-z_$][\w$]*)\s*(?:\[\w*\])?\s*$")
"""A name behind a type: `const char *name`, `int sizes[4]`."""

_SWIFT_NAME = re.compile(r"(?:@\w+\s+)*(?:\w+\s+)?`?(?P<name>\w+)`?\s*:")
"""A name of Swift, which a label may precede: `by size:`."""

_GO_NAME = re.compile(r"(?P<name>[A-Za-z_]\w*)")
_GO_NAME_AND_TYPE = re.compile(r"[A-Za-z_]\w*\s+\S")
"""A parameter of Go with a name: `size int`."""

_TYPE_AND_NAME = re.compile(r"[\w>*&\].]\s+[*&]*\w|[*&]\s*\w")
"""A type with a name behind it: `int size`, `char *name`."""

_LAST_NAME = re.compile(r"(?P<name>[A-Za-z_$][\w$]*)\s*\??\s*(?:\[\s*\])*\s*$")
"""The last name of a head: `size`, `sizes[]`, `size?`."""

_TYPE_FIRST = re.compile(r"\.(?:c|h|cc|cpp|cxx|hh|hpp|java|cs|m|mm|dart)$")
"""Languages whose names are behind their types."""

_NO_PARAMETER = frozenset({"", "/", "*", "...", "void", "&self", "&mut self", "mut self"})
"""Items of heads that are no parameters."""

_RECEIVERS = frozenset({"self", "cls"})
"""Parameters of methods that get the object or the class."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a head, or an argument of a call: name and value if it has them, its line, all of its text."""

    name: str
    value: str
    line: int
    text: str


class ParameterList(NamedTuple):
    """The items of a list, and its last line, from 1."""

    parameters: list[Parameter]
    end_line: int


def parameters_of(lines: Sequence[str], name: str, line: int, path: str) -> ParameterList | None:
    """Read the parameters of the function named on a line (from 1)."""
    if not 0 < line <= len(lines):
        return None

    match = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", lines[line - 1])
    if match is None:
        return None

    block = parameter_block(lines, line) if path.endswith((".ps1", ".psm1")) else None
    if block is not None:
        return read_parameters(lines, block.line - 1, block.column, path)

    number, column = line - 1, match.end()
    # The list may begin on the line below the name, but no later.
    for _ in range(2):
        opening = _HEAD_BEFORE_LIST.match(lines[number], column)
        if opening is not None:
            return read_parameters(lines, number, opening.end(), path)
        if lines[number][column:].strip() or number + 1 >= len(lines):
            return None
        number, column = number + 1, 0

    return None


def read_parameters(lines: Sequence[str], line: int, column: int, path: str) -> ParameterList | None:
    """Read a list from the place (from 0) behind its opening bracket; None if it doesn't end."""
    parameters: list[Parameter] = []
    # Behind a semicolon, parameters of Julia have names.
    separators = ",;" if path.endswith(".jl") else ","
    for _ in range(_MAX_ITEMS):
        start_line = _line_of_item(lines, line, column)
        expression = read_expression(lines, line, column, path, separators)
        if expression is None:
            return None

        if expression.text:
            parameters += _parameters_in(expression, lines, start_line, path)
        if expression.end in CLOSING:
            return ParameterList(parameters, expression.line + 1)

        line, column = expression.line, expression.column

    return None


def _line_of_item(lines: Sequence[str], line: int, column: int) -> int:
    """Return the line (from 0) on which the next item begins."""
    while line + 1 < len(lines):
        rest = lines[line][column:].strip()
        if rest and not rest.startswith(("#", "//", "\\")):
            break
        line, column = line + 1, 0
    return line


def _parameters_in(
    expression: SourceExpression, lines: Sequence[str], start_line: int, path: str
) -> Iterator[Parameter]:
    """Yield the parameter of an item that begins on a line (from 0), or those of a group of Dart."""
    text = in_one_line(expression.text)
    if path.endswith(".dart") and text[0] in "{[":
        yield from _grouped_parameters(text[1:-1], lines, start_line)
        return

    name, value = _split_parameter(text, path)
    # Attributes of PowerShell and decorators are on lines above the name.
    own_lines = (index for index in range(start_line, expression.line + 1) if name in lines[index])
    yield Parameter(name, value, next(own_lines, start_line) + 1, text)


def _grouped_parameters(text: str, lines: Sequence[str], start_line: int) -> Iterator[Parameter]:
    """Yield the named or optional parameters of Dart in brackets that begin on a line (from 0)."""
    ends = [*(match.start() for match in re.finditer(",", blank_brackets(text))), len(text)]
    texts = [text[previous:end].strip(" ,") for previous, end in itertools.pairwise([0, *ends])]
    near_lines = range(start_line, min(start_line + MAX_LINES, len(lines)))
    for item in join_types([item for item in texts if item]):
        name, value = _split_parameter(item)
        word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
        line = next((number for number in near_lines if word.search(lines[number])), start_line)
        yield Parameter(name, value, line + 1, item)


def _split_parameter(text: str, path: str = "") -> tuple[str, str]:
    """Split an item into its name and its value: ``name: type = value``, ``type name = value``, or a plain name."""
    if path.endswith((".sql", ".sql.in")):
        return split_column(text)

    assigned = ASSIGNED.search(blank_brackets(text))
    head, value = (text, "") if assigned is None else (text[: assigned.start()], text[assigned.end() :].strip())
    if path.endswith((".R", ".r")):
        # Names of R have dots, also at the beginning.
        return head.strip(), value

    match = _SWIFT_NAME.match(head) if path.endswith(".swift") else None
    match = match or _NAME_FIRST.match(head) or _NAME_LAST.search(head)
    return (match["name"] if match is not None else ""), value


def parameter_names(parameters: Sequence[Parameter], path: str, *, is_method: bool = True) -> list[str] | None:
    """Return the names of the parameters of a head; None if a head gives types alone, or takes values apart.

    The object of a method is no parameter; in a function outside of a class, `self` is one like others.
    In Go, the name is the first word, and several may share one type; in C and Java it is the last one, behind a type.
    """
    heads = [_without_value(text) for text in join_types([parameter.text.strip() for parameter in parameters])]
    heads = [head for head in heads if head not in _NO_PARAMETER and not (is_method and head in _RECEIVERS)]
    is_go = path.endswith(".go")
    if is_go and heads and not any(_GO_NAME_AND_TYPE.match(head) for head in heads):
        return None

    names = []
    for head in heads:
        name = _name_in_head(head, is_go=is_go, has_type_first=_TYPE_FIRST.search(path) is not None)
        if not name:
            return None
        names.append(name)

    return names


def _without_value(text: str) -> str:
    """Return an item with blank brackets, without its value."""
    head = blank_brackets(text)
    assigned = ASSIGNED.search(head)
    return (head if assigned is None else head[: assigned.start()]).strip()


def _name_in_head(head: str, *, is_go: bool, has_type_first: bool) -> str:
    """Return the name in an item without a value; empty if it has none."""
    before, colon, _ = head.partition(":") if "::" not in head else (head, "", "")
    takes_apart = re.search(r"[({]", before) is not None
    if takes_apart or (has_type_first and _TYPE_AND_NAME.search(head) is None):
        return ""

    match = _GO_NAME.match(head) if is_go else _LAST_NAME.search(before if colon else head)
    return "" if match is None else match["name"]
