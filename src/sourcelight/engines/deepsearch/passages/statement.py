"""State the sentence that answers a question by itself: quoted, with the place that it comes from.

A quotation is true of the place that it names. It is stated only if it has all that the question asks, in a form that
answers the question's kind, and if no other sentence has as much.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.model import Finding, Statement
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.explanations.misfits import is_misfit
from sourcelight.engines.deepsearch.explanations.question import MIN_SHARE, ExplanationQuestion, count_negations
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.passages.candidates import AnswerCandidate
from sourcelight.engines.deepsearch.passages.choice import AnsweringPassage
from sourcelight.engines.deepsearch.passages.excerpts import cite, quote_candidate
from sourcelight.engines.deepsearch.passages.instructions import does_what_is_asked, gives_instruction, is_personal

_MIN_TERMS, _MIN_TERMS_WITHOUT_NAME = 2, 3
"""Words of a question below which a sentence may have all of them by chance; a name of code is no chance."""

_MIN_OWN_SHARE = 0.6
"""Share of the question's weight in a sentence without the name of its definition."""

_MAX_WORDS, _MIN_WORDS = 45, 4
"""Words of a sentence that is quoted as an answer; a longer one is a list, a shorter one a title."""

_MAX_QUOTED = 400
_REASON = re.compile(
    r"\b(?:because|so that|in order to|to (?:avoid|prevent|ensure|handle|support|work around|keep)|otherwise|due to"
    r"|since (?!v?\d|version))\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:if|when|whenever|unless|in case)\b.*?(?=[,;:]|\bthen\b|$)", re.IGNORECASE)
"""A condition, up to the end of its clause."""

_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_MIN_CLAUSE_SHARE = 0.5
"""Share of the words, without names, that a condition has if the question asks what follows from it."""

_MIN_CLAIM_SHARE = 0.5
"""Share of the question's weight in the part of a sentence that a reason is given for."""

_UNSTATED_KINDS = frozenset({"test", "vendored", "changelog", "config"})
_KINDS_OF: dict[str, frozenset[str]] = {
    "function": FUNCTION_KINDS,
    "method": FUNCTION_KINDS,
    "class": frozenset({"class"}),
    "struct": frozenset({"struct"}),
    "interface": frozenset({"interface"}),
    "trait": frozenset({"trait", "interface"}),
    "enum": frozenset({"enum"}),
}
"""Kinds of definitions that are an answer, by the noun of the question."""


def state_passage(
    texts: FileTexts, explanation: ExplanationQuestion, passages: Sequence[AnsweringPassage]
) -> Finding | None:
    """Return the sentence that answers a question by itself; None if none does, or several might.

    Parameters
    ----------
    texts
        The files that are read.
    explanation
        The question.
    passages
        The best passages, best first.
    """
    plain_terms = [term for term in explanation.weights if not term.startswith("=")]
    has_name = bool(explanation.names) or explanation.kind == "which" or is_personal(explanation)
    if len(plain_terms) < (_MIN_TERMS if has_name else _MIN_TERMS_WITHOUT_NAME):
        return None

    answering = _choose_instructions(passages, explanation) if is_personal(explanation) else []
    if not answering:
        answering = [passage.candidate for passage in passages if _answers(passage, explanation)]
        if not answering or answering[0] is not passages[0].candidate or not _is_only(answering):
            return None

    # Only now: a sentence that is refused is still a rival of the others.
    candidate = answering[0]
    if is_misfit(candidate.text, candidate.unit, candidate.following, explanation):
        return None

    evidence = cite(texts, candidate)
    finding = Finding(Statement(_write(candidate), (evidence,)), "explanation")
    finding.quotes = [quote_candidate(texts, candidate)]
    finding.method.append("The sentence is quoted, and was chosen by its words. Code was not run or followed.")
    return finding


def _choose_instructions(
    passages: Sequence[AnsweringPassage], explanation: ExplanationQuestion
) -> list[AnswerCandidate]:
    """Return the sentences that say how to do it; else the documentation of the only function that does it."""
    candidates = [passage.candidate for passage in passages if _is_stateable(passage.candidate)]
    instructions = [candidate for candidate in candidates if gives_instruction(candidate, explanation)]
    if instructions:
        return instructions

    summaries = [candidate for candidate in candidates if does_what_is_asked(candidate, explanation)]
    return summaries if summaries and _is_only(summaries) else []


def _is_stateable(candidate: AnswerCandidate) -> bool:
    """Return whether a candidate is a whole sentence of a file whose sentences may be quoted as answers."""
    is_sentence = candidate.paragraph is not None and not candidate.text.endswith(("?", ":"))
    return is_sentence and candidate.file.kind not in _UNSTATED_KINDS and len(candidate.text.split()) <= _MAX_WORDS


