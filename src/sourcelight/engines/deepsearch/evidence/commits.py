"""Find the commits that answer a question about who, when or why.

`HistoryEvidence` selects commits in three ways: those with the words of the question in their messages, those that
first and last touched a line with a name of the question, and the last one that changed the best file. Messages are
ranked by `CommitRanker`; here, subjects that name the words, the version or the options of the question raise a
commit's score, because a subject says what a commit is for, while a long body has any word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SearchIndexError, SourcelightError
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.deepsearch.evidence.commit_ranker import CommitRanker
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence
from sourcelight.engines.deepsearch.evidence.pins import Pins
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.history import HistoryProgress
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.tokenizer import FUNCTION_WORDS, stem, terms_of
from sourcelight.repos import packed_objects

SMALL_OBJECTS = 400_000
"""Maximum objects of a repository whose history is read for any question, because it improves the ranking."""
ASKING = frozenset(
    map(stem, ("changed", "last", "latest", "introduced", "commit", "author", "wrote", "written", "modified", "touched",
               "recent", "recently", "history", "blame", "version", "release", "date", "person", "people", "first",
               "get", "got", "happen", "land"))
)  # fmt: skip
"""Stems of words that ask for history. They are searched neither in code nor in messages."""

_MAX_UNASKED_PINS = 5
"""Maximum pins whose histories are read for a question that doesn't ask for history: each takes seconds."""
_MAX_NAMES = 3
"""Names of a question whose lines are searched in the history; each has a first and a last commit."""
_MAX_RANKED = 40
"""Commits of each pin, best by their messages, whose subjects are compared with the question."""

_SUBJECT_FACTOR = 3.0
"""Added to the factor of a commit's score for a subject that has the words of the question, and no others."""
_VERSION_FACTOR = 6.0
"""Added for a subject with a version of the question: few commits name one, mostly the one of its release."""
_YEAR_FACTOR = 1.0
"""Added for a commit of a year that the question names: all commits of this year have it."""
_SPELLING_FACTOR = 6.0
"""Added for a subject with all options and names with digits of the question, as rare as versions."""
_MIN_SUBJECT_FIT = 0.25
"""Fit of a subject that is about the question: one without other words that has half of the question's."""

