"""Analyze a question: weighted terms, names and files in it, and whether it asks for tests or documentation."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from sourcelight.engines.search.ranking.terms.related_words import related_terms
from sourcelight.engines.search.ranking.terms.tokenizer import (
    FUNCTION_WORDS,
    is_joined_form,
    joined_form,
    parts_of,
    stem,
)

_JOINED_WEIGHT = 0.6
"""Factor of neighboring words joined into one term, which may not be a name."""

_ASKED_FACTOR, _MAX_ASKED_NEIGHBORS = 0.25, 2
"""Further factor of such a term in a question of more than a few words, and words that are joined there."""

_REPEATED_WEIGHT = 0.9
"""Factor of a verb with ``re`` in front, guessed from "again"."""

_MAX_CHARACTERS = 20_000
"""Characters of a question that are read: whole issues and stack traces are pasted as questions."""

_CODE_SPAN = re.compile(r"`+([^`]+)`+")
"""Marked code: `` `Session.send()` ``."""

_QUOTED = re.compile(r'"([^"\n]{2,})"|“([^”\n]{2,})”|\'([^\'\n]{2,})\'(?!\w)')
"""A quoted text: ``"no such file"``, ``'no such file'``. The apostrophe of ``'don't'`` doesn't end one."""

_PATH = re.compile(
    r"(?<![\w./-])(?:[\w.+-]+/)*[\w+-][\w.+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])"
    r"|(?<![\w./])(?:[\w.+-]+/)+[\w.+-]+"
)
"""A file with an extension, or a path: `setup.py`, `src/app/main.go`, `src/app`."""

_NAME = re.compile(r"[A-Za-z_][\w]*(?:(?:\.|::|->|#)[A-Za-z_]\w*)*")
"""A name of code, with the names before it: `send`, `Session.send`, `std::move`, `ptr->next`, `Array#map`."""

_SEPARATOR = re.compile(r"\.|::|->|#")
"""Separators of the parts of such a name."""

_WORD = re.compile(r"[^\W_][\w]*(?:['\u2019]\w+)?")
"""A word: `retry`, `doesn't`."""

_SENTENCE = re.compile(r"[.!?;:,()\[\]{}\n]+")
"""The end of a sentence or of a part of it. Words on both sides of it aren't neighbors."""

_CODE_FILES = """
py pyi pyx go rs c h cc cpp cxx hpp hh hxx m mm java kt kts scala js jsx mjs cjs ts tsx rb php cs swift lua pl pm
sh bash zsh ps1 sql html htm css scss less vue md rst txt adoc json yaml yml toml ini cfg conf xml proto gradle
cmake mk tcl tf ex exs erl hs ml r jl dart groovy ipynb lock log csv tsv
"""
_EXTENSIONS = frozenset(_CODE_FILES.split())

_INTERROGATIVE = re.compile(r"\bhow (?:big|deep|far|fast|large|long|many|much|often|old|soon)\b", re.IGNORECASE)
"""Grammatical words of questions only: in code, `long` is a type, and `far` may be a name."""

_CONVENTIONAL = re.compile(
    r"^\W*(?:feat|features?|fix|bugfix|docs?|chore|refactor|perf|style|tests?|build|ci|revert|types?)"
    r"(?:\(([^()\n]{0,80})\))?!?:[ \t]+(?=\S)",
    re.IGNORECASE,
)
"""The type in front of a subject by the rules of Conventional Commits. It names the sort of change and no place in the
code; the scope in parentheses does, and is kept."""

_TEST = re.compile(r"\b(?:tests?|tested|testing|unit test|fixtures?|spec)\b", re.IGNORECASE)

_MAX_ASKING_WORDS = 20
"""Words beyond which a question doesn't ask for tests or documentation: a report of a bug only mentions them."""

_DOCS = re.compile(r"\b(?:docs?|documentation|documented|readme|manual|guide|tutorial)\b", re.IGNORECASE)
_INTERROGATIVE_START = re.compile(
    r"\W*(?:(?:how|what|when|where|which|who|whose|why)(?: [\w-]+)??"
    r" (?:is|are|was|were|do|does|did|can|could|should|will|would|has|have|had|must)\b"
    r"|(?:how to|what happens|what if|which of)\b)",
    re.IGNORECASE,
)
"""The start of a question that has no question mark: "how is a …", "which file has …". A sentence such as "When closed,
it drops all messages" isn't one."""

