"""Show a chosen passage: its whole sentence or statement with the lines that a reader needs to understand it."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.engines.deepsearch.evidence.model import FileEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.relevant.passages import RelevantPassage
from sourcelight.engines.deepsearch.explanations.question import ExplanationQuestion
from sourcelight.engines.deepsearch.passages.candidates import AnswerCandidate
from sourcelight.engines.deepsearch.passages.choice import AnsweringPassage

_MIN_OWN, _MIN_NEAR = 0.3, 0.6
"""Shares of the question's weight from which a passage is shown before ranked definitions."""

_MAX_SHOWN = 2
"""Passages that precede them: a third place shows what else there is."""

_MAX_PARAGRAPH_LINES = 14
"""Lines of a paragraph that are cited whole. Of longer ones, the sentence alone is."""

_MAX_CONDITION_LINES = 6
"""Lines between a statement and the condition above it that are cited with it."""

_MIN_DISTANCE = 20
"""Lines of one definition between two passages that are shown: nearer ones say the same as a rule."""

_MAX_HEAD_LINES = 10
_FOLLOWING_LINES = 6
"""Lines of code below a comment, and of an example below a paragraph, that are quoted with it."""


def show_passages(
    texts: FileTexts, passages: Sequence[AnsweringPassage], explanation: ExplanationQuestion
) -> list[RelevantPassage]:
    """Return the passages to show first, the best of each definition or paragraph."""
    first_passages: list[RelevantPassage] = []
    seen: set[tuple[str, str]] = set()
    for passage in passages:
        candidate = passage.candidate
        is_about = passage.near_share >= _MIN_NEAR and passage.own_share >= _MIN_OWN
        is_of_name = candidate.describes and candidate.unit in explanation.names
        if not (is_about or is_of_name) or len(first_passages) == _MAX_SHOWN:
            continue
        evidence = cite(texts, candidate)
        is_near = any(_are_near(other.evidence, evidence) for other in first_passages)
        if is_near or (candidate.unit, candidate.text) in seen:
            continue

        seen.add((candidate.unit, candidate.text))
        first_passages.append(
            RelevantPassage(
                evidence, candidate.unit, _quotation(candidate), (), line=candidate.begin_line,
                is_code=candidate.paragraph is None, is_documentation=candidate.describes,
            )
        )  # fmt: skip

    return first_passages


def cite(texts: FileTexts, candidate: AnswerCandidate) -> FileEvidence:
    """Return the lines of a candidate: its paragraph if that is short, and the head or condition that it is about."""
    begin_line, end = candidate.begin_line, candidate.end_line
    paragraph = candidate.paragraph
    if paragraph is not None and paragraph.end_line - paragraph.begin_line < _MAX_PARAGRAPH_LINES:
        begin_line, end = paragraph.begin_line, paragraph.end_line

    if candidate.describes:
        head = _head_line(candidate)
        end = head if end < head <= end + _MAX_HEAD_LINES else end
        begin_line = head if begin_line - _MAX_HEAD_LINES <= head < begin_line else begin_line

    near = [line for line in candidate.conditions[:1] if begin_line - line <= _MAX_CONDITION_LINES]
    begin_line = min([begin_line, *near])
    symbols = (candidate.unit,) if candidate.unit else ()
    return texts.evidence(candidate.file.target, candidate.file.path, begin_line, end, "usage", 1.0, symbols)


def quote_candidate(texts: FileTexts, candidate: AnswerCandidate) -> FileEvidence:
    """Return the lines of a candidate, and those below that a comment or a paragraph leads to."""
    lines = candidate.file.lines
    evidence = cite(texts, candidate)
    end = evidence.end_line
    for number in range(end + 1, min(end + _FOLLOWING_LINES, len(lines)) + 1):
        if not lines[number - 1].strip():
            break
        end = number

    return texts.evidence(candidate.file.target, evidence.path, evidence.begin_line, end, "body", 1.0, evidence.symbols)


def _head_line(candidate: AnswerCandidate) -> int:
    """Return the line of the definition that a candidate documents; 0 if no grammar tells."""
    lines = [
        definition.line
        for definition in candidate.file.definitions
        if definition.name == candidate.unit and abs(definition.line - candidate.begin_line) <= 2 * _MAX_HEAD_LINES
    ]
    return min(lines, key=lambda line: abs(line - candidate.end_line), default=0)


def _quotation(candidate: AnswerCandidate) -> str:
    """Return a sentence, and the next one of its paragraph if it is short."""
    paragraph = candidate.paragraph
    if paragraph is None:
        return candidate.text

    texts = [sentence.text for sentence in paragraph.sentences]
    position = texts.index(candidate.text)
    following = texts[position + 1 : position + 2]
    return " ".join([candidate.text, *(text for text in following if len(candidate.text) + len(text) < 300)])


def _are_near(first: FileEvidence, second: FileEvidence) -> bool:
    """Return whether two passages share lines, or are of one definition with few lines between them."""
    if (first.repository, first.path) != (second.repository, second.path):
        return False

    distance = max(first.begin_line, second.begin_line) - min(first.end_line, second.end_line)
    is_same_unit = first.symbols != () and first.symbols == second.symbols
    return distance <= 0 or (is_same_unit and distance < _MIN_DISTANCE)