def _answers(passage: AnsweringPassage, explanation: ExplanationQuestion) -> bool:
    """Return whether a sentence has all that a question asks, in a form that fits the question's kind."""
    candidate = passage.candidate
    if candidate.paragraph is None or candidate.file.kind in _UNSTATED_KINDS:
        return False

    subject = explanation.subject
    share = subject.share_of(subject.terms_in(f"{candidate.text} {candidate.unit}"))
    words = len(candidate.text.split())
    is_whole = share >= MIN_SHARE and passage.own_share >= _MIN_OWN_SHARE and _MIN_WORDS <= words <= _MAX_WORDS
    has_numbers = set(_NUMBER.findall(subject.text)) <= set(_NUMBER.findall(f"{candidate.text} {candidate.unit}"))
    if not is_whole or not has_numbers or candidate.text.endswith(("?", ":")):
        return False

    if explanation.kind == "why":
        return _gives_reason(candidate.text, explanation)
    if explanation.kind in {"happens", "when"}:
        return _fits_condition(candidate.text, explanation)
    if explanation.kind == "which":
        # A later sentence, or one with a condition, describes a special case.
        is_summary = candidate.text == candidate.paragraph.sentences[0].text
        is_general = is_summary and _CONDITION.search(candidate.text) is None
        return is_general and passage.own_share >= MIN_SHARE and _is_of_noun(candidate, explanation.noun)
    return False


def _gives_reason(text: str, explanation: ExplanationQuestion) -> bool:
    """Return whether a sentence has a reason, and denies what the question denies."""
    reason = _REASON.search(text)
    if reason is None:
        return False

    # A reason may come first: "Due to a bug, it is not possible".
    subject = explanation.subject
    is_first = not text[: reason.start()].strip()
    claim = text if is_first else text[: reason.start()]
    if (count_negations(claim) > 0) != (explanation.negations > 0):
        return False

    # What is asked must be what the reason is given for, not the reason.
    claim_alone = text.partition(",")[2] if is_first and "," in text else claim
    return subject.share_of(subject.terms_in(claim_alone)) >= _MIN_CLAIM_SHARE


def _fits_condition(text: str, explanation: ExplanationQuestion) -> bool:
    """Return whether a sentence has a condition, and the question's words on the side of it that isn't asked for."""
    subject = explanation.subject
    clauses = " ".join(match[0] for match in _CONDITION.finditer(text))
    if not clauses:
        return False

    if explanation.kind == "when":
        return explanation.is_all_in(_CONDITION.sub(" ", text))

    # A name may stand anywhere: "`close` returns false if the file is locked".
    of_names = explanation.name_terms
    plain_weight = subject.share_of(set(subject.weights) - of_names)
    weight_in_clauses = subject.share_of(subject.terms_in(clauses) - of_names)
    is_mostly_inside = plain_weight > 0.0 and weight_in_clauses >= _MIN_CLAUSE_SHARE * plain_weight
    return is_mostly_inside and count_negations(clauses) == explanation.negations


def _is_of_noun(candidate: AnswerCandidate, noun: str) -> bool:
    """Return whether a sentence is the documentation of what a question asks for, such as a function."""
    kinds = _KINDS_OF.get(noun, frozenset())
    return candidate.describes and any(
        definition.name == candidate.unit and definition.kind in kinds for definition in candidate.file.definitions
    )


def _is_only(candidates: Sequence[AnswerCandidate]) -> bool:
    """Return whether sentences that answer are about one thing: of one definition, or the same words."""
    units = {(candidate.unit or f"{candidate.file.path}:{candidate.begin_line}") for candidate in candidates}
    return len(units) == 1 or len({candidate.text for candidate in candidates}) == 1


def _write(candidate: AnswerCandidate) -> str:
    """Write the sentence: where the words come from, and the words."""
    path, line = code(candidate.file.path), f"line {candidate.begin_line:,}"
    quotation = f"“{inline(candidate.text, _MAX_QUOTED)}”"
    if candidate.kind == "document":
        titles = candidate.paragraph.titles if candidate.paragraph is not None else ()
        title = f" under “{inline(titles[-1], 80)}”" if titles else ""
        return f"{path} says{title}: {quotation}"
    if candidate.describes:
        return f"The documentation of {code(candidate.unit)} in {path}, {line}, says: {quotation}"

    unit = f", in {code(candidate.unit)}" if candidate.unit else ""
    return f"A comment in {path}, {line}{unit}, says: {quotation}"