_LAST = re.compile(r"\b(?:last|latest|most recent|recently)\b", re.IGNORECASE)
"""As in ``who changed it most recently``."""
_NUMBER = re.compile(r"(?<![\w.])v?\d+(?:\.\d+)*(?![\w])")
"""A year or a version of a question: ``2024``, ``v1.2``."""
_SUBJECT_NUMBER = re.compile(r"\d+(?:\.\d+)*")
"""A number of a subject: ``1.2`` in ``release-v1.2``."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_SPELLING = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*|\b[A-Za-z]+\d\w*\b")
"""An option or a name with digits: ``--dry-run``, ``sha256``."""


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
        for target in self.pins.targets:
            is_missing = target.repository.kind == "git" and not self._has_commit(target)
            if is_missing and (is_asked or self._is_quick(target)):
                self._build(target)

    def ranker(self, target: Target) -> CommitRanker | None:
        """Return the ranker of a pin's commits; None without a history."""
        key = target.repository.key, target.commit
        if key not in self._rankers:
            self._rankers[key] = self._open(target)
        return self._rankers[key]

    def find(self, question: RankQuery, names: Sequence[str], files: Sequence[tuple[Target, str]], limit: int) -> None:
        """Select commits: the first and last that touched one of `names`, then by words, then by file.

        If the question asks for the last change, that of the best file comes first. If it has more words than `names`,
        commits with these words in their messages come before commits that touched a name.
        """
        self.notes += [
            f"The history of {target.repository.name} was not read."
            for target in self.pins.targets
            if target.repository.kind == "git" and self.ranker(target) is None
        ]
        terms = _message_terms(question)
        by_name = self._find_by_name(names)
        by_words = self._find_by_words(terms, question.text, limit)
        by_file = self._find_by_file(files)

        terms_of_names = {term for name in names for term in terms_of(name)}
        has_more_words = bool(terms.keys() - terms_of_names)
        selected = [*by_words, *by_name] if has_more_words else [*by_name, *by_words]
        asks_for_last = _LAST.search(question.text) is not None
        selected = [*by_file, *selected] if asks_for_last else [*selected, *by_file]
        self.commits = _unique(selected)[: limit + 2 * _MAX_NAMES]

    def is_about(self, question: RankQuery) -> bool:
        """Return whether the first commit's subject has most words or a version of a question, whatever files have."""
        if not self.commits:
            return False
        subject = self.commits[0].subject
        return _subject_fit(_message_terms(question), subject) >= _MIN_SUBJECT_FIT or _has_version(
            question.text, subject
        )

    def _is_quick(self, target: Target) -> bool:
        """Return whether the history of a pin can be built in seconds, beside those of all others."""
        return len(self.pins) <= _MAX_UNASKED_PINS and packed_objects(target.repository) <= SMALL_OBJECTS

    def _build(self, target: Target) -> None:
        """Build the history of a pin, and note why it could not be read."""
        refs = ["HEAD"] if not target.revision else ["HEAD", target.commit]
        report = self.engine.history.update(
            [target.repository], refs=refs, progress=self._notify, cancellation=self.cancellation
        )
        self.cancellation.check()
        self.notes += [f"The history of {name} could not be read: {reason}" for name, reason in report.failures.items()]
        self._rankers.pop((target.repository.key, target.commit), None)

    def _notify(self, state: HistoryProgress) -> None:
        if self.observer is not None:
            self.observer(ToolProgress("reading history", state.commits_done, state.commits_total, state.repository))

    def _has_commit(self, target: Target) -> bool:
        """Return whether the stored history of a repository has the pinned commit."""
        try:
            return self.engine.history.open(target.repository).position(target.commit) is not None
        except (SourcelightError, OSError, ValueError):
            return False

    def _open(self, target: Target) -> CommitRanker | None:
        try:
            history = self.engine.history.open(target.repository)
            if history.position(target.commit) is None:
                return None
        except (SearchIndexError, OSError, ValueError):
            return None
        return CommitRanker(history, target.commit)

    def _open_rankers(self) -> Iterator[tuple[Target, CommitRanker]]:
        """Yield the pins that have a history, each with its ranker."""
        for target in self.pins.targets:
            ranker = self.ranker(target)
            if ranker is not None:
                yield target, ranker

    def _find_by_name(self, names: Sequence[str]) -> list[CommitEvidence]:
        """Return the commits that first and last touched a line with a name, each with a note that says so."""
        return [
            replace(ranker.evidence(number, 1.0), note=note)
            for _, ranker in self._open_rankers()
            for number, note in self._touching(ranker, names).items()
        ]

    def _touching(self, ranker: CommitRanker, names: Sequence[str]) -> dict[int, str]:
        """Return the commits that first and last added or removed a line with a name, for a few names, with notes."""
        from sourcelight.engines.history.search.lines import changes_with

        history = ranker.history
        notes: dict[int, str] = {}
        for name in names[:_MAX_NAMES]:
            self.cancellation.check()
            pattern = compile_pattern(name, kind="literal", case_sensitive=True)
            commits = ranker.oldest_first(history.changes.commit[changes_with(history, pattern)])
            if commits:
                notes.setdefault(commits[0], f"first to add or remove a line with `{name}`")
                notes.setdefault(commits[-1], f"last to add or remove a line with `{name}`")

        return notes

    def _find_by_words(self, terms: Mapping[str, float], text: str, limit: int) -> list[CommitEvidence]:
        """Return the commits whose messages fit best, those with a fitting subject first."""
        ranked: list[_RankedCommit] = []
        for target, ranker in self._open_rankers():
            for number, score in ranker.best(terms, _MAX_RANKED, self.cancellation.check):
                commit = ranker.evidence(number, score)
                factor = _subject_factor(terms, text, commit)
                ranked.append(_RankedCommit(score * factor, target.repository.name, commit))

        ranked.sort(key=lambda item: (-item.score, item.repository))
        return [item.commit for item in ranked[:limit]]

    def _find_by_file(self, files: Sequence[tuple[Target, str]]) -> list[CommitEvidence]:
        """Return the last commit that changed the first of some files, best first; empty without one."""
        if not files:
            return []
        target, path = files[0]
        ranker = self.ranker(target)
        path_number = None if ranker is None else ranker.history.paths.numbers.get(path.encode())
        if ranker is None or path_number is None:
            return []

        changes = ranker.history.changes
        last_commits = ranker.oldest_first(changes.commit[changes.path == path_number])[-1:]
        return [replace(ranker.evidence(number, 0.0), note=f"last to change `{path}`") for number in last_commits]


