"""Values in source text: of constants, of parameters, of arguments. Nothing is executed; text is read with bounds."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcelight.engines.deepsearch.source.function_heads import parameter_block
from sourcelight.engines.deepsearch.source.line_kinds import LISP_METADATA, comment_mark_of, macro_lines
from sourcelight.engines.deepsearch.source.literals import (
    join_types,
    part_at,
    quoted_at,
    split_column,
    value_before_dashes,
    value_before_in,
    value_of_style,
)

_PAIRS = {")": "(", "]": "[", "}": "{"}
_OPENING = frozenset(_PAIRS.values())
_QUOTATION_MARKS = frozenset("\"'`")
# Text of repositories is hostile: these bound the scan of an expression that never ends.
_MAX_LINES, _MAX_CHARS, _MAX_ITEMS = 60, 4_000, 200
MAX_VALUE_LINES = 12
_DEFINE = re.compile(r"^\s*#\s*define\s+(\w+)(\(?)")
# An equals sign that assigns, and isn't part of `==`, `<=`, `+=`, `=>` or `=~`.
_ASSIGNED = re.compile(r"(?::=|\\\\|(?<![=!<>+\-*/%&|^~:])=(?![=>~]))")
_PERL_ASSIGNED = re.compile(r"(?<![=!<>+\-*/%&|^~:.])=(?:>|(?![=>~]))")
_NO_VALUE = re.compile(r"^(?:function|def|class|struct|interface|enum|lambda|async|func|fn)\b|^\(?[\w\s,]*\)?\s*=>")
_UNFINISHED = ("{", "(", "[", "+", "|", "&&", "<>", "..", "|>", "%>%")
_HEAD_BEFORE_LIST = re.compile(
    # A star of Nim exports the name.
    r"\*?\s*(?:<[^()]*>|\[[^()]*\])?\s*(?:(?:=|<-)\s*(?:async\s+)?(?:function\b\s*\w*)?\s*)?\("
)  # type parameters, or the function that a name is set to


@dataclass(frozen=True, slots=True)
class SourceValue:
    """A value as written, joined to one line, and its line numbers, from 1."""

    text: str
    begin_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a head, or an argument of a call: name and value if it has them, its line, all of its text."""

    name: str
    value: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class SourceExpression:
    """The text of an expression without comments; line (from 0) and column behind it, and the letter that ended it."""

    text: str
    line: int
    column: int
    end: str


def read_expression(  # noqa: PLR0911, PLR0912 - a scanner: one branch for each kind of letter
    lines: Sequence[str], line: int, column: int, path: str, stops: str = "", *, ends_with_line: bool = False
) -> SourceExpression | None:
    """Read from a place (from 0) to a letter of `stops` or a closing bracket that was not opened.

    With `ends_with_line` a line's end ends it too, unless brackets are open there. None if it does not end.
    """
    open_brackets: list[str] = []
    out: list[str] = []
    count = 0
    comment_mark = comment_mark_of(path)
    max_lines = MAX_VALUE_LINES if ends_with_line else _MAX_LINES
    for number in range(line, min(line + max_lines, len(lines))):
        text = lines[number]
        start = position = column if number == line else 0
        while position < len(text):
            letter = text[position]
            count += 1
            if count > _MAX_CHARS:
                return None

            # Most letters are of words, in which nothing begins, opens or ends.
            if letter.isalnum() or letter.isspace():
                out.append(letter)
                position += 1
                continue

            part = part_at(text, position, start, path, comment_mark)
            if part is None:
                return None
            if part.end > position:
                out.append(part.text)
                position = part.end
                continue

            if letter in _QUOTATION_MARKS:
                quoted = quoted_at(text, position)
                if quoted is None and letter != "'":  # a lifetime of Rust has one apostrophe
                    return None
                out.append(quoted or letter)
                position += len(quoted or letter)
                continue

            if letter in _OPENING:
                open_brackets.append(letter)
            elif letter in _PAIRS:
                if not open_brackets:
                    return SourceExpression(" ".join("".join(out).split(" ")).strip(), number, position + 1, letter)
                if open_brackets.pop() != _PAIRS[letter]:
                    return None
            elif letter in stops and not open_brackets:
                return SourceExpression("".join(out).strip(), number, position + 1, letter)

            out.append(letter)
            position += 1

        text_so_far = "".join(out).rstrip()
        if text_so_far.endswith("\\"):
            out = [text_so_far.removesuffix("\\")]
        elif ends_with_line and text_so_far and not open_brackets:
            return SourceExpression(text_so_far.strip(), number, len(text), "")

        out.append(" ")

    return None


