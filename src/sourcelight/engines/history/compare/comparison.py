"""A comparison of two commits, page by page or as a whole, and the cursors of its pages."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches import CommitId
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError, RepositoryNotFound, RevisionNotFound, ToolError
from sourcelight.core.notices import DIVERGED
from sourcelight.engines.history.compare.changes import FileChange, TooManyChanges, list_changes
from sourcelight.engines.history.compare.patches import FileDiff, is_binary_unchanged, make_patch, stream_patches
from sourcelight.engines.history.git import MAX_BLOB_BYTES
from sourcelight.repos import ObjectReader, Repository
from sourcelight.repos.handles import UnusableRepository, open_handle
from sourcelight.repos.objects import store_size
from sourcelight.repos.objects.commits import tree_of

if TYPE_CHECKING:
    import pygit2

    from sourcelight.engines.history.history import History


EMPTY = ""
"""As the base of a comparison: nothing, which is before a first commit."""

PAGE_FILES = 300
"""Up to so many files are compared in this process; for more, one git process is faster."""

_NO_FILES = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git knows the empty tree without storing it
_RELATION_NOTICES = {
    "ahead": "",
    "behind": "base is newer than head, so the comparison shows the changes back to head",
    "diverged": DIVERGED,
    "unrelated": "base and head have no common history",
}

FREE_CONTENT_BYTES = 1 << 30
"""Bytes of contents that are compared for a whole comparison, both sides of each file."""

FREE_PATCH_BYTES = 64 << 20
"""Bytes of patches of a whole comparison."""

CONTENT_PER_BYTE, PATCH_PER_BYTE = 16, 4
"""Bytes beyond, for each byte that the repository stores."""

_MAX_CACHED_BYTES = 64 << 20
"""Bytes of all comparisons that are cached."""

_LIST_BYTES_PER_FILE = 400
"""Bytes that a changed file takes in the cache, by estimate."""

_CALL = "compare_revisions"
_CHECK_BYTES = 4
"""Bytes of the checksum of a cursor: it finds mistakes, and protects nothing."""


@dataclass(slots=True)
class Comparison:
    """The differences between two commits.

    Attributes
    ----------
    base, head
        The commits, 40 hex digits.
    changes
        The files that differ, in git's order.
    relation
        Relation of head to base: ``same``, ``ahead`` (base is an ancestor), ``behind`` (head is one), ``diverged`` or
        ``unrelated``.
    notices
        Remarks for the reader.
    left_out
        Files that the last `all_diffs` gave without a patch because all together are too large.
    """

    repository: Repository
    base: str
    head: str
    changes: tuple[FileChange, ...]
    relation: str
    notices: tuple[str, ...]
    _entry: _CacheEntry
    left_out: int = 0

    def page(self, start: int, count: int, cancellation: Cancellation | None = None) -> list[FileDiff]:
        """Return the diffs of `count` files from number `start` on; fewer at the end.

        Raises `Cancelled`.
        """
        return list(self.diffs(self.changes[start : start + count], cancellation))

    def diffs(self, changes: Sequence[FileChange], cancellation: Cancellation | None = None) -> Iterator[FileDiff]:
        """Yield the diffs of some of `changes`, made one by one. Raises `Cancelled`."""
        handle: pygit2.Repository | None = None
        for change in changes:
            if cancellation is not None:
                cancellation.check()
            # A page may be requested twice by two viewers; the patches of immutable trees are shared.
            diff = self._entry.diffs.get(change.ordinal)
            if diff is None:
                handle = handle or _open_repository(self.repository)
                diff = make_patch(handle, change)
                self._cache(diff)
            yield diff

    def all_diffs(self, cancellation: Cancellation | None = None) -> Iterator[FileDiff]:
        """Yield the diffs of all files, in order. Raises `Cancelled`.

        Files that are too large relative to the repository's size have no patch; `left_out` counts them.
        """
        self.left_out = 0
        stored_bytes = store_size(self.repository.git_dir).bytes if self.changes else 0
        remaining_bytes = FREE_PATCH_BYTES + PATCH_PER_BYTE * stored_bytes
        readable = self._readable(FREE_CONTENT_BYTES + CONTENT_PER_BYTE * stored_bytes)
        done = 0
        for diff in self._readable_diffs(self.changes[:readable], cancellation):
            yield diff
            done += 1
            # The file that exceeds the budget is still yielded, so a comparison of one huge file shows it.
            remaining_bytes -= len(diff.patch or b"")
            if remaining_bytes < 0:
                break

        self.left_out = len(self.changes) - done
        for change in self.changes[done:]:
            yield FileDiff(change, None, None, binary=False, patch=None)

    def _readable_diffs(self, changes: Sequence[FileChange], cancellation: Cancellation | None) -> Iterator[FileDiff]:
        """Yield the diffs of the first files; one git process makes them when they are many."""
        done = 0
        handle: pygit2.Repository | None = None
        if len(changes) > PAGE_FILES and len(self._entry.diffs) < len(changes):
            patches = stream_patches(self.repository.git_dir, *self._entry.trees, changes, cancellation=cancellation)
            try:
                for diff in patches:
                    if diff.change.object_id == diff.change.old_object_id:
                        handle = handle or _open_repository(self.repository)
                        diff = replace(diff, binary=is_binary_unchanged(handle, diff.change))  # noqa: PLW2901 - the same, known better
                    self._cache(diff)
                    yield diff
                    done += 1
            except GitFailed:  # a content is missing: the files after it are compared one by one
                pass
            finally:
                patches.close()

        yield from self.diffs(changes[done:], cancellation)

    def _readable(self, remaining_bytes: int) -> int:
        """Return the number of files, from the first on, whose contents fit in `remaining_bytes`."""
        if not self.changes:
            return 0

        with ObjectReader(self.repository) as reader:
            for number, change in enumerate(self.changes):
                for name in (change.old_object_id, change.object_id):
                    if name.strip("0"):
                        # git treats contents above this size as binary and doesn't diff them, so they cost no more than
                        # that.
                        remaining_bytes -= min(reader.size(bytes.fromhex(name)) or 0, MAX_BLOB_BYTES)
                if remaining_bytes < 0:
                    return number

        return len(self.changes)

    def totals(self, cancellation: Cancellation | None = None) -> tuple[int, int] | None:
        """Return added and removed lines of all files with contents; costs a whole comparison once.

        None when some files were left out.
        """
        if self._entry.totals is None:
            additions = deletions = 0
            for diff in self.all_diffs(cancellation):
                additions += diff.additions or 0
                deletions += diff.deletions or 0
            if self.left_out:
                return None
            self._entry.totals = additions, deletions

        return self._entry.totals

    def _cache(self, diff: FileDiff) -> None:
        if _comparison_cache.admit(self._entry, len(diff.patch or b"")):
            self._entry.diffs[diff.change.ordinal] = diff


class _ComparisonCache:
    """Comparisons by their trees, the newest last, within a number of bytes. Trees never change, so neither do they."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._entries: LruCache[tuple[str, str], _CacheEntry] = LruCache(max_bytes, weigh=lambda entry: entry.size)

    def get(self, trees: tuple[str, str]) -> _CacheEntry | None:
        return self._entries.get(trees)

    def put(self, entry: _CacheEntry) -> None:
        self._entries.put(entry.trees, entry)

    def admit(self, entry: _CacheEntry, size: int) -> bool:
        """Return whether a patch of `size` bytes is cached with its comparison; evict others to make room."""
        # One at a time: an entry grows after it was put in, and putting it in again weighs it again.
        with self._lock:
            # Half of the cache at most for one comparison, and nothing for an entry that was evicted meanwhile.
            if self._entries.get(entry.trees) is not entry or entry.size + size > self._max_bytes // 2:
                return False
            entry.size += size
            self._entries.put(entry.trees, entry)
            return True


