"""Run ``git blame`` on one file, and cache the result: a file at a commit never changes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from sourcelight.core.batches.agents import agents_text, traces_of
from sourcelight.core.batches.git_names import unquote_name
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.git import git_bytes, git_chunks, mailmap_setting
from sourcelight.repos import Repository
from sourcelight.repos.objects.commits import as_text, parse_seconds

_MAX_CACHED_LINES = 1_000_000
"""Lines of all files whose blame is cached."""

_DATA_BYTES = 512 << 20
"""Bytes of memory that git may take."""

# The commit of a run of lines, its first line there and here, and its length.
_HEAD = re.compile(rb"([0-9a-f]{40}) (\d+) (\d+) (\d+)")


@dataclass(slots=True)
class BlameCommit:
    """A commit that brought lines; times are seconds since 1970, offsets minutes east of UTC, names mailmapped.

    `summary` is git's subject (``%s``): the first paragraph of the message on one line. `agents` are the coding
    assistants that it names.
    """

    oid: str
    author: str = ""
    author_email: str = ""
    author_time: int = 0
    commit_time: int = 0
    summary: str = ""
    boundary: bool = False
    agents: str = ""


@dataclass(slots=True)
class FileBlame:
    """Origins of the lines of a file; item i of each list is about line i + 1.

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


_blame_cache: LruCache[tuple[str, str, bytes], FileBlame] = LruCache(
    _MAX_CACHED_LINES, weigh=lambda blame: len(blame.commit)
)
"""Blames by repository, commit and path."""


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
    cached = _blame_cache.get(key)
    if cached is not None:
        return cached

    arguments: list[str | bytes] = [*mailmap_setting(repository.git_dir), "blame", "--incremental",
                                    "--encoding=UTF-8", "--no-textconv", commit, "--", path]  # fmt: skip
    chunks = git_chunks(repository.git_dir, arguments, cancellation=cancellation, data_bytes=_DATA_BYTES)
    blame = _parse_incremental(_split_lines(chunks), lines, progress)
    _add_message_facts(repository.git_dir, blame.commits, cancellation)
    _blame_cache.put(key, blame)
    return blame


def _split_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    remaining = b""
    for chunk in chunks:
        *complete, remaining = (remaining + chunk).split(b"\n")
        yield from complete


def _parse_incremental(lines: Iterable[bytes], count: int, progress: Callable[[int, int], None] | None) -> FileBlame:
    """Read ``--incremental``: each run of lines has a header, its commit's data the first time, and a file name."""
    blame = FileBlame(commit=[0] * count, path=[b""] * count, line_number=[0] * count)
    numbers: dict[bytes, int] = {}
    commit_index = first = final = length = done = 0
    for line in lines:
        key, _, value = line.partition(b" ")
        # `filename` ends the entry of a run (git-blame, INCREMENTAL OUTPUT).
        if key == b"filename":
            path = unquote_name(value)
            end = min(final + length, count)
            for line_index in range(final, end):
                blame.commit[line_index], blame.path[line_index] = commit_index, path
                blame.line_number[line_index] = first + line_index - final
            done += length
            if progress is not None:
                progress(done, count)
        elif len(key) == 40 and (head := _HEAD.fullmatch(line)):
            first, final, length = int(head[2]), int(head[3]) - 1, int(head[4])
            if head[1] not in numbers:
                numbers[head[1]] = len(blame.commits)
                blame.commits.append(BlameCommit(head[1].decode()))
            commit_index = numbers[head[1]]
        elif blame.commits:
            _set_field(blame.commits[commit_index], key, value)

    return blame


def _add_message_facts(git_dir: str, commits: list[BlameCommit], cancellation: Cancellation | None) -> None:
    """Add the rules of the full message: git's summary in a blame is only its first line."""
    arguments = ["log", "--no-walk=unsorted", "--stdin", "-z", "--encoding=UTF-8", "--no-show-signature", "--no-notes"]
    oids = "".join(f"{commit.oid}\n" for commit in commits)
    if not oids:
        return

    try:
        arguments.append("--format=%H%x00%s%x00%an%x00%ae%x00%B")
        raw = git_bytes(git_dir, arguments, stdin=oids.encode(), cancellation=cancellation)
    except GitFailed:
        return

    # No text of a commit can hold the NUL that ends each field.
    fields = [as_text(field) for field in raw.split(b"\0")]
    texts = {fields[start]: fields[start + 1 : start + 5] for start in range(0, len(fields) - 4, 5)}
    for commit in commits:
        if commit.oid in texts:
            commit.summary, author, email, message = texts[commit.oid]
            commit.agents = agents_text(traces_of(author, email, message))


def _set_field(commit: BlameCommit, key: bytes, value: bytes) -> None:
    text = as_text(value)
    if key == b"author":
        commit.author = text
    elif key == b"author-mail":
        commit.author_email = text.removeprefix("<").removesuffix(">")
    elif key == b"author-time":
        commit.author_time = parse_seconds(value)
    elif key == b"committer-time":
        commit.commit_time = parse_seconds(value)
    elif key == b"summary":
        commit.summary = text
    elif key == b"boundary":
        commit.boundary = True
