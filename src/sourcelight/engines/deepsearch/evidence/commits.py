"""Commits ranked by what their messages say: votes for the files they changed, and evidence of who, when and why."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.deepsearch.evidence.model import CommitEvidence
from sourcelight.engines.history import History
from sourcelight.engines.search.ranking.tokenizer import LONGEST_TOKEN, TOKEN, terms_of

MOST_FILES = 30
"""Files beyond which a commit is a sweep that says nothing of any of them."""

TOP = 40
_TRAILERS = re.compile(
    r"^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|suggested-by|cc|change-id|"
    r"reviewed-on|bug|link|git-svn-id|approved-by|backport[\w-]*|refs?|see-also)\s*:.*$",
    re.IGNORECASE | re.MULTILINE,
)

Floats = NDArray[np.float64]


@dataclass(slots=True)
class CommitRanker:
    """The commits behind one pin.

    Parameters
    ----------
    history
        The repository's history; its messages are read once, whatever the pins are.
    tip
        The pinned commit; later ones are not looked at.
    """

    history: History
    tip: str
    _held: NDArray[np.bool_] | None = None

    def _prepared(self, check: Callable[[], None]) -> tuple[Messages, NDArray[np.bool_]]:
        messages = self.history.memory("deepsearch messages", lambda: Messages.of(self.history, check))
        if self._held is None:
            self._held = self.history.reachable(self.tip)[messages.commits]
        return messages, self._held

    def best(self, terms: Mapping[str, float], most: int, check: Callable[[], None]) -> list[tuple[int, float]]:
        """Give the commits whose messages fit best, with their scores; of equal ones the newer first."""
        messages, held = self._prepared(check)
        scores = messages.index.scores(terms, held)
        some = np.flatnonzero(scores > 0.0)
        order = some[np.lexsort((-messages.commits[some], -scores[some]))][:most]
        return [(int(messages.commits[at]), float(scores[at])) for at in order.tolist()]

    def votes(self, terms: Mapping[str, float], check: Callable[[], None]) -> Iterator[tuple[bytes, float]]:
        """Give the files that the best commits changed: (score of the best)^3 / sqrt(files) each."""
        ranked = self.best(terms, TOP, check)
        changes, starts = self.history.changes, self.history.commits.change_starts
        for number, score in ranked:
            low, high = int(starts[number]), int(starts[number + 1])
            vote = (score / ranked[0][1]) ** 3 / math.sqrt(high - low)
            for path in changes.path[low:high].tolist():
                yield self.history.paths[path], vote

    def evidence(self, number: int, score: float) -> CommitEvidence:
        """Describe a commit."""
        history = self.history
        message = history.message(number)
        _, _, body = message.partition("\n\n")
        when = datetime.fromtimestamp(int(history.commits.commit_time[number]), UTC)
        author = history.identities.mapped_names[int(history.commits.author[number])]
        subject = " ".join(history.subject(number).split())
        return CommitEvidence(
            history.repository, history.oid(number), subject, author, when.strftime("%Y-%m-%dT%H:%M:%SZ"),
            _TRAILERS.sub("", body).strip(), "history", score,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Messages:
    """What the messages of a history say: those of merges and of sweeps left out. `commits` are the numbers of each."""

    commits: NDArray[np.int64]
    index: MessageIndex

    @classmethod
    def of(cls, history: History, check: Callable[[], None]) -> Messages:
        """Read the messages of a history."""
        commits = history.commits
        sizes = commits.change_starts[1:] - commits.change_starts[:-1]
        chosen = np.flatnonzero(~commits.is_merge & (sizes > 0) & (sizes <= MOST_FILES))
        texts = [_TRAILERS.sub("", history.message(number)) for number in chosen.tolist()]
        return cls(chosen, MessageIndex.of(texts, check))


@dataclass(slots=True)
class MessageIndex:
    """BM25 over texts, in memory: a term's texts and counts."""

    lengths: Floats
    postings: dict[str, tuple[NDArray[np.int64], Floats]] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Sequence[str], check: Callable[[], None]) -> MessageIndex:
        """Read texts."""
        names: dict[bytes, int] = {}
        tokens: list[int] = []
        sizes = np.zeros(len(texts), dtype=np.int64)
        for number, text in enumerate(texts):
            if number % 1000 == 0:
                check()
            found = TOKEN.findall(text.encode())
            sizes[number] = len(found)
            tokens += [names.setdefault(token, len(names)) for token in found]
        ids: dict[str, int] = {}
        of_names = [
            [ids.setdefault(term, len(ids)) for term in terms_of(token.decode("utf-8", "replace"))]
            if len(token) <= LONGEST_TOKEN
            else []
            for token in names
        ]
        check()
        counts = np.array([len(held) for held in of_names], dtype=np.int64)
        flat = np.array([term for held in of_names for term in held], dtype=np.int64)
        seen, owner = np.array(tokens, dtype=np.int64), np.arange(len(texts)).repeat(sizes)
        size = counts[seen]
        place = np.arange(int(size.sum())) + ((counts.cumsum() - counts)[seen] - (size.cumsum() - size)).repeat(size)
        term, text_of = flat[place], owner.repeat(size)
        plain = np.array([not name.startswith("=") for name in ids], dtype=np.bool_)
        lengths = np.bincount(text_of[plain[term]], minlength=len(texts)).astype(np.float64)
        keys, times = np.unique(term * max(len(texts), 1) + text_of, return_counts=True)
        bounds = np.searchsorted(keys, np.arange(len(ids) + 1) * max(len(texts), 1))
        where, often = keys % max(len(texts), 1), times.astype(np.float64)
        postings = {
            name: (where[low:high], often[low:high])
            for name, low, high in zip(ids, bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        }
        return cls(lengths, postings)

    def scores(self, terms: Mapping[str, float], among: NDArray[np.bool_], k1: float = 1.2, b: float = 0.5) -> Floats:
        """Score texts for weighted terms, as if there were none but those `among` which are looked at."""
        found = np.zeros(len(self.lengths))
        total = int(np.count_nonzero(among))
        mean = float(self.lengths[among].mean()) if total else 1.0
        for term, weight in terms.items():
            held = self.postings.get(term)
            if held is None:
                continue
            places, counts = held
            here = among[places]
            places, counts = places[here], counts[here]
            idf = math.log(1.0 + (total - len(places) + 0.5) / (len(places) + 0.5))
            times = counts / (1.0 - b + b * self.lengths[places] / max(mean, 1.0))
            found[places] += weight * idf * (k1 + 1.0) * times / (k1 + times)
        return found
