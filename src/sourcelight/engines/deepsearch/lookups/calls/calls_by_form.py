"""Calls that the form of a line tells, where no grammar reads them, with the functions around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sourcelight.core.markup import code, join_words
from sourcelight.engines.deepsearch.evidence.model import Statement
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import rows_evidence
from sourcelight.engines.deepsearch.facts.unparsed_definitions import PROGRAMMING_LANGUAGES, is_parsed, language_at
from sourcelight.engines.deepsearch.lookups import recount
from sourcelight.engines.deepsearch.lookups.calls.callees import is_call
from sourcelight.engines.deepsearch.lookups.definitions.blocks import BLOCK_LANGUAGES
from sourcelight.engines.deepsearch.lookups.definitions.search import definition_at
from sourcelight.engines.deepsearch.lookups.uses import holder_of
from sourcelight.engines.deepsearch.source.call_forms import (
    VARIABLE_LANGUAGES,
    WITHOUT_BRACKETS,
    has_call,
    has_reference,
    has_variable,
)
from sourcelight.engines.deepsearch.source.calls.forms import TEMPLATE_LANGUAGES
from sourcelight.engines.deepsearch.source.functions import enclosing_function, top_line
from sourcelight.engines.deepsearch.source.line_kinds import IMPORT_STATEMENT

_MAX_CALLS = 4
"""Lines of one function with calls that a headline names."""
_WITH_CALLS = PROGRAMMING_LANGUAGES | BLOCK_LANGUAGES | TEMPLATE_LANGUAGES | {"CMake", "PLpgSQL", "SQL"}
_MAX_CALLERS = 6
"""Functions that a headline names where lines tell the calls."""
_MAX_TESTS = 3
"""Functions of tests that it names beside them."""


LineForm: TypeAlias = Callable[[str, str, str], bool]
"""The form of a call: whether a line has it, by the line, a name and its language."""


def state_calls_by_form(
    work: Work,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    line_count: int,
    has_form: LineForm = has_call,
    test_rows: Sequence[Mapping[str, Any]] = (),
) -> Statement | None:
    """State which lines call a function, by the form of a line; None for none.

    Parameters
    ----------
    work
        The request under way.
    name
        The name of what is called.
    rows
        Lines of code with the name.
    line_count
        The number of all lines with the name.
    has_form
        The form of a line that counts: a call, a call of a type, or any reference.
    test_rows
        Lines of tests with the name, if `rows` has none of them.
    """
    calls = _calls_by_form(work, name, rows, has_form)
    if not calls:
        return None

    test_calls = _calls_by_form(work, name, test_rows, has_form) if test_rows else []
    call_list = _list_calls(calls, _MAX_CALLERS)
    test_list = _list_calls(test_calls, _MAX_TESTS)
    is_reference = has_form is has_reference or any(call.language in WITHOUT_BRACKETS for call in calls)
    are_blocks = all(call.language in BLOCK_LANGUAGES | VARIABLE_LANGUAGES for call in calls)
    verb = "referenced" if are_blocks else "called or referenced" if is_reference else "called"
    in_tests = f"; tests {'use' if is_reference else 'call'} it in {test_list.text}" if test_calls else ""
    further = "" if line_count == len(calls) + len(test_calls) else "; other lines have the name"
    return Statement(
        f"{code(name)} is {verb} by name in {call_list.text}{in_tests}{further}",
        rows_evidence(work, [*call_list.rows, *test_list.rows], (name,)),
    )


@dataclass(frozen=True, slots=True)
class _CallList:
    """Calls in words, by the functions around them, and the lines that are named."""

    text: str
    rows: list[Mapping[str, Any]]


def _list_calls(calls: Sequence[_CallLine], max_callers: int) -> _CallList:
    """Write calls by the functions around them, at most some of them."""
    calls_by_holder: dict[tuple[str, str], list[_CallLine]] = {}
    for call in calls:
        calls_by_holder.setdefault((call.row["path"], call.holder), []).append(call)

    visible_holders = list(calls_by_holder.items())[:max_callers]
    visible = [call for _, calls_of_holder in visible_holders for call in calls_of_holder[:_MAX_CALLS]]
    line_list = join_words(
        [
            _locations_in_words(path, holder, calls_of_holder[:_MAX_CALLS])
            for (path, holder), calls_of_holder in visible_holders
        ]
    )
    # Without these words, a cut list would look like a whole one.
    more_text = "" if len(visible) == len(calls) else ", and on more lines"
    return _CallList(f"{line_list}{more_text}", [call.row for call in visible])


@dataclass(frozen=True, slots=True)
class _CallLine:
    """A line that has the form of a call, its language, and the function around it; empty if that is uncertain."""

    row: Mapping[str, Any]
    language: str
    holder: str


def _calls_by_form(work: Work, name: str, rows: Sequence[Mapping[str, Any]], has_form: LineForm) -> list[_CallLine]:
    """Return the lines that have the form of a call of a name, outside of comments, imports and definitions."""
    calls = []
    code_by_file: dict[tuple[str, str], tuple[dict[int, str], Sequence[tuple[int, str]]]] = {}
    for row in rows:
        key, number = (row["repository"], row["path"]), row["line_number"]
        language = language_in(work, *key)
        is_readable = language in (VARIABLE_LANGUAGES if has_form is has_variable else _WITH_CALLS)
        if not is_readable or IMPORT_STATEMENT.match(row["line"] or ""):
            continue
        if not is_call(row, name) or not has_form(row["line"] or "", name, language):
            continue

        if key not in code_by_file:
            lines = recount.code_lines(work, *key)
            code_by_file[key] = dict(lines), lines
        text_by_number, lines = code_by_file[key]

        target = work.inquiry.pins.of(row["repository"])
        # Another definition of the name looks like a call where no keyword precedes it.
        is_definition = target is not None and definition_at(work.texts, target, row["path"], name, number) is not None
        if is_definition or number not in text_by_number:
            continue

        if _is_constructor(text_by_number, number, name, language):
            continue
        if _EXPORTS.match(top_line(lines, number, language)) is not None:
            continue

        holder = enclosing_function(lines, number, language)
        if not holder and target is not None and is_parsed(work.texts, target, row["path"]):
            holder = holder_of(work, row, with_head=has_form is has_reference)

        # Within itself, a function is named for a message or a record.
        if has_form is not has_reference or holder != name:
            calls.append(_CallLine(row, language, holder))

    return calls


_CONSTRUCTOR: Mapping[str, str] = {
    "Dart": r"\s*(?:(?:const|factory|external)\s+)*{name}\s*\(",
    "Groovy": r"\s*(?:(?:public|private|protected)\s+)*{name}\s*\([^;]*\{{\s*$",
}
"""The head of a constructor, which has the form of a call: the name of its class, and a list."""
_MAX_HEAD = 500


def _is_constructor(lines: Mapping[int, str], number: int, name: str, language: str) -> bool:
    """Return whether a line declares a constructor: within the class of its name in Dart, by its body in Groovy."""
    form = _CONSTRUCTOR.get(language)
    if form is None or re.match(form.format(name=re.escape(name)), lines[number][:_MAX_HEAD]) is None:
        return False
    if language == "Groovy":
        return name[:1].isupper()

    above = [text for index, text in lines.items() if index < number]
    head = re.compile(rf"(?:\w+\s+){{0,4}}(?:class|enum|extension\s+type)\s+{re.escape(name)}\b")
    # A brace in the first column ends the class above.
    top = next((text for text in reversed(above) if text[:1].strip() and not text.startswith("@")), "")
    return head.match(top[:_MAX_HEAD]) is not None


_EXPORTS = re.compile(r"(?:module|import|infix[lr]?|foreign|port)\b")
"""Beginnings of declarations that name functions without calling them."""


def _locations_in_words(path: str, holder: str, calls: Sequence[_CallLine]) -> str:
    """Write the function of some calls with their lines and file, or only the lines."""
    numbers = join_words([f"line {call.row['line_number']:,}" for call in calls])
    of_file = f"{numbers} of {code(path)}"
    return f"{code(holder)} ({of_file})" if holder else of_file


def language_in(work: Work, repository: str, path: str) -> str:
    """Return the language of a file; a script without an ending has that of its first line."""
    target = work.inquiry.pins.of(repository)
    return "" if target is None else language_at(work.texts, target, path)
