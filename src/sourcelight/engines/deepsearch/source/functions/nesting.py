"""Name the function around a line where functions nest: by indentation, or by the marks around a body.

The indentation rules walk outwards, from the line to the nearest line that is indented less, and so on; comments and
texts are no part of the lines. The mark rules walk upwards and count the bodies that end before the line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.source.function_heads import MarkedBody
from sourcelight.engines.deepsearch.source.line_kinds import indent_width

MAX_HEAD_CHARACTERS = 500
"""Characters of a line that are compared with the forms of heads: longer lines are generated."""
_MAX_FUNCTION_LINES = 5_000
"""Lines between the head of a function and a line of it, which bound the time for a file of one long table."""


@dataclass(frozen=True, slots=True)
class CodePosition:
    """A line within the code of its file.

    Attributes
    ----------
    lines
        The lines of code with their numbers, from 1 and in order, without comments and texts of several lines.
    number
        The line, from 1. It may be missing among `lines`.
    """

    lines: Sequence[tuple[int, str]]
    number: int

    @property
    def numbered_above(self) -> list[tuple[int, str]]:
        """The lines down to this one, as far up as its function may begin, with their numbers."""
        first = bisect_left(self.lines, (self.number - _MAX_FUNCTION_LINES + 1,))
        return list(self.lines[first : bisect_left(self.lines, (self.number + 1,))])

    @property
    def above(self) -> list[str]:
        """The lines down to this one, as far up as its function may begin."""
        return [line for _, line in self.numbered_above]

    @property
    def below(self) -> list[str]:
        """The lines behind this one, as far down as its function may end."""
        start = bisect_left(self.lines, (self.number + 1,))
        end = bisect_left(self.lines, (self.number + _MAX_FUNCTION_LINES,))
        return [line for _, line in self.lines[start:end]]


def lines_around(above: Sequence[str]) -> list[str]:
    """Return the last of some lines and those around it, each indented less than the one before.

    Lines that begin with a closing bracket are left out: they end a list that a line further up opens.
    """
    return [line for _, line in outward_lines(list(enumerate(above)), closings=(")", "]"))]


def outward_lines(
    lines: Sequence[tuple[int, str]], closings: tuple[str, ...], *, skips_braces: bool = False
) -> Iterator[tuple[int, str]]:
    """Yield the last of some numbered lines, then each nearest line above that is indented less.

    Parameters
    ----------
    lines
        Lines with their numbers. Empty ones don't count.
    closings
        Beginnings of lines that only end what a line further up opens.
    skips_braces
        Whether a line that has only an opening brace belongs to the head above it too.
    """
    indentation: int | None = None
    for number, line in reversed(lines):
        stripped = line.strip()
        if not stripped:
            continue

        width = indent_width(line)
        if indentation is not None:
            belongs_above = stripped.startswith(closings) or (skips_braces and stripped == "{")
            if width >= indentation or belongs_above:
                continue

        yield number, line
        if width == 0:
            return
        indentation = width


# Indentation.

_OTHER_HEAD = re.compile(
    r"\s*(?:defmodule|defimpl|defprotocol|test|describe|it|package|module|class|struct|enum|protocol|extension)\b"
)
"""A head of something that is no function: ``defmodule Gate do``, ``describe "a gate" do``, ``struct Gate {``."""


def function_by_indentation(position: CodePosition, heads: re.Pattern[str], *, has_braces: bool) -> str:
    """Return the nearest function that is indented less than a line; empty if a type or a test is nearer.

    Parameters
    ----------
    position
        The line.
    heads
        The heads of the language, whose groups are the name by the form of the head.
    has_braces
        Whether braces are around bodies. Elsewhere, those at the end of a head are a part of a type.
    """
    outward = outward_lines(position.numbered_above, (")", "]", "})", "}]"), skips_braces=True)
    for index, (_, line) in enumerate(outward):
        head = heads.match(line[:MAX_HEAD_CHARACTERS])
        is_outer_line = index > 0
        if head is not None and is_outer_line and has_braces and _has_whole_body(line):
            return ""
        if head is not None:
            return next(name for name in head.groups() if name)
        if _OTHER_HEAD.match(line) is not None:
            return ""

    return ""


def _has_whole_body(line: str) -> bool:
    """Return whether the body of a function ends on its line: a block below it is another one."""
    is_balanced = "{" in line and line.count("{") == line.count("}")
    return is_balanced and line.rstrip().rstrip(";").endswith("}")


# Bindings of OCaml and F#.

_LET = re.compile(
    r"\s*(?:let|and|rule)\s+(?:(?:rec|inline|private|internal|mutable|nonrec)\s+)*(?!_\b)(?P<name>[a-z_][\w']*)(?!\s*,)"
    r"|\s*(?:static\s+|abstract\s+)*(?:member|override|default)\s+(?:(?:inline|private|internal|val)\s+)*(?:\w+\.)?(?P<member>\w+)"
)
"""A binding or a member: ``let rec open_gate level =``, ``and close_gate``, ``static member this.Open``."""
_AROUND_LET = re.compile(
    r"\s*(?:module|namespace|type|class|struct|object|open|include|\{|and\s+(?:\[<|(?:(?:private|internal)\s+)?[A-Z]))"
)
"""A line around the outermost function: ``module Gate = struct``, ``type Gate =``, and ``and Dam =`` behind a type."""
_IN_AT_END = re.compile(r"\bin\s*$")
_IN_AT_START = re.compile(r"\s*in\b")


def function_by_outermost_let(position: CodePosition) -> str:
    """Return the outermost binding around a line; empty if something else is around it."""
    around = [line for line in lines_around(position.above) if _AROUND_LET.match(line) is None]
    if not around:
        return ""

    outermost = around[-1]
    binding = _LET.match(outermost[:MAX_HEAD_CHARACTERS])
    if binding is None or _ends_with_in(outermost, position.below):
        return ""

    return binding["name"] or binding["member"]


def _ends_with_in(binding: str, below: Sequence[str]) -> bool:
    """Return whether ``in`` ends a binding, which makes it a value of an expression that begins further up."""
    width = indent_width(binding)
    next_line = next((line for line in below if line.strip() and indent_width(line) <= width), "")
    return _IN_AT_END.search(binding) is not None or _IN_AT_START.match(next_line) is not None


# Marks around bodies.


def function_by_end_mark(position: CodePosition, body: MarkedBody) -> str:
    """Return the nearest function that begins before a line and doesn't end before it."""
    ended_functions = 0
    for line in reversed(position.above):
        text = line[:MAX_HEAD_CHARACTERS]
        if body.end.match(text) is not None:
            ended_functions += 1
            continue

        head = body.head.match(text)
        if head is None:
            continue
        if ended_functions == 0:
            return head["name"]
        ended_functions -= 1

    return ""


_SQL_HEAD = re.compile(r"(?i:\s*create\s+(?:or\s+replace\s+)?(?:function|procedure)\s+(?:[\w\"@]+\.)*\"?(?P<name>\w+))")
"""``CREATE OR REPLACE FUNCTION water.open_gate``."""
_DOLLAR_SIGN = re.compile(r"\$\w*\$")
"""The mark before and behind the body of a function of SQL: ``$$``, ``$body$``."""


def function_by_dollar_signs(position: CodePosition) -> str:
    """Return the function of SQL in whose body a line is; empty if the body ends before it."""
    mark_count = 0
    for line in reversed(position.above):
        text = line[:MAX_HEAD_CHARACTERS]
        mark_count += len(_DOLLAR_SIGN.findall(text))
        head = _SQL_HEAD.match(text)
        if head is not None:
            is_open = mark_count % 2 == 1
            return head["name"] if is_open else ""

    return ""
