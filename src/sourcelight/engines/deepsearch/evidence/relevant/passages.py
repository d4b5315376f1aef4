"""The passages of a ranking that are shown: three definitions or texts, with their own descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, FileEvidence
from sourcelight.engines.deepsearch.evidence.question_terms import matched_words, terms_in
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.relevant.files import ScoredFile
from sourcelight.engines.deepsearch.evidence.relevant.lines import RankedLines
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence
from sourcelight.engines.deepsearch.evidence.units import comment_start, head_end
from sourcelight.engines.deepsearch.source.paragraphs import Sentence, comment_paragraphs, document_paragraphs
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.symbols.definition_parser import Definition

PLACES = 3
"""Maximum passages that are shown."""

_MAX_PER_FILE = 2
"""Maximum passages of one file."""

_LINES_ABOVE = 60
"""Lines above a passage that tell whether it begins in a comment."""


@dataclass(frozen=True, slots=True)
class RelevantPassage:
    """A definition with the first sentence of its documentation, and the words of the question in it.

    One line that is shown unchanged (`is_line`) has no name, and `description` says why it is shown. A sentence that
    is quoted from elsewhere has the `line` that it begins on, and the name of what it is in; `line` is 0 for others.
    It is code if `is_code`, and is from the documentation of its definition if `is_documentation`.

    `body` has the first and last line of a whole definition, of which `evidence` has the head, and `sentence` what in
    it answers best.
    """

    evidence: FileEvidence
    name: str
    description: str
    words: tuple[str, ...]
    is_line: bool = False
    line: int = 0
    is_code: bool = False
    is_documentation: bool = False
    body: tuple[int, int] = (0, 0)
    sentence: RelevantPassage | None = None


def describe_lines(
    texts: FileTexts, ranking: Ranking, weights: Mapping[str, float], selected: Sequence[RankedLines]
) -> list[RelevantPassage]:
    """Return selected definitions and lines as passages with their descriptions.

    Parameters
    ----------
    texts
        The files.
    ranking
        The ranking that they are from.
    weights
        Weights of the question's terms.
    selected
        The definitions and lines to show, best first.
    """
    return [_describe(texts, lines, ranking, weights) for lines in selected]


def select_lines(candidates: Sequence[RankedLines]) -> list[RankedLines]:
    """Return the best candidates, few of each file and no two that are alike."""
    selected: list[RankedLines] = []
    for candidate in candidates:
        of_file = [other for other in selected if other.file is candidate.file]
        if len(of_file) < _MAX_PER_FILE and not any(candidate.is_like(other) for other in of_file):
            selected.append(candidate)
        if len(selected) == PLACES:
            break

    return selected


def _describe(
    texts: FileTexts, candidate: RankedLines, ranking: Ranking, weights: Mapping[str, float]
) -> RelevantPassage:
    """Return a passage as evidence: the head of a definition with its documentation, or its lines."""
    file, definition, score = candidate.file, candidate.definition, candidate.chunk.score
    body = candidate.begin_line, candidate.end_line
    if definition is None:
        evidence = texts.evidence(file.target, file.path, candidate.begin_line, candidate.end_line, "body", score)
        words = matched_words(evidence.text, ranking, weights)
        prose = _first_sentence(candidate, candidate.begin_line, candidate.end_line)
        return RelevantPassage(evidence, "", prose.text if prose is not None else "", words, body=body)

    summary = first_sentence(file.lines, definition)
    start, end = _cited_lines(file, definition) if summary else (definition.line, definition.line)
    evidence = texts.evidence(file.target, file.path, start, end, "definition", score, (definition.name,))
    text = "\n".join(file.lines[definition.begin_line - 1 : definition.end_line])
    words = matched_words(text, ranking, weights)
    sentence = _describe_overview(texts, candidate) if candidate.overview else None
    is_documented = bool(summary or sentence)
    return RelevantPassage(
        evidence, definition.name, summary, words, is_documentation=is_documented, body=body, sentence=sentence
    )


def _describe_overview(texts: FileTexts, candidate: RankedLines) -> RelevantPassage | None:
    """Return the first sentence of a comment further up that explains a definition, with the lines around it."""
    file, overview = candidate.file, candidate.overview
    sentence = _first_sentence(candidate, overview.start, overview.stop - 1)
    if sentence is None:
        return None
    end = min(sentence.begin_line + MAX_LINES, overview.stop) - 1
    evidence = texts.evidence(file.target, file.path, sentence.begin_line, end, "body", candidate.chunk.score)
    return RelevantPassage(evidence, "", sentence.text, (), line=sentence.begin_line)


def _first_sentence(candidate: RankedLines, first_line: int, last_line: int) -> Sentence | None:
    """Return the first sentence in some lines with a term of the question, of a comment if it is code."""
    file, begin_line = candidate.file, max(first_line - _LINES_ABOVE, 1)
    lines = file.lines[begin_line - 1 : last_line]
    if candidate.chunk.kind == "docs":
        paragraphs = document_paragraphs(file.path, lines)
    else:
        paragraphs = comment_paragraphs(lines, language_of(file.path))

    for paragraph in paragraphs:
        for sentence in paragraph.sentences:
            line = begin_line + sentence.begin_line - 1
            if line >= first_line and file.weights.keys() & terms_in(sentence.text):
                return replace(sentence, begin_line=line)
    return None


def _cited_lines(file: ScoredFile, definition: Definition) -> tuple[int, int]:
    """Return the lines of a definition's head with its documentation: the comment above, or the docstring."""
    start = min(definition.line, comment_start(file.lines, definition.begin_line - 1) + 1)
    end = max(definition.line, min(head_end(file.lines, definition), len(file.lines)))
    if end - start >= MAX_LINES:
        start = definition.line
    return start, min(end, start + MAX_LINES - 1)
