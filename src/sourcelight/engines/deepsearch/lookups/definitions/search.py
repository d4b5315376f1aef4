"""Search for definitions by name, and state them: the best ones first.

The index knows the definitions of languages with a grammar. In other languages, lines are searched by the forms of
definitions, and the container of a member is told by its line, its file or the head of a module above.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from sourcelight.core.markup import code
from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_DETAILS, MAX_NAMED, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import WITH_SIGNS, find_unparsed, language_at, reader_of
from sourcelight.engines.deepsearch.lookups.definitions.blocks import find_blocks
from sourcelight.engines.deepsearch.lookups.definitions.choice import (
    are_constructors,
    choose_definitions,
    class_heads,
    is_declaration,
)
from sourcelight.engines.deepsearch.lookups.definitions.location import (
    DefinitionLocation,
    best_locations,
    evidence_at,
    head_at,
    is_of_function,
    noun_at,
    shown_value,
)
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.source.functions import types_around
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition
from sourcelight.engines.symbols.grammars import LANGUAGES

_MAX_LINE = 500
"""Characters of a line that may define something."""
_OF_HEADERS = frozenset({"C", "C++"})
"""Languages by whose names headers of Objective-C go."""
_SEPARATOR = re.compile(r"\.|::|->|#")
"""Signs between a container and its member: `Client.get`, `std::vector`, `self->size`, `Array#each`."""

_LUA_SEPARATOR = re.compile(r"[.:]")
_LUA_METHOD = re.compile(r"(?![sgablwtv]:)[A-Za-z_][\w.]*:[A-Za-z_]\w*")

_MODULE_KEYWORD = r"\s*(?:\(ns|defmodule|module|package)\s+"
"""The beginning of a module's head in Clojure, Elixir, Haskell and others, before its name."""

_MODULE = re.compile(_MODULE_KEYWORD)
_MEMBERS = frozenset({"attribute", "method", "constructor", "field", "property", "member of an enum"})
"""The ends of `noun_at` for a definition that its container has: "a static method", "a member of an enum"."""


def find_definitions(
    work: Work, name: str, queries: list[str], *, symbol_kind: str = "", unparsed: bool = False
) -> list[DefinitionLocation]:
    """Find the definitions of a name, exactly as written; code before tests, definitions before declarations.

    Of a dotted name, such as ``Client.get``, the part before the last dot must be the container's name. With
    `unparsed`, lines that define it in files without a grammar count, too. If some are of the `symbol_kind`, others are
    left out. Adds the searches for symbols to `queries`.
    """
    container, simple = split_name(name)
    texts = work.texts
    searches = make_queries(work, f"case:yes type:symbol /^{escape_regexp(simple)}$/")
    queries += searches
    location_set = _LocationSet()
    for row in run_searches(work, searches):
        path, line = row["path"], row["line_number"]
        target = work.inquiry.pins.of(row["repository"])
        if target is None or location_set.has(row["repository"], path, line):
            continue
        if container and not _is_within(row["container"] or "", container, path):
            continue

        definition = definition_at(texts, target, path, simple, line)
        # The grammar of C reads `@protocol Name;` of a header as a variable.
        is_misread = language_of(path) in _OF_HEADERS and (row["line"] or "").lstrip().startswith("@")
        if definition is not None and not is_misread:
            location_set.add(target, path, definition)

    if unparsed and not container and are_constructors(texts, location_set.locations):
        # A grammar that a macro confused reads the constructors of a class, but not its head.
        types = list(class_heads(texts, location_set.locations, simple))
        location_set = _LocationSet() if types else location_set
        location_set.add_all(types)

    if unparsed and container:
        location_set.add_all(_find_unparsed_members(work, name))
    elif unparsed:
        location_set.add_all(find_unparsed(work, simple))

        # A grammar may have missed a definition. A name in small letters may be a word of any text.
        if not location_set.locations and not simple.islower():
            location_set.add_all(find_unparsed(work, simple, parsed=True))

    return choose_definitions(texts, location_set.locations, symbol_kind)