_SPACES = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`|(?P<spaces>\s+)")


def in_one_line(text: str) -> str:
    """Return an expression with single spaces; those in texts between quotation marks stay."""
    return _SPACES.sub(lambda match: " " if match["spaces"] else match[0], text).strip()


def value_of(lines: Sequence[str], name: str, line: int, path: str) -> SourceValue | None:
    """Return the value that a line (from 1) gives to a name; None if it gives none that can be read."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    if (define := _DEFINE.match(text)) is not None:
        if define[1] != name or define[2]:
            return None
        # A bracket that a macro opens may be closed by another one.
        lines = macro_lines(lines, line)
        return _to_value(read_expression(lines, line - 1, define.end(), path, ends_with_line=True), line)

    if path.endswith((".css", ".scss", ".less")) and name.startswith(("--", "$", "@")):
        style_value = value_of_style(text[:_MAX_CHARS], name)
        return SourceValue(in_one_line(style_value), line, line) if style_value else None

    is_perl = path.endswith((".pl", ".pm", ".t"))
    # The sign of a variable of Perl isn't a part of its name.
    match = re.search(rf"(?<![\w{'' if is_perl else '$'}]){re.escape(name)}(?![\w$])", text)
    assigned = None if match is None else (_PERL_ASSIGNED if is_perl else _ASSIGNED).search(text, match.end())
    if match is None or assigned is None or not _is_type(text[match.end() : assigned.start()]):
        return None

    expression = read_expression(lines, line - 1, assigned.end(), path, ";", ends_with_line=True)
    if expression is None or goes_on(lines, expression, path):
        return None
    value = value_before_in(expression.text, path)
    return None if value is None else _to_value(replace(expression, text=value), line)


def is_of_itself(name: str, value: str) -> bool:
    """Return whether a shell changes a variable that has a value: ``ROOT="${ROOT%/}"``, or passes it on."""
    return re.fullmatch(rf"\"?\$\{{?{re.escape(name)}(?!\w)[^\"\s]*\"?", value) is not None


_CONTINUES = re.compile(
    r"\s*(?:\??\.[A-Za-z_]|\?[\s.]|:\s|\|\||&&|[-+*/%|&^]\s|[=!]=|<<|(?:and|or|if|else|as|unless|otherwise)\b)"
)
_ENDED_BY_SIGN = re.compile(r"\.(?:java|c|h|cc|cpp|cxx|hh|hpp|hxx|cs|php|rs|dart|m|mm)$")
"""Languages whose statements end with a semicolon, and never with a line."""


def goes_on(lines: Sequence[str], expression: SourceExpression, path: str) -> bool:
    """Return whether an expression goes on below: a chain of calls, an operator, a text that begins there."""
    if expression.end == ";":
        return False
    if re.match(r"<<[-~<]?\s*[\"'`]?[A-Za-z_]", expression.text) is not None:
        return True  # a text that begins on the next line

    below = next((text for text in lines[expression.line + 1 : expression.line + 4] if text.strip()), "")
    is_last = below.lstrip().startswith((")", "]", "}"))
    if _ENDED_BY_SIGN.search(path) is not None and not (expression.text.endswith(",") or is_last):
        return True

    is_python = path.endswith((".py", ".pyi"))
    return not (expression.text.endswith(",") or is_python) and _CONTINUES.match(below) is not None


def _is_type(between: str) -> bool:
    """Return whether the text between a name and its equals sign is nothing or a type."""
    if between.count("(") != between.count(")") or "," in blank_brackets(between):
        return False
    # An array of Rust has its length after a semicolon.
    between = re.sub(r"\[[^\[\];=]*;[^\[\];=]*\]", "[]", between)
    return re.fullmatch(r"[\w.\[\]<>&*|,\s'\"?()$:]*", between) is not None


def _to_value(expression: SourceExpression | None, line: int) -> SourceValue | None:
    if expression is None:
        return None
    text = in_one_line(expression.text.rstrip(",;"))
    if not text or _NO_VALUE.match(text) or text.endswith(_UNFINISHED):
        return None
    return SourceValue(text, line, expression.line + 1)


def read_parameters(lines: Sequence[str], line: int, column: int, path: str) -> tuple[list[Parameter], int] | None:
    """Read a list from the place (from 0) behind its opening bracket; also return its last line, from 1."""
    parameters: list[Parameter] = []
    for _ in range(_MAX_ITEMS):
        start_line = _first_text(lines, line, column)
        # Behind a semicolon, parameters of Julia have names.
        expression = read_expression(lines, line, column, path, ",;" if path.endswith(".jl") else ",")
        if expression is None:
            return None

        if expression.text:
            text = in_one_line(expression.text)
            if path.endswith(".dart") and text[0] in "{[":
                # Named and optional parameters of Dart have brackets of their own.
                parameters += _grouped_parameters(text[1:-1], lines, start_line)
            else:
                name, value = _split_parameter(text, path)
                # Attributes of PowerShell and decorators stand on lines above the name.
                own_lines = (index for index in range(start_line, expression.line + 1) if name in lines[index])
                parameters.append(Parameter(name, value, next(own_lines, start_line) + 1, text))

        if expression.end in _PAIRS:
            return parameters, expression.line + 1

        line, column = expression.line, expression.column

    return None


