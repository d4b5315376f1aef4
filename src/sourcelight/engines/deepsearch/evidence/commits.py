"""Find the commits that answer a question about who, when or why, and rank commits by their messages.

The best commits are evidence themselves, and votes for the files that they changed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array
from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SearchIndexError, SourcelightError
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence
from sourcelight.engines.deepsearch.evidence.pins import Pins
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.history import History, HistoryProgress
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.message_index import MessageIndex
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, stem, terms_of
from sourcelight.repos import packed_objects
from sourcelight.repos.objects.commits import at_offset

MAX_FILES = 30
"""Maximum files of a commit whose message counts; larger commits mean little for each file."""

TOP = 40
_ABOUT = 0.25
_BY_SUBJECT, _BY_NUMBER, _BY_SPELLING = 3.0, 6.0, 6.0
"""Factors of a commit's score for a subject with the words of a question, with its version, with its option or name."""
_SPELLING = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*|\b[A-Za-z]+\d\w*\b")
_TRAILERS = re.compile(
    r"^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|reported-by|suggested-by|cc|change-id|"
    r"reviewed-on|bug|link|git-svn-id|approved-by|backport[\w-]*|refs?|see-also)\s*:.*$",
    re.IGNORECASE | re.MULTILINE,
)


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
    _cached: BoolArray | None = None

    def _prepare(self, check: Callable[[], None]) -> tuple[CommitMessages, BoolArray]:
        messages = self.history.remember("deepsearch messages", lambda: CommitMessages.of(self.history, check))
        if self._cached is None:
            self._cached = self.history.reachable(self.tip)[messages.commits]
        return messages, self._cached

    def best(self, terms: Mapping[str, float], limit: int, check: Callable[[], None]) -> list[tuple[int, float]]:
        """Return the commits whose messages fit best, with their scores; newer ones first at equal scores."""
        messages, prepared = self._prepare(check)
        scores = messages.index.scores(terms, prepared)
        matching = np.flatnonzero(scores > 0.0)
        # `lexsort` sorts by its last key first; larger numbers are newer commits.
        order = matching[np.lexsort((-messages.commits[matching], -scores[matching]))][:limit]
        return [(int(messages.commits[index]), float(scores[index])) for index in order.tolist()]

    def votes(self, terms: Mapping[str, float], check: Callable[[], None]) -> Iterator[tuple[bytes, float]]:
        """Yield votes for the files that the best commits changed: (score / best score)^3 / sqrt(files) each."""
        ranked = self.best(terms, TOP, check)
        changes, starts = self.history.changes, self.history.commits.change_starts
        for number, score in ranked:
            start, end = int(starts[number]), int(starts[number + 1])
            # The cube lets few commits decide, the root keeps large commits from voting for all of their files.
            vote = (score / ranked[0][1]) ** 3 / math.sqrt(end - start)
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


@dataclass(frozen=True, slots=True)
class CommitMessages:
    """The messages of a history, without merges and very large commits. `commits` has the commits' numbers."""

    commits: Int64Array
    index: MessageIndex

    @classmethod
    def of(cls, history: History, check: Callable[[], None]) -> CommitMessages:
        """Read the messages of a history."""
        commits = history.commits
        sizes = commits.change_starts[1:] - commits.change_starts[:-1]
        selected = np.flatnonzero(~commits.is_merge & (sizes > 0) & (sizes <= MAX_FILES))
        texts = [_TRAILERS.sub("", history.message(number)) for number in selected.tolist()]
        return cls(selected, MessageIndex.of(texts, check))


SMALL_OBJECTS = 400_000
"""Maximum objects of a repository whose history is read for any question, because it improves the ranking."""

_FEW = 5
_MAX_NAMES = 3
ASKING = frozenset(
    map(stem, ("changed", "last", "latest", "introduced", "commit", "author", "wrote", "written", "modified", "touched",
               "recent", "recently", "history", "blame", "version", "release", "date", "person", "people", "first",
               "get", "got", "happen", "land"))
)  # fmt: skip
"""Stems of words that ask for history. They are searched neither in code nor in messages."""

_LAST = re.compile(r"\b(?:last|latest|most recent|recently)\b", re.IGNORECASE)


