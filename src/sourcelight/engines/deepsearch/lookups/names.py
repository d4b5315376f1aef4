"""Definitions by name, the best ones first, and their values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.markup import code
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence
from sourcelight.engines.deepsearch.evidence.units import comment_start, head_end
from sourcelight.engines.deepsearch.facts.kinds import in_words_with_article, kind_in_words
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import is_test
from sourcelight.engines.deepsearch.facts.searches import join_queries, make_queries, run_searches
from sourcelight.engines.deepsearch.facts.unparsed_definitions import (
    UNPARSED_LANGUAGES,
    find_unparsed,
    language_at,
    reader_of,
)
from sourcelight.engines.deepsearch.lookups.values import value_of
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.execution.natural_language import kind_of
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition

SHOWN = 3
"""Places that a headline names."""

_MAX_LINE = 500
"""Characters of a line that may define something."""

MAX_DETAILS = 20
_QUOTED_LINES = 12
_SEPARATOR = re.compile(r"\.|::|->|#")
_NOUNS = {
    "class": ("class", "struct", "interface", "enum"), "function": ("function", "method"),
    "method": ("method", "function"), "struct": ("struct", "class"), "interface": ("interface", "class"),
    "enum": ("enum", "class"),
    "trait": ("interface", "class"), "constant": ("constant", "variable", "field", "enummember"),
    "variable": ("variable", "constant", "field"), "macro": ("function", "constant"), "field": ("field", "property"),
    "attribute": ("field", "property", "variable"), "property": ("property", "field", "method"),
    "exception": ("class",), "error": ("class", "variable", "constant"), "constructor": ("constructor", "method"),
    "decorator": ("function",), "module": ("module", "namespace", "package"),
}  # fmt: skip
_SYNONYMS = {
    "function": {"method", "constructor"}, "method": {"function", "constructor", "property"},
    "type": {"class", "struct", "interface", "enum", "union", "trait", "protocol", "record", "type alias", "object"},
    "module": {"namespace", "package"}, "exception": {"class"}, "error": {"class", "type", "struct", "enum"},
    "field": {"property"}, "property": {"field"}, "attribute": {"field", "property"}, "decorator": {"function"},
}  # fmt: skip
"""Kinds that people call by another word than their language: to call a method a function is no mistake."""
_MEMBERS = frozenset({"attribute", "method", "constructor", "field", "property", "member of an enum"})
_TYPES = frozenset({"class", "struct", "interface", "enum", "record"})
_RANKS = {"code": 0, "config": 1, "vendored": 3, "generated": 3}


@dataclass(frozen=True, slots=True)
class DefinitionLocation:
    """A definition, with its commit and file."""

    target: Target
    path: str
    definition: Definition

    @property
    def rank(self) -> int:
        """0 for the code itself; more for tests, documents and vendored files."""
        return rank_of(self.path)


def best_locations(locations: Sequence[DefinitionLocation]) -> list[DefinitionLocation]:
    """Return the locations of the best rank: code before tests, documents and vendored files."""
    lowest = min((location.rank for location in locations), default=0)
    return [location for location in locations if location.rank == lowest]


def rank_of(path: str) -> int:
    """Return 0 for code; more for tests, examples, documents and vendored files."""
    if is_test(path):
        return 2
    if re.search(r"(?i)(^|/)(examples?|samples?|snippets|benchmarks?|fuzz|fixtures?)/", path):
        return 2
    if re.match(r"(?:utils?|scripts?|tools?|contrib|hack|ci|\.github)/", path):
        return 1
    return _RANKS.get(kind_of(path), 2)


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


def split_name(name: str) -> tuple[str, str]:
    """Split a dotted name into its last container and the simple name."""
    parts = [part for part in _SEPARATOR.split(name) if part]
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


def choose_definitions(
    texts: FileTexts, locations: Sequence[DefinitionLocation], symbol_kind: str
) -> list[DefinitionLocation]:
    """Sort definitions; drop prototypes, overloads and other kinds if better definitions exist."""
    noun = singular_of(symbol_kind)
    kinds = _NOUNS.get(noun, ())
    if kinds:
        # A method is called a function as often as not: the noun sorts within these, and leaves out no better place.
        locations = [location for location in locations if location.definition.kind in kinds] or locations
    # A variable that takes over a module, as in `http = require("socket.http")`, doesn't define it.
    locations = [location for location in locations if not _is_alias(texts, location)]
    bodies = [location for location in locations if not is_declaration(texts, location)]
    # A stub counts if nothing else is there, as for extension modules of Python.
    bodies = [location for location in bodies if not _is_stub(location)] or bodies
    if noun != "constructor":
        types = {(location.path, location.definition.name) for location in bodies if location.definition.kind in _TYPES}
        bodies = [candidate for candidate in bodies if not _is_constructor_of(candidate, types)]
    best: dict[tuple[str, str, str], DefinitionLocation] = {}
    for location in bodies or locations:
        key = location.target.repository.key, location.path, location.definition.container
        other = best.get(key)
        # Of overloads the longest has the body; conditional definitions of one file are shown by the first.
        if other is None or _length(location) > _length(other):
            best[key] = location
    return sorted(
        best.values(),
        key=lambda candidate: (
            candidate.rank,
            bool(kinds) and candidate.definition.kind != kinds[0],
            candidate.path.count("/"),
            candidate.path,
            candidate.definition.line,
        ),
    )


def singular_of(noun: str) -> str:
    """Return the singular of a kind of definitions, such as ``class`` of ``classes``."""
    return re.sub(r"(?<=ss)es$|(?<=[^s])s$|ies$", lambda match: "y" if match[0] == "ies" else "", noun)


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
    return [
        DefinitionLocation(
            location.target, location.path, replace(definition, line=number, begin_line=number, end_line=number)
        )
        for number, line in enumerate(texts.lines(location.target, location.path) if define is not None else (), 1)
        if number != definition.line
        and len(line) <= _MAX_LINE
        and definition.name in line
        and define is not None
        and define(line) == definition.kind
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


def _length(location: DefinitionLocation) -> int:
    return location.definition.end_line - location.definition.begin_line


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
    return re.fullmatch(rf"(?:{same}|require\s*\([^()]*\)(?:\.\w+)*|await import\([^()]*\))", value.text) is not None


def _is_constructor_of(location: DefinitionLocation, types: set[tuple[str, str]]) -> bool:
    """Return whether a definition is the constructor of a class that has its name, as in Java."""
    return location.definition.kind in {"constructor", "method"} and (
        (location.path, location.definition.name) in types
        and location.definition.container.rpartition(".")[2] == location.definition.name
    )


def _is_stub(location: DefinitionLocation) -> bool:
    """Return whether a file only has types for the definitions of another."""
    return location.path.endswith((".pyi", ".d.ts", ".d.mts", ".d.cts"))


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
    above = "".join(lines[max(0, definition.begin_line - 1) : definition.line])
    return "overload" in above and "@" in above


def evidence_at(texts: FileTexts, location: DefinitionLocation, role: str = "definition") -> FileEvidence:
    """Make evidence of the line that defines a name."""
    line = location.definition.line
    return texts.evidence(location.target, location.path, line, line, role, 1.0, (location.definition.name,))


def head_at(texts: FileTexts, location: DefinitionLocation, max_lines: int = _QUOTED_LINES) -> FileEvidence:
    """Make evidence of a definition's comment, head and docstring, whole if it is short; never half a signature."""
    lines = texts.lines(location.target, location.path)
    definition = location.definition
    start = comment_start(lines, definition.begin_line - 1) + 1
    end = min(definition.end_line, len(lines))
    if end - start >= max_lines:
        end = max(min(head_end(lines, definition), len(lines)), definition.line)
    if end - start >= max_lines + 8:
        start = definition.begin_line
    end = min(end, start + MAX_LINES - 1)
    return texts.evidence(location.target, location.path, start, end, "definition", 1.0, (definition.name,))


