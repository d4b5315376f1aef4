"""The analyzed question, and the weights of its terms.

`analyze` reads a text once and decides what it is: a question or another text, short or long, about tests or
documentation or neither. A long text, such as a pasted issue, is a report: its words count, but it asks for nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field

from sourcelight.engines.search.ranking.question.reader import QuestionParts, read_question
from sourcelight.engines.search.ranking.terms.related_words import related_terms
from sourcelight.engines.search.ranking.terms.tokenizer import is_joined_form, joined_form

_MAX_CHARACTERS = 20_000
"""Characters of a question that are read: whole issues and stack traces are pasted as questions."""

_FEW_WORDS = 3
"""Words up to which a question may consist of names. A longer one is a sentence."""

_MAX_ASKING_WORDS = 20
"""Words beyond which a question doesn't ask for tests or documentation: a report of a bug only mentions them."""

_ASKED_FACTOR, _MAX_ASKED_NEIGHBORS = 0.25, 2
"""Further factor of neighbors joined into one term, in a question of more than a few words, and words joined there."""


@dataclass(frozen=True, slots=True)
class RankQuery:
    """An analyzed question.

    Attributes
    ----------
    text
        The question without filters.
    terms
        Weight of each term to search for, in the order of the question.
    names
        Simple names of code in the question: both parts of ``Session.send``.
    files
        Names or paths of files in the question.
    phrases
        Quoted texts and error messages in the question.
    source_texts
        For each term the word or name that it came from, to report terms without a match.
    optional
        Terms that are guesses, such as joined neighboring words. They are not reported as unknown.
    possible_names
        Plain words that may be names of code, too: the only word, and capitals in a question of few words.
    asks_tests, asks_docs
        Whether the question asks for tests or documentation; never a long question.
    is_asked
        Whether the text is put as a question. Then its words are those of the person who asks, and other words of the
        code may mean the same; another text may be quoted from the code.
    """

    text: str
    terms: Mapping[str, float]
    names: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    source_texts: Mapping[str, str] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    possible_names: tuple[str, ...] = ()
    asks_tests: bool = False
    asks_docs: bool = False
    is_asked: bool = False

    @property
    def scored_terms(self) -> Mapping[str, float]:
        """The weight of each term that chunks are scored for: neighbors of a long question are seldom a name."""
        if not self.is_asked or self.length <= _FEW_WORDS:
            return self.terms

        weights = {}
        for term, weight in self.terms.items():
            is_guessed_name = is_joined_form(term) and term in self.optional
            if not is_guessed_name:
                weights[term] = weight
            # Three neighbors are a name in so few questions that they aren't worth the look-up.
            elif len(self.source_texts.get(term, "").split(" ")) <= _MAX_ASKED_NEIGHBORS:
                weights[term] = weight * _ASKED_FACTOR
        return weights

    @property
    def related(self) -> Mapping[str, float]:
        """The weight of each term that code may have for one of the question; none unless it is put as a question."""
        return related_terms(self.terms) if self.is_asked else {}

    @property
    def all_names(self) -> tuple[str, ...]:
        """Names, followed by the words that may be names."""
        return self.names + self.possible_names

    @property
    def length(self) -> int:
        """Number of distinct words."""
        return _count_words(self.terms)


def analyze(text: str) -> RankQuery:
    """Analyze a question, from which filters such as ``repo:`` have been removed."""
    text = _without_type(text[:_MAX_CHARACTERS])
    parts = read_question(text)
    if not parts.counts:
        _add_only_name(text, parts)

    terms = _weigh_terms(parts, _subject_terms(text))
    is_short = _count_words(terms) <= _MAX_ASKING_WORDS
    return RankQuery(
        text=text.strip(),
        terms=terms,
        names=tuple(parts.names),
        files=tuple(parts.files),
        phrases=tuple(parts.phrases),
        source_texts=parts.source_texts,
        optional=frozenset(term for term, factor in parts.factors.items() if factor < 1.0),
        possible_names=_possible_names(text, parts.names),
        asks_tests=is_short and _TESTS.search(text) is not None,
        asks_docs=is_short and _DOCS.search(text) is not None,
        is_asked=is_short and _is_asked(text),
    )


# Subjects of commits.

_CONVENTIONAL = re.compile(
    r"^\W*(?:feat|features?|fix|bugfix|docs?|chore|refactor|perf|style|tests?|build|ci|revert|types?)"
    r"(?:\((?P<scope>[^()\n]{0,80})\))?!?:[ \t]+(?=\S)",
    re.IGNORECASE,
)
"""The type in front of a subject by the rules of Conventional Commits: ``fix(parser): ``. It names the sort of change
and no place in the code; the scope in parentheses does, and is kept."""


def _without_type(text: str) -> str:
    """Return a text without the type in front of the subject of a commit."""
    return _CONVENTIONAL.sub(lambda match: f"{match['scope']} " if match["scope"] else "", text, count=1)


# Weights.


def _subject_terms(text: str) -> Collection[str]:
    """Return the terms of the first line of a longer text: its subject, as in an issue."""
    first_line, _, body = text.strip().partition("\n")
    return read_question(first_line).counts if body.strip() else ()


def _weigh_terms(parts: QuestionParts, subject_terms: Collection[str]) -> dict[str, float]:
    """Return the weight of each term that was read; those of the subject weigh one more."""
    weights: dict[str, float] = {}
    for term, count in parts.counts.items():
        # The logarithm keeps a word that a long text repeats from outweighing all others.
        weight = 1.0 + math.log(count)
        if term in subject_terms:
            weight += 1.0
        weights[term] = weight * parts.factors[term]
    return weights


def _count_words(terms: Collection[str]) -> int:
    """Return the number of terms without joined forms, whose words are terms of their own."""
    return sum(not is_joined_form(term) for term in terms)


# Plain words that may be names of code.

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


def _add_only_name(text: str, parts: QuestionParts) -> None:
    """Add the word of a question of one grammatical word or letter, which asks for a definition such as `Either`."""
    plain_names = _PLAIN_NAME.findall(text)
    if len(plain_names) == 1:
        name = plain_names[0]
        parts.names[name] = None
        parts.add_term(joined_form([name.lower()]), name)


def _possible_names(text: str, names: Container[str]) -> tuple[str, ...]:
    """Return the plain words of a question that may be names of code, each once, without `names`."""
    words = _PLAIN_NAME.findall(text)
    # A long question has capitals that name nothing.
    if len(words) > _FEW_WORDS:
        return ()
    if len(words) > 1:
        # The first word has a capital in any sentence.
        words = [word for word in words[1:] if word[0].isupper()]
    return tuple(dict.fromkeys(word for word in words if word not in names))


# Kinds of questions.

_TESTS = re.compile(r"\b(?:tests?|tested|testing|unit test|fixtures?|spec)\b", re.IGNORECASE)
_DOCS = re.compile(r"\b(?:docs?|documentation|documented|readme|manual|guide|tutorial)\b", re.IGNORECASE)
_INTERROGATIVE_START = re.compile(
    r"\W*(?:(?:how|what|when|where|which|who|whose|why)(?: [\w-]+)??"
    r" (?:is|are|was|were|do|does|did|can|could|should|will|would|has|have|had|must)\b"
    r"|(?:how to|what happens|what if|which of)\b)",
    re.IGNORECASE,
)
"""The start of a question that has no question mark: "how is a …", "which file has …". A sentence such as "When closed,
it drops all messages" isn't one."""


def _is_asked(text: str) -> bool:
    return text.rstrip().endswith("?") or _INTERROGATIVE_START.match(text) is not None
