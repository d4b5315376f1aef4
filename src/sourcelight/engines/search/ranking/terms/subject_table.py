"""Tables of the subjects of a branch's last commits, with the files that each changed.

A subject describes files in a person's words, often different from the code's. One table belongs to one commit, so its
scores are the same in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray, Float64Array, Int64Array
from sourcelight.engines.search.ranking.terms import tokenizer
from sourcelight.engines.search.ranking.terms.message_index import MessageIndex
from sourcelight.engines.symbols.table import SectionSource
from sourcelight.repos.processes.commit_subjects import CommitSubject

FORMAT = 1
"""Raised by one whenever older tables can't be read by this code, or would be made of other commits."""


_K1, _B = 1.2, 0.5
"""The numbers of BM25, the same as for chunks."""

_PathPostings: TypeAlias = Mapping[str, tuple[AnyArray, AnyArray]]
"""For each term, the paths whose commits have it, and how much it adds to the score of each."""


def subject_rules() -> str:
    """Return the name of the current rules; a table made by other rules is built again."""
    return f"{FORMAT}.{tokenizer.RULES}"


class SubjectTable:
    """Subjects of commits, newest first. Safe to share between threads; raises ValueError for another format.

    Attributes
    ----------
    paths
        The paths that the commits changed, each once.
    is_voter
        Which commits count; all of them. A benchmark leaves out the commit that it asks for.
    """

    def __init__(self, source: SectionSource) -> None:
        if source.metadata.get("rules") != subject_rules():
            raise ValueError("a table of subjects made by other rules")

        self.rules: str = source.metadata["rules"]
        self.paths: list[bytes] = bytes(source.bytes_of("paths")).split(b"\n")[:-1]
        self._starts: Int64Array = source.array("path_start").astype(np.int64)
        self._path_numbers: Int64Array = source.array("path_number").astype(np.int64)
        terms = bytes(source.bytes_of("terms")).decode("utf-8", "replace").split("\n")[:-1]
        starts = source.array("term_start").tolist()
        messages = source.array("message").astype(np.int64)
        times = source.array("times").astype(np.float64)

        # A few thousand terms take milliseconds once; a look-up in the file would take as long for each question.
        postings = {
            term: (messages[start:end], times[start:end])
            for term, start, end in zip(terms, starts[:-1], starts[1:], strict=True)
        }
        self._index = MessageIndex(source.array("length").astype(np.float64), postings)
        self.is_voter: BoolArray = np.ones(len(self._index.lengths), dtype=np.bool_)
        self._of_paths: tuple[BoolArray, _PathPostings] | None = None

    def scores(self, terms: Mapping[str, float]) -> Float64Array:
        """Score each commit by its subject."""
        return self._index.scores(terms, self.is_voter)

    def changed_paths(self, commits: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the paths that some commits changed, one after another, and how many each did."""
        starts = self._starts.take(commits)
        sizes = self._starts.take(commits + 1) - starts
        offsets = np.arange(int(sizes.sum())) - (sizes.cumsum() - sizes).repeat(sizes)
        return self._path_numbers.take(starts.repeat(sizes) + offsets), sizes

    def path_scores(self, terms: Mapping[str, float]) -> Float64Array:
        """Score each of `paths` by the subjects of all commits that changed it, as if they were one text."""
        cached = self._of_paths
        if cached is None or cached[0] is not self.is_voter:
            # Threads that get here at once make the same postings.
            cached = self._of_paths = self.is_voter, self._path_postings()

        scores: Float64Array = np.zeros(len(self.paths))
        for term, weight in terms.items():
            posting = cached[1].get(term)
            if posting is not None:
                # The paths of a term are distinct, so none is added twice.
                scores[posting[0]] += weight * posting[1]

        return scores

    def _path_postings(self) -> _PathPostings:
        """Return BM25 over paths, whose texts are the subjects of their commits.

        A commit of several paths says less about each: it counts as one divided by the square root of their number.
        """
        by_term = {term: posting for term, posting in self._index.postings.items() if not term.startswith("=")}
        size = len(self.paths)
        if not by_term or not size:
            return {}

        messages = [commits for commits, _ in by_term.values()]
        commits = np.concatenate(messages)
        term = np.arange(len(messages)).repeat([len(numbers) for numbers in messages])
        votes = self.is_voter.take(commits).nonzero()[0]
        paths, sizes = self.changed_paths(commits.take(votes))

        # Term and path in one integer: equal ones are summed, and the order is that of posting lists.
        keys, position = np.unique(term.take(votes).repeat(sizes) * size + paths, return_inverse=True)
        counts = np.bincount(position, weights=(1.0 / np.sqrt(sizes)).repeat(sizes), minlength=len(keys))
        changed, sizes = self.changed_paths(self.is_voter.nonzero()[0])
        lengths = np.bincount(changed, weights=(1.0 / np.sqrt(sizes)).repeat(sizes), minlength=size)
        described = int(np.count_nonzero(lengths))
        norm = 1.0 - _B + _B * lengths / (float(lengths.sum()) / max(described, 1) or 1.0)
        starts = np.searchsorted(keys, np.arange(len(messages) + 1) * size)
        holding = np.diff(starts)
        idf = np.log(1.0 + (described - holding + 0.5) / (holding + 0.5))
        path = keys % size
        frequency = counts / norm.take(path)
        gains = (idf.take(keys // size) * (_K1 + 1.0) * frequency / (_K1 + frequency)).astype(np.float32)
        path = path.astype(np.uint32)
        return {
            name: (path[start:end], gains[start:end])
            for name, start, end in zip(by_term, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
        }


def subject_sections(
    subjects: Sequence[CommitSubject], check: Callable[[], None]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the metadata and the arrays of a table of `subjects`; raises what `check` raises."""
    numbers: dict[bytes, int] = {}
    path_numbers = [numbers.setdefault(path, len(numbers)) for subject in subjects for path in subject.paths]
    index = MessageIndex.of([subject.subject.decode("utf-8", "replace") for subject in subjects], check)
    sizes = [len(messages) for messages, _ in index.postings.values()]
    sections = {
        "paths": np.frombuffer(b"".join(path + b"\n" for path in numbers), np.uint8),
        "path_start": np.cumsum([0, *(len(subject.paths) for subject in subjects)], dtype=np.uint32),
        "path_number": np.array(path_numbers, dtype=np.uint32),
        "terms": np.frombuffer("".join(term + "\n" for term in index.postings).encode(), np.uint8),
        "term_start": np.cumsum([0, *sizes], dtype=np.uint32),
        "message": _concatenate([messages for messages, _ in index.postings.values()], np.uint16),
        "times": _concatenate([times for _, times in index.postings.values()], np.uint16),
        "length": index.lengths.astype(np.uint16),
    }
    return {"rules": subject_rules(), "subjects": len(subjects)}, sections


def _concatenate(arrays: Sequence[Any], dtype: Any) -> Any:
    return np.concatenate(arrays).astype(dtype) if arrays else np.zeros(0, dtype=dtype)