def _first_text(lines: Sequence[str], line: int, column: int) -> int:
    """Return the line (from 0) on which the next item begins."""
    while line + 1 < len(lines):
        rest = lines[line][column:].strip()
        if rest and not rest.startswith(("#", "//", "\\")):
            break
        line, column = line + 1, 0
    return line


def _grouped_parameters(text: str, lines: Sequence[str], start: int) -> list[Parameter]:
    """Read parameters with a value in a group that begins on a line (from 0)."""
    parameters = []
    ends = [*(match.start() for match in re.finditer(",", blank_brackets(text))), len(text)]
    texts = [text[previous:end].strip(" ,") for previous, end in itertools.pairwise([0, *ends])]
    for item in join_types([item for item in texts if item]):
        name, value = _split_parameter(item)
        word = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
        line = next(
            (number for number in range(start, min(start + _MAX_LINES, len(lines))) if word.search(lines[number])),
            start,
        )
        parameters.append(Parameter(name, value, line + 1, item))

    return parameters


def _split_parameter(text: str, path: str = "") -> tuple[str, str]:
    """Split ``name: type = value``, ``type name = value``, ``name: value`` of Ruby, or a plain name."""
    assigned = _ASSIGNED.search(blank_brackets(text))
    head, value = (text, "") if assigned is None else (text[: assigned.start()], text[assigned.end() :].strip())
    if path.endswith((".sql", ".sql.in")):
        return split_column(text)
    if path.endswith((".R", ".r")):
        # Names of R have dots, also at the beginning.
        return head.strip(), value
    if path.endswith(".swift") and (label := re.match(r"(?:@\w+\s+)*(?:\w+\s+)?`?(\w+)`?\s*:", head)) is not None:
        return label[1], value

    name_match = re.match(r"[*&.]{0,3}\s*([A-Za-z_$][\w$]*)\s*\??\s*(?::|$)", head)
    if name_match is None:
        name_match = re.search(r"([A-Za-z_$][\w$]*)\s*(?:\[\w*\])?\s*$", head)

    return (name_match[1] if name_match is not None else ""), value


_TYPE_FIRST = re.compile(r"\.(?:c|h|cc|cpp|cxx|hh|hpp|java|cs|m|mm|dart)$")
_NO_PARAMETER = frozenset({"", "/", "*", "...", "void", "&self", "&mut self", "mut self"})
_RECEIVERS = frozenset({"self", "cls"})


def parameter_names(parameters: Sequence[Parameter], path: str, *, is_method: bool = True) -> list[str] | None:
    """Return the names of the parameters of a head; None if a head gives types alone, or takes values apart.

    The object of a method is no parameter; in a function outside of a class, `self` is one like others.
    In Go, the name is the first word, and several may share one type; in C and Java it is the last one, behind a type.
    """
    heads = [blank_brackets(text) for text in join_types([parameter.text.strip() for parameter in parameters])]
    assigned = [_ASSIGNED.search(head) for head in heads]
    heads = [
        (head if match is None else head[: match.start()]).strip() for head, match in zip(heads, assigned, strict=True)
    ]
    heads = [head for head in heads if head not in _NO_PARAMETER and not (is_method and head in _RECEIVERS)]
    is_go, has_type_first = path.endswith(".go"), _TYPE_FIRST.search(path) is not None
    if is_go and heads and not any(re.match(r"[A-Za-z_]\w*\s+\S", head) for head in heads):
        return None

    names = []
    for head in heads:
        before, colon, _ = head.partition(":") if "::" not in head else (head, "", "")
        if re.search(r"[({]", before) or (
            has_type_first and re.search(r"[\w>*&\].]\s+[*&]*\w|[*&]\s*\w", head) is None
        ):
            return None

        if is_go:
            match = re.match(r"[A-Za-z_]\w*", head)
        else:
            match = re.search(r"([A-Za-z_$][\w$]*)\s*\??\s*(?:\[\s*\])*\s*$", before if colon else head)

        if match is None:
            return None

        names.append(match[1] if match.re.groups else match[0])

    return names


