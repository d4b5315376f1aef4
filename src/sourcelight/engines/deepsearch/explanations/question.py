"""Read a question for an explanation: what kind of answer it wants, and the words that the answer has to have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.core.markup import singular
from sourcelight.engines.deepsearch.explanations.subject import Subject
from sourcelight.engines.search.ranking.question import RankQuery, analyze
from sourcelight.engines.search.ranking.terms.tokenizer import TOKEN, stem, terms_of

_MAX_CHARACTERS = 300
"""Longer questions are reports of a problem, in which no single sentence is the answer."""

_POLITE = (
    r"^\W*(?:(?:please|can|could|would|you|tell|show|give|explain|me|to|us|i|want|need|know|like|do|does|anyone"
    r"|is|are|there)\s+){0,8}?"
)
_NOUN = (
    r"(?P<noun>functions?|methods?|class(?:es)?|types?|options?|settings?|parameters?|arguments?|flags?|fields?|macros?"
    r"|combinators?|modules?|traits?|interfaces?|structs?|structures?|enums?|constants?|variables?|commands?"
    r"|subcommands?|errors?|exceptions?|hooks?|callbacks?|decorators?|attributes?|annotations?|helpers?|parsers?"
    r"|files?|properties|property|keywords?|operators?|tests?|test\s+cases?|specs?|handlers?|middlewares?|plugins?)"
)
_TEST = r"(?:unit\s+)?(?:tests?|specs?|test\s+cases?)"
_CHECKS = (
    r"(?:checks?|covers?|verif(?:y|ies)|tests?|asserts?|ensures?|makes?\s+sure|exercises?|shows?|proves?|is|are|for)"
    r"\b(?:\s+(?:that|whether|if|about|for))?"
)
_EXAMPLE = r"(?:an?\s+|any\s+|some\s+|the\s+)?(?:code\s+|usage\s+)?(?:examples?|samples?|demos?)"
_OF_EXAMPLE = r"(?:of|for|on|that|which|with|using|showing|how)\b(?:\s+(?:how\s+to|uses?|shows?|using))?"
_REASON = (
    r"(?:why|how\s+come|for\s+what\s+reason"
    r"|what(?:'s|\s+is|\s+was)\s+the\s+(?:reason|rationale|purpose|point|motivation)(?:\s+(?:of|for|behind|that|why))?)"
)
_HAPPENS = (
    r"what\s+(?:(?:will\s+|would\s+|does\s+)?happens?|happened|occurs"
    r"|is\s+the\s+(?:result|effect|behaviou?r|outcome))\b\s*(?:if|when|while|once|after|in\s+case|with|to|on|of)?"
)
_TREATED = r"how\s+(?:does|do|is|are)\s+.{0,80}?\b(?:handled|treated?|dealt\s+with|react|respond|behave)\b"
_WHEN = (
    r"(?:when|(?:under|in)\s+(?:what|which)\s+(?:conditions?|circumstances?|cases?))"
    r"\s+(?=is|are|does|do|will|would|can|should|must)"
)
_HOW = (
    r"(?:how\s+(?:can|do|does|could|should|would|to|is|are|was)|is\s+it\s+possible|is\s+there\s+a\s+way"
    r"|what(?:'s|\s+is)\s+the\s+(?:best\s+)?way)\b"
)
_MESSAGE = r"(?:message|text|warning|exit\s+code|status\s+code|exit\s+status|output)"
_FORMS: Sequence[tuple[str, re.Pattern[str]]] = tuple(
    (kind, re.compile(text, re.IGNORECASE))
    for kind, text in (
        ("test", rf"^\W*(?:which|what)\s+{_TEST}\s+{_CHECKS}"),
        ("test", rf"^\W*(?:is|are)\s+there\s+(?:an?\s+|any\s+)?{_TEST}\s+(?:that\s+|which\s+)?(?:of|{_CHECKS})"),
        ("test", r"^\W*(?:where|how)\s+(?:is|are)\s+(?=.*\btested\W*$)"),
        ("example", rf"{_POLITE}{_EXAMPLE}\s+{_OF_EXAMPLE}"),
        ("difference", r"\bdiffer(?:s|ent|ences?)?\b|\bvs\b|\bversus\b|\bcompared?\b"),
        ("why", rf"^\W*{_REASON}\b"),
        ("happens", rf"^\W*{_HAPPENS}"),
        ("happens", rf"^\W*{_TREATED}"),
        ("when", rf"^\W*{_WHEN}"),
        ("which", rf"^\W*(?:which|what)\s+(?:\w+\s+){{0,2}}?{_NOUN}\b"),
        ("message", rf"^\W*(?:which|what)\s+(?:\w+\s+){{0,2}}?{_MESSAGE}\b"),
        ("how", rf"^\W*{_HOW}"),
        ("what", r"^\W*(?:what\s+(?:does|do|is|are|can|should)|explain|describe)\b"),
    )
)
"""Forms of questions in the order of trial. What a form matches at the beginning asks, and is in no answer."""

_ASKING_TEXT = """
happen happens happened difference differ different differs why how which what when example sample test function method
class type option setting parameter argument flag field macro combinator module trait interface struct enum constant
variable command error exception mean means use used using do does way possible reason rationale purpose check checks
cover covers verify work works exactly actually get gets got make makes sure one thing something anything
someone anyone case result behave behavior handle handled treat treated deal given give go want able let
there always sometimes really just still also ever
"""
_ASKING = frozenset(stem(word) for word in _ASKING_TEXT.split())
"""Words of questions that an answer doesn't need to have."""