class _LocationSet:
    """Locations of definitions, one for each line; the first one of a line counts."""

    def __init__(self) -> None:
        self._by_line: dict[tuple[str, str, int], DefinitionLocation] = {}

    @property
    def locations(self) -> list[DefinitionLocation]:
        """The locations in the order in which they were added."""
        return list(self._by_line.values())

    def has(self, repository_name: str, path: str, line: int) -> bool:
        """Return whether there is a definition on a line."""
        return (repository_name, path, line) in self._by_line

    def add(self, target: Target, path: str, definition: Definition) -> None:
        """Add a definition unless its line has one."""
        key = target.repository.name, path, definition.line
        self._by_line.setdefault(key, DefinitionLocation(target, path, definition))

    def add_all(self, definitions: Iterable[tuple[Target, str, Definition]]) -> None:
        """Add each definition unless its line has one."""
        for target, path, definition in definitions:
            self.add(target, path, definition)


def _find_unparsed_members(work: Work, name: str) -> Iterator[tuple[Target, str, Definition]]:
    """Yield the definitions of a dotted name in files without a grammar: a name with dots, or a member of an owner."""
    # In R and in Lisps, a dot or an arrow is a part of the name, as in `print.default`: no owner has it.
    texts = work.texts
    is_whole_name = False
    for target, path, definition in find_unparsed(work, name):
        if language_at(texts, target, path) in WITH_SIGNS:
            is_whole_name = True
            yield target, path, definition

    if is_whole_name:
        return

    blocks = list(find_blocks(work, name))
    if blocks:
        yield from blocks
        return

    container, simple = split_name(name)
    for target, path, first in find_unparsed(work, simple):
        lines, language = texts.lines(target, path), language_of(path) or ""
        if language == "Perl" and not _is_in_package(lines[: first.line], name):
            continue
        code_lines = texts.code_lines(target, path, language)
        overloads = _other_lines(texts, DefinitionLocation(target, path, first))
        for definition in (first, *(overload.definition for overload in overloads)):
            if _type_around(code_lines, definition.line, language) == container:
                yield target, path, replace(definition, container=container)
            elif _is_unparsed_member(lines, path, definition, container):
                yield target, path, definition


_PACKAGE = re.compile(r"\s*package\s+(?P<name>[\w:]+)")


def _is_in_package(lines: Sequence[str], name: str) -> bool:
    """Return whether the last package of Perl above a line has the whole name: `Bundle::DBI` isn't `DBI`."""
    heads = [match for line in lines if (match := _PACKAGE.match(line[:_MAX_LINE])) is not None]
    qualifier = name.rpartition("::")[0]
    return not qualifier or not heads or heads[-1]["name"] in {qualifier, name}


def _type_around(code_lines: Sequence[tuple[int, str]], number: int, language: str) -> str:
    """Return the last part of the name of the nearest type or module around a line (from 1); empty for none."""
    above = code_lines[: bisect_right(code_lines, number, key=itemgetter(0))]
    names = types_around(above, number, language)
    return _SEPARATOR.split(names[0])[-1] if names else ""


def _is_unparsed_member(lines: Sequence[str], path: str, definition: Definition, container: str) -> bool:
    """Return whether a line, its file's name, or the head of a module above says that an owner has a definition."""
    line = lines[definition.line - 1][:_MAX_LINE]
    if re.search(rf"(?<!\w){re.escape(container)}(?:\.|::?|->|#){re.escape(definition.name)}", line) is not None:
        return True

    file_stem = path.rpartition("/")[2].partition(".")[0]
    if file_stem.replace("_", "").casefold() == container.replace("_", "").casefold():
        return True

    # Of nested modules, the nearest one has it.
    heads = [line for line in lines[: definition.line] if _MODULE.match(line) is not None]
    head_of_container = re.compile(rf"{_MODULE_KEYWORD}(?:\w+(?:\.|::|-))*{re.escape(container)}(?![\w.:])")
    return bool(heads) and head_of_container.match(heads[-1][:_MAX_LINE]) is not None


def split_name(name: str) -> tuple[str, str]:
    """Split a dotted name into its last container and the simple name."""
    # Only Lua has a colon between an object and its method; a letter before it is a scope of Vim.
    separator = _LUA_SEPARATOR if _LUA_METHOD.fullmatch(name) is not None else _SEPARATOR
    parts = [part for part in separator.split(name) if part]
    return (parts[-2] if len(parts) > 1 else ""), (parts[-1] if parts else name)


def _is_within(container: str, owner: str, path: str) -> bool:
    """Return whether `owner` is the container of a symbol, or the module of one without a container.

    The module's name is its file's: `get` of ``client.py`` is `client.get`.
    """
    module = path.rpartition("/")[2].partition(".")[0]
    return _SEPARATOR.split(container)[-1] == owner or (not container and module == owner)


