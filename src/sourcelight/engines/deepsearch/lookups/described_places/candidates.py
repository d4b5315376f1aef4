"""Files and definitions that may be what a question describes, with the words that their names and documents have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sourcelight.core.query.languages import language_of
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.surroundings import is_of_test
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.facts.paths import PathNames, rank_of
from sourcelight.engines.deepsearch.facts.searches import find_rows, make_queries
from sourcelight.engines.deepsearch.facts.unparsed_definitions import NO_CODE, reader_of
from sourcelight.engines.deepsearch.lookups.definitions.documentation import summary_of
from sourcelight.engines.deepsearch.lookups.definitions.location import DefinitionLocation
from sourcelight.engines.deepsearch.lookups.described_places.concepts import (
    Description,
    split_joined,
    words_of_file,
    words_of_name,
)
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.deepsearch.source.comments import has_prose_marks, prose_lines
from sourcelight.engines.deepsearch.source.line_kinds import DOCUMENTS, lines_of_code
from sourcelight.engines.deepsearch.source.paragraphs import Sentence, comment_paragraphs
from sourcelight.engines.search import Target
from sourcelight.engines.symbols.definition_parser import Definition
from sourcelight.engines.symbols.grammars import LANGUAGES

_MAX_ROWS, _MAX_FILES = 6_000, 40_000
"""Rows of a search and paths that are compared; more are of a word that tells nothing apart."""
_MAX_DOCUMENTED = 60
"""Candidates whose documentation is read."""
_MAX_LINE = 300
_HEADER_LINES = 30
"""First lines of a file in which a comment is about the whole file."""
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:-+[\w$]+)*[!?]?")
_TYPE_KINDS = frozenset(
    [
        "class",
        "struct",
        "interface",
        "trait",
        "type",
        "enum",
        "union",
        "object",
        "protocol",
        "record",
        "module",
        "contract",
    ]
)
_MEMBERS = frozenset({"field", "property", "enummember", "key", "parameter", "file"})


@dataclass(frozen=True, slots=True)
class PlaceCandidate:
    """A definition, or a file if there is none, and the concepts that it has.

    Attributes
    ----------
    target, path
        Its file.
    by_name, by_surroundings, by_text
        Concepts in its own name, in the names around it, and in the first sentence of its documentation.
    extra
        Words of its name that the description lacks.
    location
        Its definition; None for a file.
    sentence
        That first sentence.
    by_path
        Of a file, the concepts that its path has as they are written, rather than by related words.
    """

    target: Target
    path: str
    by_name: frozenset[int]
    by_surroundings: frozenset[int]
    by_text: frozenset[int]
    extra: int
    location: DefinitionLocation | None = None
    sentence: Sentence | None = None
    by_path: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """The name of the definition, or the path."""
        return self.path if self.location is None else self.location.definition.name

    @property
    def by_all(self) -> frozenset[int]:
        """The concepts that its name, its surroundings or its documentation have."""
        return self.by_name | self.by_surroundings | self.by_text


def find_named_definitions(work: Work, description: Description, noun: str) -> list[PlaceCandidate]:
    """Return definitions outside of tests whose names have a word of the description."""
    pattern = _pattern_of(description)
    if not pattern:
        return []
    symbols = find_rows(work, make_queries(work, f"type:symbol case:no /{pattern}/"), max_rows=_MAX_ROWS)
    candidates = [] if symbols.is_cut else list(_read_parsed(work, symbols.rows, description, noun))
    content = find_rows(work, make_queries(work, f"type:file case:no /{pattern}/"), max_rows=4 * _MAX_ROWS)
    if not content.is_cut:
        candidates += _read_unparsed(work, content.lines, description, noun)
    return candidates


def _pattern_of(description: Description) -> str:
    """Return a pattern for a name with a word of a description; empty without a long word."""
    stems = {form for concept in description.concepts for form in concept.strong if len(form) > 1}
    stems |= {form for form, _ in (*description.acronyms, *description.runs)}
    return f"(?:{'|'.join(sorted(map(escape_regexp, stems)))})" if stems else ""


def _read_parsed(
    work: Work, rows: Sequence[dict[str, object]], description: Description, noun: str
) -> Iterator[PlaceCandidate]:
    for row in rows:
        path, name, line = str(row["path"]), str(row.get("symbol") or ""), row["line_number"]
        target = work.inquiry.pins.of(str(row["repository"]))
        kind = str(row.get("symbol_kind") or "")
        if (
            target is None
            or not name
            or not isinstance(line, int)
            or not rank_of(path).is_of_project
            or is_hidden_file(path)
        ):
            continue
        if path.endswith(".d.ts"):
            continue  # it declares what another file does
        if kind in _MEMBERS or not is_of_noun(kind, noun):
            continue

        definition = Definition(name, kind, str(row.get("container") or ""), 0, line, line, line)
        if is_of_test(definition):
            continue
        candidate = _candidate(target, path, definition, description)
        if candidate.by_name:
            yield candidate


def _candidate(target: Target, path: str, definition: Definition, description: Description) -> PlaceCandidate:
    words = words_of_name(definition.name)
    surroundings = [*words_of_name(definition.container), *words_of_name(path.rpartition(".")[0])]
    return PlaceCandidate(
        target,
        path,
        description.coverage(words),
        description.coverage(surroundings, weak=False),
        frozenset(),
        description.extra_words(words),
        DefinitionLocation(target, path, definition),
    )


def _read_unparsed(
    work: Work, rows: Sequence[dict[str, object]], description: Description, noun: str
) -> Iterator[PlaceCandidate]:
    """Yield the definitions in languages without a grammar, by the form of a line."""
    readers: dict[tuple[str, str], object] = {}
    code_numbers: dict[tuple[str, str], set[int]] = {}
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        path, line = str(row["path"]), str(row["line"] or "")
        language = language_of(path)
        target = work.inquiry.pins.of(str(row["repository"]))
        is_read = not language or language in LANGUAGES or language in NO_CODE
        if (
            target is None
            or is_read
            or len(line) > _MAX_LINE
            or not rank_of(path).is_of_project
            or is_hidden_file(path)
        ):
            continue

        number = row["line_number"]
        for name in dict.fromkeys(_IDENTIFIER.findall(line)):
            covered = description.coverage(words_of_name(name))
            if not covered or (*_key(row), name) in seen:
                continue
            reader = readers.setdefault((language, name), reader_of(language, name))
            kind = reader(line) if callable(reader) else None
            if kind is None or not is_of_noun(kind, noun) or not isinstance(number, int):
                continue
            if _key(row) not in code_numbers:
                code_numbers[_key(row)] = {number for number, _ in work.texts.code_lines(target, path, language)}
            if number in code_numbers[_key(row)]:
                seen.add((*_key(row), name))
                definition = Definition(name, kind, "", 0, number, number, number, column=line.find(name))
                yield _candidate(target, path, definition, description)


def read_definitions_by_form(
    texts: FileTexts, target: Target, path: str, description: Description
) -> Iterator[Definition]:
    """Yield the definitions of one file in a language without a grammar whose names have a word of a description."""
    language = language_of(path)
    if not language or language in LANGUAGES or language in NO_CODE:
        return
    lines = texts.lines(target, path)
    readers: dict[str, object] = {}
    seen: set[str] = set()
    for number, line in lines_of_code(lines[:_MAX_BODY_LINES], language):
        for name in dict.fromkeys(_IDENTIFIER.findall(line[:_MAX_LINE])):
            if name in seen or not description.coverage(words_of_name(name)):
                continue
            reader = readers.setdefault(name, reader_of(language, name))
            kind = reader(line) if callable(reader) else None
            if kind is not None and is_of_noun(kind, "any"):
                seen.add(name)
                yield Definition(name, kind, "", 0, number, number, number, column=line.find(name))


def _key(row: dict[str, object]) -> tuple[str, str]:
    return str(row["repository"]), str(row["path"])


def is_of_noun(kind: str, noun: str) -> bool:
    """Return whether a kind of definition is one that a noun of a question asks for."""
    if noun == "type":
        return kind in _TYPE_KINDS
    # A constant does nothing, and a file is no definition of what it does.
    return kind in FUNCTION_KINDS or kind == "macro" or (noun != "function" and kind in _TYPE_KINDS)


def with_documentation(
    texts: FileTexts, candidates: Sequence[PlaceCandidate], description: Description
) -> list[PlaceCandidate]:
    """Read the documentation of the candidates that have most of the description."""
    ordered = sorted(candidates, key=lambda item: (-len(item.by_name | item.by_surroundings), item.extra, item.path))
    return [
        _add_documentation(texts, candidate, description) if number < _MAX_DOCUMENTED else candidate
        for number, candidate in enumerate(ordered)
    ]


def _add_documentation(texts: FileTexts, candidate: PlaceCandidate, description: Description) -> PlaceCandidate:
    location = candidate.location
    if location is None:
        return candidate
    lines = texts.lines(candidate.target, candidate.path)
    definition = _whole_definition(texts, location)
    sentence = summary_of(lines, definition, language_of(candidate.path) or "")
    # What a sentence links to is something else.
    words = [] if sentence is None else words_of_name(re.sub(r"\{@link[^{}]{0,200}\}", " ", sentence.text))
    by_text = description.coverage(words, weak=False)
    return PlaceCandidate(
        candidate.target, candidate.path, candidate.by_name, candidate.by_surroundings, by_text, candidate.extra,
        DefinitionLocation(location.target, location.path, definition), sentence,
    )  # fmt: skip


def _whole_definition(texts: FileTexts, location: DefinitionLocation) -> Definition:
    """Return the definition with all that a grammar knows of it, else as it is."""
    same = location.definition
    definitions = texts.iter_definitions(location.target, location.path)
    return next((item for item in definitions if item.name == same.name and item.line == same.line), same)


def find_named_files(work: Work, description: Description, noun: str) -> list[PlaceCandidate]:
    """Return the files of code outside of tests whose paths have a word of the description.

    Those that only a folder gives it come last: they are no answer, and keep another file from being the only one.
    """
    files = _paths_of(work)
    if len(files) > _MAX_FILES:
        return []

    parts = description.parts
    candidates: list[PlaceCandidate] = []
    by_folder_alone: list[PlaceCandidate] = []
    for repository, path in files:
        target = work.inquiry.pins.of(repository)
        if target is None or not rank_of(path).is_of_project or DOCUMENTS.search(path) or is_hidden_file(path):
            continue
        language = language_of(path) or ""
        if (
            path.startswith(".")
            or (noun in _OF_PROGRAMS and language in NO_CODE)
            or (noun == "script" and not language)
        ):
            continue
        folder, words = words_of_name(path.rpartition("/")[0]), split_joined(words_of_file(path), parts)
        by_name = description.coverage(words)
        by_folder = description.coverage(folder, weak=False)
        if not by_name and not by_folder:
            continue
        extra = description.extra_words(words)
        by_path = description.coverage([*words, *folder], weak=False)
        candidate = PlaceCandidate(target, path, by_name, by_folder, frozenset(), extra, by_path=by_path)
        (candidates if by_name else by_folder_alone).append(candidate)

    ordered = sorted(candidates, key=lambda item: (-len(item.by_name | item.by_surroundings), item.extra, item.path))
    best = [_with_header(work.texts, candidate, description) for candidate in ordered[:_MAX_DOCUMENTED]]
    return [*best, *ordered[_MAX_DOCUMENTED:], *by_folder_alone]


def _paths_of(work: Work) -> list[tuple[str, str]]:
    """Return the repositories and paths of all files that are searched."""
    return [
        (repository, path)
        for (repository, _), paths in PathNames(work.inquiry).paths.items()
        if repository in work.names
        for path in paths
    ]


def has_longer_name(work: Work, description: Description, path: str) -> bool:
    """Return whether another file of code has the words of a description that a file is named for, and a further one.

    `parseJson.ts` is the parser of JSON, wherever it is in a ranking, rather than `parse.ts`.
    """
    parts = description.parts
    in_name = description.coverage(split_joined(words_of_file(path), parts), weak=False)
    in_path = in_name | description.coverage(words_of_name(path.rpartition("/")[0]), weak=False)
    files = _paths_of(work)
    return len(files) <= _MAX_FILES and any(
        in_name < in_other and not in_other <= in_path
        for _, other in files
        if language_of(other) and rank_of(other).is_of_project and not DOCUMENTS.search(other)
        for in_other in (description.coverage(split_joined(words_of_file(other), parts), weak=False),)
    )


def with_bodies(
    texts: FileTexts, candidates: Sequence[PlaceCandidate], description: Description
) -> list[PlaceCandidate]:
    """Return the files named for half of a description whose lines have the rest."""
    required = description.required
    matching = []
    for item in candidates[:_MAX_DOCUMENTED]:
        in_path = item.by_name | item.by_surroundings
        if item.extra or 2 * len(in_path) < len(required):
            continue
        lines = texts.lines(item.target, item.path)
        words = [word for line in lines[:_MAX_BODY_LINES] for word in words_of_name(line[:_MAX_LINE])]
        if required <= in_path | description.coverage(words, weak=False):
            matching.append(item)
    return matching


_MAX_BODY_LINES = 3_000


def _with_header(texts: FileTexts, candidate: PlaceCandidate, description: Description) -> PlaceCandidate:
    sentence = header_of(texts, candidate.target, candidate.path)
    if sentence is None:
        return candidate
    by_text = description.coverage(words_of_name(sentence.text), weak=False)
    return replace(candidate, by_text=by_text, sentence=sentence)


def header_of(texts: FileTexts, target: Target, path: str) -> Sentence | None:
    """Return the first sentence of a file's first comment, without licenses; None without one."""
    language = language_of(path) or ""
    if not has_prose_marks(language):
        return None
    lines = texts.lines(target, path)[:_HEADER_LINES]
    for paragraph in comment_paragraphs(lines, language):
        sentence = paragraph.sentences[0] if paragraph.sentences else None
        if sentence is not None and _BOILERPLATE.search(sentence.text) is None and not paragraph.is_trailing:
            # A comment below the head of a definition is about that definition.
            prose_numbers = {line.number for line in prose_lines(lines, language)}
            above = enumerate(lines[: sentence.begin_line - 1], 1)
            code_above = [line for number, line in above if number not in prose_numbers]
            return sentence if all(map(_OPENS_FILE.match, code_above)) else None
    return None


_OPENS_FILE = re.compile(
    r"\W*$|\s*[#/*;%\"'<({-]*\s*(?:package|namespace|module|ns|in-package|library|defmodule|use|using|import|from|require"
    r"|include|\?php|!|pragma|define|ifndef|extern|local|export|open)\b",
    re.IGNORECASE,
)
"""A line that may precede the first comment of a file: marks alone, `package gate`, `(ns gate`, `#!/bin/sh`."""


_BOILERPLATE = re.compile(
    r"copyright|\blicen[sc]e\b|\ball rights|SPDX|^[-=*#!/\s]*$|coding[:=]|eslint|vim?:|pylint|^!|frozen_string|noqa"
    r"|@ts-",
    re.IGNORECASE,
)
_OF_PROGRAMS = frozenset({"script", "module", "header", "component", "class"})