_CONTRACTION = re.compile(
    r"\b(do|does|did|is|are|was|were|has|have|had|should|would|could|must|need|ca|wo)n['\u2019]t\b", re.IGNORECASE
)
_NEGATION = re.compile(
    r"n['\u2019]t\b|\b(?:not|no|never|none|nothing|without|neither|nor|cannot|unless|isnt)\b", re.IGNORECASE
)
_DENIED = re.compile(
    r"\b(?:never|no ?(?:body|one)|no longer)\b[^,;?]*?"
    r"(?=[,;?]|$|\b(?:when|if|while|after|before|to|for|in|of|and|or)\b)",
    re.IGNORECASE,
)
"""The part that a question denies: `never accessed again` of "keys that are never accessed again". If something "isn't"
or "can't be", that is often an error, and code that reports it has the word."""

_DENIED_FACTOR = 0.5
"""Factor of the weight of a word that a question denies: code that has it is about the opposite."""

MIN_SHARE = 0.95
"""Share of a question's weight in a text that has all of it: a common word more or less says nothing else."""


@dataclass(frozen=True, slots=True)
class ExplanationQuestion:
    """The words and the kind of a question for an explanation.

    Attributes
    ----------
    kind
        ``why``, ``how``, ``happens``, ``when``, ``which``, ``message``, ``what``, ``difference``, ``test`` or
        ``example``.
    subject
        Its words with their weights, without those that only ask.
    names
        Names of code in it.
    noun
        What a ``which`` asks for, such as ``function``, in the singular.
    negations
        How often it says that something is not the case.
    asked_text
        Its text without the words that say what kind of answer it wants.
    """

    kind: str
    subject: Subject
    names: tuple[str, ...] = ()
    noun: str = ""
    negations: int = 0
    asked_text: str = ""

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of each term."""
        return self.subject.weights

    @property
    def name_terms(self) -> set[str]:
        """The terms of the names of code in it."""
        return self.subject.terms_in(" ".join(self.names))

    def is_all_in(self, text: str) -> bool:
        """Return whether a text has as good as all that is asked, and denies as much."""
        share = self.subject.share_of(self.subject.terms_in(text))
        return share >= MIN_SHARE and count_negations(text) == self.negations


def read_explanation(text: str, idf: Mapping[str, float]) -> ExplanationQuestion | None:
    """Read a question; None if it doesn't ask for an explanation, or has no word that an answer could have.

    Parameters
    ----------
    text
        The question.
    idf
        How rare each of its terms is in what is searched. Other terms weigh as much as the rarest.
    """
    text = _CONTRACTION.sub(_spell_out, " ".join(text[: _MAX_CHARACTERS + 1].split()))
    if len(text) > _MAX_CHARACTERS:
        return None

    for kind, pattern in _FORMS:
        match = pattern.search(text)
        if match is None:
            continue

        # What a question names before such a word is a part of what it asks.
        rest = text if kind == "difference" or pattern.pattern.endswith(_TREATED) else text[match.end() :]
        question = analyze(rest)
        weights = weigh_denied(_weigh(question, idf), rest)
        if not weights:
            return None

        noun = (match.groupdict().get("noun") or "").lower()
        subject = Subject(text, weights)
        return ExplanationQuestion(kind, subject, question.names, singular(noun), count_negations(rest), rest)

    return None


def count_negations(text: str) -> int:
    """Return how often a text says that something is not so."""
    return len(_NEGATION.findall(text))


def weigh_denied(weights: Mapping[str, float], text: str) -> dict[str, float]:
    """Return weights of terms, lower ones for those that a question denies."""
    tokens = [token for match in _DENIED.finditer(text) for token in TOKEN.findall(match[0].encode())]
    denied = {term for token in tokens for term in terms_of(token.decode("utf-8", "replace"))}
    return {term: weight * _DENIED_FACTOR if term in denied else weight for term, weight in weights.items()}


def _spell_out(match: re.Match[str]) -> str:
    verb = {"ca": "can", "wo": "will"}.get(match[1].lower(), match[1])
    return f"{verb} not"


def _weigh(question: RankQuery, idf: Mapping[str, float]) -> dict[str, float]:
    """Weigh the terms of a question without those that only ask."""
    rarest = max(idf.values(), default=1.0)
    term_weights = {
        term: weight * idf.get(term, rarest) for term, weight in question.terms.items() if term not in question.optional
    }
    name_terms = {part for name in question.names for part in analyze(name).terms}
    return {term: weight for term, weight in term_weights.items() if term not in _ASKING or term in name_terms}