def definition_at(texts: FileTexts, target: Target, path: str, name: str, line: int) -> Definition | None:
    """Return the definition of a name on a line."""
    parsed = texts.definitions(target, path)
    return None if parsed is None else next((item for item in parsed.named_on(line) if item.name == name), None)


def with_overloads(texts: FileTexts, locations: Sequence[DefinitionLocation]) -> list[DefinitionLocation]:
    """Add the other definitions of each name in its file and class: overloads, and those under other conditions."""
    expanded: dict[tuple[str, str, int], DefinitionLocation] = {}
    read: set[tuple[str, str, str, str, str]] = set()
    for location in locations:
        definition, file = location.definition, (location.target.repository.key, location.path)
        expanded.setdefault((*file, definition.line), location)

        # Overloads have the same overloads.
        family = (*file, definition.name, definition.container, definition.kind)
        if family in read:
            continue

        read.add(family)
        other_locations = [
            *_other_bodies(texts, location),
            *_other_macros(texts, location),
            *_other_lines(texts, location),
        ]
        for other in other_locations:
            expanded.setdefault((*file, other.definition.line), other)

    return list(expanded.values())


def _other_bodies(texts: FileTexts, location: DefinitionLocation) -> list[DefinitionLocation]:
    """Return the definitions of the same name and kind in the file and class, without declarations."""
    same = location.definition
    bodies = [
        DefinitionLocation(location.target, location.path, definition)
        for definition in texts.iter_definitions(location.target, location.path)
        if (definition.name, definition.container) == (same.name, same.container)
        and (definition.kind == same.kind or "object" in {definition.kind, same.kind})
    ]
    return [body for body in bodies if not is_declaration(texts, body)]


def _other_lines(texts: FileTexts, location: DefinitionLocation) -> list[DefinitionLocation]:
    """Return the further lines of a file without a grammar that have the form of the definition, such as overloads."""
    definition = location.definition
    language = language_at(texts, location.target, location.path)
    define = reader_of(language, definition.name) if language not in LANGUAGES else None
    if define is None:
        return []

    lines = texts.lines(location.target, location.path)
    numbers = [
        number
        for number, line in enumerate(lines, 1)
        if number != definition.line
        and len(line) <= _MAX_LINE
        and definition.name in line
        and define(line) == definition.kind
    ]
    if definition.container:
        # Another type may have a member of the name.
        file_language = language_of(location.path) or ""
        code_lines = texts.code_lines(location.target, location.path, file_language)
        numbers = [
            number for number in numbers if _type_around(code_lines, number, file_language) == definition.container
        ]

    return [_on_line(location, number) for number in numbers]


def _other_macros(texts: FileTexts, location: DefinitionLocation) -> list[DefinitionLocation]:
    """Return the further ``#define`` lines of a constant in its file: those under other conditions."""
    definition = location.definition
    if definition.kind != "constant":
        return []

    define = re.compile(rf"\s*#\s*define\s+{re.escape(definition.name)}\b(?!\()")
    lines = texts.lines(location.target, location.path)
    return [
        _on_line(location, number)
        for number, line in enumerate(lines, 1)
        if number != definition.line and define.match(line) is not None
    ]


def _on_line(location: DefinitionLocation, number: int) -> DefinitionLocation:
    """Return the location with its definition on another line of the file, which is all of its text."""
    definition = replace(location.definition, line=number, begin_line=number, end_line=number)
    return DefinitionLocation(location.target, location.path, definition)


def state_definitions(work: Work, name: str, locations: Sequence[DefinitionLocation], queries: list[str]) -> Finding:
    """Write where a name is defined: the best locations in the sentence, further ones below.

    There must be at least one location. `queries` are those of the search for them.
    """
    texts = work.texts
    best = best_locations(locations)
    visible_locations = best[:MAX_NAMED]
    repositories = {location.target.repository.name for location in visible_locations}
    with_repository = len(repositories) > 1 or len(work.inquiry.pins) > 1
    described = [_location_sentence(texts, location, with_repository=with_repository) for location in visible_locations]
    if len(best) == 1:
        text = f"{code(name)} is defined in {described[0]}"
    else:
        # No number: what counts as another definition of a name is a matter of taste, and prototypes are left out.
        phrase = "places, such as in" if len(best) > MAX_NAMED else "places: in"
        text = f"{code(name)} is defined in several {phrase} {'; in '.join(described)}"

    if len(with_overloads(texts, best)) > len(best):
        files = "its file has" if len(best) == 1 else "their files have"
        text += f"; {files} more definitions of the name"

    evidence = tuple(evidence_at(texts, location) for location in visible_locations)
    finding = Finding(Statement(text, evidence), "definition", queries=[join_queries(queries)], notes=work.notes)
    finding.quotes = [head_at(texts, location) for location in visible_locations[:1]]

    visible_ids = {id(location) for location in visible_locations}
    finding.details = [
        Statement(_location_sentence(texts, location, with_repository=with_repository), (evidence_at(texts, location),))
        for location in locations[:MAX_DETAILS]
        if id(location) not in visible_ids
    ]

    if len(best) == 1:
        documentation = first_sentence(texts.lines(best[0].target, best[0].path), best[0].definition)
        if documentation:
            finding.method.append(f"Its documentation says: “{inline(documentation, 500)}”")

    return finding


