"""Hunks of git's own diff for many pairs of blobs, with one git process.

git compares trees, so the pairs become trees that no commit has, in a temporary object directory that borrows the
repository's objects.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.git import PATCH_DATA_BYTES, git_bytes, git_chunks
from sourcelight.repos import Repository
from sourcelight.repos.repository import common_dir

NO_HUNKS: Hunks = np.zeros((0, 4), np.int64)
_FILE = 0o100644
"""Mode of a file."""

_PAIRS_OF_A_TREE = 1000
"""Pairs of contents that git compares as files of two trees at a time."""

_OPTIONS = ("-p", "-U0", "--text", "--no-renames", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/")
# The head of a hunk, or the line before the hunks of a pair.
_HUNK_OR_FILE = re.compile(rb"\n(?:@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@|diff --git a/(\d+) )")

_MAX_MARK_BYTES = 256
"""Bytes; numbers of lines and of pairs are much shorter."""


class SyntheticTrees:
    """A temporary object folder beside a repository's own; nothing is written to the repository.

    Git compares trees, not lists of contents. Trees made for the purpose let one process compare any number of pairs.
    Use it as a context manager: the folder goes at the end.
    """

    def __init__(self, repository: Repository) -> None:
        self._git_dir = repository.git_dir
        self._folder = tempfile.TemporaryDirectory(prefix="sourcelight-")
        self._objects = Path(self._folder.name)
        info = self._objects / "info"
        info.mkdir()
        repository_objects = os.fsencode(Path(common_dir(repository.git_dir)).absolute() / "objects")

        # In quotes, a folder's name can neither end the line nor be taken for a comment.
        escaped = repository_objects.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        (info / "alternates").write_bytes(b'"' + escaped + b'"\n')

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def write(self, entries: Iterable[tuple[int, bytes, bytes]]) -> bytes:
        """Write a tree of (mode, name, object id of 20 bytes), in git's order, and return its object id."""
        rows = b"".join(b"%o %b\0%b" % entry for entry in entries)
        data = b"tree %d\0%b" % (len(rows), rows)

        # A loose object as gitrepository-layout describes it: zlib data in a file named by the SHA-1 of header and
        # content.
        name = hashlib.sha1(data, usedforsecurity=False).digest()
        folder = self._objects / name[:1].hex()
        folder.mkdir(exist_ok=True)
        (folder / name[1:].hex()).write_bytes(zlib.compress(data, 1))
        return name

    def compare(
        self, pairs: Iterable[tuple[bytes, bytes]], options: Iterable[str], cancellation: Cancellation | None = None
    ) -> Iterator[bytes]:
        """Yield the output of ``git diff-tree --stdin`` for pairs of trees, a line with both ids before each.

        Raises `GitFailed` when an object is missing or damaged, and `Cancelled`.
        """
        stdin = "".join(f"{old.hex()} {new.hex()}\n" for old, new in pairs).encode()
        arguments = ["diff-tree", "--stdin", "-r", "--no-abbrev", "--no-color", "--no-ext-diff", "--no-textconv",
                     *options]  # fmt: skip
        yield from git_chunks(
            self._git_dir,
            arguments,
            stdin=stdin,
            cancellation=cancellation,
            objects=self._folder.name,
            data_bytes=PATCH_DATA_BYTES,
        )


Pair: TypeAlias = tuple[bytes, bytes]
"""An old and a new content, by their object ids of 20 bytes."""

Hunks: TypeAlias = Int64Array
"""n x 4: the first old line and how many, the first new line and how many. Lines count from 0; a side without lines
names the line after its position."""


def read_hunks(
    repository: Repository,
    pairs: Sequence[Pair],
    *,
    cancellation: Cancellation | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Pair, Hunks]:
    """Compare pairs of contents as ``git blame`` compares them: by git's diff without context lines.

    Other diffs give other hunks. One with context lines does not cut off what both contents end with, and then
    lines that occur often, or a repeated text at an edge, can be paired otherwise.

    Parameters
    ----------
    repository
        A git repository.
    pairs
        Each pair once. Contents that are the same have no hunks.
    cancellation
        Looked at while git works.
    progress
        Called with the pairs that git compared, and their number.

    Raises
    ------
    GitFailed
        When a content is missing or damaged.
    Cancelled
        After ``cancellation.cancel()``.
    """
    hunks: dict[Pair, Hunks] = dict.fromkeys(pairs, NO_HUNKS)
    different = [pair for pair in hunks if pair[0] != pair[1]]
    if not different:
        return hunks

    with SyntheticTrees(repository) as trees:
        # The n-th file of a tree is a content of the n-th pair.
        tree_pairs = []
        for start in range(0, len(different), _PAIRS_OF_A_TREE):
            numbered_pairs = list(enumerate(different[start : start + _PAIRS_OF_A_TREE], start))
            old_tree = trees.write((_FILE, b"%010d" % number, old) for number, (old, _) in numbered_pairs)
            new_tree = trees.write((_FILE, b"%010d" % number, new) for number, (_, new) in numbered_pairs)
            tree_pairs.append((old_tree, new_tree))

        chunks = trees.compare(tree_pairs, _OPTIONS, cancellation)
        for done, (number, rows) in enumerate(_hunks_by_pair(chunks)):
            hunks[different[number]] = np.array(rows, np.int64).reshape(-1, 4)
            if progress is not None and done % _PAIRS_OF_A_TREE == 0:
                progress(done, len(different))

    return hunks


def existing_blobs(
    repository: Repository, blobs: Iterable[bytes], cancellation: Cancellation | None = None
) -> set[bytes]:
    """Return the ids of those contents that the object store holds; raises as `read_hunks`."""
    stdin = "".join(f"{blob.hex()}\n" for blob in blobs).encode()
    argv = ["cat-file", "--batch-check=%(objectname) %(objecttype)"]
    lines = git_bytes(repository.git_dir, argv, stdin=stdin, cancellation=cancellation).split(b"\n")
    return {bytes.fromhex(line[:40].decode()) for line in lines if line.endswith(b" blob")}


def _hunks_by_pair(chunks: Iterable[bytes]) -> Iterator[tuple[int, list[tuple[int, int, int, int]]]]:
    """Yield the hunks of each pair. Without context lines, no line of a content begins as a mark does."""
    pair_number, rows = -1, list[tuple[int, int, int, int]]()
    for text in _complete_marks(chunks):
        for header in _HUNK_OR_FILE.finditer(text):
            old, removed, new, added, pair_text = header.groups()
            if pair_text is None:
                old_start, old_count = _line_range(old, removed)
                new_start, new_count = _line_range(new, added)
                rows.append((old_start, old_count, new_start, new_count))
                continue

            if pair_number >= 0:
                yield pair_number, rows
            pair_number, rows = int(pair_text), []

    if pair_number >= 0:
        yield pair_number, rows


def _line_range(line: bytes, count: bytes | None) -> tuple[int, int]:
    """Return the first line, from 0, and the number of lines of one side of a hunk: ``12,3`` or ``12`` for one line."""
    line_count = 1 if count is None else int(count)
    # git counts from 1, and names the line before a side without lines: then its number is the one after, from 0.
    first = int(line) - 1 if line_count else int(line)
    return first, line_count


def _complete_marks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield texts in which each mark is whole: a mark that is cut can only begin at the last newline of a text."""
    remaining = b""
    for chunk in chunks:
        text = remaining + chunk
        split_at = text.rfind(b"\n", max(len(text) - _MAX_MARK_BYTES, 0))
        split_at = len(text) if split_at < 0 else split_at
        yield text[:split_at]
        remaining = text[split_at:]

    yield remaining
