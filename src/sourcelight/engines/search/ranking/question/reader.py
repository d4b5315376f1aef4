"""Read the terms, names, files and quoted texts of a question.

The text is read in three steps, from the most certain to the least: marked and quoted text, then paths and words that
can only be names of code, then plain words. Each step removes the names that it has read, so that a later one doesn't
read them as something else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, joined_form, parts_of, stem

_JOINED_WEIGHT = 0.6
"""Factor of neighboring words joined into one term, which may not be a name."""

_REPEATED_WEIGHT = 0.9
"""Factor of a verb with ``re`` in front, guessed from "again"."""


@dataclass(slots=True)
class QuestionParts:
    """The parts of a question, in the order in which they were read.

    Attributes
    ----------
    counts
        How often each term occurs.
    factors
        Factor of the weight of each term: 1 for a term of the text, less for a guess.
    source_texts
        The word or name that each term came from.
    names, files, phrases
        Names of code, names and paths of files, quoted texts: keys of dictionaries, so that each is there once.
    """

    counts: Counter[str] = field(default_factory=Counter)
    factors: dict[str, float] = field(default_factory=dict)
    source_texts: dict[str, str] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    phrases: dict[str, None] = field(default_factory=dict)

    def add_term(self, term: str, source_text: str, factor: float = 1.0) -> None:
        """Add an occurrence of a term; of several factors, the greatest counts."""
        self.counts[term] += 1
        self.factors[term] = max(factor, self.factors.get(term, 0.0))
        self.source_texts.setdefault(term, source_text)

    def add_name(self, text: str) -> None:
        """Add a name of code, dotted or not, and the terms of its parts."""
        for simple_name in _SEPARATOR.split(text):
            if not simple_name.strip("_"):
                continue

            self.names[simple_name] = None
            parts = parts_of(simple_name)
            # A name of short or grammatical words alone, such as `isIn`, has no other terms.
            for part in [part for part in parts if _is_content_word(part)] or parts:
                self.add_term(stem(part), simple_name)
            if len(parts) > 1:
                self.add_term(joined_form(parts), simple_name)

    def add_file(self, text: str) -> None:
        """Add the name or path of a file, and the terms of its name without the extension."""
        self.files[text] = None
        file_name = text.rpartition("/")[2]
        for part in parts_of(file_name):
            if _is_content_word(part) and part not in _EXTENSIONS:
                self.add_term(stem(part), text)

    def add_prose(self, text: str) -> None:
        """Add plain words: their stems, and joined pairs and triples of neighbors."""
        for sentence in _SENTENCE_END.split(_INTERROGATIVE.sub(" ", text)):
            words: list[str] = []
            for match in _WORD.finditer(sentence):
                word = _APOSTROPHE.sub("", match[0])
                if word.lower() == "again" and words:
                    # "Tried again" means retried, and "sent again" means resent.
                    self.add_term(f"re{stem(words[-1])}", f"{words[-1]} again", _REPEATED_WEIGHT)
                words += self._add_word(word)

            self._add_neighbors(words, 2)
            self._add_neighbors(words, 3)

    def _add_word(self, word: str) -> list[str]:
        """Add a plain word, which may have several parts, and return those that tell something."""
        parts = [part for part in parts_of(word) if _is_content_word(part)]
        for part in parts:
            self.add_term(stem(part), word)
        if len(parts) > 1:
            self.add_term(joined_form(parts_of(word)), word)
        return parts

    def _add_neighbors(self, words: Sequence[str], size: int) -> None:
        """Add each run of `size` words of a sentence, joined into one term."""
        for start in range(len(words) - size + 1):
            neighbors = words[start : start + size]
            self.add_term(joined_form(neighbors), " ".join(neighbors), _JOINED_WEIGHT)


def read_question(text: str) -> QuestionParts:
    """Read the parts of a question."""
    parts = QuestionParts()
    remaining = _read_marked_text(text, parts)
    remaining = _read_paths(remaining, parts)
    remaining = _read_code_names(remaining, parts)
    parts.add_prose(remaining)
    return parts


# Marked and quoted text.

_CODE_SPAN = re.compile(r"`+([^`]+)`+")
"""Marked code: `` `Session.send()` ``."""

_QUOTED = re.compile(r'"([^"\n]{2,})"|“([^”\n]{2,})”|\'([^\'\n]{2,})\'(?!\w)')
"""A quoted text: ``"no such file"``, ``'no such file'``. The apostrophe of ``'don't'`` doesn't end one."""


def _read_marked_text(text: str, parts: QuestionParts) -> str:
    """Read code spans and quoted texts; return the text without names in spans, and without marks."""

    def replace_span(match: re.Match[str]) -> str:
        inner = match[1].strip()
        name = inner.removesuffix("()")
        if _NAME.fullmatch(name) and not _is_file(name):
            parts.add_name(name)
            return " "

        if " " in inner:
            parts.phrases[inner] = None
        return f" {inner} "

    def replace_quotation(match: re.Match[str]) -> str:
        inner = next(group for group in match.groups() if group is not None).strip()
        parts.phrases[inner] = None
        return f" {inner} "

    return _QUOTED.sub(replace_quotation, _CODE_SPAN.sub(replace_span, text))


# Paths.

_PATH = re.compile(
    r"(?<![\w./-])(?:[\w.+-]+/)*[\w+-][\w.+-]*\.[A-Za-z][A-Za-z0-9]{0,9}(?![\w/])"
    r"|(?<![\w./])(?:[\w.+-]+/)+[\w.+-]+"
)
"""A file with an extension, or a path: `setup.py`, `src/app/main.go`, `src/app`."""

_CODE_FILES = """
py pyi pyx go rs c h cc cpp cxx hpp hh hxx m mm java kt kts scala js jsx mjs cjs ts tsx rb php cs swift lua pl pm
sh bash zsh ps1 sql html htm css scss less vue md rst txt adoc json yaml yml toml ini cfg conf xml proto gradle
cmake mk tcl tf ex exs erl hs ml r jl dart groovy ipynb lock log csv tsv
"""
_EXTENSIONS = frozenset(_CODE_FILES.split())


def _read_paths(text: str, parts: QuestionParts) -> str:
    """Read names and paths of files, before names of code, which the parts of a path look like."""

    def replace_path(match: re.Match[str]) -> str:
        path = match[0].rstrip(".")
        # "and/or", "read/write" are words; a path has an extension or more than one folder.
        if not _has_extension(path) and path.count("/") < 2:
            return match[0]
        parts.add_file(path)
        return " "

    return _PATH.sub(replace_path, text)


def _is_file(text: str) -> bool:
    return "/" in text or ("." in text and _has_extension(text))


def _has_extension(text: str) -> bool:
    return text.rpartition(".")[2].lower() in _EXTENSIONS


# Names of code.

_NAME = re.compile(r"[A-Za-z_][\w]*(?:(?:\.|::|->|#)[A-Za-z_]\w*)*")
"""A name of code, with the names before it: `send`, `Session.send`, `std::move`, `ptr->next`, `Array#map`."""

_SEPARATOR = re.compile(r"\.|::|->|#")
"""Separators of the parts of such a name."""

_ACRONYM_AND_WORD = re.compile(r"[A-Z]{2,}[a-z]{2,}")
"""Capitals before a word: `HTTPError`. Plurals such as `URLs` have one small letter and are plain words."""
_MIN_ACRONYM_NAME = 4


def _read_code_names(text: str, parts: QuestionParts) -> str:
    """Read the words that can only be names of code, or that a bracket calls: `send(`."""

    def replace_name(match: re.Match[str]) -> str:
        is_called = text[match.end() : match.end() + 1] == "("
        if not is_called and not _is_code(match[0]):
            return match[0]
        parts.add_name(match[0])
        return " "

    return _NAME.sub(replace_name, text)


def _is_code(text: str) -> bool:
    """Return whether a word can only be a name of code: parts joined by signs, or a capital within."""
    bare = text.strip("_")
    has_signs = _SEPARATOR.search(text) is not None or "_" in bare or (text.startswith("_") and len(bare) > 1)
    if has_signs:
        return True

    has_inner_capital = any(letter.islower() and following.isupper() for letter, following in pairwise(bare))
    return has_inner_capital or (len(bare) >= _MIN_ACRONYM_NAME and _ACRONYM_AND_WORD.match(bare) is not None)


# Plain words.

_WORD = re.compile(r"[^\W_][\w]*(?:['\u2019]\w+)?")
"""A word: `retry`, `doesn't`."""

_APOSTROPHE = re.compile(r"['\u2019]\w+$")
"""The end of `doesn't` or `server's` that is no part of its stem."""

_SENTENCE_END = re.compile(r"[.!?;:,()\[\]{}\n]+")
"""The end of a sentence or of a part of it. Words on both sides of it aren't neighbors."""

_INTERROGATIVE = re.compile(r"\bhow (?:big|deep|far|fast|large|long|many|much|often|old|soon)\b", re.IGNORECASE)
"""Grammatical words of questions only: in code, `long` is a type, and `far` may be a name."""


def _is_content_word(word: str) -> bool:
    """Return whether a word, in small letters, tells something of what is asked for."""
    return len(word) > 1 and word not in FUNCTION_WORDS
