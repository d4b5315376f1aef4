"""Search for definitions by name, and state them: the best ones first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import (
    MAX_DETAILS,
    MAX_NAMED,
    Finding,
    Statement,
)
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import (
    UNPARSED_LANGUAGES,
    WITH_SIGNS,
    find_unparsed,
    language_at,
    reader_of,
)
from sourcelight.engines.deepsearch.lookups.definitions.choice import choose_definitions, is_declaration
from sourcelight.engines.deepsearch.lookups.definitions.location import (
    DefinitionLocation,
    best_locations,
    evidence_at,
    head_at,
    noun_at,
)
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.source.functions import types_around
from sourcelight.engines.deepsearch.source.line_kinds import lines_of_code
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition

_MAX_LINE = 500
"""Characters of a line that may define something."""
_SEPARATOR = re.compile(r"\.|::|->|#")
_LUA_SEPARATOR = re.compile(r"[.:]")
_LUA_METHOD = re.compile(r"(?![sgablwtv]:)[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_MEMBERS = frozenset({"attribute", "method", "constructor", "field", "property", "member of an enum"})


def find_definitions(
    work: Work, name: str, symbol_kind: str, notes: list[str], queries: list[str], *, unparsed: bool = False
) -> list[DefinitionLocation]:
    """Find the definitions of a name, exactly as written; code before tests, definitions before declarations.

    Of a dotted name, such as ``Client.get``, the part before the last dot must be the container's name. With
    `unparsed`, lines that define it in files without a grammar count, too.
    """
    container, simple = split_name(name)
    texts = FileTexts(work.context)
    searches = make_queries(work, f"case:yes type:symbol /^{escape_regexp(simple)}$/")
    queries += searches
    locations: dict[tuple[str, str, int], DefinitionLocation] = {}
    for row in run_searches(work, searches, notes):
        target = work.inquiry.pins.of(row["repository"])
        if target is None or (row["repository"], row["path"], row["line_number"]) in locations:
            continue
        if container and not _is_within(row["container"] or "", container, row["path"]):
            continue

        definition = definition_at(texts, target, row["path"], simple, row["line_number"])
        if definition is not None:
            locations[row["repository"], row["path"], row["line_number"]] = DefinitionLocation(
                target, row["path"], definition
            )

    if unparsed and container:
        for target, path, definition in _find_unparsed_members(work, texts, name, notes):
            key = target.repository.name, path, definition.line
            locations.setdefault(key, DefinitionLocation(target, path, definition))

    if unparsed and not container:
        for target, path, definition in find_unparsed(work, texts, simple, notes):
            key = target.repository.name, path, definition.line
            locations.setdefault(key, DefinitionLocation(target, path, definition))
        # A name in small letters may be a word of any text.
        for target, path, definition in (
            find_unparsed(work, texts, simple, notes, parsed=True) if not locations and not simple.islower() else ()
        ):
            key = target.repository.name, path, definition.line
            locations.setdefault(key, DefinitionLocation(target, path, definition))

    return choose_definitions(texts, list(locations.values()), symbol_kind)


def _find_unparsed_members(
    work: Work, texts: FileTexts, name: str, notes: list[str]
) -> Iterator[tuple[Target, str, Definition]]:
    """Yield the definitions of a dotted name in files without a grammar: a name with dots, or a member of an owner."""
    is_whole = False
    for target, path, definition in find_unparsed(work, texts, name, notes):
        if language_at(texts, target, path) in WITH_SIGNS:
            is_whole = True
            yield target, path, definition

    container, simple = split_name(name)
    for target, path, first in () if is_whole else find_unparsed(work, texts, simple, notes):
        lines = texts.lines(target, path)
        location = DefinitionLocation(target, path, first)
        for definition in (first, *(other.definition for other in _other_lines(texts, location))):
            if _type_around(lines, path, definition.line) == container:
                yield target, path, replace(definition, container=container)
            elif _is_unparsed_member(lines, path, definition, container):
                yield target, path, definition


def _type_around(lines: Sequence[str], path: str, number: int) -> str:
    """Return the last part of the name of the nearest type or module around a line (from 1); empty for none."""
    language = language_of(path) or ""
    names = types_around(list(lines_of_code(lines[:number], language)), number, language)
    return _SEPARATOR.split(names[0])[-1] if names else ""


def _is_unparsed_member(lines: Sequence[str], path: str, definition: Definition, container: str) -> bool:
    """Return whether a line, its file's name, or the head of a module above says that an owner has a definition."""
    line = lines[definition.line - 1][:_MAX_LINE]
    if re.search(rf"(?<!\w){re.escape(container)}(?:\.|::?|->|#){re.escape(definition.name)}", line) is not None:
        return True

    file_stem = path.rpartition("/")[2].partition(".")[0]
    if file_stem.replace("_", "").casefold() == container.replace("_", "").casefold():
        return True

    head = re.compile(rf"\s*(?:\(ns|defmodule|module|package)\s+(?:\w+(?:\.|::|-))*{re.escape(container)}(?![\w.:])")
    heads = [line for line in lines[: definition.line] if _MODULE.match(line) is not None]
    # Of nested modules, the nearest one has it.
    return bool(heads) and head.match(heads[-1][:_MAX_LINE]) is not None


