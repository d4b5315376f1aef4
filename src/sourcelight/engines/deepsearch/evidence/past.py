"""The history behind the pins: commits that speak to a question, brought in when it asks who, when or why."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches.results import CallObserver, CallProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexFault, SourcelightError
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.deepsearch.citations.pins import Pins
from sourcelight.engines.deepsearch.evidence.commits import CommitRanker
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence
from sourcelight.engines.execution import Engine
from sourcelight.engines.history import History, HistoryProgress
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.question import Question
from sourcelight.engines.search.ranking.tokenizer import stem, terms_of
from sourcelight.repos import packed_objects

SMALL_OBJECTS = 400_000
"""Objects of a repository up to which its history is read although nobody asked for it: it makes ranking better."""

_FEW = 5
_MOST_NAMES = 3
ASKING = frozenset(
    map(stem, ("changed", "last", "latest", "introduced", "commit", "author", "wrote", "written", "modified", "touched",
               "recent", "recently", "history", "blame", "version", "release", "date", "person", "people", "first"))
)  # fmt: skip
"""Stems of words that ask for history, and are looked for neither in code nor in messages."""

_LAST = re.compile(r"\b(?:last|latest|most recent|recently)\b", re.IGNORECASE)


@dataclass(slots=True)
class Past:
    """The histories of one question's pins.

    Attributes
    ----------
    found
        Commits chosen, best first.
    notes
        What could not be read, a sentence each.
    """

    engine: Engine
    pins: Pins
    cancellation: Cancellation
    observer: CallObserver | None = None
    found: list[CommitEvidence] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _rankers: dict[tuple[str, str], CommitRanker | None] = field(default_factory=dict)

    def prepare(self, *, asked: bool) -> None:
        """Bring in what is missing of the histories; raises `Cancelled`.

        Unless history is what is `asked` for, only of a few repositories that are small enough for it to take seconds.
        """
        few = len(self.pins) <= _FEW
        for target in self.pins.targets:
            if target.repository.kind != "git" or self._is_there(target):
                continue
            if not asked and not (few and packed_objects(target.repository) <= SMALL_OBJECTS):
                continue
            refs = ["HEAD"] if not target.revision else ["HEAD", target.commit]
            report = self.engine.history.update(
                [target.repository], refs=refs, progress=self._tell, cancellation=self.cancellation
            )
            self.cancellation.check()
            self.notes += [f"The history of {name} could not be read: {why}" for name, why in report.failures.items()]
            self._rankers.pop((target.repository.key, target.commit), None)

    def _tell(self, state: HistoryProgress) -> None:
        if self.observer is not None:
            self.observer(CallProgress("reading history", state.commits_done, state.commits_total, state.repository))

    def _is_there(self, target: Target) -> bool:
        try:
            return self.engine.history.open(target.repository).position(target.commit) is not None
        except (SourcelightError, OSError, ValueError):
            return False

    def ranker(self, target: Target) -> CommitRanker | None:
        """Give the commits behind a pin; None where no history was brought in."""
        key = target.repository.key, target.commit
        if key not in self._rankers:
            self._rankers[key] = self._opened(target)
        return self._rankers[key]

    def _opened(self, target: Target) -> CommitRanker | None:
        try:
            history = self.engine.history.open(target.repository)
            if history.position(target.commit) is None:
                return None
        except (IndexFault, OSError, ValueError):
            return None
        return CommitRanker(history, target.commit)

    def find(self, question: Question, names: Sequence[str], files: Sequence[tuple[Target, str]], most: int) -> None:
        """Choose commits: those that first and last touched one of `names`, then by words, then of files.

        Where the question asks for the last change, that of the best file comes first. Where it says more than
        `names`, commits whose messages say so come before those that touched a name.
        """
        chosen: dict[tuple[str, str], CommitEvidence] = {}
        newest = bool(_LAST.search(question.text))
        if newest:
            self._add_last(files, chosen)
        self.notes += [
            f"The history of {target.repository.name} was not read."
            for target in self.pins.targets
            if target.repository.kind == "git" and self.ranker(target) is None
        ]
        terms = _plain(question)
        by_name, by_words = self._by_name(names), self._by_words(terms, most)
        said = terms.keys() - {term for name in names for term in terms_of(name)}
        for item in (*by_words, *by_name) if said else (*by_name, *by_words):
            chosen.setdefault((item.repository, item.commit), item)
        if not newest:
            self._add_last(files, chosen)
        self.found = list(chosen.values())[: most + 2 * _MOST_NAMES]

    def _by_name(self, names: Sequence[str]) -> list[CommitEvidence]:
        return [
            replace(ranker.evidence(number, 1.0), note=note)
            for target in self.pins.targets
            if (ranker := self.ranker(target)) is not None
            for number, note in self._touching(ranker, names)
        ]

    def _by_words(self, terms: Mapping[str, float], most: int) -> list[CommitEvidence]:
        ranked = [
            (score, target.repository.name, ranker.evidence(number, score))
            for target in self.pins.targets
            if (ranker := self.ranker(target)) is not None
            for number, score in ranker.best(terms, most, self.cancellation.check)
        ]
        ranked.sort(key=lambda item: (-item[0], item[1]))
        return [item for _, _, item in ranked[:most]]

    def _add_last(self, files: Sequence[tuple[Target, str]], chosen: dict[tuple[str, str], CommitEvidence]) -> None:
        for target, path in files[:1]:
            last = self._last_of(target, path)
            if last is not None:
                last = replace(last, note=f"last to change `{path}`")
                chosen.setdefault((last.repository, last.commit), last)

    def _touching(self, ranker: CommitRanker, names: Sequence[str]) -> list[tuple[int, str]]:
        """Give the commits that first and last added or removed a line with a name, for a few names."""
        from sourcelight.engines.history.search.lines import changes_with

        history = ranker.history
        found: dict[int, str] = {}
        reached = history.reachable(ranker.tip)
        for name in names[:_MOST_NAMES]:
            self.cancellation.check()
            pattern = compile_pattern(name, kind="literal", case_sensitive=True)
            commits = np.unique(history.changes.commit[changes_with(history, pattern)])
            commits = commits[reached[commits]]
            if len(commits):
                order = _oldest_first(history, commits)
                found.setdefault(int(order[0]), f"first to add or remove a line with `{name}`")
                found.setdefault(int(order[-1]), f"last to add or remove a line with `{name}`")
        return list(found.items())

    def _last_of(self, target: Target, path: str) -> CommitEvidence | None:
        ranker = self.ranker(target)
        if ranker is None:
            return None
        history = ranker.history
        number = history.paths.numbers.get(path.encode())
        if number is None:
            return None
        commits = np.unique(history.changes.commit[history.changes.path == number])
        commits = commits[history.reachable(ranker.tip)[commits]]
        if not len(commits):
            return None
        return ranker.evidence(int(_oldest_first(history, commits)[-1]), 0.0)


def _oldest_first(history: History, commits: NDArray[Any]) -> NDArray[Any]:
    ordered: NDArray[Any] = commits[np.lexsort((commits, history.commits.commit_time[commits]))]
    return ordered


def _plain(question: Question) -> Mapping[str, float]:
    """Terms to look for in messages: not those that only ask for history."""
    return {t: weight for t, weight in question.terms.items() if not t.startswith("=") and t not in ASKING}
