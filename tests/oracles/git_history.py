"""What `git log` and `git diff-tree` say of a history: commits, people, and changed lines file by file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from oracles.git_reader import bare_git

_FIELDS = ("%H", "%P", "%an", "%ae", "%aN", "%aE", "%cn", "%ce", "%cN", "%cE", "%at", "%ct", "%s", "%B")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
OPTIONS = ("-c", "mailmap.blob=HEAD:.mailmap", "-c", "diff.renameLimit=1000", "-c", "log.showSignature=false")


@dataclass(frozen=True, slots=True)
class Line:
    """A changed line, without its sign and newline."""

    side: str
    number: int
    text: bytes


@dataclass(slots=True)
class FileChange:
    """What a commit did to a file; `status` as git's letter."""

    path: bytes
    old_path: bytes
    status: str
    lines: list[Line] = field(default_factory=list)
    binary: bool = False
    score: int | None = None
    objects: tuple[str, str] = ("", "")
    modes: tuple[str, str] = ("", "")


@dataclass(slots=True)
class LoggedCommit:
    """A commit as git logs it. People are (name, address) pairs: as written, and as the mailmap has them."""

    name: str
    parents: list[str]
    author: tuple[bytes, bytes]
    mapped_author: tuple[bytes, bytes]
    committer: tuple[bytes, bytes]
    mapped_committer: tuple[bytes, bytes]
    author_time: int
    commit_time: int
    subject: bytes
    message: bytes
    changes: list[FileChange] = field(default_factory=list)

    @property
    def is_merge(self) -> bool:
        """Whether it has several parents, and so no changes of its own."""
        return len(self.parents) > 1


def log(
    folder: Path, *revisions: str, changes: bool = True, cached: dict[str, list[FileChange]] | None = None
) -> list[LoggedCommit]:
    """Commits behind revisions in git's order, with the changes of all that are no merges."""
    out = bare_git(
        folder, *OPTIONS, "log", "-z", "--encoding=UTF-8", "--format=tformat:" + "%x00".join(_FIELDS), *revisions, "--"
    )
    cells = out.split(b"\0")[:-1]
    results = []
    for index in range(0, len(cells), len(_FIELDS)):
        row = cells[index : index + len(_FIELDS)]
        commit = LoggedCommit(
            row[0].decode(), row[1].decode().split(), pair(row[2:4]), pair(row[4:6]), pair(row[6:8]), pair(row[8:10]),
            int(row[10] or 0), int(row[11] or 0), display_name(row[12]), display_name(row[13]),
        )  # fmt: skip
        if changes and not commit.is_merge:
            retained = {} if cached is None else cached
            if commit.name not in retained:
                retained[commit.name] = changes_of(folder, commit.name)
            commit.changes = retained[commit.name]
        results.append(commit)
    return results


def display_name(text: bytes) -> bytes:
    """People and messages are looked for as they are shown: with U+FFFD in place of what is no UTF-8."""
    return text.decode(errors="replace").encode()


def pair(cells: list[bytes]) -> tuple[bytes, bytes]:
    """A name and an address, as shown."""
    return display_name(cells[0]), display_name(cells[1])


def changes_of(folder: Path, *commits: str) -> list[FileChange]:
    """What a commit changed, or what lies between two."""
    base = ["diff-tree", "--root", "-r", "-M", "--no-commit-id", "--no-abbrev", "--no-color", "--no-ext-diff"]
    base += ["--no-textconv", "--submodule=short", "--diff-algorithm=myers"]
    changes = []
    cells = bare_git(folder, *OPTIONS, *base, "--raw", "-z", *commits).split(b"\0")[:-1]
    position = 0
    while position < len(cells):
        old_mode, mode, old_object, name, status = cells[position].decode().removeprefix(":").split()
        moved = status[0] in "RC"
        old_path = cells[position + 1]
        path = cells[position + 2] if moved else old_path
        position += 3 if moved else 2
        score = int(status[1:]) if moved else None
        changes.append(
            FileChange(path, old_path, status[0], score=score, objects=(old_object, name), modes=(old_mode, mode))
        )
    patches = _patches(bare_git(folder, *OPTIONS, *base, "-p", "--full-index", *commits))
    # A change of type is one record and two patches: the old file goes, the new one comes.
    count = [change for change in changes for _ in range(2 if change.status == "T" else 1)]
    if len(patches) != len(count):
        raise AssertionError(f"{len(patches)} patches for {len(count)} changes of {commits}")
    for change, (lines, binary) in zip(count, patches, strict=True):
        change.lines += lines
        change.binary |= binary
    if any(len(set(change.objects)) == 1 for change in changes):  # no patch says what they are
        cells = bare_git(folder, *OPTIONS, *base, "--numstat", "-z", *commits).split(b"\0")[:-1]
        binaries = {path for cell, path in _numbers(cells) if cell.startswith(b"-\t")}
        for change in changes:
            change.binary |= change.path in binaries
    return changes


def _numbers(cells: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """The numbers and the new name of each file of ``--numstat -z``."""
    remaining = iter(cells)
    for cell in remaining:
        path = cell.split(b"\t", 2)[2]
        if not path:
            next(remaining)
            path = next(remaining)
        yield cell, path


def _patches(out: bytes) -> list[tuple[list[Line], bool]]:
    results: list[tuple[list[Line], bool]] = []
    old_left = new_left = old = new = 0
    for row in out.split(b"\n"):
        if old_left > 0 or new_left > 0:
            sign, text = row[:1], row[1:]
            if sign == b"-":
                results[-1][0].append(Line("removed", old, text))
            elif sign == b"+":
                results[-1][0].append(Line("added", new, text))
            if sign in (b"-", b" ", b""):
                old, old_left = old + 1, old_left - 1
            if sign in (b"+", b" ", b""):
                new, new_left = new + 1, new_left - 1
        elif row.startswith(b"diff --git "):
            results.append(([], False))
        elif row.startswith(b"Binary files "):
            results[-1] = (results[-1][0], True)
        elif hunk := _HUNK.match(row):
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = int(hunk[2] or 1), int(hunk[4] or 1)
    return results
