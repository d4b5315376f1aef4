"""Find the types around a line, and the function in whose list of parameters a place is, by the lines above it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.source.functions.nesting import MAX_HEAD_CHARACTERS, CodePosition, outward_lines
from sourcelight.engines.symbols.definition_parser import Definition

_HEAD_LINES = 40
"""Lines above a parameter in which the head of its function begins."""

# Types.

_WITH_TYPES = frozenset({"D", "Elixir", "Julia", "Crystal", "F#", "Nim", "OCaml", "Swift", "Dart", "Zig"})
_TYPE_HEAD = re.compile(
    r"\s*(?:@\w+\s+)*(?:(?:public|private|fileprivate|protected|internal|open|abstract|mutable|final|sealed|base)\s+)*"
    r"(?:defmodule|defprotocol|module|class|struct|type|record|object|enum|extension|protocol|actor|mixin)\s+"
    r"(?P<name>[A-Z]\w*(?:(?:\.|::)[A-Z]\w*)*)"
    r"|\s*(?P<nim>[A-Z]\w*)\*?\s*(?:\[[^\[\]]*\])?\s*(?:\{\.[^{}]*\.\})?\s*=\s*(?:ref\s+)?(?:object|tuple)\b"
    r"|\s*(?:pub\s+)?const\s+(?P<zig>[A-Za-z_]\w*)\s*=\s*(?:(?:extern|packed)\s+)?(?:struct|union|enum|opaque)\b"
)
"""``public final class Water.Gate``, ``Gate* = ref object`` of Nim, ``pub const Gate = struct`` of Zig."""


def types_around(lines: Sequence[tuple[int, str]], number: int, language: str) -> list[str]:
    """Return the names of the modules and types around a line, the nearest first.

    Parameters
    ----------
    lines
        The lines of code of the file with their numbers; those behind the line don't matter.
    number
        The line, from 1. A type that begins on it isn't around it.
    language
        Its language. One that a grammar reads gives no names.
    """
    if language not in _WITH_TYPES:
        return []

    names = []
    for line_number, line in outward_lines(CodePosition(lines, number).numbered_above, closings=()):
        head = _TYPE_HEAD.match(line[:MAX_HEAD_CHARACTERS]) if line_number < number else None
        if head is not None:
            names.append(next(name for name in head.groups() if name))

    return names


# Lists of parameters.

_SWIFT_HEAD = re.compile(r"\b(?:func\s+(\w+)|(init)[?!]?)\s*(?:<[^<>]*>)?\(")
"""``func openGate<Level>(``, ``init?(``."""
_SWIFT_END = re.compile(r"[{};]\s*$")
"""The end of a line behind which another statement or body begins."""
_NAME_BEFORE_LIST = re.compile(r"(?P<name>[A-Za-z_]\w*)[*!?]?\s*(?:<[^<>()]*>|\[[^\[\]()]*\])?\s*$")
"""A name before its list, with parameters of types: ``openGate<Level>``, ``openGate[T]``, ``open!``."""


def swift_head(lines: Sequence[str], number: int) -> Definition | None:
    """Return the function or initializer of Swift in whose head a line (from 1) is; None if no head is near."""
    for head_number in _numbers_upwards(number):
        line = lines[head_number - 1]
        head = _SWIFT_HEAD.search(line)
        if head is not None:
            return Definition(head[1] or head[2], "function", "", 0, head_number, head_number, number)
        if head_number < number and _SWIFT_END.search(line) is not None:
            return None

    return None


def name_before_list(lines: Sequence[str], number: int, column: int) -> tuple[str, int] | None:
    """Return the name before the list that a place is in, and its line; None if no list opens near above.

    Parameters
    ----------
    lines
        The lines of the file.
    number
        The line of the place, from 1.
    column
        Its column, from 0. Groups of parameters in braces or square brackets, as those of Dart, are a part of the list.
    """
    closed_lists = 0
    for line_number in _numbers_upwards(number):
        line = lines[line_number - 1][:MAX_HEAD_CHARACTERS]
        before = line[:column] if line_number == number else line
        for position in range(len(before) - 1, -1, -1):
            if before[position] == ")":
                closed_lists += 1
            elif before[position] == "(" and closed_lists > 0:
                closed_lists -= 1
            elif before[position] == "(":
                name = _NAME_BEFORE_LIST.search(before[:position])
                return None if name is None else (name["name"], line_number)

    return None


def _numbers_upwards(number: int) -> range:
    """Return the numbers of the lines in which the head of a list around a line may begin, the nearest first."""
    return range(number, max(0, number - _HEAD_LINES), -1)
