"""BM25 over short texts in memory, such as the messages of commits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array, runs
from sourcelight.engines.search.ranking.terms.tokenizer import MAX_TOKEN_BYTES, TOKEN, is_joined_form, terms_of

_CHECK_INTERVAL = 1000
"""Texts between two calls of `check`, which may take longer than to read one of them."""


@dataclass(slots=True)
class MessageIndex:
    """BM25 over texts, in memory.

    Attributes
    ----------
    lengths
        Number of words of each text.
    postings
        For each term the texts that have it, ascending, and how often each has it.
    """

    lengths: Float64Array
    postings: dict[str, tuple[Int64Array, Float64Array]] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Sequence[str], check: Callable[[], None]) -> MessageIndex:
        """Read texts; raises what `check` raises, which is called now and then."""
        # Tokens repeat, so each is split into terms once. `tokens` has their numbers, one text after another.
        token_numbers: dict[bytes, int] = {}
        tokens: list[int] = []
        token_counts = np.zeros(len(texts), dtype=np.int64)
        for number, text in enumerate(texts):
            if number % _CHECK_INTERVAL == 0:
                check()
            text_tokens = TOKEN.findall(text.encode())
            token_counts[number] = len(text_tokens)
            tokens += [token_numbers.setdefault(token, len(token_numbers)) for token in text_tokens]

        vocabulary = _Vocabulary.of(token_numbers)
        check()

        # Each row is a term of a token of a text: a token has none, one or several terms.
        token_array = np.array(tokens, dtype=np.int64)
        sizes = vocabulary.sizes.take(token_array)
        terms = vocabulary.term_numbers.take(runs(vocabulary.starts.take(token_array), sizes))
        text_numbers = np.arange(len(texts)).repeat(token_counts).repeat(sizes)

        # The words of a joined form are counted already.
        is_word = np.array([not is_joined_form(name) for name in vocabulary.terms], dtype=np.bool_)
        lengths = np.bincount(text_numbers[is_word[terms]], minlength=len(texts)).astype(np.float64)

        # Term and text in one integer: equal neighbors count how often a text has the term, and the order is that of
        # posting lists.
        text_count = max(len(texts), 1)
        keys, counts = np.unique(terms * text_count + text_numbers, return_counts=True)
        text_numbers = keys % text_count
        times = counts.astype(np.float64)
        bounds = np.searchsorted(keys, np.arange(len(vocabulary.terms) + 1) * text_count).tolist()
        postings = {
            term: (text_numbers[start:end], times[start:end])
            for term, (start, end) in zip(vocabulary.terms, pairwise(bounds), strict=True)
        }
        return cls(lengths, postings)

    def scores(self, terms: Mapping[str, float], among: BoolArray, k1: float = 1.2, b: float = 0.5) -> Float64Array:
        """Score texts for weighted terms, as if only the texts `among` existed."""
        totals = np.zeros(len(self.lengths))
        if self.postings.keys().isdisjoint(terms):
            return totals

        total = int(np.count_nonzero(among))
        mean = float(self.lengths[among].mean()) if total else 1.0
        for term, weight in terms.items():
            posting = self.postings.get(term)
            if posting is None:
                continue

            positions, counts = posting
            is_among = among[positions]
            positions, counts = positions[is_among], counts[is_among]

            # BM25 with the idf of Lucene, which is never negative.
            idf = math.log(1.0 + (total - len(positions) + 0.5) / (len(positions) + 0.5))
            times = counts / (1.0 - b + b * self.lengths[positions] / max(mean, 1.0))
            totals[positions] += weight * idf * (k1 + 1.0) * times / (k1 + times)

        return totals


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The terms of distinct tokens.

    Attributes
    ----------
    terms
        Each term once.
    term_numbers
        The terms of all tokens, one token after another: indexes of `terms`.
    starts, sizes
        For each token the start of its terms in `term_numbers`, and their number.
    """

    terms: Sequence[str]
    term_numbers: Int64Array
    starts: Int64Array
    sizes: Int64Array

    @classmethod
    def of(cls, tokens: Iterable[bytes]) -> _Vocabulary:
        numbers: dict[str, int] = {}
        term_numbers: list[int] = []
        sizes: list[int] = []
        for token in tokens:
            token_terms: Sequence[str] = ()
            if len(token) <= MAX_TOKEN_BYTES:
                token_terms = terms_of(token.decode("utf-8", "replace"))
            term_numbers += [numbers.setdefault(term, len(numbers)) for term in token_terms]
            sizes.append(len(token_terms))

        size_array = np.array(sizes, dtype=np.int64)
        starts = size_array.cumsum() - size_array
        return cls(list(numbers), np.array(term_numbers, dtype=np.int64), starts, size_array)
