"""Reading the changes of given commits from git, piece by piece, and going on where objects are missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sourcelight.core.batches import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.commands import MAX_BLOB_BYTES, PATCH_DATA_BYTES, git_chunks
from sourcelight.engines.history.snapshot import UNKNOWN
from sourcelight.engines.history.store.patches import COMMIT_MARK, Misaligned, parse_patches
from sourcelight.engines.processes.sections import Array
from sourcelight.repos.repository import common_dir

if TYPE_CHECKING:
    import pygit2

PIECE_BYTES = 24 << 20
"""Bytes of patches read at once; a commit of more is one piece."""

PIECE_LINES = 500_000
"""Lines of patches read at once."""

MAX_COMMIT_BYTES = 64 << 20
MAX_COMMIT_LINES = 2_000_000
"""Size of a commit's patches above which they are not read: its files are known by their names alone."""

CPU_S = 300
"""Processor time for a run of commits; one that takes it all is left unread, and the run goes on behind it."""

_MARK = b"\n" + COMMIT_MARK
_COMMON = ("diff-tree", "--stdin", "--root", "-r", "--no-abbrev", "--full-index", "--no-color", "--no-ext-diff",
           "--no-textconv", "--submodule=short", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/",
           "--ignore-submodules=none", f"--format={COMMIT_MARK.decode()}%H", "--raw")  # fmt: skip
PATCHES = (*_COMMON, "-M", "-p", "-U1")
"""Command for full patches. ``-U0`` cuts other hunks than git's default does; ``-U1`` gives the same counts."""
NAMES = (*_COMMON, "--no-renames")
"""Command that needs no file's content."""


def extract(
    git_dir: str,
    ordinals: Mapping[bytes, int],
    keep: Callable[[Mapping[str, Array]], None],
    cancellation: Cancellation | None = None,
) -> list[int]:
    """Pass on the parts (see `patches.parse_patches`) of commits that are not merges, in order.

    Parameters
    ----------
    git_dir
        The git directory.
    ordinals
        The number of each commit by its 40 hex digits, ascending.
    keep
        Called with each part.
    cancellation
        Raises `Cancelled` when stopped.

    Returns
    -------
    list of int
        Commits whose content could not be read, or is too large: their parts have the names of files at best.
    """
    unread: list[int] = []
    large = _LargeContents(git_dir)

    def check(part: Mapping[str, Array]) -> None:
        unread.extend(large.commits(part))
        keep(part)

    rest = list(ordinals)
    while rest:
        done = 0
        try:
            for piece, last in _pieces(git_dir, rest, cancellation):
                unread += _parsed(git_dir, piece, ordinals, check)
                done = rest.index(last, done) + 1
        except TooLarge:
            unread.append(ordinals[rest[done]])
            _names(git_dir, rest[done], ordinals, keep)
            rest = rest[done + 1 :]
            continue
        except GitFailed:
            # The commit after the last whole one may be the one that can't be read, and so may those behind it.
            suspect, rest = rest[done], rest[done + 1 :]
        else:
            return sorted(set(unread))
        try:
            for piece, _ in _pieces(git_dir, [suspect], cancellation):
                unread += _parsed(git_dir, piece, ordinals, check)
        except (GitFailed, TooLarge):
            unread.append(ordinals[suspect])
            _names(git_dir, suspect, ordinals, keep)
    return sorted(set(unread))


class TooLarge(Exception):
    """Raised when the patches of one commit are larger than `MAX_COMMIT_BYTES` or `MAX_COMMIT_LINES`."""


class _LargeContents:
    """Knows the contents that git takes for binary because of their size alone, so that no line of them is read."""

    def __init__(self, git_dir: str) -> None:
        self._objects = str(Path(common_dir(git_dir)) / "objects")
        self._odb: pygit2.Odb | None = None

    def commits(self, part: Mapping[str, Array]) -> list[int]:
        """Commits of a part that change such a content."""
        binary = np.flatnonzero(part["binary"])
        found = set()
        for change in binary.tolist():
            for side in ("old_blob", "new_blob"):
                name = part[side][20 * change : 20 * change + 20].tobytes()
                if name != bytes(20) and self._size(name) > MAX_BLOB_BYTES:
                    found.add(int(part["commit"][change]))
        return sorted(found)

    def _size(self, name: bytes) -> int:
        import pygit2

        try:
            if self._odb is None:
                self._odb = pygit2.Odb(self._objects)
            return int(self._odb.read_header(pygit2.Oid(raw=name))[1])
        except (KeyError, ValueError, pygit2.GitError):
            return 0


