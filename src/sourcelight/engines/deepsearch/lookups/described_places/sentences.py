"""Sentences about a place: where a definition is, which definitions a file has, and how a file begins."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.core.markup import code, join_words
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.model import FileEvidence, Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.relevant.lines import RankedLines
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.definitions.documentation import summary_of
from sourcelight.engines.deepsearch.lookups.definitions.location import (
    DefinitionLocation,
    evidence_at,
    head_at,
    with_repository,
)
from sourcelight.engines.deepsearch.lookups.definitions.search import state_definitions
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.source.paragraphs import Sentence
from sourcelight.engines.search import Target

MAX_STATED = 3
"""Definitions that a sentence about a file names."""
_MAX_QUOTE = 300
_FIRST_LINES = 5
"""Lines that a file begins with."""
_METHOD = (
    "The file is the first of the ranking, and its names and comments have more of the question's words than those of "
    "the other files. Code was not run or followed."
)

_METHOD_OF_NAME = (
    "No other of the best files has another word of the question in its name, or the same ones. Code was not run or "
    "followed."
)


def documentation_at(texts: FileTexts, location: DefinitionLocation) -> Sentence | None:
    """Return the first sentence of a definition's documentation; None without one."""
    lines = texts.lines(location.target, location.path)
    return summary_of(lines, location.definition, language_of(location.path) or "")


def state_place(work: Work, location: DefinitionLocation) -> Finding:
    """Write where a definition is, with the first sentence of its documentation."""
    finding = state_definitions(work.without_notes(), location.definition.name, [location], [])
    sentence = documentation_at(work.texts, location)
    if sentence is not None:
        text = f"{finding.headline.text}: {_quote(sentence)}"
        evidence = (*finding.headline.evidence, _evidence_of(work.texts, location.target, location.path, sentence))
        finding.headline = Statement(text, evidence)
    finding.method = [_METHOD]
    return finding


def state_in_file(work: Work, locations: Sequence[DefinitionLocation]) -> Finding:
    """Write which definitions a file has: one with its documentation, or several; the documentation of these below."""
    texts = work.texts
    first = locations[0]
    subject = f"{code(first.path)}{with_repository(work, first)} defines"
    evidence = [evidence_at(texts, location) for location in locations]
    sentences = [documentation_at(texts, location) for location in locations]
    details = [
        Statement(f"{_name_with_line(location)}: {_quote(sentence)}", (item,))
        for location, sentence, item in zip(locations, sentences, evidence, strict=True)
        if sentence is not None
    ]
    text = f"{subject} {join_words([_name_with_line(location) for location in locations])}"
    if len(locations) == 1 and sentences[0] is not None:
        text = f"{text}: {_quote(sentences[0])}"
        evidence.append(_evidence_of(texts, first.target, first.path, sentences[0]))
        details = []

    finding = Finding(Statement(text, tuple(evidence)), "place", details=details, heading="Documentation")
    finding.method = [_METHOD]
    finding.quotes = [head_at(texts, first)]
    return finding


def state_beginning(texts: FileTexts, target: Target, path: str, sentence: Sentence) -> Finding:
    """Write how a file begins, or what it says of itself below a license or its imports."""
    evidence = _evidence_of(texts, target, path, sentence)
    line = sentence.begin_line
    verb = "begins with" if line <= _FIRST_LINES else f"says in line {line:,}:"
    return Finding(Statement(f"{code(path)} {verb} {_quote(sentence)}", (evidence,)), "place", quotes=[evidence])


def state_named_file(texts: FileTexts, lines: RankedLines, words: Sequence[str]) -> Finding:
    """Write which words of a question are in the name of the best file of a ranking, above the best lines of it."""
    file, begin_line, end_line = lines.file, lines.begin_line, lines.end_line
    if lines.definition is not None:
        begin_line = end_line = lines.definition.line
    evidence = texts.evidence(file.target, file.path, begin_line, end_line, "definition", 1.0)
    of_name = join_words([code(word) for word in words])
    text = f"{code(file.path)} is named for {of_name}, and is the first file of the ranking"
    return Finding(Statement(text, (evidence,)), "place", quotes=[evidence], method=[_METHOD_OF_NAME])


def _name_with_line(location: DefinitionLocation) -> str:
    return f"{code(location.definition.name)} in line {location.definition.line:,}"


def _quote(sentence: Sentence) -> str:
    return f"“{inline(sentence.text, _MAX_QUOTE)}”"


def _evidence_of(texts: FileTexts, target: Target, path: str, sentence: Sentence) -> FileEvidence:
    return texts.evidence(target, path, sentence.begin_line, sentence.end_line, "definition", 1.0)
