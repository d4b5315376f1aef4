"""Choose the sentences and statements that have most of what a question for an explanation asks.

The score of a candidate is the share of the question's weight that it has, in its own words above all, with some more
for the rank of its file and chunk, for being short, and for a form that fits the question's kind: a reason for "why", a
condition for "what happens if". Statements of code lose, unless they report something and the question asks for that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.explanations.question import ExplanationQuestion
from sourcelight.engines.deepsearch.passages.asked_file import AskedFile
from sourcelight.engines.deepsearch.passages.candidates import AnswerCandidate, has_words, read_candidates
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.search.ranking import RankedChunk, Ranking

_MAX_FILES, _MAX_DOCUMENTS = 10, 4
"""Best files that are read, and best documents among them."""

_MAX_PASSAGES = 8
"""Candidates that are returned."""

_FOR_AGENTS = re.compile(
    r"(?:^|/)\.|(?:^|/)(?:agents?|claude|gemini|copilot|cursor|windsurf|llms?(?:-full)?|skill)\b[^/]*\.(?:md|txt|mdc)$",
    re.IGNORECASE,
)
"""Files of instructions for a model, and of hidden directories: they don't explain the code to a reader."""

_OWN_WEIGHT, _NEAR_WEIGHT, _FAR_WEIGHT = 1.0, 0.7, 0.25
"""Weights of a word in the sentence itself, in what it belongs to, and in the headings and the path."""

_FILE_WEIGHT, _CHUNK_WEIGHT = 0.15, 0.2
"""Weights of the scores of the file and of the chunk in the ranking."""

_DENSITY_WEIGHT, _WORDS_PER_TERM = 0.15, 3
"""Weight of a sentence with one word of the question in so many words; with fewer, it counts in proportion."""

_MAX_WORDS, _LIST_PENALTY = 45, 0.1
"""Words of a sentence beyond which it is a list rather than an answer, and the loss of such a one."""

_FORM_BONUS = 0.12
"""Gain of a form that fits the question's kind."""

_NAME_BONUS = 0.3
"""Gain of the documentation of a name in the question."""

_MISFIT_PENALTY = 0.3
"""Loss of a test, and of a sentence from a list of changes, on something deprecated, or typed at a prompt. A test gains
as much where the question asks for tests."""

_CODE_PENALTY, _USUAL_CODE_PENALTY = {"why": 0.4, "which": 0.3, "what": 0.3, "difference": 0.4, "when": 0.1}, 0.25
"""Loss of a statement of code by kind of question: it seldom says why."""

_REASON = re.compile(
    r"\b(?:because|since|so that|so as to|in order to|to (?:avoid|prevent|keep|make|ensure|allow|handle|support|work"
    r"|be able)|otherwise|due to|thus|therefore|hence|as (?:it|they|this|that|we)|that way|this (?:is|way|avoids"
    r"|prevents|ensures|allows|means|removes|makes|can|may|will)|instead of|rather than|avoids?|prevents?|workaround"
    r"|bug|would|faster|slower|performance|not needed|no longer|note)\b",
    re.IGNORECASE,
)
"""Words of a reason: `because`, `to avoid`, `instead of`."""

_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|without|until|otherwise|on (?:error|success|failure)|in (?:that|this|which) case"
    r"|throws?|raises?|returns?|fails?|will|would|then|once|skipped)\b",
    re.IGNORECASE,
)
"""Words of a condition or of what follows from it: `if`, `unless`, `raises`."""

INSTRUCTION = re.compile(
    r"\b(?:use|uses|using|call|calls|pass|passing|set|setting|by|with|via|you can|can be|to \w+|enable|add|write|run"
    r"|define|create)\b",
    re.IGNORECASE,
)
"""Words of an instruction: `use`, `by`, `you can`."""

_REPORT = re.compile(
    r"\b(?:raise|throw|panic|exit|die|abort|error|warn|fail|return|reject|fatal|bail)\w*", re.IGNORECASE
)
"""Words of code that reports or ends something: `raise`, `exit`, `warning`."""

_FORMS = {"why": _REASON, "happens": _CONDITION, "when": _CONDITION, "how": INSTRUCTION}
"""The form of an answer, by kind of question."""

_EXAMPLE_LINE = re.compile(r"(?:>>>|>|\$|iex>|\.\.\.)\s")
"""A line typed at a prompt: `>>> gate.lift()`, `$ dam lift`."""


@dataclass(frozen=True, slots=True)
class AnsweringPassage:
    """A candidate, and how much of the question it has.

    Attributes
    ----------
    candidate
        The sentence or statement.
    score
        For the order of candidates.
    own_share, near_share
        The share of the question's weight that the sentence has by itself, and together with what it belongs to.
    """

    candidate: AnswerCandidate
    score: float
    own_share: float
    near_share: float