_MODULE = re.compile(r"\s*(?:\(ns|defmodule|module|package)\s")


def split_name(name: str) -> tuple[str, str]:
    """Split a dotted name into its last container and the simple name."""
    # Only Lua has a colon between an object and its method; a letter before it is a scope of Vim.
    separator = _LUA_SEPARATOR if _LUA_METHOD.fullmatch(name) is not None else _SEPARATOR
    parts = [part for part in separator.split(name) if part]
    return (parts[-2] if len(parts) > 1 else ""), (parts[-1] if parts else name)


def _is_within(container: str, owner: str, path: str) -> bool:
    module = path.rpartition("/")[2].partition(".")[0]
    return _SEPARATOR.split(container)[-1] == owner or (not container and module == owner)


def definition_at(texts: FileTexts, target: Target, path: str, name: str, line: int) -> Definition | None:
    """Return the definition of a name on a line."""
    definitions = texts.definitions(target, path)
    if definitions is None:
        return None
    return next(
        (definition for definition in definitions.definitions() if definition.name == name and definition.line == line),
        None,
    )


def with_overloads(texts: FileTexts, locations: Sequence[DefinitionLocation]) -> list[DefinitionLocation]:
    """Add the other definitions of each name in its file and class: overloads, and those under other conditions."""
    expanded: dict[tuple[str, str, int], DefinitionLocation] = {}
    for location in locations:
        definitions = texts.definitions(location.target, location.path)
        same = [
            DefinitionLocation(location.target, location.path, definition)
            for definition in (definitions.definitions() if definitions is not None else ())
            if (definition.name, definition.container) == (location.definition.name, location.definition.container)
        ]
        bodies = [other for other in same if other.definition.kind == location.definition.kind]
        bodies = [other for other in bodies if not is_declaration(texts, other)]
        for other in (location, *bodies, *_other_macros(texts, location), *_other_lines(texts, location)):
            expanded.setdefault((other.target.repository.key, other.path, other.definition.line), other)

    return list(expanded.values())


def _other_lines(texts: FileTexts, location: DefinitionLocation) -> list[DefinitionLocation]:
    """Return the further lines of a file without a grammar that have the form of the definition, such as overloads."""
    definition = location.definition
    language = language_at(texts, location.target, location.path)
    define = reader_of(language, definition.name) if language in UNPARSED_LANGUAGES else None
    lines = texts.lines(location.target, location.path)
    return [
        DefinitionLocation(
            location.target, location.path, replace(definition, line=number, begin_line=number, end_line=number)
        )
        for number, line in enumerate(lines if define is not None else (), 1)
        if number != definition.line
        and len(line) <= _MAX_LINE
        and definition.name in line
        and define is not None
        and define(line) == definition.kind
        # Another type may have a member of the name.
        and definition.container in {"", _type_around(lines, location.path, number)}
    ]


