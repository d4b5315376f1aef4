"""Read the value that a definition gives to a name: behind an equals sign, or in the form of its language.

Most languages have a sign between the name and the value. Macros of C, style sheets, equations of Haskell, definitions
of Lisp and attributes of Elixir have forms of their own. A function is no value, and neither is what goes on below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcelight.engines.deepsearch.source.line_kinds import LISP_METADATA
from sourcelight.engines.deepsearch.source.value_ends import value_before_dashes, value_before_in, value_of_style
from sourcelight.engines.deepsearch.source.values.expressions import (
    CLOSING,
    MAX_CHARS,
    MAX_VALUE_LINES,
    OPENING,
    SourceExpression,
    blank_brackets,
    goes_on,
    in_one_line,
    read_expression,
)
from sourcelight.engines.deepsearch.source.values.parameters import ASSIGNED
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of

_DEFINE = re.compile(r"^\s*#\s*define\s+(?P<name>\w+)(?P<parameters>\(?)")
"""A macro of C: `#define MAX_SIZE 5`, or one with parameters."""

_PERL_ASSIGNED = re.compile(r"(?<![=!<>+\-*/%&|^~:.])=(?:>|(?![=>~]))")
"""The sign behind a name of Perl: `=`, or `=>` in a list of constants."""

_TYPE = re.compile(r"[\w.\[\]<>&*|,\s'\"?()$:]*")
"""Text that may be a type."""

_RUST_ARRAY = re.compile(r"\[[^\[\];=]*;[^\[\];=]*\]")
"""An array of Rust, which has its length behind a semicolon: `[u8; 4]`."""

_NO_VALUE = re.compile(r"^(?:function|def|class|struct|interface|enum|lambda|async|func|fn)\b|^\(?[\w\s,]*\)?\s*=>")
"""The beginning of a function or a type: `function (gate) {`, `(gate) => gate`."""

_UNFINISHED = ("{", "(", "[", "+", "|", "&&", "<>", "..", "|>", "%>%")
"""Ends of expressions that go on below."""

_MAX_EQUATION_DISTANCE = 3
"""Lines from a signature of Haskell in which its equation begins."""

_NO_HASKELL_VALUE = ("\\", "let", "case", "if ", "do")
"""Beginnings of functions and of expressions of several lines."""

_LISP_DEFINITION = (
    r"\((?:def|defonce|(?P<first>defvar|defvar-local|defcustom|defconst|defparameter))\s+" + LISP_METADATA
)
"""A definition up to its name. With `first`, the value comes before the documentation, and behind it otherwise."""

_LISP_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.", re.DOTALL)
"""A text, a comment or an escaped letter."""

_LISP_PART = re.compile(r"#?\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.|[()\[\]{}]|\s+|[^\s()\[\]{}\";\\]+", re.DOTALL)
"""A part of a form: a text, a comment, a bracket, spaces, or a name."""

_LISP_FUNCTION = re.compile(r"\((?:fn|lambda)\b|#\(")
"""The beginning of a function: `(fn [x] …)`, `#(inc %)`."""


@dataclass(frozen=True, slots=True)
class SourceValue:
    """A value as written, joined to one line, and its line numbers, from 1."""

    text: str
    begin_line: int
    end_line: int


def value_of(lines: Sequence[str], name: str, line: int, path: str) -> SourceValue | None:
    """Return the value that a line (from 1) gives to a name; None if it gives none that can be read."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    if (define := _DEFINE.match(text)) is not None:
        return _value_of_macro(lines, define, name, line, path)

    if path.endswith((".css", ".scss", ".less")) and name.startswith(("--", "$", "@")):
        style_value = value_of_style(text[:MAX_CHARS], name)
        return SourceValue(in_one_line(style_value), line, line) if style_value else None

    value_column = _column_of_value(text, name, path)
    if value_column is None:
        return None

    expression = read_expression(lines, line - 1, value_column, path, ";", ends_with_line=True)
    if expression is None or goes_on(lines, expression, path):
        return None
    value = value_before_in(expression.text, path)
    return None if value is None else _to_value(replace(expression, text=value), line)


def _value_of_macro(lines: Sequence[str], define: re.Match[str], name: str, line: int, path: str) -> SourceValue | None:
    """Return the value of a macro of C; None for another name, and for a macro with parameters."""
    if define["name"] != name or define["parameters"]:
        return None
    # A bracket that a macro opens may be closed by another one.
    expression = read_expression(lines[: _macro_end(lines, line)], line - 1, define.end(), path, ends_with_line=True)
    return _to_value(expression, line)


def _macro_end(lines: Sequence[str], line: int) -> int:
    """Return the last line of the macro that begins on a line: a backslash at its end continues it."""
    while line < len(lines) and lines[line - 1].rstrip().endswith("\\"):
        line += 1
    return line


def _column_of_value(text: str, name: str, path: str) -> int | None:
    """Return the column behind the sign that assigns a value to a name, with at most a type between them."""
    # The sign of a variable of Perl or PHP isn't a part of its name.
    is_perl = path.endswith((".pl", ".pm", ".t"))
    match = re.search(rf"(?<![\w{'' if is_perl or path.endswith('.php') else '$'}]){re.escape(name)}(?![\w$])", text)
    if match is None:
        return None
    assigned = (_PERL_ASSIGNED if is_perl else ASSIGNED).search(text, match.end())
    if assigned is None or not _is_type(text[match.end() : assigned.start()]):
        return None
    return assigned.end()