@dataclass(slots=True)
class _CacheEntry:
    """Cached comparison of two trees: the list, the patches made so far, and their approximate bytes."""

    trees: tuple[str, str]
    changes: tuple[FileChange, ...]
    notice: str = ""
    diffs: dict[int, FileDiff] = field(default_factory=dict)
    size: int = 0
    relations: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    totals: tuple[int, int] | None = None


_comparison_cache = _ComparisonCache(_MAX_CACHED_BYTES)


def compare(
    repository: Repository,
    base: str,
    head: str,
    cancellation: Cancellation | None = None,
    *,
    history: History | None = None,
) -> Comparison:
    """Compare two commits of a repository.

    Parameters
    ----------
    repository
        Whose commits they are.
    base, head
        The older and the newer commit, 40 hex digits (or `EMPTY` for the base), as `sourcelight.repos.resolve` gives
        them. The other way round, and without a common history, they are compared too; a notice says so.
    cancellation
        Looked at while git works.
    history
        The stored history of the repository, if it exists: with it, relations of commits are found faster.

    Raises
    ------
    RevisionNotFound
        If one isn't a stored commit (a changed work tree, for example).
    RepositoryNotFound
        If the repository is gone.
    GitFailed
        If git can't read its folders.
    TooManyChanges
        If they differ in very many files, which the repository does not store.
    Cancelled
        After ``cancellation.cancel()``.
    """
    if repository.kind == "snapshot":
        if base != head:
            raise RevisionNotFound(repository.name, base)
        return Comparison(
            repository=repository,
            base=base,
            head=head,
            changes=(),
            relation="same",
            notices=(),
            _entry=_CacheEntry(("", ""), ()),
        )

    handle = _open_repository(repository)
    trees = _tree_oid(handle, repository, base), _tree_oid(handle, repository, head)
    entry = _comparison_cache.get(trees)
    if entry is None:
        try:
            changes, notice = list_changes(repository.git_dir, *trees, cancellation)
        except TooManyChanges as error:
            raise TooManyChanges(error.files, f"{repository.name}: {base[:12] or 'nothing'}..{head[:12]}") from error
        entry = _CacheEntry(trees, changes, notice, size=len(changes) * _LIST_BYTES_PER_FILE)
        _comparison_cache.put(entry)

    relation, remark = entry.relations.get((base, head), ("", ""))
    if not relation:
        relation, remark = ("ahead", "") if base == EMPTY else _relation(handle, base, head, history)
        if not repository.incomplete:  # this may change when the clone is completed
            entry.relations[base, head] = relation, remark

    notices = tuple(text for text in (remark, entry.notice) if text)
    return Comparison(repository, base, head, entry.changes, relation, notices, entry)


