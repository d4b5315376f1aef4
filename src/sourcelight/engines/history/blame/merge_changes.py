"""Read from git what merges changed against their first parent: stored histories have no changes of merges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.compare.changes import ChangeLimit
from sourcelight.engines.history.git import git_chunks

_MERGE_MARK = b"\1"
"""First byte of the line before the changes of a merge; no record of a change starts with it."""

_ARGUMENTS = (
    "diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff",
    "--diff-merges=first-parent", "--always", "--format=%x01%H",
)  # fmt: skip
"""Arguments of git for output whose fields end with NUL."""

# A record has fixed columns: old and new mode, old and new object id, and the status.
_NEW_MODE = slice(8, 14)
_NEW_BLOB = slice(56, 96)

# 100644 and 100755 are files (git's manual, gitformat-index). A link (120000) and a submodule (160000) have no lines
# that belong to a commit of this repository.
_FILE_MODE = b"100"


@dataclass(frozen=True, slots=True)
class MergeChange:
    """A file that differs between a merge and its first parent; `blob` is None if the merge lacks it."""

    path: bytes
    blob: bytes | None


def merge_changes(
    git_dir: str, merges: Sequence[str], cancellation: Cancellation | None = None
) -> Iterator[tuple[str, list[MergeChange]]]:
    """Yield each of `merges` (40 hex digits), in order, with the files that differ from its first parent.

    Links and submodules count as absent. Raises `GitFailed` when folders are missing, `TooManyChanges` when all merges
    together changed more than can be, and `Cancelled`.
    """
    if not merges:
        return

    # One merge, with a changed file:
    #     \x01c0ffee…
    #     \n:100644 100644 1f4c… 9e2d… M
    #     src/retry.py
    stdin = "".join(f"{merge}\n" for merge in merges).encode()
    merge = ""
    changes: list[MergeChange] = []
    fields = _fields(git_chunks(git_dir, list(_ARGUMENTS), stdin=stdin, cancellation=cancellation))
    limit = ChangeLimit(git_dir)
    for record in fields:
        record = record.lstrip(b"\n")  # noqa: PLW2901 - git ends a commit's head with a newline before the first record
        if record.startswith(_MERGE_MARK):
            if merge:
                yield merge, changes
            merge = record[1:41].decode()
            changes = []
        elif record.startswith(b":"):
            path = next(fields)
            limit.add(1, len(path))
            is_file = record[_NEW_MODE].startswith(_FILE_MODE)
            changes.append(MergeChange(path, bytes.fromhex(record[_NEW_BLOB].decode()) if is_file else None))

    if merge:
        yield merge, changes


def _fields(chunks: Iterable[bytes]) -> Iterator[bytes]:
    # A chunk of git's output ends anywhere, so the last field waits for the next chunk. Whole fields only leave here: a
    # path split in two would become two records.
    remaining = b""
    for chunk in chunks:
        *complete, remaining = (remaining + chunk).split(b"\0")
        yield from complete
    if remaining:
        yield remaining
