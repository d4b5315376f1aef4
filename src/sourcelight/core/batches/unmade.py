"""Matched lines and paths before they are columns: as they were found, for a reader who wants their JSON alone.

Making a record batch of a few hundred rows costs more than finding them, and a stream of events needs none. What is
here holds arrays as an engine has them; the record batch is made when somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches.events import MatchBatch, RepositoryFacts

Numbers = NDArray[np.int64]


class Place(NamedTuple):
    """Where a file is: its repository's name and number, the revision asked for, and the commit."""

    repository: str
    repository_id: int
    revision: str
    commit: str


@dataclass(frozen=True)
class FoundLines:
    """Files with their matched lines, or matched by their path alone, in the order in which they are shown.

    Attributes
    ----------
    places, languages
        Distinct places, and names of languages, empty for an unknown one.
    in_content
        Which files have matched lines.
    place, language
        For each file the number of its place and of its language.
    paths
        The path of each file, in bytes.
    names
        By the number of a file the spans in its path, in code points.
    lengths
        Rows of each file; 1 for one that has no lines.
    numbers
        1-based number of each matched line, file after file; likewise what follows.
    sizes
        Bytes of the line, without its newline.
    counts
        Spans in the line.
    matches
        Spans that begin in the line.
    starts, ends
        The spans, in bytes into their line; the newline counts as one more.
    data
        The lines, each followed by a newline.
    make
        Makes the record batch.
    """

    places: Sequence[Place]
    languages: Sequence[str]
    in_content: NDArray[np.bool_]
    place: Numbers
    language: Numbers
    paths: Sequence[bytes]
    names: Mapping[int, Sequence[tuple[int, int]]]
    lengths: Numbers
    numbers: Numbers
    sizes: Numbers
    counts: Numbers
    matches: Numbers
    starts: Numbers
    ends: Numbers
    data: bytes
    make: Callable[[], Any]

    @property
    def num_rows(self) -> int:
        """Rows of the record batch."""
        return len(self.numbers) + len(self.paths) - int(np.count_nonzero(self.in_content))

    @property
    def nbytes(self) -> int:
        """Bytes of text in lines and paths."""
        return len(self.data) + sum(map(len, self.paths))

    @cached_property
    def batch(self) -> Any:
        """The same as a record batch."""
        return self.make()

    @cached_property
    def file_matches(self) -> Numbers:
        """Matches in each file; one where its path alone matches."""
        if not len(self.numbers):
            return np.ones(len(self.paths), dtype=np.int64)
        whole = bool(self.in_content.all())
        lengths = self.lengths if whole else self.lengths[self.in_content]
        sums = np.add.reduceat(self.matches, np.cumsum(lengths) - lengths)
        if whole:
            return sums
        found = np.ones(len(self.paths), dtype=np.int64)
        found[self.in_content] = sums
        return found


class UnmadeBatch(MatchBatch):
    """A ``matches`` event whose record batch is made when it is asked for."""

    __slots__ = ("found",)

    found: FoundLines

    def __init__(self, found: FoundLines, repositories: tuple[RepositoryFacts, ...] = ()) -> None:
        object.__setattr__(self, "found", found)
        object.__setattr__(self, "repositories", repositories)

    @property
    def batch(self) -> Any:
        """The record batch."""
        return self.found.batch

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.found.num_rows

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return self.found.nbytes
