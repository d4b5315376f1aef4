"""Files that differ between two trees, with renames as git pairs them, and their patches in git's own format.

`make_patch` makes one patch in this process; `stream_patches` reads all of them from one git process.
"""

from __future__ import annotations

from dataclasses import dataclass

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError
from sourcelight.engines.history.git import git_chunks
from sourcelight.repos.objects import store_size

FREE_FILES = 100_000
"""Maximum changed files of any comparison."""

FILES_PER_OBJECT = 4
"""Further changed files for each stored object: a tree of 200 bytes can contain itself many times."""

BYTES_PER_FILE = 400
"""Maximum bytes of git's list per file, including paths, beyond `FREE_BYTES`."""

FREE_BYTES = 32 << 20
"""Bytes of git's list that are always read."""

NO_MODE = "000000"
SUBMODULE = "160000"
STATUSES = {
    "A": "added",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "C": "copied",
    "T": "type changed",
}
"""States of a changed file by git's letters."""

OPTIONS = ("diff-tree", "-r", "--no-abbrev", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
           "--submodule=short", "--indent-heuristic")  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileChange:
    """A changed file.

    Attributes
    ----------
    ordinal
        Index in the comparison, in the order of git's list.
    status
        ``added``, ``deleted``, ``modified``, ``renamed``, ``copied`` or ``type changed``.
    score
        Similarity of a renamed file in percent; None for others.
    path, old_path
        Paths as bytes; equal unless the file was renamed or copied.
    mode, old_mode
        git's octal modes; ``000000`` if there is no file.
    object_id, old_object_id
        40 hex digits of the content (of the commit, for a submodule); zeros if there is none.
    """

    ordinal: int
    status: str
    score: int | None
    path: bytes
    old_path: bytes
    mode: str
    old_mode: str
    object_id: str
    old_object_id: str

    @property
    def added(self) -> bool:
        """Whether the file is not in the base."""
        return self.old_mode == NO_MODE

    @property
    def deleted(self) -> bool:
        """Whether the file is not in the head."""
        return self.mode == NO_MODE


class TooManyChanges(RepositoryError):
    """Raised when two trees differ in too many files."""

    def __init__(self, files: int, commits: str = "two trees") -> None:
        super().__init__(
            f"{commits} differ in more than {files:,} files, many times what the repository stores; they are not listed"
        )
        self.files = files


def list_changes(
    git_dir: str, base_tree: str, head_tree: str, cancellation: Cancellation | None = None
) -> tuple[tuple[FileChange, ...], str]:
    """List the files that differ between two trees, and a notice of what git could not do (empty if nothing).

    In a partial clone without these contents, only files renamed without a change are paired.

    Raises
    ------
    GitFailed
        If a directory is missing.
    TooManyChanges
        If there are too many for the size of the repository.
    """
    notice = ""
    try:
        raw = _raw_changes(git_dir, "-M", base_tree=base_tree, head_tree=head_tree, cancellation=cancellation)
    except GitFailed:
        try:
            # Exact renames are paired by id and need no contents, which a partial clone may lack.
            raw = _raw_changes(git_dir, "-M100%", base_tree=base_tree, head_tree=head_tree, cancellation=cancellation)
        except GitFailed as error:
            if "out of memory" in error.stderr_tail.lower():
                raise TooManyChanges(FREE_FILES) from error
            raise

        notice = (
            "contents of some files are missing from this clone: files that were renamed and changed are shown as "
            "deleted and added"
        )

    return parse_raw(raw), notice


def _raw_changes(
    git_dir: str, renames: str, *, base_tree: str, head_tree: str, cancellation: Cancellation | None
) -> bytes:
    blocks: list[bytes] = []
    limit = ChangeLimit(git_dir)
    arguments = [*OPTIONS, "--raw", "-z", renames, base_tree, head_tree]
    chunks = git_chunks(git_dir, arguments, cancellation=cancellation)
    try:
        for chunk in chunks:
            limit.add(chunk.count(b"\0:"), len(chunk))
            blocks.append(chunk)
    finally:
        chunks.close()

    return b"".join(blocks)


class ChangeLimit:
    """Counter of changed files with a limit by the size of the object store, which is measured only if needed."""

    def __init__(self, git_dir: str) -> None:
        self._git_dir = git_dir
        self._files = 0
        self._bytes = 0
        self._limit = FREE_FILES
        self._is_measured = False

    def add(self, files: int, size: int) -> None:
        """Count files and the bytes of their list; raises `TooManyChanges`."""
        self._files += files
        self._bytes += size

        # Measuring lists the files of the object store, so it waits for the first comparison that is large.
        if self._is_over and not self._is_measured:
            self._limit += FILES_PER_OBJECT * store_size(self._git_dir).objects
            self._is_measured = True

        if self._is_over:
            raise TooManyChanges(self._limit)

    @property
    def _is_over(self) -> bool:
        return self._files > self._limit or self._bytes > FREE_BYTES + BYTES_PER_FILE * self._limit


def parse_raw(raw: bytes) -> tuple[FileChange, ...]:
    """Read the records of ``--raw -z``."""
    fields = raw.split(b"\0")
    changes: list[FileChange] = []
    index = 0
    while index + 1 < len(fields):
        old_mode, mode, old_object, new_object, status = fields[index].decode("ascii")[1:].split(" ")
        old_path = path = fields[index + 1]
        index += 2
        if status[0] in "RC":
            path = fields[index]
            index += 1

        changes.append(
            FileChange(
                ordinal=len(changes),
                status=STATUSES.get(status[0], "modified"),
                score=int(status[1:]) if status[0] in "RC" else None,
                path=path,
                old_path=old_path,
                mode=mode,
                old_mode=old_mode,
                object_id=new_object,
                old_object_id=old_object,
            )
        )

    return tuple(changes)
