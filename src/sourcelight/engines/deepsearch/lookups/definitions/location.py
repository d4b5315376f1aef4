"""Locations of definitions: their rank, the words for their kind, and the evidence that they give."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcelight.core.markup import code, singular
from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, FileEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.units import comment_start, head_end
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS, in_words_with_article, kind_in_words
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import PathRank, rank_of
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition

_QUOTED_LINES = 12
_SHOWN_CHARS = 120
TAB = "⇥"
"""The sign of a tab in a value, which a page shows as a space."""
SPACE = "\u2423"
"""The sign that a sentence shows for a space."""
_SYNONYMS = {
    "function": {"method", "constructor"}, "method": {"function", "constructor", "property"},
    "type": {"class", "struct", "interface", "enum", "union", "trait", "protocol", "record", "type alias", "object"},
    "module": {"namespace", "package"}, "exception": {"class"}, "error": {"class", "type", "struct", "enum"},
    "field": {"property"}, "property": {"field"}, "attribute": {"field", "property"}, "decorator": {"function"},
}  # fmt: skip
"""Kinds that people call by another word than their language: to call a method a function is no mistake."""


@dataclass(frozen=True, slots=True)
class DefinitionLocation:
    """A definition, with its commit and file."""

    target: Target
    path: str
    definition: Definition

    @property
    def rank(self) -> PathRank:
        """The rank of its file."""
        return rank_of(self.path)


def best_locations(locations: Sequence[DefinitionLocation]) -> list[DefinitionLocation]:
    """Return the locations of the best rank: code before tests, documents and vendored files."""
    lowest = min((location.rank for location in locations), default=0)
    return [location for location in locations if location.rank == lowest]


def evidence_at(texts: FileTexts, location: DefinitionLocation) -> FileEvidence:
    """Make evidence of the line that defines a name."""
    line = location.definition.line
    return texts.evidence(location.target, location.path, line, line, "definition", 1.0, (location.definition.name,))


def head_at(texts: FileTexts, location: DefinitionLocation) -> FileEvidence:
    """Make evidence of a definition's comment, head and docstring, whole if it is short; never half a signature."""
    lines = texts.lines(location.target, location.path)
    definition = location.definition
    start = comment_start(lines, definition.begin_line - 1) + 1
    end = min(definition.end_line, len(lines))
    if end - start >= _QUOTED_LINES:
        end = max(min(head_end(lines, definition), len(lines)), definition.line)

    if end - start >= _QUOTED_LINES + 8:
        start = definition.begin_line

    end = min(end, start + MAX_LINES - 1)
    return texts.evidence(location.target, location.path, start, end, "definition", 1.0, (definition.name,))


def with_repository(work: Work, location: DefinitionLocation) -> str:
    """Return " of `repository`" where several are searched, else nothing."""
    return f" of {code(location.target.repository.name)}" if len(work.inquiry.pins) > 1 else ""


def location_text(work: Work, location: DefinitionLocation) -> str:
    """Write where a definition is: "`src/mill.go`, line 12"."""
    return f"{code(location.path)}{with_repository(work, location)}, line {location.definition.line:,}"


def is_of_kind(work: Work, location: DefinitionLocation, noun: str) -> bool:
    """Return whether a definition is what a noun of a question says, by the words of its own line."""
    requested = singular(noun)
    lines = work.texts.lines(location.target, location.path)
    kind = kind_in_words(location.definition, lines, location.path)
    # The form of a definition of a Lisp has the word: `(defclass valve`.
    line = lines[location.definition.line - 1] if 0 < location.definition.line <= len(lines) else ""
    if requested and re.match(rf"\s*\(def[\w-]*?{re.escape(requested)}\b", line) is not None:
        return True
    return not requested or requested == kind or (requested in _SYNONYMS and kind in _SYNONYMS[requested])


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


def verb_after(subject: str) -> str:
    """Return the verb of a sentence about a value: a default is a value, and a name is set to one."""
    return "is" if subject.startswith("The ") else "is set to"


def describe_location(candidate: ValueCandidate, *, names_repository: bool) -> str:
    """Return the path of a value, its repository if several are searched, its line, and the function that has it."""
    of = f" of {code(candidate.repository)}" if names_repository else ""
    line = f", line {candidate.evidence[0].begin_line:,}"
    holder = candidate.locations[0].definition if candidate.locations else None
    container = ""
    # Without a grammar, a value has the kind of a function, and isn't within itself.
    is_itself = holder is not None and candidate.subject == code(holder.name)
    if holder is not None and holder.kind in FUNCTION_KINDS and not is_itself:
        container = f" (in {code(holder.name)}{f' of {code(holder.container)}' if holder.container else ''})"
    return f"{code(candidate.path)}{of}{line}{container}"


def shown_value(text: str) -> str:
    """Return a value as a sentence shows it: cut, with a sign for each of several spaces in a row."""
    # Markdown shows several spaces in a row as one.
    text = re.sub(r" {2,}", lambda match: SPACE * len(match[0]), text).replace("\t", TAB)
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1].rstrip()}…"


def is_of_function(texts: FileTexts, location: DefinitionLocation) -> bool:
    """Return whether what has a definition is a function, which a class that it opens makes no owner."""
    owner = re.split(r"\.|::|->|#", location.definition.container)[-1]
    around = texts.definitions_around(location.target, location.path, location.definition.line)
    return any(item.name == owner and item.kind in FUNCTION_KINDS for item in around)


def is_renamed(work: Work, location: DefinitionLocation) -> bool:
    """Return whether a macro of C gives what a name defines another one: ``#define open z_open``."""
    lines = work.texts.lines(location.target, location.path)
    line = lines[location.definition.line - 1] if location.definition.line <= len(lines) else ""
    name = re.escape(location.definition.name)
    return re.match(rf"\s*#\s*define\s+{name}\s+(?:\w+{name}|{name}\w+)\s*$", line[:300]) is not None