_ALIAS = (
    r"\s*(?:template\s*<[^<>]{{0,200}}>\s*)?(?:(?:export|declare|pub(?:\(\w{{1,20}}\))?|public|private|internal|protected"
    r"|fileprivate)\s+){{0,3}}(?:using|type|typealias)\s+{name}(?:<[^<>=]{{0,80}}>)?\s*=\s*(?P<type>[^\s;{{}}\"'`/#][^;{{}}\"'`/#]*+)(?P<end>;?)$"
)
_GOES_ON = re.compile(r"\s*[|&.<>+?,=)\]]")


def state_alias(work: Work, name: str, locations: Sequence[DefinitionLocation], queries: list[str]) -> Finding | None:
    """Write where an alias of a type is defined and what it stands for; None unless one line has the whole of it."""
    best = best_locations(locations)
    if len(best) != 1:
        return None

    location = best[0]
    lines, number = work.texts.lines(location.target, location.path), location.definition.line
    line = lines[number - 1]
    form = _ALIAS.format(name=re.escape(location.definition.name))
    match = re.match(form, line.rstrip()) if len(line) <= _MAX_LINE else None
    if match is None or len(with_overloads(work.texts, best)) > 1:
        return None

    following = lines[number] if number < len(lines) else ""
    aliased = match["type"].strip()
    is_indented = len(following) - len(following.lstrip()) > len(line) - len(line.lstrip())
    goes_on = _GOES_ON.match(following) is not None or is_indented or aliased.endswith(tuple("|&,<(=:+-"))
    is_open = goes_on and not match["end"]
    is_balanced = all(aliased.count(left) == aliased.count(right) for left, right in ("()", "[]"))
    if is_open or not is_balanced:
        return None

    finding = state_definitions(work, name, locations, queries)
    text = f"{finding.headline.text}; it stands for {code(shown_value(aliased))}"
    finding.headline = Statement(text, finding.headline.evidence)
    return finding


def _location_sentence(texts: FileTexts, location: DefinitionLocation, *, with_repository: bool) -> str:
    """Write a location for a sentence: "`src/client.py`, line 12, as a method of `Client`"."""
    definition = location.definition
    repository = f" of {code(location.target.repository.name)}" if with_repository else ""
    noun = noun_at(texts, location)

    # A function within another one is none of its members. A noun begins with its article.
    owner = _owner_at(texts, location)
    is_member = noun.partition(" ")[2] in _MEMBERS and not is_of_function(texts, location)
    preposition = "of" if is_member else "within"
    kind = ""
    if noun and owner:
        kind = f", as {noun} {preposition} {code(owner)}"
    elif noun:
        kind = f", as {noun}"
    elif owner:
        kind = f", within {code(owner)}"

    return f"{code(location.path)}{repository}, line {definition.line:,}{kind}"


def _owner_at(texts: FileTexts, location: DefinitionLocation) -> str:
    """Return what has a definition; empty if its line names another owner, as where a macro confused a grammar."""
    definition = location.definition
    line = texts.lines(location.target, location.path)[definition.line - 1][:_MAX_LINE]
    owner = re.search(rf"(?P<name>\w+)::~?{re.escape(definition.name)}(?!\w)", line)
    is_other = owner is not None and owner["name"] not in re.findall(r"\w+", definition.container)
    # What stands before a name without a dot or colons is its type: `std::size_t index_of()` isn't a part of `size_t`.
    container = re.escape(re.split(r"\W+", definition.container)[-1])
    is_other = is_other or (
        bool(container) and re.search(rf"::{container}[\s&*]+{re.escape(definition.name)}\s*\(", line) is not None
    )
    return "" if is_other else definition.container
