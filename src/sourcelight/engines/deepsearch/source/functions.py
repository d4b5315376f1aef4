"""The function and the types around a line, by the form of the lines around it, in languages without a grammar.

Each family of languages has its own rule: a head that is indented less, an equation in the first column with a
signature, a `let` that everything around is within, or a mark at the end of a function. Where a rule isn't sure, no
function is named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.source.definition_forms import SAME_FORMS
from sourcelight.engines.deepsearch.source.function_heads import INDENTED_HEADS, MARKED_BODIES, MarkedBody
from sourcelight.engines.deepsearch.source.line_kinds import LISP_METADATA, LISPS, indent_width
from sourcelight.engines.symbols.definition_parser import Definition

_LISP_HEAD = re.compile(
    rf"\((?:[\w.-]+/)?(?:[a-z]+-)?def(?!ault|er\b|group\b)[\w*!?-]*\s+{LISP_METADATA}\(?(?P<name>[^\s()\"']+)"
)
"""The head of any definition, by a macro of the language, of a library or of the project's own."""
_INNER_HEAD = re.compile(r"\s*\(define[\w/*-]*\s+\(+(?P<name>[^\s()\"']+)")
_LISP_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|;[^\n]*|\\.", re.DOTALL)
_C_HEAD = re.compile(
    r"(?!(?:else|return|typedef|static_assert)\b)[A-Za-z_][\w \t*]*[\s*](?P<name>[A-Za-z_]\w*)\s*\([^;]*$"
)
_HEAD_LINES = 40
"""Lines above a parameter in which the head of its function begins."""
_WITH_EQUATIONS = frozenset({"Haskell", "Elm", "PureScript"})
_WITH_LET = frozenset({"OCaml", "F#"})
_WITH_HERE_DOCUMENTS = frozenset({"Shell", "Perl", "Vim Script", "PowerShell"})
_MAX_FUNCTION_LINES, _MAX_HEAD_CHARACTERS = 5_000, 500


def enclosing_function(  # noqa: PLR0911 - one for each family
    lines: Sequence[tuple[int, str]], number: int, language: str
) -> str:
    """Return the name of the function around a line, by the form of the lines around it; empty if that is uncertain.

    Parameters
    ----------
    lines
        The lines of code of the file with their numbers, without those in comments and texts of several lines.
    number
        The line, from 1.
    language
        Its language: one whose functions begin with a word, a Lisp, or C and C++ where no grammar knows the function.
    """
    language = SAME_FORMS.get(language, language) if language not in LISPS else language
    if language in _WITH_HERE_DOCUMENTS:
        lines = _without_here_documents(lines, number, language)

    before = [line for index, line in lines if number - _MAX_FUNCTION_LINES < index <= number]
    if language in LISPS:
        text = "\n".join(line for index, line in lines if index <= number)
        blanked = _LISP_TEXT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text).split("\n")
        # A form at the beginning of a line is no part of another one.
        nearest = _nearest_lisp_head(blanked) if language in _WITH_INNER_DEFINITIONS else ""
        if nearest:
            return nearest

        top = next((line for line in reversed(blanked) if line.startswith("(")), "")
        head = _LISP_HEAD.match(top[:_MAX_HEAD_CHARACTERS])
        return "" if head is None else head["name"]

    if language in _WITH_EQUATIONS:
        return _by_equation(lines, top_line(lines, number, language))

    if language in _WITH_LET:
        after = [line for index, line in lines if number < index < number + _MAX_FUNCTION_LINES]
        return _by_outermost_let(before, after)

    if language in MARKED_BODIES:
        return _by_end_mark(before, MARKED_BODIES[language])

    if language == "SQL":
        return _by_dollar_signs(before)

    if language == "Objective-C":
        return _objective_c_method(before) or _c_function(before)

    if language in INDENTED_HEADS:
        return _by_indentation(before, INDENTED_HEADS[language], has_braces=language not in _WITHOUT_BRACES)

    return _c_function(before) if language in {"C", "C++"} else ""


_WITH_INNER_DEFINITIONS = frozenset({"Scheme", "Racket"})
"""Lisps in which a function is defined within a module, a unit or another function."""