def choose_passages(
    texts: FileTexts, explanation: ExplanationQuestion, ranking: Ranking, *, with_tests: bool
) -> list[AnsweringPassage]:
    """Return the passages of the best files that have most of a question, best first."""
    passages: list[AnsweringPassage] = []
    for file in _best_files(texts, ranking, with_tests=with_tests):
        chunks = [chunk for chunk in ranking.chunks if (chunk.target, chunk.path) == (file.target, file.path)]
        texts.context.cancellation.check()
        passages += [_compare(candidate, explanation, chunks) for candidate in read_candidates(file, explanation)]

    passages.sort(key=lambda passage: (-passage.score, passage.candidate.file.path, passage.candidate.begin_line))
    return passages[:_MAX_PASSAGES]


def best_documents(texts: FileTexts, ranking: Ranking) -> list[AskedFile]:
    """Return the best documents of a ranking that explain the code to a reader, without lists of changes."""
    documents = [ranked for ranked in ranking.files if ranked.kind == "docs" and not is_for_others(ranked.path)]
    return [
        AskedFile.of(texts, document.target, document.path, document.kind, document.score)
        for document in documents[:_MAX_DOCUMENTS]
    ]


def is_for_others(path: str) -> bool:
    """Return whether a file has no words for a reader: it may have secrets, or instructs a model."""
    return is_hidden_file(path) or _FOR_AGENTS.search(path) is not None


def _best_files(texts: FileTexts, ranking: Ranking, *, with_tests: bool) -> list[AskedFile]:
    """Return the best files of a ranking that may explain something, few documents among them."""
    files: list[AskedFile] = []
    documents = 0
    for ranked in ranking.files:
        if len(files) >= _MAX_FILES:
            break
        is_document = ranked.kind in {"docs", "changelog"}
        if is_for_others(ranked.path) or (ranked.kind == "test" and not with_tests):
            continue
        if is_document and documents == _MAX_DOCUMENTS:
            continue
        documents += is_document
        files.append(AskedFile.of(texts, ranked.target, ranked.path, ranked.kind, ranked.score))

    return files


def _compare(
    candidate: AnswerCandidate, explanation: ExplanationQuestion, chunks: Sequence[RankedChunk]
) -> AnsweringPassage:
    """Compare a candidate with the question."""
    subject = explanation.subject
    own_terms = subject.terms_in(candidate.text)
    near_terms = subject.terms_in(candidate.near_text) - own_terms
    far_terms = subject.terms_in(candidate.far_text) - own_terms - near_terms
    own_share, near_share = subject.share_of(own_terms), subject.share_of(own_terms | near_terms)

    score = (
        _OWN_WEIGHT * own_share
        + _NEAR_WEIGHT * subject.share_of(near_terms)
        + _FAR_WEIGHT * subject.share_of(far_terms)
    )
    words = len(candidate.text.split())
    score += _DENSITY_WEIGHT * min(1.0, len(own_terms) * _WORDS_PER_TERM / max(words, _WORDS_PER_TERM))
    score += _FILE_WEIGHT * candidate.file.score
    score += _CHUNK_WEIGHT * max((chunk.score for chunk in chunks if _holds(chunk, candidate)), default=0.0)
    score -= _LIST_PENALTY if words > _MAX_WORDS else 0.0
    score += _fit(candidate, explanation)
    return AnsweringPassage(candidate, score, own_share, near_share)


def _holds(chunk: RankedChunk, candidate: AnswerCandidate) -> bool:
    return chunk.begin_line <= candidate.begin_line <= chunk.end_line


def _fit(candidate: AnswerCandidate, explanation: ExplanationQuestion) -> float:
    """Return what the kind of a candidate adds to its score for a kind of question."""
    if candidate.kind == "test":
        return _MISFIT_PENALTY if explanation.kind == "test" else -_MISFIT_PENALTY
    if candidate.kind == "code":
        return _fit_of_code(candidate, explanation.kind)
    return _fit_of_sentence(candidate, explanation)


def _fit_of_code(candidate: AnswerCandidate, kind: str) -> float:
    # A message may be below the error that it belongs to.
    is_message = has_words(candidate.text) and _REPORT.search(candidate.near_text) is not None
    is_report = is_message or _REPORT.search(candidate.text) is not None
    if is_report and kind in {"happens", "message"}:
        return _FORM_BONUS
    return -_CODE_PENALTY.get(kind, _USUAL_CODE_PENALTY)


def _fit_of_sentence(candidate: AnswerCandidate, explanation: ExplanationQuestion) -> float:
    kind = explanation.kind
    form = _FORMS.get(kind)
    fit = _FORM_BONUS if form is not None and form.search(candidate.text) is not None else 0.0
    if kind == "which" and candidate.describes:
        fit += _FORM_BONUS
    if candidate.describes and candidate.unit in explanation.names and kind not in {"which", "example"}:
        fit += _NAME_BONUS

    asks_for_deprecated = "deprecat" in explanation.subject.text.lower()
    if candidate.file.kind == "changelog":
        fit -= _MISFIT_PENALTY
    if not asks_for_deprecated and candidate.file.is_deprecated(candidate.begin_line, candidate.end_line):
        fit -= _MISFIT_PENALTY
    if _EXAMPLE_LINE.match(candidate.text) is not None and kind != "example":
        fit -= _MISFIT_PENALTY
    return fit
