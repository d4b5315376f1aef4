"""Trees that no commit has, for git to compare: written to a temporary folder that borrows a repository's objects."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.commands import PATCH_DATA_BYTES, git_chunks
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
