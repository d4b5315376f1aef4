"""Sentences that tell a reader how to do something: "To pause a schedule, call X", "Use X to pause a schedule"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sourcelight.engines.deepsearch.explanations.question import ExplanationQuestion
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.passages.candidates import AnswerCandidate

_MAX_EXTRA = 1
"""Words of its own that a sentence may have between two words of the question, such as an adjective."""

_PERSONAL = re.compile(
    r"\bhow\s+(?:can|do|could|should|would|might|must)\s+(?:i|you|we|one|people|users?)\b|\bhow\s+to\b"
    r"|\b(?:way|possible)\s+to\b|\bhow\s+(?:can|could|should)\b.*\bbe\s+\w+",
    re.IGNORECASE,
)
"""Questions of somebody who wants to do it, and not to know how the code does."""

_DOING = (
    r"(?:use|call|pass|set|run|add|invoke|specify|provide|enable|create|define|write|import|include|override|register"
    r"|configure|wrap|put|implement|start|install)"
)
_FORMS = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        (
            r"(?:in order )?to (?P<purpose>[^,;:]{3,120}), "
            rf"(?:you (?:can|could|may|must|should|need to|have to) |simply |just )*{_DOING}\b"
        ),
        (
            r"if you(?: want|'d like| would like| need| wish| have) to (?P<purpose>[^,;:]{3,120}), "
            rf".{{0,40}}?\b{_DOING}\b"
        ),
        rf"(?:you can |simply |just |please )*{_DOING}\b[^.;:]{{1,120}}? (?:to|for) (?P<purpose>[^,;:.]{{3,120}})",
        (
            r"[^.;:]{1,120}? (?:(?:can|may|should) be used (?:to|for)|is used (?:to|for)|lets you"
            r"|allows? (?:you|users) to|enables? you to|makes it possible to) (?P<purpose>[^,;:.]{3,120})"
        ),
        r"you can (?P<purpose>[^,;:]{3,120}?) (?:by|with|using|via|through)\b",
    )
)
_LIST_MARK = re.compile(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_WORD = re.compile(r"[\w'-]+")
_DETERMINERS_TEXT = """
a an the your its their this that these those any some all each every new given specified current existing single
specific particular custom own one more multiple several i you we me it be
"""
_DETERMINERS = frozenset(_DETERMINERS_TEXT.split())
_PREPOSITIONS_TEXT = """
for of in from with without to by on into onto at as than after before when if while between per via and or
"""
PREPOSITIONS = frozenset(_PREPOSITIONS_TEXT.split())
_LEADING = frozenset(["also", "first", "easily", "only", "be", "safely", "manually", "explicitly"])
"""Words that may stand before the verb of a purpose."""

_NEXT_ENDS = frozenset(["so", "because", "which", "that", "while", "where", "but", "then", "using"])
"""Words after which another part of a sentence begins, besides prepositions."""


def gives_instruction(candidate: AnswerCandidate, explanation: ExplanationQuestion) -> bool:
    """Return whether a sentence says how to do what a question asks."""
    text = _LIST_MARK.sub("", candidate.text, count=1)
    return any(_is_asked(purpose, explanation) for purpose in _purposes_of(text))


def does_what_is_asked(candidate: AnswerCandidate, explanation: ExplanationQuestion) -> bool:
    """Return whether a sentence begins the documentation of a function that does what a question asks."""
    paragraph = candidate.paragraph
    if not candidate.describes or paragraph is None or candidate.text != paragraph.sentences[0].text:
        return False

    definitions = candidate.file.definitions
    is_function = any(item.name == candidate.unit and item.kind in FUNCTION_KINDS for item in definitions)
    if not is_function or not _is_asked(candidate.text, explanation):
        return False

    # What it does for a special case isn't what is asked: "adds inline middlewares for an endpoint".
    subject = explanation.subject
    words = [word for word in _WORD.findall(candidate.text) if word != candidate.unit]
    return all(word.lower() in _DETERMINERS or subject.terms_in(word) for word in words)


def is_personal(explanation: ExplanationQuestion) -> bool:
    """Return whether a question is one of somebody who wants to do something."""
    return explanation.kind == "how" and _PERSONAL.search(explanation.subject.text) is not None


def _purposes_of(text: str) -> Iterator[str]:
    """Yield what a sentence says that something is for."""
    for form in _FORMS:
        match = form.match(text)
        if match is not None:
            yield match["purpose"]


def _is_asked(text: str, explanation: ExplanationQuestion) -> bool:
    """Return whether a text has the words of a question in their order, with nothing else between or right behind."""
    subject = explanation.subject
    if not explanation.is_all_in(text):
        return False

    asked_words = [word.lower() for word in _WORD.findall(explanation.asked_text)]
    asked_terms = [subject.terms_in(word) for word in asked_words]
    words = [word.lower() for word in _WORD.findall(text)]
    position = -1
    for terms in filter(None, asked_terms):
        next_position = next(
            (index for index in range(position + 1, len(words)) if terms & subject.terms_in(words[index])), -1
        )
        if position < 0 and not _LEADING.issuperset(words[:next_position]):
            return False
        if next_position < 0 or (position >= 0 and not _is_short_gap(words[position + 1 : next_position], asked_words)):
            return False
        position = next_position

    following = words[position + 1] if position + 1 < len(words) else ""
    return not following or following in PREPOSITIONS | _NEXT_ENDS


def _is_short_gap(words: list[str], asked_words: list[str]) -> bool:
    """Return whether words between two words of a question leave their relation as it is."""
    extra = [word for word in words if word not in _DETERMINERS and word not in asked_words]
    return len(extra) <= _MAX_EXTRA and not PREPOSITIONS.intersection(extra)
