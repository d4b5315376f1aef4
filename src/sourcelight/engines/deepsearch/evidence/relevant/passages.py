"""The passages of a ranking that are shown: three definitions or texts, with their own descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, FileEvidence
from sourcelight.engines.deepsearch.evidence.question_terms import matched_words
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.relevant.files import ScoredFile
from sourcelight.engines.deepsearch.evidence.relevant.lines import RankedLines
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence
from sourcelight.engines.deepsearch.evidence.units import comment_start, head_end
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.symbols.definition_parser import Definition

PLACES = 3
"""Maximum passages that are shown."""

_MAX_PER_FILE = 2
"""Maximum passages of one file."""


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


def find_relevant(
    texts: FileTexts, ranking: Ranking, weights: Mapping[str, float], candidates: Sequence[RankedLines]
) -> list[RelevantPassage]:
    """Return the best passages of some candidates, best first.

    Parameters
    ----------
    texts
        The files.
    ranking
        The ranking that the candidates are from.
    weights
        Weights of the question's terms.
    candidates
        The definitions and lines that may be shown, best first.
    """
    return [_describe(texts, candidate, ranking, weights) for candidate in _select(candidates)]


def _select(candidates: Sequence[RankedLines]) -> list[RankedLines]:
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
    if definition is None:
        evidence = texts.evidence(file.target, file.path, candidate.begin_line, candidate.end_line, "body", score)
        return RelevantPassage(evidence, "", "", matched_words(evidence.text, ranking, weights))

    summary = first_sentence(file.lines, definition)
    start, end = _cited_lines(file, definition) if summary else (definition.line, definition.line)
    evidence = texts.evidence(file.target, file.path, start, end, "definition", score, (definition.name,))
    text = "\n".join(file.lines[definition.begin_line - 1 : definition.end_line])
    words = matched_words(text, ranking, weights)
    body = candidate.begin_line, candidate.end_line
    return RelevantPassage(evidence, definition.name, summary, words, is_documentation=bool(summary), body=body)


def _cited_lines(file: ScoredFile, definition: Definition) -> tuple[int, int]:
    """Return the lines of a definition's head with its documentation: the comment above, or the docstring."""
    start = min(definition.line, comment_start(file.lines, definition.begin_line - 1) + 1)
    end = max(definition.line, min(head_end(file.lines, definition), len(file.lines)))
    if end - start >= MAX_LINES:
        start = definition.line
    return start, min(end, start + MAX_LINES - 1)
