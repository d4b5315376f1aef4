"""A comparison of two commits: what differs, page by page or whole.

Where the next page of a comparison begins, as opaque text.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError, RepositoryNotFound, RevisionNotFound, ToolError
from sourcelight.engines.history.compare.changes import (
    FileChange,
    FileDiff,
    TooManyChanges,
    is_binary_unchanged,
    list_changes,
    make_patch,
    stream_patches,
)
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
_REMARKS = {
    "ahead": "",
    "behind": "base is newer than head: the comparison shows what leads back to head",
    "diverged": "head does not contain base: changes that only base has are shown as undone",
    "unrelated": "base and head have no common history",
}
FREE_CONTENT_BYTES = 1 << 30
"""Bytes of contents that are compared for a whole comparison, both sides of each file."""

FREE_PATCH_BYTES = 64 << 20
"""Bytes of patches of a whole comparison."""

CONTENT_PER_BYTE, PATCH_PER_BYTE = 16, 4
"""Bytes beyond, for each byte that the repository stores."""

_KEPT_BYTES = 64 << 20
_LIST_BYTES_PER_FILE = 400


@dataclass(slots=True)
class Comparison:
    """What differs between two commits.

    Attributes
    ----------
    base, head
        The commits, 40 hex digits.
    changes
        The files that differ, in git's order.
    relation
        How head stands to base: ``same``, ``ahead`` (base is an ancestor), ``behind`` (head is one), ``diverged`` or
        ``unrelated``.
    notices
        What the reader has to know.
    left_out
        Files that the last `whole` gave without a patch because all together are too large.
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
        """Give the diffs of `count` files from number `start` on; fewer at the end.

        Raises `Cancelled`.
        """
        return list(self.diffs(self.changes[start : start + count], cancellation))

    def diffs(self, changes: Sequence[FileChange], cancellation: Cancellation | None = None) -> Iterator[FileDiff]:
        """Yield the diffs of some of `changes`, made one by one. Raises `Cancelled`."""
        handle: pygit2.Repository | None = None
        for change in changes:
            if cancellation is not None:
                cancellation.check()
            found = self._entry.known.get(change.ordinal)
            if found is None:
                handle = handle or _open(self.repository)
                found = make_patch(handle, change)
                self._keep(found)
            yield found

    def whole(self, cancellation: Cancellation | None = None) -> Iterator[FileDiff]:
        """Yield the diffs of all files, in order. Raises `Cancelled`.

        What is too much for what the repository stores has no patch; `left_out` counts such files.
        """
        self.left_out = 0
        stored = store_size(self.repository.git_dir).bytes if self.changes else 0
        patches = FREE_PATCH_BYTES + PATCH_PER_BYTE * stored
        readable = self._readable(FREE_CONTENT_BYTES + CONTENT_PER_BYTE * stored)
        done = 0
        for found in self._some(self.changes[:readable], cancellation):
            yield found
            done += 1
            patches -= len(found.patch or b"")
            if patches < 0:
                break
        self.left_out = len(self.changes) - done
        for change in self.changes[done:]:
            yield FileDiff(change, None, None, binary=False, patch=None)

    def _some(self, changes: Sequence[FileChange], cancellation: Cancellation | None) -> Iterator[FileDiff]:
        """Diffs of the first files, of many by one git process."""
        done = 0
        handle: pygit2.Repository | None = None
        if len(changes) > PAGE_FILES and len(self._entry.known) < len(changes):
            patches = stream_patches(self.repository.git_dir, *self._entry.trees, changes, cancellation=cancellation)
            try:
                for found in patches:
                    if found.change.object_id == found.change.old_object_id:
                        handle = handle or _open(self.repository)
                        found = replace(found, binary=is_binary_unchanged(handle, found.change))  # noqa: PLW2901 - the same, known better
                    self._keep(found)
                    yield found
                    done += 1
            except GitFailed:  # a content is missing: the files after it are compared one by one
                pass
            finally:
                patches.close()
        yield from self.diffs(changes[done:], cancellation)

    def _readable(self, room: int) -> int:
        """How many files, from the first on, have contents of so many bytes together."""
        if not self.changes:
            return 0
        with ObjectReader(self.repository) as reader:
            for number, change in enumerate(self.changes):
                for name in (change.old_object_id, change.object_id):
                    if name.strip("0"):
                        room -= min(reader.size(bytes.fromhex(name)) or 0, MAX_BLOB_BYTES)
                if room < 0:
                    return number
        return len(self.changes)

    def totals(self, cancellation: Cancellation | None = None) -> tuple[int, int] | None:
        """Added and removed lines of all files whose contents are there; costs a whole comparison once.

        None when some files were left out.
        """
        if self._entry.totals is None:
            additions = deletions = 0
            for found in self.whole(cancellation):
                additions += found.additions or 0
                deletions += found.deletions or 0
            if self.left_out:
                return None
            self._entry.totals = additions, deletions
        return self._entry.totals

    def _keep(self, found: FileDiff) -> None:
        if _kept.admit(self._entry, len(found.patch or b"")):
            self._entry.known[found.change.ordinal] = found


