"""Tables of the subjects of a branch's last commits, with the files that each changed.

A subject describes files in a person's words, often different from the code's. One table belongs to one commit, so its
scores are the same in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array
from sourcelight.engines.search.ranking.terms import tokenizer
from sourcelight.engines.search.ranking.terms.message_index import MessageIndex
from sourcelight.engines.symbols.table import SectionSource
from sourcelight.repos.processes.commit_subjects import CommitSubject

FORMAT = 1
"""Raised by one whenever older tables can't be read by this code, or would be made of other commits."""


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

    def scores(self, terms: Mapping[str, float]) -> Float64Array:
        """Score each commit by its subject."""
        return self._index.scores(terms, self.is_voter)

    def changed_paths(self, commits: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the paths that some commits changed, one after another, and how many each did."""
        starts = self._starts.take(commits)
        sizes = self._starts.take(commits + 1) - starts
        offsets = np.arange(int(sizes.sum())) - (sizes.cumsum() - sizes).repeat(sizes)
        return self._path_numbers.take(starts.repeat(sizes) + offsets), sizes


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