def _pieces(git_dir: str, oids: Sequence[bytes], cancellation: Cancellation | None) -> Iterator[tuple[bytes, bytes]]:
    """Patches of whole commits, and the last commit in each piece; when git dies, after those that are whole."""
    waiting: list[bytes] = []
    size, enough, newlines, enough_lines = 0, PIECE_BYTES, 0, PIECE_LINES
    fault: GitFailed | None = None
    chunks = git_chunks(
        git_dir,
        PATCHES,
        stdin=b"".join(oid + b"\n" for oid in oids),
        cancellation=cancellation,
        data_bytes=PATCH_DATA_BYTES,
        cpu_s=CPU_S,
    )
    try:
        for chunk in chunks:
            waiting.append(chunk)
            size += len(chunk)
            newlines += chunk.count(b"\n")
            if size < enough and newlines < enough_lines:
                continue
            raw = b"".join(waiting)
            cut = raw.rfind(_MARK) + 1
            if cut:
                yield raw[:cut], _last_commit(raw[:cut])
            waiting, size, newlines = [raw[cut:]], len(raw) - cut, raw.count(b"\n", cut)
            if size > MAX_COMMIT_BYTES or newlines > MAX_COMMIT_LINES:
                chunks.close()
                raise TooLarge
            # A commit larger than a piece is looked through again only once it has doubled.
            enough = max(PIECE_BYTES, min(size * 2, MAX_COMMIT_BYTES + 1))
            enough_lines = max(PIECE_LINES, min(newlines * 2, MAX_COMMIT_LINES + 1))
    except GitFailed as died:
        fault = died
    raw = b"".join(waiting)
    if fault is not None:
        raw = raw[: raw.rfind(_MARK) + 1]
    if raw:
        yield raw, _last_commit(raw)
    if fault is not None:
        raise fault


def _last_commit(raw: bytes) -> bytes:
    at = raw.rfind(_MARK) + 1
    return raw[at + 1 : at + 41]


def _parsed(
    git_dir: str, raw: bytes, ordinals: Mapping[bytes, int], keep: Callable[[Mapping[str, Array]], None]
) -> list[int]:
    """Parse a piece; commits whose patches can't be told apart are taken by the names of their files."""
    try:
        part = parse_patches(raw, ordinals)
    except Misaligned as fault:
        bad = set(fault.commits)
    else:
        keep(part)
        return []
    texts = [COMMIT_MARK + text for text in (b"\n" + raw).split(_MARK)[1:]]
    for text in texts:
        oid = text[1:41]
        whole = text if text.endswith(b"\n") else text + b"\n"
        if oid in bad:
            _names(git_dir, oid, ordinals, keep)
        else:
            keep(parse_patches(whole, ordinals))
    return [ordinals[oid] for oid in bad]


def _names(
    git_dir: str, oid: bytes, ordinals: Mapping[bytes, int], keep: Callable[[Mapping[str, Array]], None]
) -> None:
    """Keep the files that a commit changed, as far as its trees can be read."""
    pieces: list[bytes] = []
    size = 0
    chunks = git_chunks(git_dir, NAMES, stdin=oid + b"\n", data_bytes=PATCH_DATA_BYTES, cpu_s=CPU_S)
    try:
        for piece in chunks:
            pieces.append(piece)
            size += len(piece)
            if size > MAX_COMMIT_BYTES:
                chunks.close()
                return
    except GitFailed:
        return
    raw = b"".join(pieces)
    if raw:
        part = parse_patches(raw, ordinals, names_only=True)
        keep({**part, "additions": _unknown(part), "deletions": _unknown(part)})


def _unknown(part: Mapping[str, Array]) -> Array:
    return np.full(len(part["additions"]), UNKNOWN, np.int32)