@dataclass(slots=True)
class HistoryEvidence:
    """The histories of one question's pins.

    Attributes
    ----------
    commits
        Selected commits, best first.
    notes
        Sentences about histories that could not be read.
    """

    engine: LocalEngine
    pins: Pins
    cancellation: Cancellation
    observer: CallObserver | None = None
    commits: list[CommitEvidence] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _rankers: dict[tuple[str, str], CommitRanker | None] = field(default_factory=dict)

    def prepare(self, *, is_asked: bool) -> None:
        """Build missing histories; raises `Cancelled`.

        Unless the question asks for history (`is_asked`), only a few small repositories are read, which takes seconds.
        """
        few = len(self.pins) <= _FEW
        for target in self.pins.targets:
            if target.repository.kind != "git" or self._is_there(target):
                continue
            if not is_asked and not (few and packed_objects(target.repository) <= SMALL_OBJECTS):
                continue

            refs = ["HEAD"] if not target.revision else ["HEAD", target.commit]
            report = self.engine.history.update(
                [target.repository], refs=refs, progress=self._notify, cancellation=self.cancellation
            )
            self.cancellation.check()
            self.notes += [
                f"The history of {name} could not be read: {reason}" for name, reason in report.failures.items()
            ]
            self._rankers.pop((target.repository.key, target.commit), None)

    def _notify(self, state: HistoryProgress) -> None:
        if self.observer is not None:
            self.observer(ToolProgress("reading history", state.commits_done, state.commits_total, state.repository))

    def _is_there(self, target: Target) -> bool:
        try:
            return self.engine.history.open(target.repository).position(target.commit) is not None
        except (SourcelightError, OSError, ValueError):
            return False

    def ranker(self, target: Target) -> CommitRanker | None:
        """Return the ranker of a pin's commits; None without a history."""
        key = target.repository.key, target.commit
        if key not in self._rankers:
            self._rankers[key] = self._open(target)
        return self._rankers[key]

    def _open(self, target: Target) -> CommitRanker | None:
        try:
            history = self.engine.history.open(target.repository)
            if history.position(target.commit) is None:
                return None
        except (SearchIndexError, OSError, ValueError):
            return None
        return CommitRanker(history, target.commit)

    def find(self, question: RankQuery, names: Sequence[str], files: Sequence[tuple[Target, str]], limit: int) -> None:
        """Select commits: the first and last that touched one of `names`, then by words, then by file.

        If the question asks for the last change, that of the best file comes first. If it has more words than `names`,
        commits with these words in their messages come before commits that touched a name.
        """
        by_key: dict[tuple[str, str], CommitEvidence] = {}
        newest = bool(_LAST.search(question.text))
        if newest:
            self._add_last(files, by_key)

        self.notes += [
            f"The history of {target.repository.name} was not read."
            for target in self.pins.targets
            if target.repository.kind == "git" and self.ranker(target) is None
        ]
        terms = _own_terms(question)
        by_name, by_words = self._by_name(names), self._by_words(terms, limit, question.text)
        words_alone = terms.keys() - {term for name in names for term in terms_of(name)}
        for item in (*by_words, *by_name) if words_alone else (*by_name, *by_words):
            by_key.setdefault((item.repository, item.commit), item)

        if not newest:
            self._add_last(files, by_key)

        self.commits = list(by_key.values())[: limit + 2 * _MAX_NAMES]

    def is_about(self, question: RankQuery) -> bool:
        """Return whether the subject of the first commit has most words of a question, whatever files have today."""
        if not self.commits:
            return False
        first, terms = self.commits[0], _own_terms(question)
        return _share_of(terms, first.subject) >= _ABOUT or _share_of_numbers(question.text, first) >= _BY_NUMBER

    def _by_name(self, names: Sequence[str]) -> list[CommitEvidence]:
        return [
            replace(ranker.evidence(number, 1.0), note=note)
            for target in self.pins.targets
            if (ranker := self.ranker(target)) is not None
            for number, note in self._touching(ranker, names)
        ]

    def _by_words(self, terms: Mapping[str, float], limit: int, text: str) -> list[CommitEvidence]:
        ranked = [
            (score, target.repository.name, ranker.evidence(number, score))
            for target in self.pins.targets
            if (ranker := self.ranker(target)) is not None
            for number, score in ranker.best(terms, TOP, self.cancellation.check)
        ]
        # A subject that has the words of a question, and few others, says what the commit is for; a long body has any.
        ranked = [
            (
                score
                * (
                    1.0
                    + _BY_SUBJECT * _share_of(terms, item.subject)
                    + _share_of_numbers(text, item)
                    + _BY_SPELLING * _share_of_spellings(text, item.subject)
                ),
                name,
                item,
            )
            for score, name, item in ranked
        ]
        ranked.sort(key=lambda item: (-item[0], item[1]))
        return [item for _, _, item in ranked[:limit]]

    def _add_last(self, files: Sequence[tuple[Target, str]], by_key: dict[tuple[str, str], CommitEvidence]) -> None:
        for target, path in files[:1]:
            last = self._last_of(target, path)
            if last is not None:
                last = replace(last, note=f"last to change `{path}`")
                by_key.setdefault((last.repository, last.commit), last)

    def _touching(self, ranker: CommitRanker, names: Sequence[str]) -> list[tuple[int, str]]:
        """Return the commits that first and last added or removed a line with a name, for a few names."""
        from sourcelight.engines.history.search.lines import changes_with

        history = ranker.history
        reasons: dict[int, str] = {}
        reached = history.reachable(ranker.tip)
        for name in names[:_MAX_NAMES]:
            self.cancellation.check()
            pattern = compile_pattern(name, kind="literal", case_sensitive=True)
            commits = np.unique(history.changes.commit[changes_with(history, pattern)])
            # `reached` is a mask over commits of the history, which may have branches beyond the pin.
            commits = commits[reached[commits]]
            if len(commits):
                order = _oldest_first(history, commits)
                reasons.setdefault(int(order[0]), f"first to add or remove a line with `{name}`")
                reasons.setdefault(int(order[-1]), f"last to add or remove a line with `{name}`")

        return list(reasons.items())

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


