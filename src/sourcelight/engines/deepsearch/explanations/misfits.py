"""Reasons why a sentence with all words of a question doesn't answer it: it says something else of the same things.

A sentence is chosen by its words alone, which don't say who does what to whom. Each rule here refuses sentences that a
reader would take for an answer, and that answer another question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from sourcelight.engines.deepsearch.explanations.question import ExplanationQuestion, count_negations
from sourcelight.engines.deepsearch.explanations.subject import Subject
from sourcelight.engines.search.ranking.terms.tokenizer import stem

_Term = TypeVar("_Term")
_DIRECTION = re.compile(
    r"\b(?:to|into|from|than|exceeds?|before|after|over|until|contains?|instead of|rather than|by)\b", re.IGNORECASE
)
"""Words whose two sides can't be exchanged: converting A to B isn't converting B to A."""

_CLAUSE_END = re.compile(r"[,;:.]")
_LIMIT = re.compile(
    r"\b(before|after|until|without|only|never|always|above|below|outside|inside|on(?=\W*$))\b", re.IGNORECASE
)
"""Words that limit what a question is about; search and ranking leave them out."""

_NOUN = re.compile(
    r"\b(?:errors?|exceptions?|tests?|types?|options?|fields?|methods?|class(?:es)?|arguments?|parameters?|flags?"
    r"|attributes?|callbacks?|keywords?|operators?|commands?|constants?|variables?)\b",
    re.IGNORECASE,
)
"""Nouns that ask at the beginning of a question ("which option …"), and that it is about elsewhere."""

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"[\w.]+")
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_CONDITION_WORD = re.compile(r"\b(?:if|when|whenever|unless|in case)\b", re.IGNORECASE)
_OBJECT_OF = re.compile(
    r"\b(?:detect|know|check|determine|see|tell|find out|decide|report|specify|say|sure|whether)\s*$", re.IGNORECASE
)
"""Before a condition that is no condition: "used to detect when the child waits"."""

_EXCEPTION = re.compile(
    r"\W*(?:the (?:only )?exceptions?\b|except|however|but\b|unless|otherwise|note that|on windows|only\b|sometimes)",
    re.IGNORECASE,
)
"""The beginning of a sentence that limits the one before it."""


def is_misfit(text: str, unit: str, following: str, explanation: ExplanationQuestion) -> bool:
    """Return whether a sentence says something else of the things that a question names.

    Parameters
    ----------
    text
        The sentence.
    unit
        The definition that it describes; empty if unknown.
    following
        The text behind it, which may begin with an exception.
    explanation
        The question.
    """
    text_and_unit = f"{text} {unit}"
    return (
        _exchanges_sides(text, explanation)
        or lacks_limits(text_and_unit, explanation)
        or _has_part_of_name(text_and_unit, explanation)
        # A quotation of one sentence would leave it out.
        or _EXCEPTION.match(following) is not None
        or (explanation.kind == "which" and not _describes_as_asked(text, explanation))
        or (explanation.kind in {"happens", "when"} and _has_object_clause(text))
    )


def _exchanges_sides(text: str, explanation: ExplanationQuestion) -> bool:
    """Return whether words of the question are on the other sides of a direction or comparison."""
    subject = explanation.subject
    in_text = list(directions_in(text, subject.terms_in))
    for left, right in directions_in(explanation.asked_text, subject.terms_in):
        if any(left & right_in_text and right & left_in_text for left_in_text, right_in_text in in_text):
            return True
    return False


def directions_in(text: str, terms_in: Callable[[str], set[_Term]]) -> Iterator[tuple[set[_Term], set[_Term]]]:
    """Yield the terms on the two sides of each direction or comparison, within its clause."""
    for match in _DIRECTION.finditer(text):
        left = terms_in(_CLAUSE_END.split(text[: match.start()])[-1])
        right = terms_in(_CLAUSE_END.split(text[match.end() :])[0])
        if left - right and right - left:
            yield left - right, right - left


def lacks_limits(text: str, explanation: ExplanationQuestion) -> bool:
    """Return whether a word that limits a question, or a noun that it is about, isn't in a text."""
    words = {word.lower() for word in _WORD.findall(text)}
    limits = {limit.lower() for limit in _LIMIT.findall(explanation.asked_text)}
    nouns = {stem(noun.lower()) for noun in _NOUN.findall(explanation.asked_text)}
    return not limits <= words or not nouns <= {stem(word) for word in words}


def _has_part_of_name(text: str, explanation: ExplanationQuestion) -> bool:
    """Return whether a name of the question occurs only within a longer one, such as `_size` for `size`."""
    text = text.lower()
    for name in explanation.names:
        whole_name = re.search(rf"(?<!\w){re.escape(name.lower())}(?!\w)", text)
        if whole_name is None and name.lower() in text:
            return True
    return False


def _describes_as_asked(text: str, explanation: ExplanationQuestion) -> bool:
    """Return whether a summary has the words of the question in their order, and neither denies anything."""
    if explanation.negations or count_negations(_IN_PARENTHESES.sub("", text)):
        return False

    subject = explanation.subject
    of_names = explanation.name_terms
    available = _terms_in_order(text, subject, of_names)
    position = 0
    for terms in _terms_in_order(explanation.asked_text, subject, of_names):
        if not any(terms & available_terms for available_terms in available):
            continue
        position = next((index for index in range(position, len(available)) if available[index] & terms), -1)
        if position < 0:
            return False

    return True


def _terms_in_order(text: str, subject: Subject, without: set[str]) -> list[set[str]]:
    """Return the terms of each word of a text that has some."""
    terms = [subject.terms_in(word) - without for word in _TOKEN.findall(text)]
    return [terms_of_word for terms_of_word in terms if terms_of_word]


def _has_object_clause(text: str) -> bool:
    return any(_OBJECT_OF.search(text[: match.start()]) is not None for match in _CONDITION_WORD.finditer(text))
