"""Read the changes of commits from git in batches, and continue where objects are missing.

One git reads many commits, and whole commits are stored as they arrive. If git fails, the commit behind the last whole
one is read alone, and then the rest; a commit that can't be read or is too large has the names of its files at best,
and is reported as unread. What is stored is within an allowance, and what git writes, failures included, is within an
effort: a repository that is made to be slow costs a bounded time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sourcelight.core.arrays import AnyArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.git import MAX_BLOB_BYTES, PATCH_DATA_BYTES, git_chunks
from sourcelight.engines.history.history import UNKNOWN
from sourcelight.engines.history.store import allowance
from sourcelight.engines.history.store.patch_parser import COMMIT_MARK, MisalignedPatch, parse_patches
from sourcelight.repos.repository import common_dir

if TYPE_CHECKING:
    import pygit2


BATCH_BYTES = 24 << 20
"""Bytes of patches read at once; a commit of more is one piece."""

BATCH_LINES = 500_000
"""Lines of patches read at once."""

MAX_COMMIT_BYTES = 64 << 20
"""Bytes of the patches of one commit: all of them are in memory at a time."""

MAX_COMMIT_LINES = 2_000_000
"""Size of a commit's patches above which they are not read: its files are known by their names alone."""

CPU_S = 300
"""Processor time for a run of commits; a commit that takes all of it stays unread, and the run continues after it."""

START_BYTES = 1 << 20
"""Bytes of output that a start of git counts as: about 50 ms."""

OUT_OF_TIME_BYTES = 128 << 20
"""Bytes of output that a git counts as when it used up its processor time."""

_OUT_OF_TIME = frozenset({-9, -24})  # SIGKILL and SIGXCPU, of the limit of processor time
_MARK = b"\n" + COMMIT_MARK
_FILE = b"\n:"
# diff-tree and not `log -p`: it reads commits from standard input, so they can be split over workers. Without
# --numstat, for which git diffs everything again (60 % more CPU on redis and pytest): counts come from the patches.
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
    keep: Callable[[Mapping[str, AnyArray], allowance.Cost], None],
    account: allowance.AllowanceUse,
    effort: allowance.Effort,
    cancellation: Cancellation | None = None,
) -> list[int]:
    """Pass the parts (see `parse_patches`) of commits that are not merges to `keep`, in order.

    Parameters
    ----------
    git_dir
        The git directory.
    ordinals
        The number of each commit by its 40 hex digits, ascending.
    keep
        Called with each part and its cost; a large commit is a separate part.
    account
        Limits the stored commits: commits that it does not admit stay unread.
    effort
        Ends the reading when git wrote far more than could be kept; the rest is then unread.
    cancellation
        Raises `Cancelled` when stopped.

    Returns
    -------
    list of int
        Commits whose content could not be read, or is too large: their parts have the names of files at best.
    """
    return _Extraction(git_dir, ordinals, keep, account, effort, cancellation).run()