def _is_type(between: str) -> bool:
    """Return whether the text between a name and its equals sign is nothing or a type."""
    if between.count("(") != between.count(")") or "," in blank_brackets(between):
        return False
    if between.rstrip().endswith(" get()"):
        # A property of Kotlin that is computed each time has no value.
        return False
    return _TYPE.fullmatch(_RUST_ARRAY.sub("[]", between)) is not None


def _to_value(expression: SourceExpression | None, line: int) -> SourceValue | None:
    """Return an expression that begins on a line (from 1) as a value; None for a function or a part of one."""
    if expression is None:
        return None
    text = in_one_line(expression.text.rstrip(",;"))
    if not text or _NO_VALUE.match(text) or text.endswith(_UNFINISHED):
        return None
    return SourceValue(text, line, expression.line + 1)


def is_of_itself(name: str, value: str) -> bool:
    """Return whether a shell changes a variable that has a value: ``ROOT="${ROOT%/}"``, or passes it on."""
    return re.fullmatch(rf"\"?\$\{{?{re.escape(name)}(?!\w)[^\"\s]*\"?", value) is not None


def haskell_value(lines: Sequence[str], name: str, line: int) -> SourceValue | None:
    """Return what the equation below a signature gives a name; None for a function, or a value of several lines."""
    equation = re.compile(rf"{re.escape(name)}\s*=\s*(?P<value>.*)")
    for number in range(line, min(line + _MAX_EQUATION_DISTANCE, len(lines) + 1)):
        match = equation.match(lines[number - 1])
        if match is not None and len(match[0]) <= MAX_CHARS:
            return _value_of_equation(lines, match["value"], number)

    return None


def _value_of_equation(lines: Sequence[str], text: str, line: int) -> SourceValue | None:
    """Return the value of an equation of Haskell on a line (from 1), from the text behind its sign."""
    value, value_line = value_before_dashes(text), line
    if not value:
        # The style of Elm has the value alone on the line below.
        value_line = line + 1
        value = lines[line].strip() if line < len(lines) else ""

    line_below = lines[value_line] if value_line < len(lines) else ""
    is_continued = line_below[:1].isspace() and bool(line_below.strip())
    if not value or is_continued or value.startswith(_NO_HASKELL_VALUE):
        return None
    return SourceValue(value, line, value_line)


def lisp_value(lines: Sequence[str], name: str, line: int) -> SourceValue | None:
    """Return the value of a definition of Lisp, which may be on the lines below; None for a function or a long form."""
    text = "\n".join(lines[line - 1 : line - 1 + MAX_VALUE_LINES])[:MAX_CHARS]
    head = re.match(rf"\s*{_LISP_DEFINITION}{re.escape(name)}(?=\s|$)", text)

    # A quotation mark that stays open above makes the line a part of a docstring.
    if head is None or '"' in _LISP_TEXT.sub("", "\n".join(lines[: line - 1])):
        return None

    forms: list[str] = []
    depth, start, position = 0, -1, head.end()
    for part in _LISP_PART.finditer(text, head.end()):
        if part.start() != position:
            return None

        position = part.end()
        if depth == 0 and part[0] in CLOSING:
            value = _value_of_forms(forms) if part[0] == ")" else ""
            return SourceValue(value, line, line + text.count("\n", 0, part.start())) if value else None

        if part[0].isspace() or part[0].startswith(";"):
            continue

        start = part.start() if depth == 0 and start < 0 else start
        depth += (part[0] in OPENING) - (part[0] in CLOSING)
        next_letter = text[position : position + 1]
        if depth == 0 and (not next_letter or next_letter.isspace() or next_letter in CLOSING):
            forms.append(text[start:position])
            start = -1
            if head["first"]:
                return SourceValue(" ".join(forms[0].split()), line, line + text.count("\n", 0, position))

    return None


def _value_of_forms(forms: Sequence[str]) -> str:
    """Return the value of a definition with some forms behind its name; empty for a function.

    A docstring may precede the value. Spaces of a text or a regular expression are a part of it, unless it goes over
    several lines.
    """
    has_docstring = len(forms) == 2 and forms[0].startswith('"')
    if len(forms) != 1 and not has_docstring:
        return ""
    value = " ".join(forms[-1].split()) if "\n" in forms[-1] else in_one_line(forms[-1])
    return "" if _LISP_FUNCTION.match(value) else value


def attribute_value(lines: Sequence[str], name: str, line: int, path: str) -> SourceValue | None:
    """Return the value of an attribute of a module of Elixir, as in ``@limit 12``."""
    match = re.match(rf"\s*@{re.escape(name)}\s+(?=\S)", lines[line - 1]) if 0 < line <= len(lines) else None
    if match is None:
        return None
    return _to_value(read_expression(lines, line - 1, match.end(), path, ends_with_line=True), line)


def is_counter(name: str, value: str) -> bool:
    """Return whether a name counts from 0, or nothing: it says how many there are, and sets no default."""
    parts = {part.lower() for part in parts_of(name)}
    return (
        _EMPTY.fullmatch(value) is not None
        and bool(_COUNTED & parts)
        and parts.isdisjoint(_SET)
        and name != name.upper()
    )


_COUNTED = frozenset({"len", "length", "count", "num", "number", "size", "total", "index", "pos", "position"})
_SET = frozenset({"default", "max", "min", "limit", "maximum", "minimum", "initial"})
_EMPTY = re.compile(r"0|NULL|null|nil|None")
