"""Name the function around a line by the form of the lines around it, in languages without a grammar.

Each language has one rule, in `_RULES`. Most rules look upwards for a head: the nearest one that is indented less, the
line in the first column, or one whose body doesn't end before the line. Where a rule isn't certain, no function is
named: a wrong caller in an answer is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sourcelight.engines.deepsearch.source.definition_forms import SAME_FORMS
from sourcelight.engines.deepsearch.source.function_heads import INDENTED_HEADS, MARKED_BODIES
from sourcelight.engines.deepsearch.source.functions.first_column import (
    function_by_equation,
    function_of_c,
    function_of_lisp,
    function_of_objective_c,
    function_of_scheme,
)
from sourcelight.engines.deepsearch.source.functions.nesting import (
    MAX_HEAD_CHARACTERS,
    CodePosition,
    function_by_dollar_signs,
    function_by_end_mark,
    function_by_indentation,
    function_by_outermost_let,
)
from sourcelight.engines.deepsearch.source.line_kinds import LISPS

_WITHOUT_BRACES = frozenset({"Crystal", "Elixir", "Julia", "Lua", "MATLAB", "Nim"})
"""Languages whose bodies have no braces, so that those at the end of a head are a part of a type."""

_RULES: Mapping[str, Callable[[CodePosition], str]] = {
    **dict.fromkeys(LISPS, function_of_lisp),
    "Scheme": function_of_scheme,
    "Racket": function_of_scheme,
    "Haskell": function_by_equation,
    "Elm": function_by_equation,
    "PureScript": function_by_equation,
    "OCaml": function_by_outermost_let,
    "F#": function_by_outermost_let,
    "SQL": function_by_dollar_signs,
    "C": function_of_c,
    "C++": function_of_c,
    "Objective-C": function_of_objective_c,
    **{language: partial(function_by_end_mark, body=body) for language, body in MARKED_BODIES.items()},
    **{
        language: partial(function_by_indentation, heads=heads, has_braces=language not in _WITHOUT_BRACES)
        for language, heads in INDENTED_HEADS.items()
    },
}
"""The rule of each language; a language without one names no function."""


def enclosing_function(lines: Sequence[tuple[int, str]], number: int, language: str) -> str:
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
    family = language if language in LISPS else SAME_FORMS.get(language, language)
    rule = _RULES.get(family)
    if rule is None:
        return ""

    code_lines = _without_here_documents(lines, number, family) if family in _WITH_HERE_DOCUMENTS else lines
    return rule(CodePosition(code_lines, number))


# Here-documents: texts of several lines whose end the program chooses.

_WITH_HERE_DOCUMENTS = frozenset({"Shell", "Perl", "Vim Script", "PowerShell"})
_HERE_DOCUMENT = re.compile(r"<<[~-]?\s*(?:trim\s+|eval\s+)*[\"']?(?P<end>[A-Za-z_.]\w*)")
"""The beginning of a text up to a line that has only its end: ``cat <<-END``, ``let gate =<< trim END``."""
_HERE_STRING = re.compile(r"@(?P<quote>[\"'])\s*$")
"""The beginning of a text of PowerShell, ``$gate = @"``; elsewhere, a line may end like this: ``cd "$@"``."""
_ENDS_OF_HERE_STRINGS = frozenset({'"@', "'@"})
"""Ends of texts of PowerShell, behind which a line goes on: ``"@ | Out-File gate``."""


def _without_here_documents(lines: Sequence[tuple[int, str]], number: int, language: str) -> list[tuple[int, str]]:
    """Leave out the texts of here-documents, but not the line asked about."""
    stripped_lines = {line.strip() for _, line in lines}
    code_lines: list[tuple[int, str]] = []
    end = ""
    for line_number, line in lines:
        if not end or line_number == number:
            code_lines.append((line_number, line))

        if end:
            end = "" if _is_end(line, end) else end
        elif language == "PowerShell":
            end = _end_of_here_string(line)
        else:
            beginning = _HERE_DOCUMENT.search(line[:MAX_HEAD_CHARACTERS])
            # Without a line that ends it, `<<` shifts a number.
            end = beginning["end"] if beginning is not None and beginning["end"] in stripped_lines else ""

    return code_lines


def _is_end(line: str, end: str) -> bool:
    """Return whether a line ends a here-document."""
    return line.strip() == end or (end in _ENDS_OF_HERE_STRINGS and line.startswith(end))


def _end_of_here_string(line: str) -> str:
    """Return the end of the text of PowerShell that a line begins; empty if it begins none."""
    beginning = _HERE_STRING.search(line[:MAX_HEAD_CHARACTERS])
    return "" if beginning is None else f"{beginning['quote']}@"