def _nearest_lisp_head(before: Sequence[str]) -> str:
    """Return what the nearest definition of a function with parameters around the last of some lines defines."""
    heads = (_INNER_HEAD.match(line[:_MAX_HEAD_CHARACTERS]) for line in lines_around(before)[1:])
    return next((head["name"] for head in heads if head is not None), "")


def top_line(lines: Sequence[tuple[int, str]], number: int, language: str) -> str:
    """Return the line in the first column that a line belongs to, where layout says so; empty elsewhere.

    A line of an export list belongs to ``module``, and one of a value or a function to its equation.
    """
    if language not in _WITH_EQUATIONS:
        return ""

    before = (line for index, line in reversed(lines) if number - _MAX_FUNCTION_LINES < index <= number)
    # A line of dashes is a comment, and one of the preprocessor belongs to nothing.
    return next((line for line in before if line[:1].strip() and not line.startswith(("--", "#"))), "")


_WITH_TYPES = frozenset({"D", "Elixir", "Julia", "Crystal", "F#", "Nim", "OCaml", "Swift", "Dart", "Zig"})
_TYPE_HEAD = re.compile(
    r"\s*(?:@\w+\s+)*(?:(?:public|private|fileprivate|protected|internal|open|abstract|mutable|final|sealed|base)\s+)*"
    r"(?:defmodule|defprotocol|module|class|struct|type|record|object|enum|extension|protocol|actor|mixin)\s+"
    r"(?P<name>[A-Z]\w*(?:(?:\.|::)[A-Z]\w*)*)"
    r"|\s*(?P<nim>[A-Z]\w*)\*?\s*(?:\[[^\[\]]*\])?\s*(?:\{\.[^{}]*\.\})?\s*=\s*(?:ref\s+)?(?:object|tuple)\b"
    r"|\s*(?:pub\s+)?const\s+(?P<zig>[A-Za-z_]\w*)\s*=\s*(?:(?:extern|packed)\s+)?(?:struct|union|enum|opaque)\b"
)


def types_around(lines: Sequence[tuple[int, str]], number: int, language: str) -> list[str]:
    """Return the names of the modules and types around a line, the nearest first.

    Parameters
    ----------
    lines
        The lines of code up to this one, with their numbers.
    number
        The line, from 1.
    language
        Its language. One that a grammar reads gives no names.
    """
    if language not in _WITH_TYPES:
        return []

    names = []
    indentation = None
    for index, line in reversed(lines):
        if index > number or not line.strip():
            continue
        if index < number - _MAX_FUNCTION_LINES or indentation == 0:
            break

        width = indent_width(line)
        if indentation is not None and width >= indentation:
            continue

        indentation = width
        head = _TYPE_HEAD.match(line[:_MAX_HEAD_CHARACTERS]) if index < number else None
        if head is not None:
            names.append(next(name for name in head.groups() if name))

    return names


def swift_head(lines: Sequence[str], number: int) -> Definition | None:
    """Return the function or initializer of Swift in whose head a line is; None if no head is near."""
    for line in range(number, max(0, number - _HEAD_LINES), -1):
        match = re.search(r"\b(?:func\s+(\w+)|(init)[?!]?)\s*(?:<[^<>]*>)?\(", lines[line - 1])
        if match is not None:
            return Definition(match[1] or match[2], "function", "", 0, line, line, number)
        if line < number and re.search(r"[{};]\s*$", lines[line - 1]) is not None:
            return None
    return None


_NAME_BEFORE_LIST = re.compile(r"(?P<name>[A-Za-z_]\w*)[*!?]?\s*(?:<[^<>()]*>|\[[^\[\]()]*\])?\s*$")


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
    depth = 0
    for line in range(number, max(0, number - _HEAD_LINES), -1):
        text = lines[line - 1][:_MAX_HEAD_CHARACTERS]
        for position in range(min(column if line == number else len(text), len(text)) - 1, -1, -1):
            depth += (text[position] == ")") - (text[position] == "(")
            if depth < 0:
                match = _NAME_BEFORE_LIST.search(text[:position])
                return None if match is None else (match["name"], line)

    return None


