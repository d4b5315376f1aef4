"""The words that describe a place, and the words of names and documents that mean the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from sourcelight.engines.search.ranking.terms.related_words import related_terms, verb_of
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, parts_of, stem

MAX_CONCEPTS = 8
"""Words of a description; a longer one is a story, of which no name has all words."""
_MIN_SPELLED = 3
"""Words of a name that is no accident if a question has all of them."""
_MAX_JOINED, _MAX_RUN = 6, 4
"""Words of a name that a question may write as one, and of a question that a name may."""
_FORM_TEXT = """
against about behind inside within file files module modules script scripts header class classes function functions
method methods helper helpers code logic bit part piece place thing things stuff implementation definition source
line block section codebase repo project handle handles handled handling implement implements implemented contain
contains contained hold holds held define defines defined live lives deal deals dealt responsible happen happens
occur occurs do does done doing get gets getting got turn turns turned turning go goes come comes take takes taken
taking put puts make makes made making keep keeps kept work works worked working out figure figures decide decides
decided exist exists sit sits located declare declares perform performs performing actually really whole main kind
sort way based store reside resides whereabouts find see look provide provides one ones bits up down off away back
together whether use uses used using call calls called charge concern concerns concerned care speak speaks speaking
talk talks talking complain complains build builds built create creates created its it'll something everything wire
wired set sets setting generate generates produce produces manage manages know knows want wants need needs run runs
running let lets allow allows given leading single real own new concerning related routine actual
found
"""
_FORM = frozenset(_FORM_TEXT.split())
"""Words of the form of a question, and verbs that say no more than that something is there."""
_LIGHT_TEXT = """
number numbers value values name names various several certain different current users user list item items output
input result results data content contents format formats
form forms integration support
"""
_LIGHT = frozenset(_LIGHT_TEXT.split())
"""Words that a name may leave out."""
_MIN_PART = 3
"""Letters of a word that is written as one with another."""
_DIGITS = {"one": "1", "two": "2", "three": "3", "four": "4", "six": "6", "eight": "8", "ten": "10"}
_BRITISH = (("our", "or"), ("ise", "ize"), ("isation", "ization"), ("yse", "yze"), ("re", "er"))
_AGENT = re.compile(r"(?:e[rd]|or|ation|ing|ment|al|ion)$")
_WORD = re.compile(r"[A-Za-z][A-Za-z']*|\d+")
_PHRASAL_TEXT = """
discards: thr(?:ow|ows|ew|own|owing) (?:away|out), removes: g(?:et|ets|ot|etting) rid of,
suggests: c(?:ome|omes|oming) up with, truncates: cut(?:s|ting)? (?:down|off|short), defers: put(?:s|ting)? off,
aborts: g(?:ive|ives|ave|iving) up, omits: leav(?:e|es|ing) out|left out,
checks: mak(?:e|es|ing) sure|made sure, retries: tr(?:y|ies|ied|ying) again, resends: s(?:end|ends|ent|ending) again,
lookup: look(?:s|ed|ing)? up, parallel: at (?:once|the same time)
"""
_PHRASAL = tuple(
    (re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), verb)
    for verb, _, pattern in (entry.strip().partition(": ") for entry in _PHRASAL_TEXT.split(","))
)
"""Verbs of two words, and one word for each."""
_LITERAL = re.compile(r"(?<![\w#])#(?P<name>[a-z]+)")
"""A name with the sign of a helper of templates, which may be a word of grammar."""
_NAME_FILLERS_TEXT = """
no not get is do to the of for from with a an in on by and has s new init mod index main util utils impl base
internal lib src core helper helpers handler handle make create build run
"""
_NAME_FILLERS = frozenset(_NAME_FILLERS_TEXT.split())
"""Words of a name that say nothing of what it is about."""


@dataclass(frozen=True, slots=True)
class Concept:
    """A word of a description.

    Attributes
    ----------
    word
        As written, in lower case.
    strong, weak
        Stems that are the word itself, and stems of related words.
    is_optional
        Whether a name may leave it out.
    """

    word: str
    strong: frozenset[str]
    weak: frozenset[str]
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class Description:
    """A description of a place, word by word.

    Attributes
    ----------
    concepts
        Its words without those of the form.
    acronyms
        The initials of words in a row, such as ``sse``, with the concepts that they stand for.
    runs
        Two to four words in a row as one, such as ``camelcase`` and ``ctrlaltdel``, with their concepts.
    grammar
        Stems of the other words, which a name may have.
    """

    concepts: tuple[Concept, ...]
    acronyms: tuple[tuple[str, frozenset[int]], ...] = ()
    runs: tuple[tuple[str, frozenset[int]], ...] = ()
    grammar: frozenset[str] = frozenset()

    @property
    def required(self) -> frozenset[int]:
        """The concepts that an answer has to have."""
        required = frozenset(index for index, concept in enumerate(self.concepts) if not concept.is_optional)
        return required or frozenset(range(len(self.concepts)))

    def coverage(self, words: Iterable[str], *, weak: bool = True) -> frozenset[int]:
        """Return the concepts that some words have."""
        covered: set[int] = set()
        word_list = list(words)
        stems = {form for word in word_list for form in forms_of(word)}
        for index, concept in enumerate(self.concepts):
            if concept.strong & stems or (weak and concept.weak & stems):
                covered.add(index)

        for form, indices in (*self.acronyms, *self.runs):
            if form in word_list:
                covered |= indices

        # Names write two words as one, or one as two.
        runs = {f"{left}{right}" for left, right in pairwise(word_list)} | {"".join(word_list[:_MAX_JOINED])}
        covered |= {index for index, concept in enumerate(self.concepts) if concept.word in runs}
        return frozenset(covered)

    def words_in(self, words: Sequence[str]) -> list[str]:
        """Return those of some words that the description has, as they are written there."""
        strong = {form for concept in self.concepts for form in concept.strong}
        texts = {form for form, _ in (*self.acronyms, *self.runs)}
        matching = [word for word in words if forms_of(word) & strong or word in texts]
        # Names write two words as one.
        joins = {concept.word for concept in self.concepts}
        pairs = [word for pair in pairwise(words) if "".join(pair) in joins for word in pair]
        return list(dict.fromkeys([*matching, *pairs]))

    @property
    def parts(self) -> frozenset[str]:
        """Words of a question that a name may write as one with another."""
        return self.grammar.union(form for concept in self.concepts for form in (concept.word, *concept.strong))

    def extra_words(self, words: Sequence[str]) -> int:
        """Return how many words of a name are none of the description."""
        return sum(
            word not in _NAME_FILLERS and not word.isdigit() and not self._is_word(word, words) for word in set(words)
        )

    def spells(self, words: Sequence[str]) -> bool:
        """Return whether a name is made of three words or more that the question has, such as `find_project_root`."""
        content = {word for word in words if word not in FUNCTION_WORDS}
        return len(content) >= _MIN_SPELLED and all(self._is_word(word, words) for word in content)

    def _is_word(self, word: str, words: Sequence[str]) -> bool:
        forms = forms_of(word)
        if forms & self.grammar or any((concept.strong | concept.weak) & forms for concept in self.concepts):
            return True
        if any(word == form for form, _ in (*self.acronyms, *self.runs)):
            return True
        return any(
            word in {left, right} and any(f"{left}{right}" == concept.word for concept in self.concepts)
            for left, right in pairwise(words)
        )


def split_joined(words: Sequence[str], parts: frozenset[str]) -> list[str]:
    """Return the words of a name, where `resetpassword` is two if both are `parts` of a description."""
    return [part for word in words for part in _split_at(word, parts)]


def _split_at(word: str, parts: frozenset[str]) -> tuple[str, ...]:
    """Return a word as two of some parts, or as it is."""
    lengths = range(_MIN_PART, len(word) - _MIN_PART + 1)
    pairs = ((word[:length], word[length:]) for length in lengths)
    return next((pair for pair in pairs if parts.issuperset(pair)), (word,))


@lru_cache(maxsize=1 << 14)
def forms_of(word: str) -> frozenset[str]:
    """Return the stems of a word, also as a verb: `decoder` decodes, `normaliser` normalizes, `sent` sends."""
    forms = {stem(word), stem(verb_of(word) or word)}
    for british, american in _BRITISH:
        if british in word and len(word) > 4:
            forms.add(stem(word.replace(british, american)))
    bare = _AGENT.sub("", word)
    if bare != word and len(bare) > 2:
        forms |= {stem(bare), stem(f"{bare}e")}
        if len(bare) > 3 and bare[-1] == bare[-2]:
            forms.add(stem(bare[:-1]))
    if word in _DIGITS:
        forms.add(_DIGITS[word])
    return frozenset(forms)


def is_participle(word: str) -> bool:
    """Return whether a word says what is done to something, such as `parsed` and `written`."""
    return word.endswith("ed") or bool(verb_of(word))


def read_description(
    text: str, repository_words: frozenset[str], *, begins_with_verb: bool = False
) -> Description | None:
    """Read the words of a description; None if it has none, or more than a name can have.

    Parameters
    ----------
    text
        The description.
    repository_words
        Words of the names of the repositories, which describe nothing.
    begins_with_verb
        Whether its first word says what a file or type does: "checks for trailing whitespace".
    """
    literals = {match["name"] for match in _LITERAL.finditer(text)}
    tokens = _WORD.findall(_with_single_verbs(with_tilde(text)).replace("-", " ").replace("#", " "))
    raw = [word.lower().removesuffix("'s").replace("'", "") for word in tokens]
    words = list(dict.fromkeys(word for word in raw if word in literals or _is_concept(word, repository_words)))
    if not words or len(words) > MAX_CONCEPTS:
        return None

    verb = raw[0] if begins_with_verb and raw[0].endswith("s") and not raw[0].endswith("ss") else ""
    concepts = tuple(
        Concept(
            word,
            forms_of(word),
            frozenset(related_terms({stem(word): 1.0, stem(verb_of(word) or word): 1.0})),
            is_optional=word in _LIGHT or word == verb,
        )
        for word in words
    )
    grammar = frozenset(form for word in raw if word not in words for form in forms_of(word))
    return Description(concepts, tuple(_acronyms(raw, words)), tuple(_join_runs(raw, words)), grammar)


def with_tilde(text: str) -> str:
    """Return a text with the words for the sign of a home directory, and for the files that are called `.env`."""
    return re.sub(r"(?<![\w/])\.env\b", " dotenv ", re.sub(r"(?<!\w)~", " tilde ", text))


def _with_single_verbs(text: str) -> str:
    """Return a description with one word for a verb of two: it `discards` what it "throws away"."""
    for pattern, verb in _PHRASAL:
        text = pattern.sub(verb, text)
    return text


def _is_concept(word: str, repository_words: frozenset[str]) -> bool:
    is_word = word not in FUNCTION_WORDS and word not in _FORM and word not in repository_words
    return is_word and (len(word) > 1 or word.isdigit())


def _acronyms(raw: Sequence[str], words: Sequence[str]) -> Iterable[tuple[str, frozenset[int]]]:
    """Yield the initials of three to five words in a row."""
    for size in (3, 4, 5):
        for start in range(len(raw) - size + 1):
            run = raw[start : start + size]
            indices = frozenset(words.index(word) for word in run if word in words)
            # "Command line interface" and "server sent events", but no run of grammar.
            if len(indices) >= size - 1 and not any(word in FUNCTION_WORDS for word in run):
                yield "".join(word[0] for word in run), indices


def _join_runs(raw: Sequence[str], words: Sequence[str]) -> Iterable[tuple[str, frozenset[int]]]:
    """Yield two to four words of a description in a row as one."""
    for size in range(2, _MAX_RUN + 1):
        for start in range(len(raw) - size + 1):
            run = raw[start : start + size]
            indices = frozenset(words.index(word) for word in run if word in words)
            if len(indices) == size:
                yield "".join(run), indices


def words_of_name(name: str) -> list[str]:
    """Return the words of a name in lower case."""
    return parts_of(with_tilde(name))


def words_of_file(path: str) -> list[str]:
    """Return the words of a file's name, without those of its directories and its extension."""
    base = path.rpartition("/")[2]
    return words_of_name(base.rpartition(".")[0] or base)
