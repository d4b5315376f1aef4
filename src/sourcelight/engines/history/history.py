"""The opened history of one repository: columns of commits and changes, and the changed lines.

Commits are numbered from 0, parents before children. Changes (one file in one commit) are numbered in the order of
their commits, rows (one added or removed line) in the order of their changes. Merges have no changes, as in ``git
log``. Columns are mapped, and read on first use.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array
from sourcelight.core.batches import CommitId
from sourcelight.engines.history.segment import LINE, Segment

UNKNOWN = -1
"""In place of a number that could not be known: additions of a change whose content is missing, an absent parent."""

_MAX_NAMES = 5
"""Commits that are named of those whose changes could not be read."""

UnreadCommits: TypeAlias = tuple[int, tuple[str, ...]]
"""Number of commits that couldn't be read, and the ids (40 hex digits) of some of them."""

_MAX_MASKS = 64
"""Masks of reachable commits that are cached."""

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, eq=False)
class Commits:
    """Columns with an item for each commit.

    Attributes
    ----------
    oid, tree
        n x 20 bytes.
    author, committer
        Numbers of identities.
    author_time, commit_time
        Seconds since 1970, UTC.
    author_offset, commit_offset
        Minutes that the writer's clock was east of UTC.
    parent_starts, parents
        The parents of commit i are ``parents[parent_starts[i]:parent_starts[i + 1]]``, in order.
    change_starts
        The changes of commit i are ``change_starts[i]`` to ``change_starts[i + 1]``.
    unread
        Whether the changes of a commit could not be read, wholly or in part, because objects are missing.
    """

    oid: UInt8Array
    tree: UInt8Array
    author: NDArray[np.int32]
    committer: NDArray[np.int32]
    author_time: Int64Array
    commit_time: Int64Array
    author_offset: NDArray[np.int32]
    commit_offset: NDArray[np.int32]
    parent_starts: Int64Array
    parents: NDArray[np.int32]
    change_starts: Int64Array
    unread: BoolArray

    def __len__(self) -> int:
        return len(self.oid)

    @property
    def is_merge(self) -> BoolArray:
        """Whether a commit has more than one parent."""
        return np.diff(self.parent_starts) > 1


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Columns with an item for each change: one file in one commit, renames and copies paired as git pairs them.

    Attributes
    ----------
    commit
        Number of the commit.
    path, old_path
        Numbers of paths in `History.paths`; the same where the file kept its name, was added or removed.
    status
        Letter of git (``A C D M R T``) as its ASCII code; `score` is the likeness in percent of R and C, else 0.
    additions, deletions
        Lines; `UNKNOWN` where the content is missing. 0 for binary files.
    binary
        Whether git called the change binary.
    old_blob, new_blob
        n x 20 bytes, zeros if there is none (a submodule's are commits).
    old_mode, new_mode
        As in git's trees (0o100644 …; 0o160000 is a submodule), 0 if there is none.
    row_starts, block_starts
        Rows and blocks of change i are from ``starts[i]`` to ``starts[i + 1]``.
    """

    commit: NDArray[np.int32]
    path: NDArray[np.int32]
    old_path: NDArray[np.int32]
    status: UInt8Array
    score: UInt8Array
    additions: NDArray[np.int32]
    deletions: NDArray[np.int32]
    binary: BoolArray
    old_blob: UInt8Array
    new_blob: UInt8Array
    old_mode: NDArray[np.int32]
    new_mode: NDArray[np.int32]
    row_starts: Int64Array
    block_starts: Int64Array

    def __len__(self) -> int:
        return len(self.commit)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Runs of changed lines with no unchanged one between: `removed` lines give way to `added` ones.

    `old` and `new` are the 1-based numbers of the line of the old and new file at which the run starts; where nothing
    is removed, `old` is the line before which lines are added. `row` is the first of its rows: removed ones come first.
    """

    old: Int64Array
    new: Int64Array
    removed: Int64Array
    added: Int64Array
    row: Int64Array

    def __len__(self) -> int:
        return len(self.old)


@dataclass(frozen=True, slots=True, eq=False)
class Identities:
    """Authors and committers: each distinct name and address, as written and as ``.mailmap`` of HEAD maps it.

    `person` numbers the distinct mapped pairs; `person_names` and `person_emails` belong to these numbers.
    """

    names: Sequence[str]
    emails: Sequence[str]
    mapped_names: Sequence[str]
    mapped_emails: Sequence[str]
    person: NDArray[np.int32]
    person_names: Sequence[str]
    person_emails: Sequence[str]

    def __len__(self) -> int:
        return len(self.names)


class Paths(Sequence[bytes]):
    """All paths of a history, as the bytes that git has."""

    def __init__(self, raw: Sequence[bytes]) -> None:
        self._raw = raw

    def __len__(self) -> int:
        return len(self._raw)

    def __getitem__(self, index: Any) -> Any:
        return self._raw[index]

    def text(self, index: int) -> str:
        """Return a path as text, invalid UTF-8 as U+FFFD."""
        return self._raw[index].decode("utf-8", "replace")

    @cached_property
    def numbers(self) -> Mapping[bytes, int]:
        """Number of each path."""
        return {path: number for number, path in enumerate(self._raw)}


@dataclass(eq=False)
class History:
    """An opened history.

    Attributes
    ----------
    repository
        Name of the repository.
    tips
        Refs (or pinned commits) that were brought in, and the commit of each, 40 hex digits.
    identities
        Who wrote.
    mailmap
        Blob of the ``.mailmap`` that was applied, 40 hex digits; empty for none.
    shallow
        Why the repository does not hold everything; empty when it does. Oldest commits then seem to add all files.
    """

    repository: str
    tips: Mapping[str, str]
    segments: tuple[Segment, ...] = field(repr=False)
    identities: Identities = field(repr=False)
    identity_numbers: Sequence[NDArray[np.int32]] = field(repr=False)
    mailmap: str = ""
    shallow: str = ""
    _masks: dict[int, BoolArray] = field(default_factory=dict, repr=False)
    _memory: dict[str, Any] = field(default_factory=dict, repr=False)

    def remember(self, name: str, make: Callable[[], _Value]) -> _Value:
        """Return the value of `make`, computed once for this snapshot: tables that every search needs."""
        if name not in self._memory:
            self._memory[name] = make()
        value: _Value = self._memory[name]
        return value

    def with_segments(self, segments: tuple[Segment, ...]) -> History:
        """Return the same commits with other segments of changes."""
        # Masks of commits stay valid; values computed from changes don't.
        return replace(self, segments=segments, _memory={})

    def is_unchanged(self) -> bool:
        """Return whether its files on disk are still the opened files, unchanged."""
        return all(segment.file.is_unchanged() for segment in self.segments)

    @cached_property
    def bases(self) -> SegmentBases:
        """Index of each segment's first commit, change, row and block among all."""

        def starts(counts: Iterable[int]) -> list[int]:
            return [0, *np.cumsum([0, *counts])[1:].tolist()]

        segments = self.segments
        return SegmentBases(
            commits=starts(segment.commits for segment in segments),
            changes=starts(segment.changes for segment in segments),
            rows=starts(segment.rows for segment in segments),
            blocks=starts(segment.blocks for segment in segments),
        )

    @cached_property
    def paths(self) -> Paths:
        """All paths."""
        return self._united[0]

    @cached_property
    def path_numbers(self) -> Sequence[NDArray[np.int32]]:
        """For each segment the number of each of its paths among all."""
        return self._united[1]

    @cached_property
    def _united(self) -> tuple[Paths, Sequence[NDArray[np.int32]]]:
        # Segments number their paths from 0 each. Equal paths get one number here, in the order of first use, so that a
        # comparison of numbers is a comparison of paths.
        path_numbers: dict[bytes, int] = {}
        numbers_of_segments = []
        for segment in self.segments:
            numbers = [path_numbers.setdefault(path, len(path_numbers)) for path in segment.texts("paths")]
            numbers_of_segments.append(np.array(numbers, np.int32))

        return Paths(list(path_numbers)), numbers_of_segments

    @cached_property
    def commits(self) -> Commits:
        """Columns of the commits."""

        def numbers(name: str) -> NDArray[np.int32]:
            segment_numbers = zip(self.segments, self.identity_numbers, strict=True)
            return _concatenate([of_segment[segment[name]] for segment, of_segment in segment_numbers], np.int32)

        parents = [len(segment["parents"]) for segment in self.segments]
        parent_bases = [0, *np.cumsum(parents).tolist()]
        return Commits(
            oid=self._column("oid", np.uint8).reshape(-1, 20),
            tree=self._column("tree", np.uint8).reshape(-1, 20),
            author=numbers("author"),
            committer=numbers("committer"),
            author_time=self._column("author_time", np.int64),
            commit_time=self._column("commit_time", np.int64),
            author_offset=self._column("author_offset", np.int32),
            commit_offset=self._column("commit_offset", np.int32),
            parent_starts=self._starts("parent_starts", parent_bases),
            parents=self._column("parents", np.int32),
            change_starts=self._starts("change_starts", self.bases.changes),
            unread=self._column("unread", np.bool_),
        )

    @cached_property
    def changes(self) -> Changes:
        """Columns of the changes."""

        def paths(name: str) -> NDArray[np.int32]:
            pairs = zip(self.segments, self.path_numbers, strict=True)
            return _concatenate([of_segment[segment[name]] for segment, of_segment in pairs], np.int32)

        bases = self.bases
        starts = [segment["change_starts"].astype(np.int64) for segment in self.segments]
        change_counts = [ends[1:] - ends[:-1] for ends in starts]
        commits = [
            # `size` has the number of changes of each commit, so every commit number is repeated once per change.
            np.repeat(np.arange(base, base + len(size), dtype=np.int32), size)
            for base, size in zip(bases.commits, change_counts, strict=False)
        ]
        return Changes(
            commit=_concatenate(commits, np.int32),
            path=paths("path"),
            old_path=paths("old_path"),
            status=self._column("status", np.uint8),
            score=self._column("score", np.uint8),
            additions=self._column("additions", np.int32),
            deletions=self._column("deletions", np.int32),
            binary=self._column("binary", np.bool_),
            old_blob=self._column("old_blob", np.uint8).reshape(-1, 20),
            new_blob=self._column("new_blob", np.uint8).reshape(-1, 20),
            old_mode=self._column("old_mode", np.int32),
            new_mode=self._column("new_mode", np.int32),
            row_starts=self._starts("row_starts", bases.rows),
            block_starts=self._starts("block_starts", bases.blocks),
        )

    @cached_property
    def change_of_row(self) -> NDArray[np.int32]:
        """The change that each row belongs to."""
        bases = zip(self.bases.changes, self.segments, strict=False)
        return _concatenate(
            [segment.change_of_row + base if base else segment.change_of_row for base, segment in bases], np.int32
        )

    @cached_property
    def newest_first(self) -> Int64Array:
        """All commits by committer time, the latest first; within a second, children come before parents."""
        times = self.commits.commit_time
        # lexsort sorts by its last key first: time descending, then number descending. Parents have lower numbers, so
        # children of the same second precede them.
        return np.lexsort((-np.arange(len(times)), -times))

    @cached_property
    def blocks(self) -> Blocks:
        """All blocks; of one change by ``changes.block_starts``."""
        row = self._offset("block_row", self.bases.rows)
        removed_counts = [
            # The sign bit of a row is 1 for removed lines.
            np.add.reduceat((segment["rows"] >> 31).astype(np.int64), segment["block_row"].astype(np.int64))
            for segment in self.segments
            if segment.blocks
        ]
        removed = _concatenate(removed_counts, np.int64)

        # Blocks cover all rows without a gap, so one ends where the next begins.
        ends = np.append(row[1:], self.bases.rows[-1])
        return Blocks(
            old=self._column("block_old", np.uint32).astype(np.int64),
            new=self._column("block_new", np.uint32).astype(np.int64),
            removed=removed,
            added=ends - row - removed,
            row=row,
        )

    def position(self, oid: str) -> int | None:
        """Return the number of a commit by its 40 hex digits, or None when it is not here."""
        raw = bytes.fromhex(oid)
        for base, segment in zip(self.bases.commits, self.segments, strict=False):
            local_position = segment.find(raw)
            if local_position is not None:
                return base + local_position
        return None

    def oid(self, commit: int) -> CommitId:
        """Return the 40 hex digits of a commit."""
        raw: bytes = self.commits.oid[commit].tobytes()
        return CommitId(raw.hex())

    def reachable(self, oid: str) -> BoolArray:
        """Return a mask of `oid` and its ancestors; do not write to it.

        Raises KeyError for a commit that is not here.
        """
        tip = self.position(oid)
        if tip is None:
            raise KeyError(oid)

        if tip not in self._masks:
            if len(self._masks) >= _MAX_MASKS:
                # Dictionaries keep insertion order, so this drops the oldest mask. A mask is a byte per commit.
                self._masks.pop(next(iter(self._masks)))
            self._masks[tip] = ancestors(self.commits.parent_starts, self.commits.parents, tip)

        return self._masks[tip]

    def unread(self, within: BoolArray) -> UnreadCommits:
        """Count the unreadable commits `within`, and name the newest of them."""
        numbers = np.flatnonzero(self.commits.unread & within)
        return len(numbers), tuple(self.oid(int(number)) for number in numbers[: -_MAX_NAMES - 1 : -1])

    def message(self, commit: int) -> str:
        """Return a commit's message without surrounding white space; invalid UTF-8 as U+FFFD."""
        return self._text("message", commit)

    def subject(self, commit: int) -> str:
        """Return a commit's subject as git has it (``%s``): the first paragraph of the message on one line."""
        return self._text("subject", commit)

    def _text(self, name: str, commit: int) -> str:
        segment_index = bisect_right(self.bases.commits, commit) - 1
        segment = self.segments[segment_index]
        starts = segment[f"{name}_starts"]
        local = commit - self.bases.commits[segment_index]
        raw = segment.bytes_of(f"{name}s")[int(starts[local]) : int(starts[local + 1]) - 1]
        return bytes(raw).decode("utf-8", "replace")

    def line(self, row: int) -> bytes:
        """Return the text of a row, without its newline."""
        segment_index = bisect_right(self.bases.rows, row) - 1
        segment = self.segments[segment_index]
        # A row is the number of a distinct line; its sign bit (removed) is masked off.
        number = int(segment["rows"][row - self.bases.rows[segment_index]] & LINE)
        start, end = segment["line_starts"][number : number + 2].tolist()
        # Every stored line ends with a newline, which is not part of the text.
        return bytes(segment.bytes_of("lines")[start : end - 1])

    def _column(self, name: str, dtype: Any) -> AnyArray:
        return _concatenate([segment[name] for segment in self.segments], dtype)

    def _starts(self, name: str, bases: Sequence[int]) -> Int64Array:
        arrays = [
            segment[name][:-1].astype(np.int64) + base for segment, base in zip(self.segments, bases, strict=False)
        ]
        return np.append(_concatenate(arrays, np.int64), np.int64(bases[-1]))

    def _offset(self, name: str, bases: Sequence[int]) -> Int64Array:
        arrays = [segment[name].astype(np.int64) + base for segment, base in zip(self.segments, bases, strict=False)]
        return _concatenate(arrays, np.int64)


@dataclass(frozen=True, slots=True)
class SegmentBases:
    """Return the index of each segment's first item among all, and at the end the number of all items."""

    commits: list[int]
    changes: list[int]
    rows: list[int]
    blocks: list[int]


def _concatenate(arrays: Sequence[AnyArray], dtype: Any) -> AnyArray:
    # One segment is the common case: its mapped array is used directly, without a copy.
    if len(arrays) == 1:
        only = arrays[0]
        if only.dtype.itemsize == np.dtype(dtype).itemsize:
            return only.view(dtype)
        return only.astype(dtype)
    return np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype, copy=False)


def ancestors(parent_starts: Int64Array, parents: NDArray[np.int32], tip: int) -> BoolArray:
    """Return a mask of `tip` and its ancestors; parents come before children."""
    mask = bytearray(len(parent_starts) - 1)
    mask[tip] = 1
    starts, flat_parents = parent_starts[: tip + 2].tolist(), parents.tolist()

    # Parents have lower numbers than children, so one pass downwards reaches all ancestors.
    for commit in range(tip, -1, -1):
        if mask[commit]:
            for parent in flat_parents[starts[commit] : starts[commit + 1]]:
                if parent >= 0:
                    mask[parent] = 1

    return np.frombuffer(mask, np.bool_)