_HERE_DOCUMENT = re.compile(r"<<[~-]?\s*(?:trim\s+|eval\s+)*[\"']?(?P<end>[A-Za-z_.]\w*)")
_HERE_TEXT = re.compile(r"@(?P<quote>[\"'])\s*$")
"""The beginning of a text of PowerShell; elsewhere, a line may end like this: ``cd "$@"``."""
_ENDS_OF_TEXTS = frozenset({'"@', "'@"})
"""Ends of texts of PowerShell, behind which a line goes on."""


def _without_here_documents(lines: Sequence[tuple[int, str]], number: int, language: str) -> list[tuple[int, str]]:
    """Leave out the texts that begin behind ``<<END`` and end with a line ``END``, but not the line asked about."""
    opening = _HERE_TEXT if language == "PowerShell" else _HERE_DOCUMENT
    ends = {line.strip() for _, line in lines}
    code_lines: list[tuple[int, str]] = []
    end = ""
    for index, line in lines:
        if end:
            end = "" if line.strip() == end or (line.startswith(end) and end in _ENDS_OF_TEXTS) else end
            if index != number:
                continue
        else:
            match = opening.search(line[:_MAX_HEAD_CHARACTERS])
            end = "" if match is None else f"{match['quote']}@" if language == "PowerShell" else match["end"]
            # Without a line that ends it, `<<` shifts a number.
            end = end if end in ends or language == "PowerShell" else ""

        code_lines.append((index, line))

    return code_lines


_EQUATION = re.compile(r"(?P<name>[a-z_][\w']*)(?=\s*$|\s+(?:[\w(\[{\"'=|]|[!~](?=\S)))")
"""The beginning of an equation: a name, then patterns or guards, but no operator, which would be what it defines."""
_SIGN_OF_EQUATION = re.compile(r"(?<![^\s\w)\]}\"'])=(?=\s|$)")
"""The sign that makes a line an equation, also without a signature; it is no part of an operator."""
_SIGNATURE = re.compile(r"(?P<names>[a-z_][\w']*(?:\s*,\s*[a-z_][\w']*)*)\s*(?P<colons>::?(?!=)|$)")


def _by_equation(lines: Sequence[tuple[int, str]], top: str) -> str:
    """Return the name that an equation in the first column defines, if the file has a signature of it."""
    equation = _EQUATION.match(top[:_MAX_HEAD_CHARACTERS])
    if equation is None:
        return ""

    name = equation["name"]
    if _SIGN_OF_EQUATION.search(top[:_MAX_HEAD_CHARACTERS]) is not None:
        return name

    for position, (_, line) in enumerate(lines):
        signature = _SIGNATURE.match(line[:_MAX_HEAD_CHARACTERS]) if name in line else None
        if signature is None or name not in re.split(r"\s*,\s*", signature["names"]):
            continue

        next_line = lines[position + 1][1] if position + 1 < len(lines) else ""
        if signature["colons"] or next_line.lstrip().startswith("::"):
            return name

    return ""


_LET = re.compile(
    r"\s*(?:let|and|rule)\s+(?:(?:rec|inline|private|internal|mutable|nonrec)\s+)*(?!_\b)(?P<name>[a-z_][\w']*)(?!\s*,)"
    r"|\s*(?:static\s+|abstract\s+)*(?:member|override|default)\s+(?:(?:inline|private|internal)\s+)*(?:\w+\.)?(?P<member>\w+)"
)
_AROUND_LET = re.compile(
    r"\s*(?:module|namespace|type|class|struct|object|open|include|\{|and\s+(?:\[<|(?:(?:private|internal)\s+)?[A-Z]))"
)
"""The lines around the outermost function, with types that follow others behind ``and``."""


def _by_outermost_let(before: Sequence[str], after: Sequence[str]) -> str:
    """Return the outermost definition around the last of some lines; empty if something else is around it."""
    around = [line for line in lines_around(before) if _AROUND_LET.match(line) is None]
    if not around:
        return ""

    outermost = around[-1]
    head = _LET.match(outermost[:_MAX_HEAD_CHARACTERS])
    next_line = next((line for line in after if line.strip() and indent_width(line) <= indent_width(outermost)), "")
    # What ends with `in` is a value of an expression that began further up.
    if head is None or re.search(r"\bin\s*$", outermost) is not None or re.match(r"\s*in\b", next_line) is not None:
        return ""

    return head["name"] or head["member"]


