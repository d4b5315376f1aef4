"""Choose among definitions of one name: no prototypes, aliases and stubs where something better exists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sourcelight.core.markup import singular
from sourcelight.core.query.file_kinds import is_type_stub
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.facts.unparsed_definitions import UNPARSED_LANGUAGES, language_at
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation
from sourcelight.engines.deepsearch.source.values import value_of
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition

_NOUNS = {
    "class": ("class", "struct", "interface", "enum"), "function": ("function", "method"),
    "method": ("method", "function"), "struct": ("struct", "class"), "interface": ("interface", "class"),
    "enum": ("enum", "class"),
    "trait": ("interface", "class"), "constant": ("constant", "variable", "field", "enummember"),
    "variable": ("variable", "constant", "field"), "macro": ("function", "constant"), "field": ("field", "property"),
    "attribute": ("field", "property", "variable"), "property": ("property", "field", "method"),
    "exception": ("class",), "error": ("class", "variable", "constant"),
    "constructor": ("constructor", "method", "constant"),
    "decorator": ("function",), "module": ("module", "namespace", "package"),
}  # fmt: skip
_TYPES = frozenset({"class", "struct", "interface", "enum", "record"})


def choose_definitions(
    texts: FileTexts, locations: Sequence[DefinitionLocation], symbol_kind: str
) -> list[DefinitionLocation]:
    """Sort definitions; drop prototypes, overloads and other kinds if better definitions exist."""
    noun = singular(symbol_kind)
    kinds = _NOUNS.get(noun, ())
    if kinds:
        # A method is called a function as often as not: the noun sorts within these, and leaves out no better place.
        locations = [location for location in locations if location.definition.kind in kinds] or locations

    # A variable that takes over a module, as in `http = require("socket.http")`, doesn't define it.
    locations = [location for location in locations if not _is_alias(texts, location)]
    bodies = [location for location in locations if not is_declaration(texts, location)]

    # A stub counts if nothing else is there, as for extension modules of Python.
    bodies = [location for location in bodies if not is_type_stub(location.path)] or bodies
    if noun != "constructor":
        types = {(location.path, location.definition.name) for location in bodies if location.definition.kind in _TYPES}
        bodies = [candidate for candidate in bodies if not _is_constructor_of(candidate, types)]

    best: dict[tuple[str, str, str, str], DefinitionLocation] = {}
    for location in bodies or locations:
        # Without a grammar, a constructor and a class of one name have no container that tells them apart.
        kind = location.definition.kind if language_of(location.path) in UNPARSED_LANGUAGES else ""
        key = location.target.repository.key, location.path, location.definition.container, kind
        other = best.get(key)
        # Of overloads the longest has the body; conditional definitions of one file are shown by the first.
        if other is None or _order_in_file(location) > _order_in_file(other):
            best[key] = location

    return sorted(
        best.values(),
        key=lambda candidate: (
            candidate.rank,
            not kinds and candidate.definition.kind == "enummember",
            bool(kinds) and candidate.definition.kind != kinds[0],
            candidate.path.count("/"),
            candidate.path,
            candidate.definition.line,
        ),
    )


def _order_in_file(location: DefinitionLocation) -> tuple[bool, int]:
    """Return the key by which one of several definitions in a file is chosen: no companion object, the longest."""
    definition = location.definition
    return definition.kind != "object", definition.end_line - definition.begin_line


def _is_alias(texts: FileTexts, location: DefinitionLocation) -> bool:
    """Return whether a variable only takes over what has the same name elsewhere, as in ``x = require("a").x``."""
    definition = location.definition
    if definition.kind not in {"variable", "constant"}:
        return False

    value = value_of(texts.lines(location.target, location.path), definition.name, definition.line, location.path)
    if value is None:
        return False

    # Such a variable shows the reader nothing: the value is where the other name is defined.
    same = rf"(?:[\w.$]+(?:\([^()]*\))?(?:\.|::))*{re.escape(definition.name)}"
    module = r"(?:require|@import)\s*\([^()]*\)(?:\.\w+)*|await import\([^()]*\)"
    return re.fullmatch(rf"(?:{same}|{module})", value.text) is not None


def _is_constructor_of(location: DefinitionLocation, types: set[tuple[str, str]]) -> bool:
    """Return whether a definition is the constructor of a class that has its name, as in Java."""
    return location.definition.kind in {"constructor", "method"} and (
        (location.path, location.definition.name) in types
        and location.definition.container.rpartition(".")[2] == location.definition.name
    )


def is_declaration(texts: FileTexts, location: DefinitionLocation) -> bool:
    """Return whether a definition is only a declaration, as a prototype is."""
    definition = location.definition
    if definition.declaration:
        return True

    lines = texts.lines(location.target, location.path)
    if definition.kind in {"function", "method"} and 0 < definition.end_line <= len(lines):
        last = lines[definition.end_line - 1].split("//")[0].split("/*")[0].rstrip()
        body = "".join(lines[definition.line - 1 : definition.end_line])
        # In C#, a body may be an expression behind an arrow.
        has_body = "{" in body or (location.path.endswith(".cs") and "=>" in body)
        if last.endswith(";") and not has_body and not lines[definition.line - 1].lstrip().startswith("#"):
            return True

    if definition.kind in {"struct", "class", "union"} and definition.begin_line == definition.end_line:
        return re.fullmatch(r"\s*(?:struct|class)\s+\w+\s*;\s*", lines[definition.line - 1]) is not None

    if language_of(location.path) == "OCaml" and re.match(r"\s*val\s", lines[definition.line - 1]) is not None:
        return True

    above = "".join(lines[max(0, definition.begin_line - 1) : definition.line])
    return "overload" in above and "@" in above


_MAX_LINE = 500


def are_constructors(texts: FileTexts, locations: Sequence[DefinitionLocation]) -> bool:
    """Return whether all of some definitions are functions of C++ without a type before their name."""
    return bool(locations) and all(
        location.definition.kind in {"function", "method"}
        and language_at(texts, location.target, location.path) == "C++"
        and re.match(
            rf"\s*(?:(?:explicit|inline|constexpr)\s+)*{re.escape(location.definition.name)}\s*\(",
            texts.lines(location.target, location.path)[location.definition.line - 1][:_MAX_LINE],
        )
        for location in locations
    )


def class_heads(
    texts: FileTexts, locations: Sequence[DefinitionLocation], name: str
) -> Iterator[tuple[Target, str, Definition]]:
    """Yield the heads of a class of C++ in the files of its constructors, without declarations."""
    head = re.compile(rf"\s*(?P<kind>class|struct)\s+(?:[A-Z_]+\s+)?{re.escape(name)}(?!\w)[^;]*$")
    for target, path in {
        (location.target.repository.name, location.path): (location.target, location.path) for location in locations
    }.values():
        for number, line in enumerate(texts.lines(target, path), 1):
            match = head.match(line) if len(line) <= _MAX_LINE else None
            if match is not None:
                yield (
                    target,
                    path,
                    Definition(name, match["kind"], "", 0, number, number, number, column=line.find(name)),
                )
