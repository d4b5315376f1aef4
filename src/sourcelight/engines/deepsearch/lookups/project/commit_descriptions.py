"""Read what a question for a person or a date says of a commit: the verb, and the words that name the thing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from sourcelight.engines.deepsearch.lookups.project.commit_subjects import (
    GENERIC,
    KINDS,
    LIMITS,
    MAX_CHARS,
    SAME,
    SIMILAR,
    WORD,
    stem_of,
)
from sourcelight.engines.deepsearch.question.event_wording import without_second_part
from sourcelight.engines.deepsearch.question.events import WHEN, WHO
from sourcelight.engines.deepsearch.requests import ResearchRequest
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS

_MAX_WORDS = 12
_NEUTRAL_TEXT = """
commit commits first originally initially exactly actually repo repository project codebase ever person author change
favour favor over they we you it there their our own them that this get gets got gotten
"""
_NEUTRAL = frozenset(_NEUTRAL_TEXT.split())


@dataclass(frozen=True, slots=True)
class CommitDescription:
    """The words of a question for a commit: all of them by stem, in order, and the longest of them that is no verb.

    `verb` is the stem of what was done, empty for a verb that says nothing by itself; `objects` are the stems of the
    words that a subject has to have.
    """

    stems: tuple[str, ...]
    words: tuple[str, ...]
    longest: str
    is_exact: bool
    verb: str = ""
    objects: tuple[str, ...] = ()


def read_descriptions(inquiry: ResearchRequest) -> Iterator[CommitDescription]:
    """Yield the words of a question for a commit, and with fewer of them if no subject has all."""
    names = spellings_of_project(inquiry)
    description = _read(inquiry.words, names)
    if description is None:
        return
    yield description
    shorter = _without_kind(description)
    if shorter is not None:
        yield shorter
    switch = _SWITCHED.search(inquiry.words)
    reading = None if switch is None else _read(f"who used {switch['name']}", names)
    if reading is not None:
        yield reading


def _without_kind(description: CommitDescription) -> CommitDescription | None:
    """Return a description without nouns such as "tag" and "role" that a subject may leave out; None without any.

    The subject then is about nothing else: "Add wheel cache" adds no wheel tag.
    """
    kinds = {stem_of(word) for word in description.words if word.lower() in KINDS}
    objects = tuple(name for name in description.objects if name not in kinds)
    if not objects or objects == description.objects:
        return None
    words = tuple(word for word in description.words if stem_of(word) not in kinds)
    longest = max(
        (word.lower().lstrip("-.") for word in words if stem_of(word.lstrip("-.")) in objects), key=len, default=""
    )
    return (
        replace(description, stems=(), words=words, objects=objects, longest=longest, is_exact=True)
        if len(longest) > 1
        else None
    )


_KINDS_OF_PROJECTS = frozenset(
    ["ansible", "role", "collection", "terraform", "puppet", "chef", "vim", "nvim", "emacs", "python", "node", "helm"]
)
"""First words of names of projects that say what they are for: `ansible-role-gate` is the gate role."""


def spellings_of_project(inquiry: ResearchRequest) -> frozenset[str]:
    """Return the name of the only searched repository, also without its first words: small letters without signs."""
    names = inquiry.pins.short_names if len({pin.repository for pin in inquiry.pins}) == 1 else ()
    parts = [re.findall(r"[A-Za-z\d]+", name.lower()) for name in names]
    return frozenset(
        "".join(words[start:])
        for words in parts
        for start in range(len(words))
        if start < 2 or _KINDS_OF_PROJECTS.issuperset(words[:start])
    )


def _read(text: str, project_names: Collection[str] = ()) -> CommitDescription | None:
    """Read the words that describe a commit; None for a question that asks for something else, or names too little."""
    asks = WHO.search(text) or WHEN.search(text)
    if asks is None or len(text) > MAX_CHARS:
        return None

    rest = _MINIMUM_RUST.sub("MSRV", without_second_part(text[asks.end() :]))
    rest = _BROKEN_BEFORE.sub(" ", rest).replace("`", " ").replace("·", " ")
    quoted_words = frozenset(word.lower() for name in re.findall(r"`([^`]*)`", text) for word in WORD.findall(name))
    words = [
        word.removesuffix("'s")
        for word in WORD.findall(re.sub(r"(?<=\w)'s\b|\(\)", "", rest))
        if word.lower() not in _NEUTRAL
    ]
    if any(word.lower() in LIMITS for word in words):
        return None

    words = [word for word in words if word.lower() not in FUNCTION_WORDS]
    other_words = [
        word
        for word in words
        if word.lower() in quoted_words or re.sub(r"[^a-z\d]", "", word.lower()) not in project_names
    ]
    # The name of the project says nothing in its own history, unless nothing else is named.
    words = other_words if len(other_words) > 1 else words
    stems = tuple(dict.fromkeys(map(stem_of, words)))
    objects = [word for word in words if stem_of(word) not in SAME and stem_of(word) != "make"]
    if not objects or not 1 < len(stems) <= _MAX_WORDS:
        return None

    is_name = any(not (word.isalpha() and word.islower()) for word in objects)
    is_exact = len(objects) == 1 and not is_name
    longest = max((word.lower().lstrip("-") for word in objects), key=len)
    if len(longest) < 2 and not is_name:
        return None

    verb = _verb_of(asks[0], words)
    without = GENERIC if stem_of(verb) not in _WITHOUT_MEANING else GENERIC | {"work", "works", "properly", "correctly"}
    object_words = [word for word in words if word != verb and word.lower() not in without]
    longest = max((word.lower().lstrip("-.") for word in object_words), key=len, default=longest)
    named_stems = tuple(dict.fromkeys(stem_of(word.lstrip("-.")) for word in object_words))
    return CommitDescription(
        stems, tuple(words), longest, is_exact, "" if stem_of(verb) in _WITHOUT_MEANING else stem_of(verb), named_stems
    )


_MINIMUM_RUST = re.compile(r"\b(?:minimum|minimal|lowest)(?: supported)? rust(?: version)?\b", re.IGNORECASE)
_BROKEN_BEFORE = re.compile(
    r"\b(?:after|when|because|since)\s+(?:it|they|that|this)\s+(?:(?:had|has|have)\s+)?"
    r"(?:got(?:ten)?|was|were|been|became|went)?(?=\s+(?:broke|broken|regressed|lost|wrong)\b)",
    re.IGNORECASE,
)
"""The beginning of a clause that says what was wrong before: "after it got broken in 1.1.4"."""


_SWITCHED = re.compile(
    r"\b(?:switched|moved|migrated|converted|ported|changed)\s+(?:(?!from\b)[\w-]+\s+){0,4}?(?:over\s+)?to\s+(?:using\s+)?"
    r"(?:the\s+)?(?P<name>`?(?-i:[A-Z]+[a-z]\w*[A-Z]\w*|[A-Za-z]+(?:[_-][A-Za-z]+)+)`?(?:\s+[a-z]+)?)[\s?.!]*$",
    re.IGNORECASE,
)
"""A question for the commit that switched to something with a name, which its subject may say without what switched."""


def _verb_of(asks: str, words: Sequence[str]) -> str:
    """Return the verb of a question: its first word if it asks for a person, else its last; empty for none."""
    verbs = [word for word in words if stem_of(word) in SIMILAR or stem_of(word) in _WITHOUT_MEANING]
    is_passive = re.match(r"\W*(?:when|since|(?:in|on|at)\b)", asks, re.IGNORECASE) is not None
    if not is_passive:
        return words[0]
    return verbs[-1] if verbs else ""


_WITHOUT_MEANING = frozenset(
    map(stem_of, ("make", "teach", "get", "let", "do", "have", "give", "turn", "cause", "put", "set"))
)
"""Verbs that say nothing by themselves: "made the depth limited"."""