def _open_repository(repository: Repository) -> pygit2.Repository:
    try:
        return open_handle(repository.git_dir)
    except UnusableRepository as error:
        raise RepositoryNotFound(repository.name) from error


def _tree_oid(handle: pygit2.Repository, repository: Repository, commit: str) -> str:
    if commit == EMPTY:
        return _NO_FILES
    tree = tree_of(handle, CommitId(commit))
    if not tree:
        raise RevisionNotFound(repository.name, commit)
    return tree


def _relation(handle: pygit2.Repository, base: str, head: str, history: History | None) -> tuple[str, str]:
    import pygit2

    if base == head:
        return "same", "base and head are the same commit"

    known_relation = None if history is None else _known_relation(history, base, head)
    if known_relation is not None:
        return known_relation, _RELATION_NOTICES[known_relation]

    try:
        common: Any = handle.merge_base(pygit2.Oid(hex=base), pygit2.Oid(hex=head))
    except (KeyError, ValueError, pygit2.GitError, RepositoryError):
        return "unknown", "the relation of base and head is unknown: commits are missing from this clone"

    relation = "diverged" if common is not None else "unrelated"
    relation = {base: "ahead", head: "behind"}.get(str(common), relation)
    return relation, _RELATION_NOTICES[relation]


def _known_relation(history: History, base: str, head: str) -> str | None:
    """Return the relation of head to base from a history, or None when it lacks one of them, or is cut off."""
    old, new = history.position(base), history.position(head)
    # Where the history is cut off, a common ancestor may be behind the border.
    if old is None or new is None or history.shallow:
        return None

    of_base, of_head = history.reachable(base), history.reachable(head)
    if of_head[old]:
        return "ahead"
    if of_base[new]:
        return "behind"

    return "diverged" if (of_base & of_head).any() else "unrelated"


def write_cursor(base: str, head: str, ordinal: int) -> str:
    """Return the cursor of the file number `ordinal` (from 0) in the comparison of two commits."""
    body = bytes.fromhex(base) + bytes.fromhex(head) + ordinal.to_bytes(4, "big")
    return base64.urlsafe_b64encode(body + _check(body)).decode("ascii").rstrip("=")


def read_cursor(cursor: str, base: str, head: str) -> int:
    """Return the number of the file of a cursor.

    Raises
    ------
    ToolError
        If the text isn't a cursor, or belongs to the comparison of other commits.
    """
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""

    body, check = raw[:-_CHECK_BYTES], raw[-_CHECK_BYTES:]
    # Two commits of 20 bytes and a 4-byte number.
    if len(body) != 44 or check != _check(body):
        raise ToolError(
            "after is not a cursor of compare_revisions; pass the endCursor of the previous page, or omit it",
            tool=_CALL,
            argument="after",
        )

    cursor_base, cursor_head = body[:20].hex(), body[20:40].hex()
    if (cursor_base, cursor_head) != (base, head):
        raise ToolError(
            f"the cursor belongs to the comparison {cursor_base[:12]}..{cursor_head[:12]}, but base and head are now "
            f"{base[:12]}..{head[:12]}; start without after, or give these commits as base and head",
            tool=_CALL,
            argument="after",
        )

    return int.from_bytes(body[40:44], "big")


# A checksum against truncated and mistyped cursors. It isn't a signature: a forged cursor only names another file of
# the same comparison.
def _check(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECK_BYTES]
