"""Fields with a value, by the form of a line, in languages whose types no grammar reads.

The nearest line above a field that is indented less is the head of its type. In Zig, a file may be the type that is
called as it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation
from sourcelight.engines.deepsearch.source.line_kinds import lines_of_code
from sourcelight.engines.symbols.definition_parser import Definition

_MAX_LINE = 500
"""Characters of a line that may have a field."""
FIELD_FORMS: Mapping[str, str] = {
    "Zig": r"\s*{name}\s*:\s*[^=]{{1,80}}=(?!=)",
    "Swift": (
        r"\s*(?:(?:@\w+(?:\([^()]*\))?|public|private|internal|fileprivate|package|open|static|final|lazy|weak)\s+)*"
        r"(?:let|var)\s+{name}\b[^={{]{{0,80}}=(?!=)"
    ),
    "Dart": r"\s*(?:(?:static|final|late|const|var)\s+)*(?:[\w<>?]{{1,60}}\s+)?{name}\s*=(?!=)",
    "D": (
        r"\s*(?:(?:public|private|protected|package|static|const|immutable)\s+)*"
        r"[\w.!\[\]]{{1,60}}\s+{name}\s*=(?!=)"
    ),
}
"""The form of a field with a value, in languages whose types no grammar reads."""


def find_field_line(texts: FileTexts, owner: DefinitionLocation, name: str) -> DefinitionLocation | None:
    """Return the only line of a type that has the form of a field with a value; None for none or several.

    Parameters
    ----------
    texts
        The files that were read.
    owner
        The type, in a language with a form.
    name
        The field.
    """
    language = language_of(owner.path) or ""
    form = re.compile(FIELD_FORMS[language].format(name=re.escape(name)))
    code_lines = list(lines_of_code(texts.lines(owner.target, owner.path), language))
    numbers = [
        number
        for index, (number, line) in enumerate(code_lines)
        if name in line and form.match(line[:_MAX_LINE]) is not None and _is_within(code_lines, index, owner)
    ]
    if len(numbers) != 1:
        return None

    number = numbers[0]
    return DefinitionLocation(
        owner.target, owner.path, Definition(name, "field", owner.definition.name, number, number, number, number)
    )


def _is_within(code_lines: Sequence[tuple[int, str]], index: int, owner: DefinitionLocation) -> bool:
    """Return whether a line of code is directly within the owner: no function or other type is between them."""
    line, name = code_lines[index][1], owner.definition.name
    if owner.path.rpartition("/")[2] == f"{name}.zig" and not line[:1].isspace():
        return True

    width = _indentation(line)
    for number, above in reversed(code_lines[:index]):
        if above.strip() not in {"", "{"} and _indentation(above) < width:
            return number == owner.definition.line

    return False


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())
