"""Choose the sentences and statements that have most of what a question for an explanation asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.explanations.question import ExplanationQuestion
from sourcelight.engines.deepsearch.passages.candidates import AnswerCandidate, AskedFile, has_words, read_candidates
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.search.ranking import RankedChunk, Ranking

_FILES, _DOCUMENT_FILES = 10, 4
"""Best files that are read, and best documents among them."""

_KEPT = 8
"""Candidates that are returned."""

_FOR_AGENTS = re.compile(
    r"(?:^|/)\.|(?:^|/)(?:agents?|claude|gemini|copilot|cursor|windsurf|llms?(?:-full)?|skill)\b[^/]*\.(?:md|txt|mdc)$",
    re.IGNORECASE,
)
"""Files of instructions for a model, and of hidden directories: they don't explain the code to a reader."""

_OWN, _NEAR, _FAR = 1.0, 0.7, 0.25
"""Shares of a word in the sentence itself, in what it belongs to, and in the headings and the path."""

_BY_FILE, _BY_CHUNK = 0.15, 0.2
_BY_DENSITY = 0.15
_LONG = 45
"""Words of a sentence from which it is a list rather than an answer."""

_REASON = re.compile(
    r"\b(?:because|since|so that|so as to|in order to|to (?:avoid|prevent|keep|make|ensure|allow|handle|support|work"
    r"|be able)|otherwise|due to|thus|therefore|hence|as (?:it|they|this|that|we)|that way|this (?:is|way|avoids"
    r"|prevents|ensures|allows|means|removes|makes|can|may|will)|instead of|rather than|avoids?|prevents?|workaround"
    r"|bug|would|faster|slower|performance|not needed|no longer|note)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|without|until|otherwise|on (?:error|success|failure)|in (?:that|this|which) case"
    r"|throws?|raises?|returns?|fails?|will|would|then|once|skipped)\b",
    re.IGNORECASE,
)
INSTRUCTION = re.compile(
    r"\b(?:use|uses|using|call|calls|pass|passing|set|setting|by|with|via|you can|can be|to \w+|enable|add|write|run"
    r"|define|create)\b",
    re.IGNORECASE,
)
_REPORT = re.compile(
    r"\b(?:raise|throw|panic|exit|die|abort|error|warn|fail|return|reject|fatal|bail)\w*", re.IGNORECASE
)
_MARKS_OF = {"why": _REASON, "happens": _CONDITION, "when": _CONDITION, "how": INSTRUCTION}
_BY_MARK = 0.12
_BY_TEST = _BY_NAME = 0.3
_EXAMPLE_LINE = re.compile(r"(?:>>>|>|\$|iex>|\.\.\.)\s")
_CODE_PENALTY = {"why": 0.4, "which": 0.3, "what": 0.3, "difference": 0.4, "when": 0.1}
"""Loss of a statement of code by kind of question: it seldom says why."""


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
    return passages[:_KEPT]


def best_documents(texts: FileTexts, ranking: Ranking) -> list[AskedFile]:
    """Return the best documents of a ranking that explain the code to a reader, without lists of changes."""
    documents = [ranked for ranked in ranking.files if ranked.kind == "docs" and not is_for_others(ranked.path)]
    return [
        AskedFile.of(texts, document.target, document.path, document.kind, document.score)
        for document in documents[:_DOCUMENT_FILES]
    ]


def is_for_others(path: str) -> bool:
    """Return whether a file has no words for a reader: it may have secrets, or instructs a model."""
    return is_hidden_file(path) or _FOR_AGENTS.search(path) is not None


def _best_files(texts: FileTexts, ranking: Ranking, *, with_tests: bool) -> list[AskedFile]:
    files: list[AskedFile] = []
    documents = 0
    for ranked in ranking.files:
        if len(files) >= _FILES:
            break
        is_document = ranked.kind in {"docs", "changelog"}
        if is_for_others(ranked.path) or (ranked.kind == "test" and not with_tests):
            continue
        if is_document and documents == _DOCUMENT_FILES:
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

    score = _OWN * own_share + _NEAR * subject.share_of(near_terms) + _FAR * subject.share_of(far_terms)
    words = len(candidate.text.split())
    score += _BY_DENSITY * min(1.0, len(own_terms) * 3 / max(words, 3))
    score += _BY_FILE * candidate.file.score
    score += _BY_CHUNK * max((chunk.score for chunk in chunks if _holds(chunk, candidate)), default=0.0)
    score -= 0.1 if words > _LONG else 0.0
    score += _fit(candidate, explanation)
    return AnsweringPassage(candidate, score, own_share, near_share)


def _holds(chunk: RankedChunk, candidate: AnswerCandidate) -> bool:
    return chunk.begin_line <= candidate.begin_line <= chunk.end_line


def _fit(candidate: AnswerCandidate, explanation: ExplanationQuestion) -> float:
    """Return what the kind of a candidate adds to its score for a kind of question."""
    kind = explanation.kind
    if candidate.kind == "test":
        return _BY_TEST if kind == "test" else -_BY_TEST
    if candidate.kind == "code":
        # A message may stand below the error that it belongs to.
        is_message = has_words(candidate.text) and _REPORT.search(candidate.near_text) is not None
        is_report = is_message or _REPORT.search(candidate.text) is not None
        is_wanted = is_report and kind in {"happens", "message"}
        return _BY_MARK if is_wanted else -_CODE_PENALTY.get(kind, 0.25)

    mark = _MARKS_OF.get(kind)
    fit = _BY_MARK if mark is not None and mark.search(candidate.text) is not None else 0.0
    if kind == "which" and candidate.describes:
        fit += _BY_MARK
    if candidate.describes and candidate.unit in explanation.names and kind not in {"which", "example"}:
        fit += _BY_NAME
    if candidate.file.kind == "changelog":
        fit -= _BY_TEST
    if "deprecat" not in explanation.subject.text.lower() and candidate.file.is_deprecated(candidate):
        fit -= _BY_TEST
    if _EXAMPLE_LINE.match(candidate.text) is not None and kind != "example":
        fit -= _BY_TEST
    return fit
