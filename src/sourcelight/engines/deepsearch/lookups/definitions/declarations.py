"""Declarations that have defaults: of functions in headers of C and C++, and of fields that no grammar reads.

The definition of a function in another file repeats the parameters without them, and it is what the index of symbols
has. The nearest line above a field that is indented less is the head of its type; in Zig, a file may be the type that
is called as it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import rank_of
from sourcelight.engines.deepsearch.facts.searches import make_queries, run_searches
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation
from sourcelight.engines.deepsearch.source.line_kinds import indent_width
from sourcelight.engines.deepsearch.source.values import parameters_of
from sourcelight.engines.symbols.definition_parser import Definition

_HEADER = re.compile(r"\.(?:h|hh|hpp|hxx|inl|ipp)$")
_SOURCE = re.compile(r"\.(?:c|cc|cpp|cxx|h|hh|hpp|hxx|inl|ipp|m|mm)$")
_MAX_ROWS, _MAX_LINE = 200, 600
_NOT_A_TYPE = re.compile(r"\b(?:return|throw|else|case|new|delete|goto|co_await|co_return)\s")


def is_declared_elsewhere(locations: Sequence[DefinitionLocation]) -> bool:
    """Return whether functions are of C or C++, whose headers may declare them with more than they have."""
    return any(_SOURCE.search(location.path) is not None for location in locations)


def find_declarations(work: Work, name: str, queries: list[str]) -> list[DefinitionLocation]:
    """Return the declarations of a function in headers outside of tests.

    Parameters
    ----------
    work
        The question, and the repositories.
    name
        The name of the function. Of ``pugi::save_file``, the last part is looked for.
    queries
        Searches for the answer; the ones made here are added.

    Returns
    -------
    list of DefinitionLocation
        One for each declaration whose parameters can be read, of any class. Definitions in a header are among them.
    """
    bare = re.split(r"\.|::|->", name)[-1]
    searches = make_queries(work, rf"case:yes type:file /\b{escape_regexp(bare)}\s*\(/")
    queries += searches
    declaration = re.compile(rf"\s*(?P<before>[\w:<>,&*~\[\]() ]{{1,160}}?[\s&*])(?P<name>{re.escape(bare)})\s*\(")
    locations = []
    for row in run_searches(work, searches)[:_MAX_ROWS]:
        line, path = row["line"] or "", row["path"]
        if row["type"] != "content" or len(line) > _MAX_LINE or _HEADER.search(path) is None or rank_of(path):
            continue

        match = declaration.match(line)
        target = work.inquiry.pins.of(row["repository"])
        # A call has no type before its name.
        if match is None or target is None or _NOT_A_TYPE.search(f" {match['before']}") is not None:
            continue

        lines, number = work.texts.lines(target, path), row["line_number"]
        read = parameters_of(lines, bare, number, path)
        if read is not None and ends_declaration(lines, read[1]):
            definition = Definition(bare, "function", "", 0, number, number, read[1])
            locations.append(DefinitionLocation(target, path, definition))

    return locations


def ends_declaration(lines: Sequence[str], last: int) -> bool:
    """Return whether a list of parameters that ends on a line (from 1) ends a declaration, or begins a body."""
    behind = lines[last - 1].rpartition(")")[2]
    # Whole words: a long one could otherwise be taken for any number of words, in exponential time.
    words = r"(?:(?:const|noexcept|override|final|[A-Z_]{3,40})\b\s*+)*+"
    return re.match(rf"\s*+{words}(?:[;{{]|=\s*0|$)", behind) is not None


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
    code_lines = texts.code_lines(owner.target, owner.path, language)
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

    width = indent_width(line)
    for number, above in reversed(code_lines[:index]):
        if above.strip() not in {"", "{"} and indent_width(above) < width:
            return number == owner.definition.line

    return False
