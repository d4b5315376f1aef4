"""Defaults that a body gives: a literal for a parameter that is absent, or what a shorter overload or a factory passes.

In Java and C#, ``Reader() { this("utf-8", 10); }`` says what a reader has if nothing is passed, and so does
``static Reader defaults() { return new Reader("utf-8", 10); }``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, ValueCandidate
from sourcelight.engines.deepsearch.source.fallbacks import is_made_of_literals, read_fallbacks
from sourcelight.engines.deepsearch.source.functions import enclosing_function
from sourcelight.engines.deepsearch.source.line_kinds import lines_of_code
from sourcelight.engines.deepsearch.source.values import parameters_of, read_parameters
from sourcelight.engines.symbols.definition_parser import Definition
from sourcelight.engines.symbols.grammars import LANGUAGES

_WITH_OVERLOADS = (".java", ".cs")
_FACTORY = re.compile(r"(?:^|[a-z_])[dD]efaults?(?:$|[A-Z_])|^(?:defaults?|Default)$")
"""Names of functions that make what holds at first."""
_CONSTANT = re.compile(r"(?:[A-Z]\w*\.)?[A-Z][A-Z\d_]+")
_BODY_LINES, _MAX_LINE, _MAX_CALLS = 60, 500, 40
"""Lines of a body whose end isn't known, characters of a line, and calls that are read."""


def find_body_default(texts: FileTexts, head: DefinitionLocation, name: str) -> ValueCandidate | None:
    """Return the only literal by which a body replaces an absent parameter; None for none or several."""
    definition, language = head.definition, language_of(head.path) or ""
    is_parsed = language in LANGUAGES
    end = definition.end_line if is_parsed else definition.line + _BODY_LINES
    lines = texts.lines(head.target, head.path)[:end]
    if not any(name in line for line in lines[definition.line - 1 :]):
        return None

    code = list(lines_of_code(lines, language))
    values: dict[str, int] = {}
    for number, line in code:
        if number < definition.line or len(line) > _MAX_LINE or name not in line:
            continue
        # Without a grammar, the next function may begin before the last line.
        if not is_parsed and enclosing_function(code, number, language) != definition.name:
            continue

        for fallback in read_fallbacks(line):
            if fallback.name.lstrip("$@") == name.lstrip("$@"):
                values.setdefault(fallback.value, number)

    if len(values) != 1:
        return None

    value, number = next(iter(values.items()))
    return _candidate(texts, head, value, [number])


def find_passed_default(
    texts: FileTexts, owner: DefinitionLocation, heads: Sequence[DefinitionLocation], name: str
) -> ValueCandidate | None:
    """Return the only value that an overload or a factory of defaults passes for a parameter; None for several.

    Parameters
    ----------
    texts
        The files that were read.
    owner
        The class or the function that the question names.
    heads
        The constructors of the class, or the overloads of the function.
    name
        The parameter.
    """
    if not owner.path.endswith(_WITH_OVERLOADS):
        return None

    lines = texts.lines(owner.target, owner.path)
    calls_by_name: dict[str, list[_DefaultCall]] = {}
    candidates: dict[str, ValueCandidate] = {}
    for head in heads:
        definition = head.definition
        read = parameters_of(lines, definition.name, definition.line, head.path) if head.path == owner.path else None
        names = [parameter.name for parameter in read[0]] if read is not None else []
        if name not in names:
            continue

        if definition.name not in calls_by_name:
            calls_by_name[definition.name] = list(_calls_of(texts, owner, definition.name))

        for call in calls_by_name[definition.name]:
            is_other = call.own_line != definition.line
            value = call.arguments[names.index(name)] if is_other and len(call.arguments) == len(names) else ""
            if is_made_of_literals(value) or _CONSTANT.fullmatch(value) is not None:
                candidates.setdefault(value, _candidate(texts, head, value, [call.line, definition.line]))

    return next(iter(candidates.values())) if len(candidates) == 1 else None


@dataclass(frozen=True, slots=True)
class _DefaultCall:
    """A call of a constructor or an overload that says what it has at first.

    Attributes
    ----------
    line
        Its line, from 1.
    own_line
        The line of the head that it says nothing of, since it is a part of it; 0 for none.
    arguments
        The texts of its arguments.
    """

    line: int
    own_line: int
    arguments: Sequence[str]


def _calls_of(texts: FileTexts, owner: DefinitionLocation, name: str) -> Iterator[_DefaultCall]:
    """Yield the calls of constructors or overloads of a name in a file that say what these have at first."""
    lines = texts.lines(owner.target, owner.path)
    functions = [item for item in texts.iter_definitions(owner.target, owner.path) if item.kind in FUNCTION_KINDS]
    call = re.compile(
        rf"(?<![\w.])(?:(?P<this>this)|(?P<new>new\s+{re.escape(name)})|(?P<name>{re.escape(name)}))\s*\("
    )
    for number, line in lines_of_code(lines, language_of(owner.path) or ""):
        matches = list(call.finditer(line[:_MAX_LINE]))[:_MAX_CALLS]
        holder = _holder_of(functions, number) if matches else None
        if holder is None:
            continue

        for match in matches:
            is_of_constructor = match["this"] and holder.name == name
            is_of_factory = match["new"] and _FACTORY.search(holder.name) is not None
            is_of_overload = match["name"] and holder.name == name and number != holder.line
            if not (is_of_constructor or is_of_factory or is_of_overload):
                continue

            own_line = holder.line if is_of_constructor else number if is_of_overload else 0
            read = read_parameters(lines, number - 1, match.end(), owner.path)
            if read is not None and read[1] - number < _BODY_LINES:
                yield _DefaultCall(number, own_line, [argument.text for argument in read[0]])


def _holder_of(functions: Sequence[Definition], number: int) -> Definition | None:
    """Return the smallest function around a line."""
    around = [item for item in functions if item.begin_line <= number <= item.end_line]
    return min(around, key=lambda item: item.end_line - item.begin_line, default=None)


def _candidate(texts: FileTexts, head: DefinitionLocation, value: str, numbers: Sequence[int]) -> ValueCandidate:
    """Make a candidate of a value, with the lines that prove it."""
    name = (head.definition.name,)
    evidence = [texts.evidence(head.target, head.path, number, number, "definition", 1.0, name) for number in numbers]
    return ValueCandidate(value, "", head.path, evidence, head.rank, head.target.repository.name, locations=[head])
