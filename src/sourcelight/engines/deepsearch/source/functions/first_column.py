"""Name the function around a line where a line in the first column begins it.

A form of Lisp, an equation of Haskell, and a function of C or Objective-C begin in the first column, and all lines up
to the next one belong to them. The rules look upwards for that line and read a name from it. Only Scheme and Racket
define functions within other forms; there the nearest definition by indentation comes first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.source.functions.nesting import MAX_HEAD_CHARACTERS, CodePosition, lines_around
from sourcelight.engines.deepsearch.source.line_kinds import LISP_METADATA

# Lisps.

_LISP_HEAD = re.compile(
    rf"\((?:[\w.-]+/)?(?:[a-z]+-)?def(?!ault|er\b|group\b)[\w*!?-]*\s+{LISP_METADATA}\(?(?P<name>[^\s()\"']+)"
)
"""The head of a definition, also by a macro of a library: ``(defn ^:private open-gate``, ``(s/def gate``."""
_INNER_HEAD = re.compile(r"\s*\(define[\w/*-]*\s+\(+(?P<name>[^\s()\"']+)")
"""The head of a function with parameters: ``(define (open-gate level)``."""
_LISP_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.", re.DOTALL)
"""A text, a comment, or a letter such as ``\\(``."""
_NO_LINE_END = re.compile(r"[^\n]")


def function_of_lisp(position: CodePosition) -> str:
    """Return what the form in the first column around a line defines; empty if it defines nothing."""
    # A form at the beginning of a line is no part of another one.
    form = next((line for line in reversed(_lisp_code(position)) if line.startswith("(")), "")
    return _name_of(_LISP_HEAD.match(form[:MAX_HEAD_CHARACTERS]))


def function_of_scheme(position: CodePosition) -> str:
    """Return the nearest function around a line, which may be within a module or another function."""
    outer_lines = lines_around(_lisp_code(position))[1:]
    heads = (_INNER_HEAD.match(line[:MAX_HEAD_CHARACTERS]) for line in outer_lines)
    nearest = next((head["name"] for head in heads if head is not None), "")
    return nearest or function_of_lisp(position)


def _lisp_code(position: CodePosition) -> list[str]:
    """Return all lines down to a line, with texts and comments blank, as these may have brackets."""
    text = "\n".join(line for number, line in position.lines if number <= position.number)
    return _LISP_TEXT.sub(lambda match: _NO_LINE_END.sub(" ", match[0]), text).split("\n")


# Equations.

_WITH_EQUATIONS = frozenset({"Haskell", "Elm", "PureScript"})
_EQUATION = re.compile(
    r"(?!(?:data|type|newtype|class|instance|module|import|deriving|infix[lr]?)\b)(?P<name>[a-z_][\w']*)(?=\s*$|\s+(?:[\w(\[{\"'=|]|[!~](?=\S)))"
)
"""The beginning of an equation: ``openGate level`` or ``openGate``; an operator behind the name would be defined."""
_EQUALS_SIGN = re.compile(r"(?<![^\s\w)\]}\"'])=(?=\s|$)")
"""The sign that makes a line an equation: that of ``gate = 1``, none of ``gate >= 1``."""
_SIGNATURE = re.compile(r"(?P<names>[a-z_][\w']*(?:\s*,\s*[a-z_][\w']*)*)\s*(?P<colons>::?(?!=)|$)")
"""The type of names: ``openGate, closeGate :: Level -> Gate``; the colons may be on the next line."""


def top_line(lines: Sequence[tuple[int, str]], number: int, language: str) -> str:
    """Return the line in the first column that a line belongs to, where layout says so; empty elsewhere.

    A line of an export list belongs to ``module``, and one of a value or a function to its equation.

    Parameters
    ----------
    lines
        The lines of code of the file with their numbers.
    number
        The line, from 1.
    language
        Its language.
    """
    return _top_line(CodePosition(lines, number)) if language in _WITH_EQUATIONS else ""


def function_by_equation(position: CodePosition) -> str:
    """Return the name that the equation around a line defines: a line with its sign, or a name with a signature."""
    line = _top_line(position)[:MAX_HEAD_CHARACTERS]
    equation = _EQUATION.match(line)
    if equation is None:
        return ""

    name = equation["name"]
    is_certain = _EQUALS_SIGN.search(line) is not None or _has_signature(position.lines, name)
    return name if is_certain else ""


def _top_line(position: CodePosition) -> str:
    # A line of dashes is a comment, and one of the preprocessor belongs to nothing.
    lines = reversed(position.above)
    return next((line for line in lines if line[:1].strip() and not line.startswith(("--", "#"))), "")


def _has_signature(lines: Sequence[tuple[int, str]], name: str) -> bool:
    """Return whether a file gives a name a type."""
    for index, (_, line) in enumerate(lines):
        signature = _SIGNATURE.match(line[:MAX_HEAD_CHARACTERS]) if name in line else None
        if signature is None or name not in re.split(r"\s*,\s*", signature["names"]):
            continue

        next_line = lines[index + 1][1] if index + 1 < len(lines) else ""
        if signature["colons"] or next_line.lstrip().startswith("::"):
            return True

    return False


# C and Objective-C.

_C_HEAD = re.compile(
    r"(?!(?:else|return|typedef|static_assert)\b)[A-Za-z_][\w \t*]*[\s*](?P<name>[A-Za-z_]\w*)\s*\([^;]*$"
)
"""A type, a name and a bracket, without a semicolon: ``static int open_gate(int level)``."""
_LABEL = re.compile(r"\w+:(?!:)")
"""A label in the first column, which is within a function: ``done:``; not a name such as ``Gate::open``."""
_BODY_OR_END = re.compile(r"[{;]")
_METHOD_HEAD = re.compile(r"[-+]\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*(?P<name>\w+)")
"""The head of a method of Objective-C: ``- (void)openGate:(int)level``."""
_INNER_STARTS = " \t{#"
"""First characters of lines that begin no function of C: indented ones, an opening brace, the preprocessor."""


def function_of_c(position: CodePosition) -> str:
    """Return the function whose head is the nearest line in the first column; empty if another line is there."""
    above = position.above
    starts = (index for index in range(len(above) - 1, -1, -1) if _is_in_first_column(above[index]))
    start = next((index for index in starts if _LABEL.match(above[index]) is None), None)
    if start is None or len(above[start]) > MAX_HEAD_CHARACTERS:
        return ""

    # A declaration over several lines ends before a body begins.
    sign = _BODY_OR_END.search("\n".join(above[start:]))
    return _name_of(_C_HEAD.match(above[start])) if sign is not None and sign[0] == "{" else ""


def function_of_objective_c(position: CodePosition) -> str:
    """Return the first part of the name of the method around a line, or the function of C around it."""
    line = next((line for line in reversed(position.above) if _is_in_first_column(line)), "")
    return _name_of(_METHOD_HEAD.match(line[:MAX_HEAD_CHARACTERS])) or function_of_c(position)


def _is_in_first_column(line: str) -> bool:
    return bool(line.strip()) and line[0] not in _INNER_STARTS


def _name_of(head: re.Match[str] | None) -> str:
    return "" if head is None else head["name"]
