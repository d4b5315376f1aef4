"""BM25 over short texts in memory, such as the messages of commits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array
from sourcelight.engines.search.ranking.terms.tokenizer import MAX_TOKEN_BYTES, TOKEN, terms_of


@dataclass(slots=True)
class MessageIndex:
    """BM25 over texts, in memory: a term's texts and counts."""

    lengths: Float64Array
    postings: dict[str, tuple[Int64Array, Float64Array]] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Sequence[str], check: Callable[[], None]) -> MessageIndex:
        """Read texts."""
        names: dict[bytes, int] = {}
        tokens: list[int] = []
        sizes = np.zeros(len(texts), dtype=np.int64)
        for number, text in enumerate(texts):
            if number % 1000 == 0:
                check()
            tokens_found = TOKEN.findall(text.encode())
            sizes[number] = len(tokens_found)
            tokens += [names.setdefault(token, len(names)) for token in tokens_found]

        ids: dict[str, int] = {}
        of_names = [
            [ids.setdefault(term, len(ids)) for term in terms_of(token.decode("utf-8", "replace"))]
            if len(token) <= MAX_TOKEN_BYTES
            else []
            for token in names
        ]
        check()
        counts = np.array([len(token_list) for token_list in of_names], dtype=np.int64)
        flat = np.array([term for token_list in of_names for term in token_list], dtype=np.int64)
        token_ids, owner = np.array(tokens, dtype=np.int64), np.arange(len(texts)).repeat(sizes)
        size = counts[token_ids]

        # Each token may give several terms: a running number over the flat list of terms, moved to the run of each
        # token.
        positions = np.arange(int(size.sum())) + (
            (counts.cumsum() - counts)[token_ids] - (size.cumsum() - size)
        ).repeat(size)
        term, text_of = flat[positions], owner.repeat(size)
        is_plain = np.array([not name.startswith("=") for name in ids], dtype=np.bool_)
        lengths = np.bincount(text_of[is_plain[term]], minlength=len(texts)).astype(np.float64)

        # Term and text in one integer: equal neighbors count how often a text has the term, and the order is that of
        # posting lists.
        keys, times = np.unique(term * max(len(texts), 1) + text_of, return_counts=True)
        offsets = np.searchsorted(keys, np.arange(len(ids) + 1) * max(len(texts), 1))
        message_ids, often = keys % max(len(texts), 1), times.astype(np.float64)
        postings = {
            name: (message_ids[start:end], often[start:end])
            for name, start, end in zip(ids, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
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
