"""What git's own diff says of pairs of contents, many pairs for one git process.

Trees that no commit has, for git to compare: written to a temporary folder that borrows a repository's objects.
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
from numpy.typing import NDArray

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.git import PATCH_DATA_BYTES, git_bytes, git_chunks
from sourcelight.repos import Repository
from sourcelight.repos.repository import common_dir


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
        lender = os.fsencode(Path(common_dir(repository.git_dir)).absolute() / "objects")
        # In quotes, a folder's name can neither end the line nor be taken for a comment.
        quoted = lender.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        (info / "alternates").write_bytes(b'"' + quoted + b'"\n')

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    def write(self, entries: Iterable[tuple[int, bytes, bytes]]) -> bytes:
        """Write a tree of (mode, name, object id of 20 bytes), sorted as git sorts them, and give its object id."""
        rows = b"".join(b"%o %b\0%b" % entry for entry in entries)
        data = b"tree %d\0%b" % (len(rows), rows)
        name = hashlib.sha1(data, usedforsecurity=False).digest()
        folder = self._objects / name[:1].hex()
        folder.mkdir(exist_ok=True)
        (folder / name[1:].hex()).write_bytes(zlib.compress(data, 1))
        return name

    def compare(
        self, pairs: Iterable[tuple[bytes, bytes]], options: Iterable[str], cancellation: Cancellation | None = None
    ) -> Iterator[bytes]:
        """Yield what ``git diff-tree --stdin`` says of pairs of trees, a line with both ids before each.

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

Hunks: TypeAlias = NDArray[np.int64]
"""n x 4: the first old line and how many, the first new line and how many. Lines count from 0; a side without lines
names the line before which it stands."""

NO_HUNKS: Hunks = np.zeros((0, 4), np.int64)

_FILE = 0o100644
_PAIRS_OF_A_TREE = 1000
_OPTIONS = ("-p", "-U0", "--text", "--no-renames", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/")
_MARK = re.compile(rb"\n(?:@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@|diff --git a/(\d+) )")
_LONGEST_MARK = 256
"""Bytes; numbers of lines and of pairs are much shorter."""


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
        compared = []
        for low in range(0, len(different), _PAIRS_OF_A_TREE):
            some = list(enumerate(different[low : low + _PAIRS_OF_A_TREE], low))
            old, new = (trees.write((_FILE, b"%010d" % at, pair[side]) for at, pair in some) for side in (0, 1))
            compared.append((old, new))
        chunks = trees.compare(compared, _OPTIONS, cancellation)
        for done, (number, rows) in enumerate(_by_number(chunks)):
            hunks[different[number]] = np.array(rows, np.int64).reshape(-1, 4)
            if progress is not None and done % _PAIRS_OF_A_TREE == 0:
                progress(done, len(different))
    return hunks


def present(repository: Repository, blobs: Iterable[bytes], cancellation: Cancellation | None = None) -> set[bytes]:
    """Which of some contents, by their object ids, the object store holds; raises as `read_hunks`."""
    stdin = "".join(f"{blob.hex()}\n" for blob in blobs).encode()
    argv = ["cat-file", "--batch-check=%(objectname) %(objecttype)"]
    lines = git_bytes(repository.git_dir, argv, stdin=stdin, cancellation=cancellation).split(b"\n")
    return {bytes.fromhex(line[:40].decode()) for line in lines if line.endswith(b" blob")}


def _by_number(chunks: Iterable[bytes]) -> Iterator[tuple[int, list[tuple[int, int, int, int]]]]:
    """The hunks of each pair. Without context lines, no line of a content begins as a mark does."""
    number, rows = -1, list[tuple[int, int, int, int]]()
    for text in _whole_marks(chunks):
        for mark in _MARK.finditer(text):
            old, removed, new, added, named = mark.groups()
            if named is None:
                of_old, of_new = int(removed or 1), int(added or 1)
                # Git names the line before a side without lines, counted from 1.
                rows.append((int(old) - (of_old > 0), of_old, int(new) - (of_new > 0), of_new))
                continue
            if number >= 0:
                yield number, rows
            number, rows = int(named), []
    if number >= 0:
        yield number, rows


def _whole_marks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Texts that together hold each mark once and whole: only the last newline of a text can begin one that is cut."""
    rest = b""
    for chunk in chunks:
        text = rest + chunk
        cut = text.rfind(b"\n", max(len(text) - _LONGEST_MARK, 0))
        cut = len(text) if cut < 0 else cut
        yield text[:cut]
        rest = text[cut:]
    yield rest