def _oldest_first(history: History, commits: AnyArray) -> AnyArray:
    ordered: AnyArray = commits[np.lexsort((commits, history.commits.commit_time[commits]))]
    return ordered


def _share_of(terms: Mapping[str, float], subject: str) -> float:
    """Return the share of some terms that a subject has, times the share of its words that are among them."""
    subject_terms = [terms_of(word) for word in re.findall(r"[\w.]+", subject)]
    words = [set(word) for word in subject_terms if word and not all(term in FUNCTION_WORDS for term in word)]
    present = {term for word in words for term in word} & terms.keys()
    asked_share = sum(terms[term] for term in present) / (sum(terms.values()) or 1.0)
    precise = sum(bool(word & terms.keys()) for word in words) / max(len(words), 1)
    return asked_share * asked_share * (0.2 + 0.8 * precise)


def _share_of_numbers(text: str, item: CommitEvidence) -> float:
    """Return more for a commit of a year that a question names, and most for a version in the commit's subject."""
    numbers = re.findall(r"(?<![\w.])v?\d+(?:\.\d+)*(?![\w])", text)
    if not numbers:
        return 0.0

    subject_terms = re.findall(r"\d+(?:\.\d+)*", item.subject)
    years = [number for number in numbers if re.fullmatch(r"(?:19|20)\d\d", number)]
    versions = [number for number in numbers if number not in years]
    return (1.0 if item.date[:4] in years else 0.0) + (
        _BY_NUMBER if any(n.lstrip("v") in subject_terms for n in versions) else 0.0
    )


def _share_of_spellings(text: str, subject: str) -> float:
    """Return the share of a question's options and names with digits, such as ``--and``, that a subject spells so."""
    spellings = {spelling.casefold() for spelling in _SPELLING.findall(text)}
    present = {spelling.casefold() for spelling in _SPELLING.findall(subject)}
    return len(spellings & present) / (len(spellings) or 1)


def _own_terms(question: RankQuery) -> Mapping[str, float]:
    """Return the terms to search messages for, without words that only ask for history."""
    return {
        term: weight
        for term, weight in question.terms.items()
        if not term.startswith("=") and term not in ASKING and not re.fullmatch(r"(?:19|20)\d\d", term)
    }
