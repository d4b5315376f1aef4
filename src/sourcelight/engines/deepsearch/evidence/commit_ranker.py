"""Rank the commits of a history by their messages, and let the best ones vote for files.

The messages of a repository are indexed once, without merges, very large commits and trailers. A ranker is for one pin:
it scores all messages by BM25 and ignores commits that the pin doesn't reach. The best commits become evidence of an
answer, and each votes for the files that it changed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence
from sourcelight.engines.history import History
from sourcelight.engines.search.ranking.terms.message_index import MessageIndex
from sourcelight.repos.objects.commits import at_offset

MAX_FILES = 30
"""Maximum files of a commit whose message counts; larger commits mean little for each file."""
MAX_VOTERS = 40
"""Maximum commits that vote: later ones have low scores, and votes fall with the cube of these."""

_TRAILERS = re.compile(
    r"^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|suggested-by|cc|change-id|"
    r"reviewed-on|bug|link|git-svn-id|approved-by|backport[\w-]*|refs?|see-also)\s*:.*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Lines such as ``Reviewed-by: Ada <ada@example.org>``, whose words say nothing about the change."""


@dataclass(slots=True)
class CommitRanker:
    """Ranks the commits reachable from one pin.

    Parameters
    ----------
    history
        The repository's history, whose messages are read once for all pins.
    tip
        The pinned commit; later ones are ignored.
    """

    history: History
    tip: str
    _reachable_messages: BoolArray | None = None

    def best(self, terms: Mapping[str, float], limit: int, check: Callable[[], None]) -> list[tuple[int, float]]:
        """Return the commits whose messages fit best, with their scores; newer ones first at equal scores."""
        messages = self.history.remember("deepsearch messages", lambda: CommitMessages.of(self.history, check))
        if self._reachable_messages is None:
            self._reachable_messages = self.history.reachable(self.tip)[messages.commits]

        scores = messages.index.scores(terms, self._reachable_messages)
        matching = np.flatnonzero(scores > 0.0)
        # `lexsort` sorts by its last key first; larger numbers are newer commits.
        order = matching[np.lexsort((-messages.commits[matching], -scores[matching]))][:limit]
        return [(int(messages.commits[index]), float(scores[index])) for index in order.tolist()]

    def votes(self, terms: Mapping[str, float], check: Callable[[], None]) -> Iterator[tuple[bytes, float]]:
        """Yield votes for the files that the best commits changed: (score / best score)^3 / sqrt(files) each."""
        ranked = self.best(terms, MAX_VOTERS, check)
        changes, starts = self.history.changes, self.history.commits.change_starts
        for number, score in ranked:
            _, best_score = ranked[0]
            start, end = int(starts[number]), int(starts[number + 1])
            # The cube lets few commits decide, the root keeps large commits from voting for all of their files.
            vote = (score / best_score) ** 3 / math.sqrt(end - start)
            for path in changes.path[start:end].tolist():
                yield self.history.paths[path], vote

    def evidence(self, number: int, score: float) -> CommitEvidence:
        """Describe a commit."""
        history = self.history
        message = history.message(number)
        _, _, body = message.partition("\n\n")

        # The author's own clock, as `git log` shows it, and as the first sentence of an answer does.
        utc = datetime.fromtimestamp(int(history.commits.author_time[number]), UTC)
        when = at_offset(utc, int(history.commits.author_offset[number]))
        author = history.identities.mapped_names[int(history.commits.author[number])]
        subject = " ".join(history.subject(number).split())
        return CommitEvidence(
            history.repository, history.oid(number), subject, author, when.isoformat(),
            _TRAILERS.sub("", body).strip(), "history", score,
        )  # fmt: skip

    def oldest_first(self, commits: AnyArray) -> list[int]:
        """Return the commits, of some that may repeat, which the pin reaches, by time."""
        unique = np.unique(commits)
        # A mask over commits of the history, which may have branches beyond the pin.
        reachable = unique[self.history.reachable(self.tip)[unique]]
        ordered = reachable[np.lexsort((reachable, self.history.commits.commit_time[reachable]))]
        return [int(number) for number in ordered.tolist()]


@dataclass(frozen=True, slots=True)
class CommitMessages:
    """The messages of a history, without merges and very large commits.

    Attributes
    ----------
    commits
        Number of the commit of each message.
    index
        Index of the messages' terms.
    """

    commits: Int64Array
    index: MessageIndex

    @classmethod
    def of(cls, history: History, check: Callable[[], None]) -> CommitMessages:
        """Read the messages of a history."""
        commits = history.commits
        file_counts = commits.change_starts[1:] - commits.change_starts[:-1]
        selected = np.flatnonzero(~commits.is_merge & (file_counts > 0) & (file_counts <= MAX_FILES))
        texts = [_TRAILERS.sub("", history.message(number)) for number in selected.tolist()]
        return cls(selected, MessageIndex.of(texts, check))
