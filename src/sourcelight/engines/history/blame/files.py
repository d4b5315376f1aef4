"""``git blame`` of one file, read as it comes and kept: a commit's file never changes."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import Lock

from sourcelight.core.batches import Cancellation
from sourcelight.engines.history.commands import git_chunks, mailmap_setting
from sourcelight.repos import Repository

_MOST_LINES_KEPT = 1_000_000
_DATA_BYTES = 512 << 20
_HEAD = re.compile(rb"([0-9a-f]{40}) (\d+) (\d+) (\d+)")
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_LETTERS = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


@dataclass(slots=True)
class BlameCommit:
    """A commit that brought lines; times are seconds since 1970, offsets minutes east of UTC, names mailmapped."""

    oid: str
    author: str = ""
    author_email: str = ""
    author_time: int = 0
    author_offset: int = 0
    commit_time: int = 0
    summary: str = ""
    boundary: bool = False


@dataclass(slots=True)
class FileBlame:
    """Where the lines of a file come from; item i of each list is about line i + 1.

    Attributes
    ----------
    commits
        The commits that brought lines, in git's order.
    commit
        For each line the position of its commit in `commits`.
    path, line_number
        For each line the file that it came from, and its 1-based line there.
    """

    commits: list[BlameCommit] = field(default_factory=list)
    commit: list[int] = field(default_factory=list)
    path: list[bytes] = field(default_factory=list)
    line_number: list[int] = field(default_factory=list)


class _Kept:
    """Blames by repository, commit and path, within a number of lines; the newest last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: OrderedDict[tuple[str, str, bytes], FileBlame] = OrderedDict()
        self._lines = 0

    def get(self, key: tuple[str, str, bytes]) -> FileBlame | None:
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: tuple[str, str, bytes], blame: FileBlame) -> None:
        with self._lock:
            if key not in self._found:
                self._found[key] = blame
                self._lines += len(blame.commit)
            while self._lines > _MOST_LINES_KEPT and len(self._found) > 1:
                _, oldest = self._found.popitem(last=False)
                self._lines -= len(oldest.commit)


_kept = _Kept()


def blame_file(
    repository: Repository,
    commit: str,
    path: bytes,
    lines: int,
    *,
    progress: Callable[[int, int], None] | None = None,
    cancellation: Cancellation | None = None,
) -> FileBlame:
    """Ask git which commits brought the lines of a file; the same question is answered from memory.

    Parameters
    ----------
    repository
        A git repository.
    commit
        40 hex digits.
    path
        A file of that commit.
    lines
        How many lines it has.
    progress
        Called with the lines done and `lines`.
    cancellation
        Looked at while git works.

    Raises
    ------
    GitFailed
        If git can't: the file is not there, or objects are missing.
    Cancelled
        After ``cancellation.cancel()``.
    """
    key = repository.key, commit, path
    kept = _kept.get(key)
    if kept is not None:
        return kept
    arguments: list[str | bytes] = [*mailmap_setting(repository.git_dir), "blame", "--incremental",
                                    "--encoding=UTF-8", commit, "--", path]  # fmt: skip
    chunks = git_chunks(repository.git_dir, arguments, cancellation=cancellation, data_bytes=_DATA_BYTES)
    made = _read(_lines(chunks), lines, progress)
    _kept.put(key, made)
    return made


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def _read(lines: Iterable[bytes], count: int, progress: Callable[[int, int], None] | None) -> FileBlame:
    """Read ``--incremental``: each run of lines is a head, facts of its commit the first time, and a file name."""
    made = FileBlame(commit=[0] * count, path=[b""] * count, line_number=[0] * count)
    numbers: dict[bytes, int] = {}
    at = first = final = length = done = 0
    for line in lines:
        key, _, value = line.partition(b" ")
        if key == b"filename":
            path = unquoted(value)
            end = min(final + length, count)
            for line_at in range(final, end):
                made.commit[line_at], made.path[line_at] = at, path
                made.line_number[line_at] = first + line_at - final
            done += length
            if progress is not None:
                progress(done, count)
        elif len(key) == 40 and (head := _HEAD.fullmatch(line)):
            first, final, length = int(head[2]), int(head[3]) - 1, int(head[4])
            if head[1] not in numbers:
                numbers[head[1]] = len(made.commits)
                made.commits.append(BlameCommit(head[1].decode()))
            at = numbers[head[1]]
        elif made.commits:
            _take(made.commits[at], key, value)
    return made


def _take(commit: BlameCommit, key: bytes, value: bytes) -> None:
    text = value.decode("utf-8", "replace")
    if key == b"author":
        commit.author = text
    elif key == b"author-mail":
        commit.author_email = text.removeprefix("<").removesuffix(">")
    elif key == b"author-time":
        commit.author_time = int(value)
    elif key == b"author-tz":
        hours, minutes = divmod(abs(int(value)), 100)
        commit.author_offset = (hours * 60 + minutes) * (-1 if value.startswith(b"-") else 1)
    elif key == b"committer-time":
        commit.commit_time = int(value)
    elif key == b"summary":
        commit.summary = text
    elif key == b"boundary":
        commit.boundary = True


def unquoted(name: bytes) -> bytes:
    """A name as git has it, from one that git may have put in quotes."""
    if not (len(name) > 1 and name.startswith(b'"') and name.endswith(b'"')):
        return name
    return _ESCAPED.sub(lambda m: bytes([int(m[1], 8)]) if len(m[1]) == 3 else _LETTERS.get(m[1], m[1]), name[1:-1])