class _Extraction:
    """One run over some commits."""

    def __init__(
        self,
        git_dir: str,
        ordinals: Mapping[bytes, int],
        keep: Callable[[Mapping[str, AnyArray], allowance.Cost], None],
        account: allowance.AllowanceUse,
        effort: allowance.Effort,
        cancellation: Cancellation | None,
    ) -> None:
        self._git_dir = git_dir
        self._ordinals = ordinals
        self._keep = keep
        self._account = account
        self._effort = effort
        self._cancellation = cancellation
        self._large = _LargeContents(git_dir)
        self._unread: set[int] = set()

    def run(self) -> list[int]:
        remaining = list(self._ordinals)
        while remaining:
            if self._effort.is_spent:
                self._mark_unread(remaining)
                break

            done = 0
            try:
                for batch, last in self._batches(remaining):
                    self._store(batch)
                    done = remaining.index(last, done) + 1
                break
            except TooLarge:
                # `done` counts the commits of whole batches, so the next commit was too large.
                suspect, remaining = remaining[done], remaining[done + 1 :]
                self._mark_unread([suspect])
                self._names(suspect)
            except GitFailed:
                # The commit after the last complete one may be unreadable, and so may later ones.
                suspect, remaining = remaining[done], remaining[done + 1 :]
                self._read_alone(suspect)

        return sorted(self._unread)

    def _read_alone(self, commit: bytes) -> None:
        try:
            for batch, _ in self._batches([commit]):
                self._store(batch)
        except (GitFailed, TooLarge):
            self._mark_unread([commit])
            self._names(commit)

    def _mark_unread(self, commits: Iterable[bytes]) -> None:
        self._unread.update(self._ordinals[commit] for commit in commits)

    def _store(self, batch: bytes) -> None:
        """Store the part of a batch of whole commits that is within the allowance."""
        for raw, cost in allowance.split_large(batch):
            if self._account.spend(cost):
                self._parse(raw, cost)
            else:
                self._mark_unread(allowance.commits_of(raw))

    def _parse(self, raw: bytes, cost: allowance.Cost) -> None:
        """Parse commits; if patches can't be distinguished, only names of files are read."""
        try:
            part = parse_patches(raw, self._ordinals)
        # Misalignment would spread to later commits of the batch, so the batch is parsed again commit by commit below.
        except MisalignedPatch as error:
            misaligned = set(error.commits)
        else:
            self._unread.update(self._large.commits(part))
            self._keep(part, cost)
            return

        # In the order of the stream: parts must hold changes in the order of their commits.
        for text in [COMMIT_MARK + text for text in (b"\n" + raw).split(_MARK)[1:]]:
            oid = text[1:41]
            if oid in misaligned:
                self._mark_unread([oid])
                self._names(oid)
            else:
                complete = text if text.endswith(b"\n") else text + b"\n"
                part = parse_patches(complete, self._ordinals)
                self._unread.update(self._large.commits(part))
                self._keep(part, allowance.cost_of(complete))

    def _batches(self, oids: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Yield patches of whole commits and the last commit of each; a failure of git is raised after them."""
        buffer = _PatchBuffer()
        chunks = self._chunks(PATCHES, oids)
        try:
            for chunk in chunks:
                buffer.add(chunk)
                # A commit of few bytes can list millions of files: stop before they are in memory.
                has_too_many_files = buffer.files > allowance.MANY_FILES and not self._account.admits(
                    allowance.Cost(buffer.files)
                )
                if not has_too_many_files and not buffer.is_full:
                    continue

                # Whole commits go out first: the caller takes the commit after the last one it got for the one to
                # blame.
                if commits := buffer.take_whole():
                    yield commits, _last_commit(commits)

                if has_too_many_files or buffer.is_too_large or not self._admits(buffer.size, buffer.newlines):
                    chunks.close()
                    raise TooLarge
        except GitFailed:
            # The patch of the last commit may be cut where git died.
            if commits := buffer.take_whole():
                yield commits, _last_commit(commits)
            raise

        if commits := buffer.take():
            yield commits, _last_commit(commits)

    def _admits(self, size: int, newlines: int) -> bool:
        """Return whether a commit, as far as it is read, may still be within the allowance."""
        cost = allowance.Cost(0, newlines, size)
        return not cost.is_large or self._account.admits(cost)

    def _names(self, commit: bytes) -> None:
        """Record the files that a commit changed, as far as its trees are readable and within the allowance."""
        blocks: list[bytes] = []
        cost = allowance.Cost()
        chunks = self._chunks(NAMES, [commit])
        try:
            for chunk in chunks:
                blocks.append(chunk)
                cost += allowance.Cost(chunk.count(_FILE), 0, len(chunk))
                # Checked while git still writes: a commit may list millions of files, and the whole list must never be
                # in memory.
                if cost.bytes > MAX_COMMIT_BYTES or not self._account.admits(cost):
                    chunks.close()
                    return
        except GitFailed:
            return

        raw = b"".join(blocks)
        cost = allowance.Cost(raw.count(_FILE), 0, len(raw))
        if raw and self._account.spend(cost):
            part = parse_patches(raw, self._ordinals, names_only=True)
            self._keep({**part, "additions": _unknown(part), "deletions": _unknown(part)}, cost)

    def _chunks(self, command: Sequence[str], oids: Sequence[bytes]) -> Generator[bytes, None, None]:
        """Yield the output of git. Its bytes count as effort, and so does a process killed at the time limit."""
        size = 0
        try:
            for chunk in git_chunks(
                self._git_dir,
                command,
                stdin=b"".join(oid + b"\n" for oid in oids),
                cancellation=self._cancellation,
                data_bytes=PATCH_DATA_BYTES,
                cpu_s=CPU_S,
            ):
                size += len(chunk)
                yield chunk
        except GitFailed as died:
            size += OUT_OF_TIME_BYTES if died.exit_code in _OUT_OF_TIME else 0
            raise
        finally:
            # An attempt that fails is paid for, too: else a repository could make git work for hours without effect.
            self._effort.add(size + START_BYTES)


class TooLarge(Exception):
    """Raised when the patches of one commit are larger than `MAX_COMMIT_BYTES` or `MAX_COMMIT_LINES`."""


class _PatchBuffer:
    """Output of git that waits for a batch of whole commits; `files` are the current commit's files."""

    def __init__(self) -> None:
        self.size = self.newlines = self.files = 0
        self._chunks: list[bytes] = []
        # Both count: short lines cost parsing by their number, long ones by their bytes.
        self._min_bytes, self._min_lines = BATCH_BYTES, BATCH_LINES

    def add(self, chunk: bytes) -> None:
        """Add output."""
        self._chunks.append(chunk)
        self.size += len(chunk)
        self.newlines += chunk.count(b"\n")
        # Only the commit that git is writing can still grow beyond the allowance, so its files alone are counted.
        latest = chunk.rfind(_MARK)
        self.files = chunk.count(_FILE, max(latest, 0)) + (self.files if latest < 0 else 0)

    @property
    def is_full(self) -> bool:
        """Whether there is enough for a batch."""
        return self.size >= self._min_bytes or self.newlines >= self._min_lines

    @property
    def is_too_large(self) -> bool:
        """Whether more waits than a commit may have."""
        return self.size > MAX_COMMIT_BYTES or self.newlines > MAX_COMMIT_LINES

    def take_whole(self) -> bytes:
        """Remove and return the whole commits; the last one, which git may still write, stays."""
        raw = self.take()
        # A mark is found in the joined chunks only: git may write its two bytes in different ones.
        split_at = raw.rfind(_MARK) + 1
        self._chunks = [raw[split_at:]]
        self.size, self.newlines = len(raw) - split_at, raw.count(b"\n", split_at)

        # A commit larger than a batch is looked through again only once it has doubled.
        self._min_bytes = max(BATCH_BYTES, min(self.size * 2, MAX_COMMIT_BYTES + 1))
        self._min_lines = max(BATCH_LINES, min(self.newlines * 2, MAX_COMMIT_LINES + 1))
        return raw[:split_at]

    def take(self) -> bytes:
        """Remove and return everything."""
        raw = b"".join(self._chunks)
        self._chunks, self.size, self.newlines = [], 0, 0
        return raw


class _LargeContents:
    """Finder of contents that git treats as binary because of their size alone, so that their lines are not read."""

    def __init__(self, git_dir: str) -> None:
        self._objects = str(Path(common_dir(git_dir)) / "objects")
        self._odb: pygit2.Odb | None = None

    def commits(self, part: Mapping[str, AnyArray]) -> list[int]:
        """Return the commits of a part that change such a content."""
        # git doesn't fail for contents above core.bigFileThreshold, it treats them as binary. Their lines are missing
        # all the same, so their commits count as unread.
        binary = np.flatnonzero(part["binary"])
        commits = set()
        for change in binary.tolist():
            for side in ("old_blob", "new_blob"):
                name = part[side][20 * change : 20 * change + 20].tobytes()
                if name != bytes(20) and self._size(name) > MAX_BLOB_BYTES:
                    commits.add(int(part["commit"][change]))

        return sorted(commits)

    def _size(self, name: bytes) -> int:
        import pygit2

        try:
            if self._odb is None:
                self._odb = pygit2.Odb(self._objects)
            # The header has the size, so the content isn't inflated.
            return int(self._odb.read_header(pygit2.Oid(raw=name))[1])
        except (KeyError, ValueError, pygit2.GitError):
            return 0


def _last_commit(raw: bytes) -> bytes:
    offset = raw.rfind(_MARK) + 1
    return raw[offset + 1 : offset + 41]


def _unknown(part: Mapping[str, AnyArray]) -> AnyArray:
    return np.full(len(part["additions"]), UNKNOWN, np.int32)
