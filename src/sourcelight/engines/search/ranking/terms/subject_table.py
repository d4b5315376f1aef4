"""Tables of the subjects of a branch's last commits, with the files that each changed.

A subject describes files in a person's words, often different from the code's. One table belongs to one commit, so its
scores are the same in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray, Float64Array, Int64Array, runs
from sourcelight.engines.search.ranking.terms import tokenizer
from sourcelight.engines.search.ranking.terms.message_index import MessageIndex
from sourcelight.engines.symbols.table import SectionSource
from sourcelight.repos.processes.commit_subjects import CommitSubject

FORMAT = 1
"""Raised by one whenever older tables can't be read by this code, or would be made of other commits."""

_K1 = 1.2
"""Saturation of BM25, the same as for chunks: from a few occurrences on, further ones add little."""

_B = 0.5
"""Share of BM25 that the length of a text counts, the same as for chunks."""

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
        Whether each commit counts; all do. A benchmark asks with the subject of a commit, and leaves that commit out so
        that it doesn't measure itself. Assign a new array, since the scores of paths are cached for the array.
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
        postings: dict[str, tuple[Int64Array, Float64Array]] = {}
        for term, (start, end) in zip(terms, pairwise(starts), strict=True):
            postings[term] = messages[start:end], times[start:end]

        self._index = MessageIndex(source.array("length").astype(np.float64), postings)
        self.is_voter: BoolArray = np.ones(len(self._index.lengths), dtype=np.bool_)
        self._of_paths: tuple[BoolArray, _PathPostings] | None = None

    def scores(self, terms: Mapping[str, float]) -> Float64Array:
        """Score each commit by its subject."""
        return self._index.scores(terms, self.is_voter)

    def changed_paths(self, commits: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the paths that some commits changed, one after another, and how many each did."""
        # A commit's paths are consecutive in the table.
        starts = self._starts.take(commits)
        sizes = self._starts.take(commits + 1) - starts
        return self._path_numbers.take(runs(starts, sizes)), sizes

    def path_scores(self, terms: Mapping[str, float]) -> Float64Array:
        """Score each of `paths` by the subjects of all commits that changed it, as if they were one text."""
        cached = self._of_paths
        if cached is None or cached[0] is not self.is_voter:
            # Threads that get here at once make the same postings.
            cached = self._of_paths = self.is_voter, self._path_postings()

        scores: Float64Array = np.zeros(len(self.paths))
        _, postings = cached
        for term, weight in terms.items():
            posting = postings.get(term)
            if posting is not None:
                paths, gains = posting
                # The paths of a term are distinct, so none is added twice.
                scores[paths] += weight * gains

        return scores

    def _path_postings(self) -> _PathPostings:
        """Return BM25 over paths, whose texts are the subjects of their commits.

        A commit of several paths says less about each: it counts as one divided by the square root of their number.
        """
        # A joined form such as `=getenvironproxies` is a whole name, whose words are terms, too.
        by_term = {
            term: posting for term, posting in self._index.postings.items() if not tokenizer.is_joined_form(term)
        }
        path_count = len(self.paths)
        if not by_term or not path_count:
            return {}

        # Each row is a commit that has a term, and counts.
        messages = [commits for commits, _ in by_term.values()]
        commits = np.concatenate(messages)
        term_numbers = np.arange(len(messages)).repeat([len(numbers) for numbers in messages])
        rows = self.is_voter.take(commits).nonzero()[0]

        # How often a path's text has a term: the sum of the shares of its commits with that term. Term and path are in
        # one integer: equal ones are summed, and the order is that of posting lists.
        changed, sizes = self.changed_paths(commits.take(rows))
        keys, positions = np.unique(term_numbers.take(rows).repeat(sizes) * path_count + changed, return_inverse=True)
        counts = np.bincount(positions, weights=_weights_of(sizes), minlength=len(keys))
        terms, paths = keys // path_count, keys % path_count

        # The length of a path's text is the sum of its commits' shares. A path whose commits don't count has no text.
        changed, sizes = self.changed_paths(self.is_voter.nonzero()[0])
        lengths = np.bincount(changed, weights=_weights_of(sizes), minlength=path_count)
        described = int(np.count_nonzero(lengths))
        mean_length = float(lengths.sum()) / max(described, 1) or 1.0
        norms = 1.0 - _B + _B * lengths / mean_length

        # The idf of Lucene, which is never negative, from the number of paths that have each term.
        starts = np.searchsorted(keys, np.arange(len(messages) + 1) * path_count)
        holding = np.diff(starts)
        idf = np.log(1.0 + (described - holding + 0.5) / (holding + 0.5))

        frequencies = counts / norms.take(paths)
        gains = (idf.take(terms) * (_K1 + 1.0) * frequencies / (_K1 + frequencies)).astype(np.float32)
        paths = paths.astype(np.uint32)
        postings: dict[str, tuple[AnyArray, AnyArray]] = {}
        for term, (start, end) in zip(by_term, pairwise(starts.tolist()), strict=True):
            postings[term] = paths[start:end], gains[start:end]
        return postings


def _weights_of(sizes: Int64Array) -> Float64Array:
    """Return the weight of each change of a path: those of a commit of `size` paths weigh one over its square root."""
    shares: Float64Array = (1.0 / np.sqrt(sizes)).repeat(sizes)
    return shares


def subject_sections(
    subjects: Sequence[CommitSubject], check: Callable[[], None]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the metadata and the arrays of a table of `subjects`, which `SubjectTable` reads.

    Raises what `check` raises. Lists of lists are one array, with the start of each list and the end of the last in
    another: ``path_number`` has the paths of each subject, ``message`` and ``times`` the postings of each term.
    """
    numbers: dict[bytes, int] = {}
    path_numbers: list[int] = []
    for subject in subjects:
        path_numbers += [numbers.setdefault(path, len(numbers)) for path in subject.paths]

    index = MessageIndex.of([subject.subject.decode("utf-8", "replace") for subject in subjects], check)
    sizes = [len(messages) for messages, _ in index.postings.values()]

    # uint16: there are at most 3,000 subjects of 400 bytes each (`MAX_COMMITS`, `MAX_SUBJECT_BYTES`), so that their
    # numbers and their counts of terms are below 65,536.
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