class _ComparisonCache:
    """Comparisons by their trees, the newest last, within a number of bytes. Trees never change, so neither do they."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._found: OrderedDict[tuple[str, str], _CacheEntry] = OrderedDict()

    def get(self, trees: tuple[str, str]) -> _CacheEntry | None:
        with self._lock:
            entry = self._found.get(trees)
            if entry is not None:
                self._found.move_to_end(trees)
            return entry

    def put(self, entry: _CacheEntry) -> None:
        with self._lock:
            self._found[entry.trees] = entry
            self._shrink()

    def admit(self, entry: _CacheEntry, size: int) -> bool:
        """Whether a patch of `size` bytes is kept with its comparison; makes room for it at the cost of others."""
        with self._lock:
            if self._found.get(entry.trees) is not entry or entry.size + size > self._most // 2:
                return False
            entry.size += size
            self._shrink()
            return True

    def _shrink(self) -> None:
        while len(self._found) > 1 and sum(entry.size for entry in self._found.values()) > self._most:
            self._found.popitem(last=False)


@dataclass(slots=True)
class _CacheEntry:
    """What is kept of two trees: the list, the patches made so far, and about how many bytes these take."""

    trees: tuple[str, str]
    changes: tuple[FileChange, ...]
    notice: str = ""
    known: dict[int, FileDiff] = field(default_factory=dict)
    size: int = 0
    relations: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    totals: tuple[int, int] | None = None


_kept = _ComparisonCache(_KEPT_BYTES)


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
        What is kept of the repository's history, if anything is: it tells sooner how the commits are related.

    Raises
    ------
    RevisionNotFound
        If one is no commit that is stored (a work tree with changes, for one).
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
        return Comparison(repository, base, head, (), "same", (), _CacheEntry(("", ""), ()))
    handle = _open(repository)
    trees = _tree(handle, repository, base), _tree(handle, repository, head)
    entry = _kept.get(trees)
    if entry is None:
        try:
            changes, notice = list_changes(repository.git_dir, *trees, cancellation)
        except TooManyChanges as error:
            raise TooManyChanges(error.files, f"{repository.name}: {base[:12] or 'nothing'}..{head[:12]}") from error
        entry = _CacheEntry(trees, changes, notice, size=len(changes) * _LIST_BYTES_PER_FILE)
        _kept.put(entry)
    relation, remark = entry.relations.get((base, head), ("", ""))
    if not relation:
        relation, remark = ("ahead", "") if base == EMPTY else _relation(handle, base, head, history)
        if not repository.incomplete:  # a clone that is completed may tell otherwise
            entry.relations[base, head] = relation, remark
    notices = tuple(text for text in (remark, entry.notice) if text)
    return Comparison(repository, base, head, entry.changes, relation, notices, entry)


def _open(repository: Repository) -> pygit2.Repository:
    try:
        return open_handle(repository.git_dir)
    except UnusableRepository as error:
        raise RepositoryNotFound(repository.name) from error


def _tree(handle: pygit2.Repository, repository: Repository, commit: str) -> str:
    if commit == EMPTY:
        return _NO_FILES
    found = tree_of(handle, commit)
    if not found:
        raise RevisionNotFound(repository.name, commit)
    return found


def _relation(handle: pygit2.Repository, base: str, head: str, history: History | None) -> tuple[str, str]:
    import pygit2

    if base == head:
        return "same", "base and head are the same commit"
    known = None if history is None else _known_relation(history, base, head)
    if known is not None:
        return known, _REMARKS[known]
    try:
        common: Any = handle.merge_base(pygit2.Oid(hex=base), pygit2.Oid(hex=head))
    except (KeyError, ValueError, pygit2.GitError, RepositoryError):
        return "unknown", "how base and head are related can't be told: commits are missing from this clone"
    relation = "diverged" if common is not None else "unrelated"
    relation = {base: "ahead", head: "behind"}.get(str(common), relation)
    return relation, _REMARKS[relation]


def _known_relation(history: History, base: str, head: str) -> str | None:
    """How head stands to base as a history has it; None when it does not hold both, or is cut off."""
    old, new = history.position(base), history.position(head)
    if old is None or new is None or history.shallow:
        return None
    of_base, of_head = history.reachable(base), history.reachable(head)
    if of_head[old]:
        return "ahead"
    if of_base[new]:
        return "behind"
    return "diverged" if (of_base & of_head).any() else "unrelated"


_CALL = "compare_revisions"
_CHECK_BYTES = 4


def write_cursor(base: str, head: str, ordinal: int) -> str:
    """Text that leads to the file number `ordinal` (from 0) of the comparison of two commits."""
    body = bytes.fromhex(base) + bytes.fromhex(head) + ordinal.to_bytes(4, "big")
    return base64.urlsafe_b64encode(body + _check(body)).decode("ascii").rstrip("=")


def read_cursor(cursor: str, base: str, head: str) -> int:
    """The number of the file that a cursor leads to.

    Raises
    ------
    ToolError
        If the text is no cursor, or belongs to the comparison of other commits; says which.
    """
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    body, check = raw[:-_CHECK_BYTES], raw[-_CHECK_BYTES:]
    if len(body) != 44 or check != _check(body):
        raise ToolError(
            "after is no cursor of compare_revisions; give the endCursor of the page before, or leave it out",
            tool=_CALL,
            argument="after",
        )
    own_base, own_head = body[:20].hex(), body[20:40].hex()
    if (own_base, own_head) != (base, head):
        raise ToolError(
            f"the cursor belongs to the comparison {own_base[:12]}..{own_head[:12]}, but base and head are now "
            f"{base[:12]}..{head[:12]}; start without after, or give these commits as base and head",
            tool=_CALL,
            argument="after",
        )
    return int.from_bytes(body[40:44], "big")


def _check(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECK_BYTES]