def state_definitions(
    work: Work, name: str, locations: Sequence[DefinitionLocation], queries: list[str], notes: list[str]
) -> Finding:
    """Write where a name is defined: the best locations in the sentence, further ones below."""
    texts = FileTexts(work.context)
    best = best_locations(locations)
    visible_locations = best[:SHOWN]
    evidence = tuple(evidence_at(texts, location) for location in visible_locations)
    many = len({location.target.repository.name for location in visible_locations}) > 1 or len(work.inquiry.pins) > 1
    described = [_location_sentence(texts, location, with_repository=many) for location in visible_locations]
    if len(best) == 1:
        text = f"{code(name)} is defined in {described[0]}"
    else:
        # No number: what counts as another definition of a name is a matter of taste, and prototypes are left out.
        such = " such as" if len(best) > SHOWN else ""
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
    container = f" {preposition} {code(definition.container)}" if definition.container else ""
    kind = f", as {noun}{container}" if noun else f", within {code(definition.container)}" if container else ""
    return f"{code(location.path)}{repository}, line {definition.line:,}{kind}"


def with_repository(work: Work, location: DefinitionLocation) -> str:
    """Return " of `repository`" where several are searched, else nothing."""
    return f" of {code(location.target.repository.name)}" if len(work.inquiry.pins) > 1 else ""


def is_of_kind(work: Work, location: DefinitionLocation, noun: str) -> bool:
    """Return whether a definition is what a noun of a question says, by the words of its own line."""
    singular = singular_of(noun)
    lines = FileTexts(work.context).lines(location.target, location.path)
    kind = kind_in_words(location.definition, lines, location.path)
    return not singular or singular == kind or (singular in _SYNONYMS and kind in _SYNONYMS[singular])


def noun_at(texts: FileTexts, location: DefinitionLocation) -> str:
    """Return the kind of a definition with its article, as its own line has it; empty if the line doesn't say it."""
    lines = texts.lines(location.target, location.path)
    return in_words_with_article(kind_in_words(location.definition, lines, location.path))


@dataclass(slots=True)
class ValueCandidate:
    """A value, the lines that prove it, and the rank of their file."""

    value: str
    subject: str
    path: str
    evidence: list[FileEvidence]
    rank: int
    repository: str = ""
    verb: str = "is"
    locations: list[DefinitionLocation] = field(default_factory=list)
