"""Sentences and statements that may answer a question for an explanation, and the definitions that they are in.

A reason, a message or a difference is told by a sentence, which is shown by itself. How something works, and what
happens when, is told by a definition as a whole. A sentence in it then says why it is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sourcelight.engines.deepsearch.evidence.model import Finding
from sourcelight.engines.deepsearch.evidence.relevant.files import AnsweringSentence
from sourcelight.engines.deepsearch.evidence.relevant.passages import PLACES, RelevantPassage
from sourcelight.engines.deepsearch.explanations.question import read_explanation
from sourcelight.engines.deepsearch.explanations.subject import Subject
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.passages.choice import choose_passages
from sourcelight.engines.deepsearch.passages.excerpts import show_passages
from sourcelight.engines.deepsearch.passages.instructions import is_personal
from sourcelight.engines.deepsearch.passages.sections import state_section
from sourcelight.engines.deepsearch.passages.statement import state_passage
from sourcelight.engines.search.ranking import Ranking

_TOLD_BY_SENTENCES = frozenset({"why", "message", "difference", "test", "example"})
"""Kinds of questions that a sentence or a statement answers. For "how" and "what happens", the definition that it is
in is the better answer; `docs/design/deepsearch.md` has the figures."""

_MIN_FULL = 0.6
"""Share of the question's weight in a sentence that is shown beside definitions that it isn't in."""


class ExplanationSentences(NamedTuple):
    """Sentences that may answer a question for an explanation.

    Attributes
    ----------
    stated
        A sentence that is stated as the answer, if there is one.
    lines
        The sentences to show.
    full_sentences
        Those in prose that say enough without the definition that they are in.
    sentences
        All sentences that may answer.
    subject
        What the question is about.
    is_told_by_sentences
        Whether sentences answer it better than definitions do.
    """

    stated: Finding | None = None
    lines: Sequence[RelevantPassage] = ()
    full_sentences: Sequence[RelevantPassage] = ()
    sentences: Sequence[AnsweringSentence] = ()
    subject: Subject | None = None
    is_told_by_sentences: bool = False


def explain(work: Work, ranking: Ranking) -> ExplanationSentences:
    """Read a question for an explanation, such as why or how; nothing for another question."""
    texts = work.texts
    explanation = read_explanation(work.inquiry.question, ranking.idf)
    if explanation is None:
        return ExplanationSentences()

    answers = choose_passages(texts, explanation, ranking, with_tests=explanation.kind == "test")
    full = [answer for answer in answers if answer.own_share >= _MIN_FULL and answer.candidate.kind != "code"]
    sentences = [
        AnsweringSentence(
            answer.candidate.file.target, answer.candidate.file.path, answer.candidate.begin_line, answer.score
        )
        for answer in answers
    ]
    return ExplanationSentences(
        stated=state_passage(texts, explanation, answers) or state_section(texts, explanation, ranking),
        lines=show_passages(texts, answers, explanation),
        full_sentences=show_passages(texts, full, explanation),
        sentences=sentences,
        subject=explanation.subject,
        is_told_by_sentences=explanation.kind in _TOLD_BY_SENTENCES or is_personal(explanation),
    )


def add_sentences(passages: Sequence[RelevantPassage], explained: ExplanationSentences) -> list[RelevantPassage]:
    """Return passages, each definition with the first of some sentences in it; the best one in none comes last."""
    completed = [_add_sentence(passage, explained.lines) for passage in passages]

    outside = [
        sentence
        for sentence in explained.full_sentences
        if not any(_is_inside(sentence, passage) for passage in passages)
    ]
    return [*completed[: PLACES - 1], outside[0]] if outside else completed


def _add_sentence(passage: RelevantPassage, sentences: Sequence[RelevantPassage]) -> RelevantPassage:
    """Return a passage with the first of some sentences in it, and no sentence twice."""
    inside = next((sentence for sentence in sentences if _is_inside(sentence, passage)), None)
    if inside is None:
        return passage
    if passage.description and inside.description.startswith(passage.description):
        return replace(passage, description=inside.description)
    return replace(passage, sentence=inside, description=passage.description if passage.name else "")


def _is_inside(sentence: RelevantPassage, passage: RelevantPassage) -> bool:
    is_same_file = _file_of(sentence) == _file_of(passage)
    return is_same_file and passage.body[0] <= sentence.line <= passage.body[1]


def _file_of(passage: RelevantPassage) -> tuple[str, str]:
    return passage.evidence.repository, passage.evidence.path