@dataclass(frozen=True, slots=True)
class _RankedCommit:
    """A commit with its score by message and subject, and the name of its repository, which orders equal scores."""

    score: float
    repository: str
    commit: CommitEvidence


def _unique(commits: Sequence[CommitEvidence]) -> list[CommitEvidence]:
    """Return commits without those that occur earlier in the list, for another reason."""
    by_key: dict[tuple[str, str], CommitEvidence] = {}
    for commit in commits:
        by_key.setdefault((commit.repository, commit.commit), commit)
    return list(by_key.values())


def _message_terms(question: RankQuery) -> Mapping[str, float]:
    """Return the terms to search messages for, without words that only ask for history."""
    return {
        term: weight
        for term, weight in question.terms.items()
        if not term.startswith("=") and term not in ASKING and not _YEAR.fullmatch(term)
    }


def _subject_factor(terms: Mapping[str, float], text: str, commit: CommitEvidence) -> float:
    """Return the factor of a commit's score by what its subject and its year have in common with a question."""
    years, _ = _years_and_versions(text)
    year_factor = _YEAR_FACTOR if commit.date[:4] in years else 0.0
    version_factor = _VERSION_FACTOR if _has_version(text, commit.subject) else 0.0
    return (
        1.0
        + _SUBJECT_FACTOR * _subject_fit(terms, commit.subject)
        + (year_factor + version_factor)
        + _SPELLING_FACTOR * _share_of_spellings(text, commit.subject)
    )


def _subject_fit(terms: Mapping[str, float], subject: str) -> float:
    """Return how well a subject fits some terms: the square of the share that it has of them, times its precision."""
    terms_by_word = [terms_of(word) for word in re.findall(r"[\w.]+", subject)]
    words = [set(word) for word in terms_by_word if word and not all(term in FUNCTION_WORDS for term in word)]
    present = {term for word in words for term in word} & terms.keys()
    coverage = sum(terms[term] for term in present) / (sum(terms.values()) or 1.0)
    precision = sum(bool(word & terms.keys()) for word in words) / max(len(words), 1)
    # A subject with all terms keeps a fifth of its fit, however many other words it has.
    return coverage * coverage * (0.2 + 0.8 * precision)


def _years_and_versions(text: str) -> tuple[list[str], list[str]]:
    """Return the numbers of a question that may be years, and all others."""
    numbers = _NUMBER.findall(text)
    years = [number for number in numbers if _YEAR.fullmatch(number)]
    return years, [number for number in numbers if number not in years]


def _has_version(text: str, subject: str) -> bool:
    """Return whether a subject has a version that a question names, with or without the letter before it."""
    _, versions = _years_and_versions(text)
    subject_numbers = _SUBJECT_NUMBER.findall(subject)
    return any(version.lstrip("v") in subject_numbers for version in versions)


def _share_of_spellings(text: str, subject: str) -> float:
    """Return the share of a question's options and names with digits, such as ``--and``, that a subject spells so."""
    spellings = {spelling.casefold() for spelling in _SPELLING.findall(text)}
    present = {spelling.casefold() for spelling in _SPELLING.findall(subject)}
    return len(spellings & present) / (len(spellings) or 1)
