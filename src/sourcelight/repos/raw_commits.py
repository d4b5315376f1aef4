"""Commits read from their bytes: libgit2 refuses those whose author or committer it can't make out, git does not.

Source of the rules: the manual of git-hash-object's formats and git's `commit.c`; the tests compare with the command.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sourcelight.repos.objects import MAX_FOLDER_BYTES
from sourcelight.repos.signatures import parse_seconds

if TYPE_CHECKING:
    import pygit2

_COMMIT, _TAG = 1, 4  # git's numbers for the kinds of objects
_DEEPEST_TAG = 64


def peeled(handle: pygit2.Repository, name: str) -> str:
    """The commit that an object is, or that a tag leads to; empty when there is none."""
    for _ in range(_DEEPEST_TAG):
        kind, data = _read(handle, name)
        if kind == _COMMIT:
            return name
        if kind != _TAG or not data.startswith(b"object "):
            return ""
        name = data[7:47].decode("ascii", "replace")
    return ""


def tree_of(handle: pygit2.Repository, commit: str) -> str:
    """The top folder of a commit, 40 hex digits; empty when there is no such commit."""
    kind, data = _read(handle, commit)
    return data[5:45].decode("ascii", "replace") if kind == _COMMIT and data.startswith(b"tree ") else ""


def parents_of(handle: pygit2.Repository, commit: str) -> list[str]:
    """The parents of a commit, in order; none for what is no commit."""
    found = _facts(handle, commit)
    return [] if found is None else found[0]


def ancestors_by_time(handle: pygit2.Repository, commit: str) -> Iterator[tuple[str, int]]:
    """Yield a commit and its ancestors with their committer times, of those at hand the latest first.

    What the repository does not hold (the end of a shallow clone) is left out.
    """
    waiting: list[tuple[int, int, str, list[str]]] = []
    met: set[str] = set()

    def meet(names: Iterable[str]) -> None:
        for name in names:
            found = _facts(handle, name) if name not in met else None
            met.add(name)
            if found is not None:
                heapq.heappush(waiting, (-found[1], len(met), name, found[0]))

    meet([commit])
    while waiting:
        time_s, _, name, parents = heapq.heappop(waiting)
        yield name, -time_s
        meet(parents)


def _facts(handle: pygit2.Repository, commit: str) -> tuple[list[str], int] | None:
    """Parents and committer time of a commit; None when it is not there."""
    kind, data = _read(handle, commit)
    if kind != _COMMIT:
        return None
    lines = data.partition(b"\n\n")[0].split(b"\n")
    parents = [line[7:47].decode("ascii", "replace") for line in lines if line.startswith(b"parent ")]
    written = next((line for line in lines if line.startswith(b"committer ")), b"")
    date = written.rpartition(b">")[2].split()[:1]
    return parents, parse_seconds(date[0]) if date else 0


def _read(handle: pygit2.Repository, name: str) -> tuple[int, bytes]:
    import pygit2

    try:
        oid = pygit2.Oid(hex=name)
        if handle.odb.read_header(oid)[1] > MAX_FOLDER_BYTES:
            return 0, b""
        kind, data = handle.read(oid)
    except (KeyError, ValueError, pygit2.GitError):
        return 0, b""
    return int(kind), data
