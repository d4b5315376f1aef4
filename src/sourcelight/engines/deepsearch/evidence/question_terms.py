"""Find the terms of a question in a text: which of its words it has, and the lines that have most of them.

Terms are those of ranked search, stems and joined names, so that ``removed`` in a question is found in ``remove_node``.
To show a reader which words a text has, stems aren't enough: the text must have the word itself, or a form of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sourcelight.engines.search.ranking import Ranking
from sourcelight.engines.search.ranking.terms.tokenizer import TOKEN, is_joined_form, parts_of, terms_of

WINDOW = 15
"""Lines of one quote, without the header of its definition."""

_REPEATED_SHARE, _MAX_REPEATED = 0.25, 3
"""Share of its weight that a term adds to a window for each further line that has it, and lines that add it."""

_ROUNDING = 1e-12
"""Difference of two weights that may come from rounding: the earliest of equal windows wins on every machine."""

_MAX_WORDS = 4
"""Words of a question that are named beside a text."""

_MIN_BASE = 3
"""Letters of a word without its ending: shorter ones, such as ``th`` of ``thing``, are no words."""


def terms_in(text: str) -> set[str]:
    """Return the terms of a text."""
    return {term for token in TOKEN.findall(text.encode()) for term in terms_of(token.decode("utf-8", "replace"))}


def best_window(lines: Sequence[str], weights: Mapping[str, float], size: int = WINDOW) -> tuple[int, int]:
    """Return first and last line (from 0) of the window with the greatest weight; the earliest of equal ones.

    A term counts in full in the first line that has it and a quarter in others, so that a window that speaks of
    everything asked wins over one that repeats a word. Empty lines at its ends are left out.
    """
    if len(lines) <= size:
        return _trim(lines, 0, len(lines) - 1)

    terms_by_line = [terms_in(line) & weights.keys() for line in lines]
    best_start, best_weight = 0, -1.0
    for start in range(len(lines) - size + 1):
        weight = _weigh(terms_by_line[start : start + size], weights)
        if weight > best_weight + _ROUNDING:
            best_start, best_weight = start, weight

    return _trim(lines, best_start, best_start + size - 1)


def _weigh(terms_by_line: Sequence[set[str]], weights: Mapping[str, float]) -> float:
    """Return the weight of the terms on some lines."""
    line_counts = Counter(term for terms in terms_by_line for term in terms)
    # In the order of `weights`, because the order of a sum decides its last bits, and that of a set changes.
    return sum(
        weight * (1.0 + _REPEATED_SHARE * min(line_counts[term] - 1, _MAX_REPEATED))
        for term, weight in weights.items()
        if term in line_counts
    )


def _trim(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Return the first and the last line of a window without empty lines at its ends."""
    while last > first and not lines[last].strip():
        last -= 1
    while first < last and not lines[first].strip():
        first += 1
    return first, last


def matched_words(text: str, ranking: Ranking, weights: Mapping[str, float]) -> tuple[str, ...]:
    """Return the question's words that a text contains, also with the ending of a plural or verb; the rarest first."""
    terms = sorted(terms_in(text) & weights.keys(), key=lambda term: (-weights[term], term))
    words = [ranking.question.source_texts.get(term, term) for term in terms if not is_joined_form(term)]
    lowered = text.casefold()
    forms = set(_forms_in(text))

    matched: dict[str, None] = {}
    for word in words:
        is_plain = word.isalpha() and word.islower()
        # A part of a name is in many texts that don't have the name itself.
        if (is_plain and forms & _forms_of(word)) or (not is_plain and word.casefold() in lowered):
            matched[word] = None

    return tuple(matched)[:_MAX_WORDS]


def _forms_in(text: str) -> Iterator[str]:
    """Yield the words of a text and of its names, and the words that they may be forms of."""
    for token in re.findall(r"\w+", text):
        for word in {token, *parts_of(token)}:
            yield from _forms_of(word)


def _forms_of(word: str) -> set[str]:
    """Return a word in lower case, and the words that it may be a form of: ``retry`` and ``retrie`` of ``retried``."""
    word = word.casefold()
    bases = {base for base in (*_without_plural(word), *_without_verb_ending(word)) if len(base) >= _MIN_BASE}
    return bases | {word}


def _without_plural(word: str) -> Sequence[str]:
    """Return words that may have a plural: ``query`` of ``queries``, ``box`` of ``boxes``, ``line`` of ``lines``."""
    if word.endswith("ies"):
        return (f"{word[:-3]}y",)
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return word[:-2], word[:-1]
    if word.endswith("s") and not word.endswith("ss"):
        return (word[:-1],)
    return ()


def _without_verb_ending(word: str) -> Iterator[str]:
    """Yield the verbs of ``cached``, ``parsing`` and ``dropped``: ``cache``, ``parse`` and ``drop`` are among them."""
    for ending in ("ed", "ing"):
        base = word.removesuffix(ending)
        if base != word and len(base) >= _MIN_BASE:
            yield from (base, f"{base}e")
            if base[-1] == base[-2]:
                yield base[:-1]