_FEW_WORDS = 3
"""Words up to which a question may consist of names. A longer one is a sentence."""

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


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

        terms = {}
        for term, weight in self.terms.items():
            if not is_joined_form(term) or term not in self.optional:
                terms[term] = weight
            # Three neighbors are a name in so few questions that they aren't worth the look-up.
            elif self.source_texts.get(term, "").count(" ") < _MAX_ASKED_NEIGHBORS:
                terms[term] = weight * _ASKED_FACTOR
        return terms

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


@dataclass(slots=True)
class _QuestionReader:
    counts: Counter[str] = field(default_factory=Counter)
    factors: dict[str, float] = field(default_factory=dict)
    source_texts: dict[str, str] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    phrases: dict[str, None] = field(default_factory=dict)

    def note(self, term: str, source_text: str, factor: float = 1.0) -> None:
        self.counts[term] += 1
        self.factors[term] = max(factor, self.factors.get(term, 0.0))
        self.source_texts.setdefault(term, source_text)

    def name(self, text: str) -> None:
        """Add a name of code, dotted or not."""
        for simple in _SEPARATOR.split(text):
            if not simple.strip("_"):
                continue
            self.names[simple] = None
            parts = parts_of(simple)
            content_parts = [part for part in parts if len(part) > 1 and part not in FUNCTION_WORDS]
            for part in content_parts or parts:
                self.note(stem(part), simple)
            if len(parts) > 1:
                self.note(joined_form(parts), simple)

    def file(self, text: str) -> None:
        """Add the name or path of a file."""
        self.files[text] = None
        for part in parts_of(text.rpartition("/")[2]):
            if len(part) > 1 and part not in FUNCTION_WORDS and part not in _EXTENSIONS:
                self.note(stem(part), text)

    def prose(self, text: str) -> None:
        """Add plain words: their stems, and joined pairs and triples of neighbors."""
        for sentence in _SENTENCE.split(_INTERROGATIVE.sub(" ", text)):
            run: list[str] = []
            for match in _WORD.finditer(sentence):
                word = re.sub(r"['\u2019]\w+$", "", match[0])
                if word.lower() == "again":
                    # "Tried again" means retried, and "sent again" means resent.
                    for verb in run[-1:]:
                        self.note(f"re{stem(verb)}", f"{verb} again", _REPEATED_WEIGHT)

                parts = [part for part in parts_of(word) if part not in FUNCTION_WORDS and len(part) > 1]
                for part in parts:
                    self.note(stem(part), word)

                if len(parts) > 1:
                    self.note(joined_form(parts_of(word)), word)

                run += parts

            for size in (2, 3):
                for index in range(len(run) - size + 1):
                    neighbors = run[index : index + size]
                    self.note(joined_form(neighbors), " ".join(neighbors), _JOINED_WEIGHT)


def analyze(text: str) -> RankQuery:
    """Analyze a question, from which filters such as ``repo:`` have been removed."""
    text = _CONVENTIONAL.sub(_scope_of_subject, text[:_MAX_CHARACTERS], count=1)
    reader = _read_question(text)

    if not reader.counts:
        # A question of one grammatical word or letter asks for a definition of that name, such as `Either`.
        plain_names = _PLAIN_NAME.findall(text)
        if len(plain_names) == 1:
            name = plain_names[0]
            reader.names[name] = None
            reader.note(joined_form([name.lower()]), name)

    terms = _weigh_terms(reader, _subject_terms(text))
    is_short = _count_words(terms) <= _MAX_ASKING_WORDS
    return RankQuery(
        text=text.strip(),
        terms=terms,
        names=tuple(reader.names),
        files=tuple(reader.files),
        phrases=tuple(reader.phrases),
        source_texts=reader.source_texts,
        optional=frozenset(term for term, factor in reader.factors.items() if factor < 1.0),
        possible_names=possible_names(text, reader.names),
        asks_tests=is_short and bool(_TEST.search(text)),
        asks_docs=is_short and bool(_DOCS.search(text)),
        is_asked=is_short and _is_asked(text),
    )


def _is_asked(text: str) -> bool:
    return text.rstrip().endswith("?") or _INTERROGATIVE_START.match(text) is not None


