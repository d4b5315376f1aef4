"""Patches of every changed file, from one git process."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.commands import git_chunks
from sourcelight.engines.history.compare.changes import OPTIONS, FileChange
from sourcelight.engines.history.compare.patches import FileDiff, joined

_FILE = b"diff --git "
_BODY = re.compile(rb"^(?:@@ -|Binary files )", re.MULTILINE)


def stream_patches(
    git_dir: str,
    base_tree: str,
    head_tree: str,
    changes: Sequence[FileChange],
    cancellation: Cancellation | None = None,
) -> Generator[FileDiff, None, None]:
    """Yield the diff of each of `changes`, the first of git's list for the same two trees, as git gets to it.

    Raises
    ------
    GitFailed
        Where a content is missing; what was yielded before is right.
    """
    chunks = git_chunks(git_dir, [*OPTIONS, "-p", "-M", base_tree, head_tree], cancellation=cancellation)
    parts = _parts(chunks)
    try:
        for change in changes:
            # A type change is one record of the list, and two parts of the patch.
            count = 2 if change.status == "type changed" else 1
            found = [_read(change, part) for _, part in zip(range(count), parts, strict=False)]
            if not found:
                return
            yield found[0] if count == 1 else joined(change, found)
    finally:
        chunks.close()


def _parts(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The text of one file after the other. No line inside a hunk begins as a file does."""
    pending: list[bytes] = []
    for chunk in chunks:
        whole = b"".join([*pending, chunk])
        start = 0
        # A mark at the very start belongs to the part that is being collected.
        looked_at = max(1, sum(map(len, pending)) - len(_FILE))
        while (end := whole.find(b"\n" + _FILE, looked_at)) >= 0:
            yield whole[start : end + 1]
            start, looked_at = end + 1, end + 2
        pending = [whole[start:]]
    if any(pending):
        yield b"".join(pending)


def _read(change: FileChange, part: bytes) -> FileDiff:
    body = _BODY.search(part)
    if body is None:
        return FileDiff(change, 0, 0, binary=False, patch=part)
    if body[0].startswith(b"B"):
        return FileDiff(change, 0, 0, binary=True, patch=part)
    additions, deletions = part.count(b"\n+", body.start()), part.count(b"\n-", body.start())
    return FileDiff(change, additions, deletions, binary=False, patch=part)
