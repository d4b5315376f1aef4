"""Limit how much all commits of a history may change together, in proportion to what the repository stores.

A commit of two hundred bytes can change a hundred thousand files, by naming a directory that exists already. So the sum
over all commits is limited, and grows with the stored objects: an ordinary commit adds at least one object per file
that it changes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sourcelight.engines.history.store.patch_parser import COMMIT_MARK
from sourcelight.repos.objects import store_size

FREE_FILES = 200_000
"""Changed files that any history may have."""

FILES_PER_OBJECT = 4
"""Changed files for each object that is stored: histories of known projects have 0.1 to 0.7."""

FREE_LINES = 4_000_000
"""Changed lines that are always read."""

LINES_PER_BYTE = 2
"""Changed lines for each byte of packs: histories of known projects have 0.004 to 0.1."""

FREE_BYTES = 128 << 20
"""Bytes of patches that are always read."""

BYTES_PER_BYTE = 64
"""Bytes of patches for each byte of packs: histories of known projects have 0.2 to 4."""

MANY_FILES, MANY_LINES, MANY_BYTES = 1_000, 100_000, 4 << 20
"""Size above which a commit is large. Large ones may take half of the allowance, so the rest is for others."""

EFFORT = 4
"""Factor of the allowance after which the rest of git's output isn't read, because refused output costs time too."""

_MARK = b"\n" + COMMIT_MARK
_FILE = b"\n:"
# The line before the changes of a commit.
_COMMIT = re.compile(rb"^\x01([0-9a-f]{40})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cost:
    """Changed files, changed lines (including context) and bytes of patches."""

    files: int = 0
    lines: int = 0
    bytes: int = 0

    @property
    def is_large(self) -> bool:
        """Whether a commit of this cost is large."""
        return self.files > MANY_FILES or self.lines > MANY_LINES or self.bytes > MANY_BYTES

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.files + other.files, self.lines + other.lines, self.bytes + other.bytes)

    def fits(self, allowance: Cost) -> bool:
        """Return whether the cost is within an allowance."""
        return self.files <= allowance.files and self.lines <= allowance.lines and self.bytes <= allowance.bytes


def allowance_of(git_dir: str) -> Cost:
    """Return the cost that all commits of a repository may have together."""
    stored = store_size(git_dir)
    return Cost(
        FREE_FILES + FILES_PER_OBJECT * stored.objects,
        FREE_LINES + LINES_PER_BYTE * stored.bytes,
        FREE_BYTES + BYTES_PER_BYTE * stored.bytes,
    )


class AllowanceUse:
    """The spent part of an allowance.

    Parameters
    ----------
    allowance
        For all commits; large ones have half of it.
    spent
        Cost that is already spent.
    """

    def __init__(self, allowance: Cost, spent: Cost | None = None) -> None:
        self.allowance = allowance
        # One huge commit must not use up what thousands of ordinary ones need.
        self._half = Cost(allowance.files // 2, allowance.lines // 2, allowance.bytes // 2)
        self._spent = spent or Cost()
        self._large = Cost()

    def spend(self, cost: Cost) -> bool:
        """Spend; False, and nothing is spent, when there is not enough left."""
        if not self.admits(cost):
            return False
        self._spent += cost
        if cost.is_large:
            self._large += cost
        return True

    def admits(self, cost: Cost) -> bool:
        """Return whether enough of the allowance is left."""
        return (self._spent + cost).fits(self.allowance) and (
            not cost.is_large or (self._large + cost).fits(self._half)
        )


class Effort:
    """Bytes that git wrote for one update, summed over all processes that read for it.

    Parameters
    ----------
    folder
        Scratch folder of the update, in which a file takes the sums.
    max_bytes
        Bytes after which the effort is spent.
    """

    def __init__(self, folder: str | os.PathLike[str], max_bytes: int) -> None:
        self._path = Path(folder, "effort")
        self._max_bytes = max_bytes

    def add(self, size: int) -> None:
        """Add bytes that git wrote, or the bytes that a start or a timeout counts as."""
        # Workers share this file without a lock: a small write in append mode lands at the end as a whole (POSIX
        # O_APPEND).
        with self._path.open("ab") as file:
            file.write(b"%d\n" % size)

    @property
    def is_spent(self) -> bool:
        """Whether the limit is reached."""
        try:
            return sum(map(int, self._path.read_bytes().split(b"\n")[:-1])) >= self._max_bytes
        except FileNotFoundError:
            return False


def cost_of(raw: bytes) -> Cost:
    """Return the cost of some commits of a stream of patches."""
    files = raw.count(_FILE)
    return Cost(files, max(0, raw.count(b"\n") - files), len(raw))


def split_large(raw: bytes) -> Iterator[tuple[bytes, Cost]]:
    """Cut a stream of whole commits so that each large one is alone."""
    # When all commits together are not large, none of them is, and there is nothing to cut.
    cost = cost_of(raw)
    if not cost.is_large:
        yield raw, cost
        return

    start = position = 0
    while position < len(raw):
        end = raw.find(_MARK, position + 1) + 1 or len(raw)
        if cost_of(raw[position:end]).is_large:
            if start < position:
                yield raw[start:position], cost_of(raw[start:position])
            yield raw[position:end], cost_of(raw[position:end])
            start = end
        position = end

    if start < len(raw):
        yield raw[start:], cost_of(raw[start:])


def commits_of(raw: bytes) -> list[bytes]:
    """Return the ids of the commits of a stream, 40 hex digits each."""
    return _COMMIT.findall(raw)