def _other_macros(texts: FileTexts, location: DefinitionLocation) -> list[DefinitionLocation]:
    """Return the further ``#define`` lines of a constant in its file: those under other conditions."""
    definition = location.definition
    if definition.kind != "constant":
        return []

    define = re.compile(rf"\s*#\s*define\s+{re.escape(definition.name)}\b(?!\()")
    lines = texts.lines(location.target, location.path)
    numbers = [number for number, line in enumerate(lines, 1) if number != definition.line and define.match(line)]
    return [
        DefinitionLocation(
            location.target, location.path, replace(definition, line=number, begin_line=number, end_line=number)
        )
        for number in numbers
    ]


def state_definitions(
    work: Work, name: str, locations: Sequence[DefinitionLocation], queries: list[str], notes: list[str]
) -> Finding:
    """Write where a name is defined: the best locations in the sentence, further ones below."""
    texts = FileTexts(work.context)
    best = best_locations(locations)
    visible_locations = best[:MAX_NAMED]
    evidence = tuple(evidence_at(texts, location) for location in visible_locations)
    many = len({location.target.repository.name for location in visible_locations}) > 1 or len(work.inquiry.pins) > 1
    described = [_location_sentence(texts, location, with_repository=many) for location in visible_locations]
    if len(best) == 1:
        text = f"{code(name)} is defined in {described[0]}"
    else:
        # No number: what counts as another definition of a name is a matter of taste, and prototypes are left out.
        such = " such as" if len(best) > MAX_NAMED else ""
        text = f"{code(name)} is defined in several places,{such} in {'; in '.join(described)}"
        text = text.replace("places, in", "places: in", 1)

    if len(with_overloads(texts, best)) > len(best):
        files = "its file has" if len(best) == 1 else "their files have"
        text += f"; {files} more definitions of the name"

    finding = Finding(Statement(text, evidence), "definition", queries=[join_queries(queries)], notes=notes)
    finding.quotes = [head_at(texts, location) for location in visible_locations[:1]]
    visible_ids = {id(location) for location in visible_locations}
    finding.details = [
        Statement(_location_sentence(texts, location, with_repository=many), (evidence_at(texts, location),))
        for location in locations[:MAX_DETAILS]
        if id(location) not in visible_ids
    ]
    documentation = first_sentence(
        texts.lines(visible_locations[0].target, visible_locations[0].path), visible_locations[0].definition
    )
    if documentation and len(best) == 1:
        finding.method.append(f"Its documentation says: “{inline(documentation, 500)}”")

    return finding


def _location_sentence(texts: FileTexts, location: DefinitionLocation, *, with_repository: bool) -> str:
    definition = location.definition
    repository = f" of {code(location.target.repository.name)}" if with_repository else ""
    noun = noun_at(texts, location)

    # A function within another one is none of its members.
    preposition = "of" if noun.partition(" ")[2] in _MEMBERS else "within"
    owner = _owner_at(texts, location)
    container = f" {preposition} {code(owner)}" if owner else ""
    kind = f", as {noun}{container}" if noun else f", within {code(owner)}" if container else ""
    return f"{code(location.path)}{repository}, line {definition.line:,}{kind}"


def _owner_at(texts: FileTexts, location: DefinitionLocation) -> str:
    """Return what has a definition; empty if its line names another owner, as where a macro confused a grammar."""
    definition = location.definition
    line = texts.lines(location.target, location.path)[definition.line - 1][:_MAX_LINE]
    owner = re.search(rf"(?P<name>\w+)::~?{re.escape(definition.name)}(?!\w)", line)
    is_other = owner is not None and owner["name"] not in re.findall(r"\w+", definition.container)
    return "" if is_other else definition.container