def _scope_of_subject(match: re.Match[str]) -> str:
    """Return what is kept of the match of `_CONVENTIONAL`."""
    scope = match[1]
    return f"{scope} " if scope else ""


def _read_question(text: str) -> _QuestionReader:
    reader = _QuestionReader()
    # Each step removes the text that it has read: marked text is certainly code, and only the rest is plain words.
    remaining = _read_marked(text, reader)
    remaining = _read_files_and_names(remaining, reader)
    reader.prose(remaining)
    return reader


def _subject_terms(text: str) -> Collection[str]:
    """Return the terms of the first line of a longer text: its subject, as in an issue."""
    first_line, _, body = text.strip().partition("\n")
    if body.strip():
        return _read_question(first_line).counts
    return ()


def _weigh_terms(reader: _QuestionReader, subject_terms: Collection[str]) -> dict[str, float]:
    """Return the weight of each term that was read; those of the subject weigh one more."""
    weights: dict[str, float] = {}
    for term, count in reader.counts.items():
        # The logarithm keeps a word that a long text repeats from outweighing all others.
        weight = 1.0 + math.log(count)
        if term in subject_terms:
            weight += 1.0
        weights[term] = weight * reader.factors[term]
    return weights


def _count_words(terms: Collection[str]) -> int:
    """Return the number of terms without joined forms, whose words are terms of their own."""
    return sum(not is_joined_form(term) for term in terms)


def possible_names(text: str, names: Container[str]) -> tuple[str, ...]:
    """Return the plain words of a question that may be names of code, each once, without `names`."""
    words = _PLAIN_NAME.findall(text)
    if len(words) > 1:
        # A long question has capitals that name nothing.
        if len(words) > _FEW_WORDS:
            return ()
        # The first word has a capital in any sentence.
        words = [word for word in words[1:] if word[0].isupper()]
    return tuple(dict.fromkeys(word for word in words if word not in names))


def _read_marked(text: str, reader: _QuestionReader) -> str:
    """Extract code spans and quoted texts; return the text without the spans' marks."""

    def span(match: re.Match[str]) -> str:
        inner = match[1].strip()
        bare = inner.removesuffix("()")
        if _NAME.fullmatch(bare) and not _is_file(bare):
            reader.name(bare)
            return " "

        if " " in inner:
            reader.phrases[inner] = None

        return f" {inner} "

    def add_phrase(match: re.Match[str]) -> str:
        inner = next(group for group in match.groups() if group is not None).strip()
        reader.phrases[inner] = None
        return f" {inner} "

    return _QUOTED.sub(add_phrase, _CODE_SPAN.sub(span, text))


def _is_file(text: str) -> bool:
    return "/" in text or ("." in text and text.rpartition(".")[2].lower() in _EXTENSIONS)


def _read_files_and_names(text: str, reader: _QuestionReader) -> str:
    """Extract names of files and of code; return the remaining text."""

    def path(match: re.Match[str]) -> str:
        candidate = match[0].rstrip(".")
        slashes = candidate.count("/")
        # "and/or", "read/write" are words; a path has an extension or more than one folder.
        if not (candidate.rpartition(".")[2].lower() in _EXTENSIONS or slashes > 1):
            return match[0]
        reader.file(candidate)
        return " "

    def name(match: re.Match[str]) -> str:
        candidate = match[0]
        called = text_after[match.end() : match.end() + 1] == "("
        if not (called or _is_code(candidate)):
            return candidate
        reader.name(candidate)
        return " "

    # Paths first: the parts of a path look like names of code.
    text_after = _PATH.sub(path, text)
    return _NAME.sub(name, text_after)


def _is_code(text: str) -> bool:
    """Return whether a word can only be a name of code: parts joined by signs, or a capital within."""
    if _SEPARATOR.search(text):
        return True

    bare = text.strip("_")
    if "_" in bare or (text.startswith("_") and len(bare) > 1):
        return True

    # `HTTPError` has no capital after a small letter. Plurals such as `URLs` are plain words.
    return any(a.islower() and b.isupper() for a, b in pairwise(bare)) or (
        len(bare) > 3 and bool(re.match(r"[A-Z]{2,}[a-z]{2,}", bare))
    )