def blank_brackets(text: str) -> str:
    """Blank the contents of brackets and quotation marks, so that positions stay."""
    out = list(text)
    depth = position = 0
    while position < len(text):
        letter = text[position]
        if letter in _QUOTATION_MARKS and (quoted := quoted_at(text, position)) is not None:
            out[position : position + len(quoted)] = " " * len(quoted)
            position += len(quoted)
            continue

        if letter in _OPENING:
            depth += 1
        elif letter in _PAIRS:
            depth = max(0, depth - 1)
        elif depth:
            out[position] = " "

        position += 1

    return "".join(out)


def parameters_of(lines: Sequence[str], name: str, line: int, path: str) -> tuple[list[Parameter], int] | None:
    """Read the parameters of the function named on a line (from 1); also return the list's last line."""
    if not 0 < line <= len(lines):
        return None

    match = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", lines[line - 1])
    if match is None:
        return None

    number, column = line - 1, match.end()
    block = parameter_block(lines, line) if path.endswith((".ps1", ".psm1")) else None
    if block is not None:
        return read_parameters(lines, block.line - 1, block.column, path)

    # The list may begin on the line below the name, but no later.
    for _ in range(2):
        opening = _HEAD_BEFORE_LIST.match(lines[number], column)
        if opening is not None:
            return read_parameters(lines, number, opening.end(), path)
        if lines[number][column:].strip() or number + 1 >= len(lines):
            return None
        number, column = number + 1, 0

    return None


def haskell_value(lines: Sequence[str], name: str, line: int) -> SourceValue | None:
    """Return what the equation below a signature gives a name; None for a function, or a value of several lines."""
    equation = re.compile(rf"{re.escape(name)}\s*=\s*(?P<value>.*)")
    for number in range(line, min(line + 3, len(lines) + 1)):
        match = equation.match(lines[number - 1])
        if match is None or len(match[0]) > _MAX_CHARS:
            continue

        # The style of Elm has the value alone on the line below.
        value = value_before_dashes(match["value"])
        value_line = number if value else number + 1
        value = value or (lines[value_line - 1].strip() if value_line <= len(lines) else "")
        following = lines[value_line] if value_line < len(lines) else ""
        goes_on = following[:1].isspace() and bool(following.strip())
        is_whole = value and not goes_on and not value.startswith(("\\", "let", "case", "if ", "do"))
        return SourceValue(value, number, value_line) if is_whole else None

    return None


_LISP_DEFINITION = (
    r"\((?:def|defonce|(?P<first>defvar|defvar-local|defcustom|defconst|defparameter))\s+" + LISP_METADATA
)
"""A definition up to its name. With `first`, the value comes before the documentation, and behind it otherwise."""
_LISP_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.", re.DOTALL)
_LISP_PART = re.compile(r"#?\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.|[()\[\]{}]|\s+|[^\s()\[\]{}\";\\]+", re.DOTALL)


def lisp_value(lines: Sequence[str], name: str, line: int) -> SourceValue | None:
    """Return the value of a definition of Lisp, which may be on the lines below; None for a function or a long form."""
    text = "\n".join(lines[line - 1 : line - 1 + MAX_VALUE_LINES])[:_MAX_CHARS]
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
        if depth == 0 and part[0] in _PAIRS:
            # The bracket that ends the definition; a docstring may precede the value.
            has_docstring = len(forms) == 2 and forms[0].startswith('"')
            if part[0] != ")" or not (len(forms) == 1 or has_docstring):
                return None
            # Spaces of a text or a regular expression are a part of it, unless it goes over several lines.
            value = " ".join(forms[-1].split()) if "\n" in forms[-1] else in_one_line(forms[-1])
            is_function = re.match(r"\((?:fn|lambda)\b|#\(", value) is not None
            end_line = line + text.count("\n", 0, part.start())
            return None if is_function else SourceValue(value, line, end_line)

        if part[0].isspace() or part[0].startswith(";"):
            continue

        start = part.start() if depth == 0 and start < 0 else start
        depth += (part[0] in _OPENING) - (part[0] in _PAIRS)
        next_letter = text[position : position + 1]
        if depth == 0 and (not next_letter or next_letter.isspace() or next_letter in _PAIRS):
            forms.append(text[start:position])
            start = -1
            if head["first"]:
                return SourceValue(" ".join(forms[0].split()), line, line + text.count("\n", 0, position))

    return None


def attribute_value(lines: Sequence[str], name: str, line: int, path: str) -> SourceValue | None:
    """Return the value of an attribute of a module of Elixir, as in ``@limit 12``."""
    match = re.match(rf"\s*@{re.escape(name)}\s+(?=\S)", lines[line - 1]) if 0 < line <= len(lines) else None
    if match is None:
        return None
    return _to_value(read_expression(lines, line - 1, match.end(), path, ends_with_line=True), line)
