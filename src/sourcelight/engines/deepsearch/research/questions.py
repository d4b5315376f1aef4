"""The question of the extractive researcher: what is ranked, in which spelling, and which words were not understood.

Follow-ups are completed by the answers before them, and questions in other languages are read in English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from sourcelight.engines.deepsearch.evidence.commits import ASKING
from sourcelight.engines.deepsearch.facts.model import Work
from sourcelight.engines.deepsearch.lookups.absence.spellings import nearest_spelling
from sourcelight.engines.deepsearch.markdown import inline
from sourcelight.engines.deepsearch.question import QuestionIntents, intents_of, is_follow_up, with_follow_up
from sourcelight.engines.deepsearch.question.events import WHEN, WHO, is_word_of_event
from sourcelight.engines.deepsearch.question.marks import GAP, MarkedText
from sourcelight.engines.deepsearch.question.reading import ignored_words
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.question import RankQuery, analyze

_MAX_RESPELLED = 3
"""Words for which another spelling is looked up: each takes a search."""

_EXAMPLE = re.compile(r"\b(?:examples?|tutorial|sample code)\b", re.IGNORECASE)
"""Words of questions that documents answer best."""

_REQUEST = re.compile(
    r"^\W*(?:(?:please|can you|could you|i want to|i'd like to)\s+)*"
    r"(?:(?:show|tell|explain to|teach|give) me|know)\s+(?=\w+\s+\w)",
    re.IGNORECASE,
)
"""The beginning of a question, such as "show me how to", that asks and describes nothing."""

_PRONOUN = re.compile(r"\b(?:it|this|that|they|them|these|those)\b", re.IGNORECASE)
"""Words that mean something of an earlier answer, if the question names nothing itself."""


def as_english(inquiry: ResearchRequest, english: str) -> ResearchRequest:
    """Return a request for the English question that one in another language is read as; the answer says so."""
    note = f"The question was read as “{inline(english)}”"
    scope = replace(inquiry.scope, remaining_text=english, notes=(*inquiry.scope.notes, note))
    return replace(inquiry, question=english, scope=scope)


def read_question(inquiry: ResearchRequest) -> tuple[RankQuery, QuestionIntents]:
    """Return the question that is ranked, and what it asks for."""
    # Words of the scope say where to look, not what to look for.
    text = inquiry.scope.remaining_text.replace(GAP.strip(), " ") or inquiry.question
    question = analyze(_REQUEST.sub("", text))

    if inquiry.previous:
        question = with_follow_up(question, _cited_before(inquiry))

    if _EXAMPLE.search(question.text):
        # Documents show most examples.
        question = replace(question, asks_docs=True)

    intents = intents_of(question)
    if intents.history:
        question = replace(question, optional=question.optional | (ASKING & question.terms.keys()))

    return question, intents


def names_before(inquiry: ResearchRequest) -> tuple[str, ...]:
    """Return the first name that the previous answer cited, if the question is a follow-up."""
    if not is_follow_up(inquiry.question):
        return ()

    names = [name for name in _cited_before(inquiry) if name.isidentifier()]
    return tuple(names[:1])


def nearest_spellings(work: Work, ranking: Ranking) -> dict[str, str]:
    """Return the nearest spelling of each word of a question that no file has, such as "colour" for "color"."""
    spellings: dict[str, str] = {}
    words = [word for word in ranking.unknown if word.isalpha()]
    for word in words[:_MAX_RESPELLED]:
        spelling = nearest_spelling(work, word)
        if spelling:
            spellings[word] = spelling
    return spellings


def respell(question: RankQuery, spellings: Mapping[str, str]) -> RankQuery:
    """Return a question with other spellings of some of its words."""
    text = question.text
    for word, nearest in spellings.items():
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", nearest, text)

    respelled = analyze(text)
    return replace(
        respelled,
        asks_docs=question.asks_docs or respelled.asks_docs,
        optional=question.optional | respelled.optional,
    )


def open_pronouns(inquiry: ResearchRequest, request: FactRequest) -> list[str]:
    """Return the pronouns of a follow-up without a subject of its own: they mean something of an earlier answer."""
    if not inquiry.previous or request.terms or request.paths:
        return []
    return list(dict.fromkeys(word.lower() for word in _PRONOUN.findall(inquiry.question)))


def unread_words(request: FactRequest | None, inquiry: ResearchRequest) -> Sequence[str] | None:
    """Return the words that were not understood in a question for facts; None for another question."""
    if request is None:
        if not (WHO.search(inquiry.question) or WHEN.search(inquiry.question)):
            return None
        return _without_verbs(ignored_words(MarkedText.from_text(inquiry.question)))

    words = list(request.ignored)
    if request.kind in {"who", "when"}:
        words = list(_without_verbs(words))
    elif not request.is_list:
        return None

    if request.period.text:
        words.append(request.period.text)

    return tuple(dict.fromkeys(words))


def _without_verbs(words: Sequence[str]) -> tuple[str, ...]:
    """Leave out the verb of a question and the noun beside its name, which say nothing of what wasn't understood."""
    return tuple(word for word in words if not is_word_of_event(word))


def _cited_before(inquiry: ResearchRequest) -> Sequence[str]:
    """Return the names that the last answer with names cited: one about a person or a date cites a commit alone."""
    for turn in reversed(inquiry.previous):
        if turn.cited_names:
            return turn.cited_names
    return ()
