"""What merges did to files, compared with their first parents: stored histories have no changes of merges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.commands import git_chunks
from sourcelight.engines.history.compare.changes import ChangeLimit

_MARK = b"\1"


@dataclass(frozen=True, slots=True)
class MergeChange:
    """A file that a merge has otherwise than its first parent; `blob` is None when the merge has not got it."""

    path: bytes
    blob: bytes | None


def merge_changes(
    git_dir: str, merges: Sequence[str], cancellation: Cancellation | None = None
) -> Iterator[tuple[str, list[MergeChange]]]:
    """Yield each of `merges` (40 hex digits), in order, with the files that differ from its first parent.

    Links and submodules count as absent. Raises `GitFailed` when folders are missing, `TooManyChanges` when all merges
    together changed more than can be, and `Cancelled`.
    """
    arguments = ["diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff",
                 "--diff-merges=first-parent", "--always", "--format=%x01%H"]  # fmt: skip
    stdin = "".join(f"{merge}\n" for merge in merges).encode()
    if not stdin:
        return
    merge, changes = "", list[MergeChange]()
    fields = _fields(git_chunks(git_dir, arguments, stdin=stdin, cancellation=cancellation))
    limit = ChangeLimit(git_dir)
    for field in fields:
        field = field.lstrip(b"\n")  # noqa: PLW2901 - git ends a commit's head with a newline before the first record
        if field.startswith(_MARK):
            if merge:
                yield merge, changes
            merge, changes = field[1:41].decode(), []
        elif field.startswith(b":"):
            mode, blob = field[8:14], field[56:96]
            path = next(fields)
            limit.add(1, len(path))
            is_file = mode[:3] == b"100"
            changes.append(MergeChange(path, bytes.fromhex(blob.decode()) if is_file else None))
    if merge:
        yield merge, changes


def _fields(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        yield from whole
    if rest:
        yield rest