def lines_around(before: Sequence[str]) -> list[str]:
    """Return the last of some lines and those around it, each indented less than the one before."""
    around: list[str] = []
    for line in reversed(before):
        if not line.strip():
            continue
        if not around or (indent_width(line) < indent_width(around[-1]) and not line.lstrip().startswith((")", "]"))):
            around.append(line)

    return around


def _by_end_mark(before: Sequence[str], body: MarkedBody) -> str:
    """Return the function that begins before the last of some lines, and doesn't end there; others may be within it."""
    end_count = 0
    for line in reversed(before):
        if body.end.match(line[:_MAX_HEAD_CHARACTERS]) is not None:
            end_count += 1
            continue

        head = body.head.match(line[:_MAX_HEAD_CHARACTERS])
        if head is not None and not end_count:
            return head["name"]
        if head is not None:
            end_count -= 1

    return ""


_SQL_HEAD = re.compile(r"(?i:\s*create\s+(?:or\s+replace\s+)?(?:function|procedure)\s+(?:[\w\"@]+\.)*\"?(?P<name>\w+))")
_DOLLAR_SIGN = re.compile(r"\$\w*\$")


def _by_dollar_signs(before: Sequence[str]) -> str:
    """Return the function of SQL whose body, between two signs such as ``$$``, has the last of some lines."""
    sign_count = 0
    for line in reversed(before):
        sign_count += len(_DOLLAR_SIGN.findall(line[:_MAX_HEAD_CHARACTERS]))
        head = _SQL_HEAD.match(line[:_MAX_HEAD_CHARACTERS])
        if head is not None:
            return head["name"] if sign_count % 2 else ""

    return ""


_METHOD_HEAD = re.compile(r"[-+]\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*(?P<name>\w+)")


def _objective_c_method(before: Sequence[str]) -> str:
    """Return the first part of the name of the method whose head is the nearest one in the first column."""
    for line in reversed(before):
        if not line.strip() or line[0] in " \t#{":
            continue
        head = _METHOD_HEAD.match(line[:_MAX_HEAD_CHARACTERS])
        return "" if head is None else head["name"]

    return ""


def _c_function(before: Sequence[str]) -> str:
    """Return the function whose head is the nearest line in the first column; empty if another line is there."""
    for index in range(len(before) - 1, -1, -1):
        line = before[index]
        if not line.strip() or line[0] in " \t{#" or re.match(r"\w+:(?!:)", line) is not None:
            continue
        head = _C_HEAD.match(line) if len(line) <= _MAX_HEAD_CHARACTERS else None
        # A declaration over several lines ends before a body begins.
        next_sign = re.search(r"[{;]", "\n".join(before[index:]))
        return head["name"] if head is not None and next_sign is not None and next_sign[0] == "{" else ""

    return ""


_WITHOUT_BRACES = frozenset({"Crystal", "Elixir", "Julia", "Lua", "MATLAB", "Nim"})
"""Languages whose bodies have no braces, so that those at the end of a head are a part of a type."""


def _by_indentation(before: Sequence[str], heads: re.Pattern[str], *, has_braces: bool) -> str:
    """Return the name of the nearest function that is indented less than the last of some lines."""
    indentation = None
    for line in reversed(before):
        if not line.strip():
            continue

        width = indent_width(line)
        # A bracket that closes a list of parameters, or opens a body, is indented like the head before it.
        is_bracket = line.lstrip().startswith((")", "]", "})", "}]")) or line.strip() == "{"
        if indentation is not None and (width >= indentation or is_bracket):
            continue

        head = heads.match(line[:_MAX_HEAD_CHARACTERS])
        if head is not None and indentation is not None and has_braces and _is_whole_body(line):
            return ""
        if head is not None:
            return next(group for group in head.groups() if group)
        if _OTHER_HEAD.match(line) is not None:
            return ""

        indentation = width

    return ""


def _is_whole_body(line: str) -> bool:
    """Return whether the body of a function ends on its line: a block below it is another one."""
    is_balanced = "{" in line and line.count("{") == line.count("}")
    return is_balanced and line.rstrip().rstrip(";").endswith("}")


_OTHER_HEAD = re.compile(
    r"\s*(?:defmodule|defimpl|defprotocol|test|describe|it|package|module|class|struct|enum|protocol|extension)\b"
)
