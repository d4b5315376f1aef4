"""Defaults that a call behind ``by`` gives a property of Kotlin: ``val max: Int by config(2)``.

A call ``.default(2)`` behind it has the default. Without one, the called function is looked up: its parameter whose
name says so, such as ``default``, tells which argument of the call is the default.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation, ValueCandidate
from sourcelight.engines.deepsearch.lookups.registrations import DEFAULT_NAMES, find_default_parameter
from sourcelight.engines.deepsearch.source.line_kinds import lines_of_code
from sourcelight.engines.deepsearch.source.values import Parameter, read_parameters

_MAX_LINE = 500
"""Characters of the line of a property."""
_MAX_CALL_LINES = 12
"""Lines of a call that a reader still checks."""
_CHAINED = re.compile(r"\.default\(\s*(?P<value>-?\d[\w.]*|\"[^\"\n]{0,120}\"|true|false|[A-Z]\w*(?:\.\w+)+)\s*\)")
"""A default in a call chained behind the one of the line."""


def find_delegated_default(work: Work, owner: DefinitionLocation, name: str) -> ValueCandidate | None:
    """Return the default of a property in the body of a class; None if no call behind ``by`` gives one.

    Parameters
    ----------
    work
        The question.
    owner
        The class.
    name
        The property.
    """
    if not owner.path.endswith((".kt", ".kts")):
        return None

    lines = work.texts.lines(owner.target, owner.path)
    head = re.compile(
        rf"\s*(?:[\w@.]+\s+){{0,6}}va[lr]\s+{re.escape(name)}(?!\w)[^=\"]{{0,120}}?\bby\s+(?:\w+\.){{0,3}}(?P<callee>\w+)\("
    )
    repository = owner.target.repository.name
    body = range(owner.definition.line, owner.definition.end_line + 1)
    for number, line in lines_of_code(lines, "Kotlin"):
        match = head.match(line) if number in body and len(line) <= _MAX_LINE else None
        if match is None:
            continue

        read = read_parameters(lines, number - 1, match.end(), owner.path)
        if read is None or read[1] - number > _MAX_CALL_LINES:
            return None

        arguments, last_line = read
        evidence = work.texts.evidence(owner.target, owner.path, number, last_line, "definition", 1.0, (name,))
        chained = _CHAINED.search(lines[last_line - 1])
        if chained is not None:
            return ValueCandidate(chained["value"], "", owner.path, [evidence], owner.rank, repository)

        parameter = find_default_parameter(work, owner.target, match["callee"], {})
        if parameter is None:
            return None

        index, parameter_line = parameter
        value = _value_of_default(arguments, index)
        candidate = ValueCandidate(value, "", owner.path, [evidence, parameter_line], owner.rank, repository)
        return candidate if value else None

    return None


def _value_of_default(arguments: Sequence[Parameter], index: int) -> str:
    """Return the argument for a parameter that is called a default, by its name or its number; empty without one."""
    keyword_values = [argument.value for argument in arguments if argument.value and DEFAULT_NAMES.match(argument.name)]
    if keyword_values:
        return keyword_values[0]

    return arguments[index].text if index < len(arguments) else ""
