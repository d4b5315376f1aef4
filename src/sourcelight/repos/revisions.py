"""Resolve revisions to commits, and walk histories by time.

Times are committer times, in seconds since 1970.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from sourcelight.core.batches import NO_COMMIT, CommitId
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryNotFound, RevisionNotFound
from sourcelight.repos.boundary import read_small_file
from sourcelight.repos.handles import UnusableRepository, open_handle
from sourcelight.repos.names import is_ref_name, near_names
from sourcelight.repos.objects import MAX_FOLDER_BYTES
from sourcelight.repos.objects.commits import ancestors_by_time, parents_of, peel_to_commit
from sourcelight.repos.repository import Repository
from sourcelight.repos.worktrees import current_state

if TYPE_CHECKING:
    import pygit2


WORKTREE = "WORKTREE"
# A name, then any number of ~n, ^n, ^{}, ^{commit}. What walks history by a pattern or by this machine's memory
# (:/text, ^{/text}, @{upstream}, @{yesterday}, ranges) is left out: it is slow, or differs from machine to machine.
_REVISION = re.compile(r"(?!-)[^\x00-\x20\x7f:~^?*\[\\{}]{1,512}(?:~\d{0,9}|\^\d{0,4}|\^\{(?:commit|tag)?\}){0,64}")

_STEP = re.compile(r"~\d*|\^\{\w*\}|\^\d*")
"""A step behind a revision: ``~2``, ``^`` or ``^{commit}``."""

_MAX_STEPS = 1_000_000
_REMOTE = "refs/remotes/origin/"
_HEADS = "refs/heads/"

_MAX_OLDER_COMMITS = 1000
"""Consecutive older commits after which the walk stops. Some clocks are wrong, so one older commit isn't enough."""

_CHECK_EVERY = 1000
"""Commits or refs between two checks for cancellation."""

_MAX_ANSWERS = 10_000
"""Resolved revisions that are cached."""

_answers: LruCache[tuple[str, str, str, float], CommitId] = LruCache(_MAX_ANSWERS)


def resolve(repository: Repository, revision: str) -> CommitId:
    """Resolve a revision to a commit, reading refs as of now.

    Parameters
    ----------
    repository
        Where to look.
    revision
        Empty or ``HEAD``: the default revision. A branch, a tag (followed to its commit), a full or short hash,
        ``refs/heads/x``, each with ``~2`` or ``^`` behind; a branch that is only known from `origin` is found
        by its own name. ``WORKTREE``: the work tree with its changes, modified and untracked files included;
        for a clean one that is its commit.

    Returns
    -------
    CommitId
        40 hex digits: of a commit, or of the state of a work tree or snapshot.

    Raises
    ------
    RevisionNotFound
        If the revision doesn't exist, or the text is not a revision.
    RepositoryNotFound
        If the repository is gone.
    """
    if repository.kind == "snapshot":
        commit = current_state(repository).commit
        if revision in {"", "HEAD", WORKTREE, commit}:
            return commit
        raise RevisionNotFound(repository.name, revision)

    if revision == WORKTREE:
        if not repository.worktree:
            raise RevisionNotFound(repository.name, revision)
        return current_state(repository).commit

    try:
        handle = open_handle(repository.git_dir)
    except UnusableRepository as error:
        raise RepositoryNotFound(repository.name) from error

    if revision in {"", "HEAD"}:
        commit, _ = default_commit(handle)
    else:
        commit = _lookup(handle, revision)

    if not commit:
        near = near_names(revision, _names(handle)) if is_revision(revision) else ()
        raise RevisionNotFound(repository.name, revision or "HEAD", near)

    return commit


def _names(handle: pygit2.Repository) -> Iterator[str]:
    """Yield the short names of branches and tags, with remote branches of `origin`."""
    import pygit2

    with suppress(pygit2.GitError):
        for raw in handle.raw_listall_references():
            name = raw.decode("utf-8", "surrogateescape")
            for prefix in (_HEADS, "refs/tags/", _REMOTE):
                if name.startswith(prefix):
                    yield name.removeprefix(prefix)


def is_revision(text: str) -> bool:
    """Return whether `text` has the form of a revision that `resolve` takes."""
    return bool(_REVISION.fullmatch(text)) and ".." not in text and "@{" not in text


def default_commit(handle: pygit2.Repository) -> tuple[CommitId, str]:
    """Return the default commit, and the branch read instead if HEAD names a missing one.

    If HEAD names a missing branch, a mirror is read at ``main``, ``master``, ``trunk`` or ``develop``, else at
    its first branch. Both are empty when there is no commit at all.
    """
    commit = _lookup(handle, "HEAD")
    if commit:
        return commit, ""

    import pygit2

    try:
        if not handle.head_is_unborn:  # its branch is there and can't be read: damage, not another branch's turn
            return NO_COMMIT, ""
        names = [reference.decode("utf-8", "surrogateescape") for reference in handle.raw_listall_references()]
    except pygit2.GitError:
        return NO_COMMIT, ""

    # Local branches first; a mirror or a fresh clone may have remote ones only.
    for prefix in (_HEADS, _REMOTE):
        branches = sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix))
        usual = [branch for branch in ("main", "master", "trunk", "develop") if branch in branches]
        for branch in (*usual, *branches):
            commit = _lookup(handle, prefix + branch)
            if commit:
                return commit, branch

    return NO_COMMIT, ""


def _lookup(handle: pygit2.Repository, revision: str) -> CommitId:
    """Return the commit a revision names; empty when there is none."""
    import pygit2

    if not is_revision(revision):
        return NO_COMMIT

    for name in (revision, _REMOTE + revision):
        try:
            start = _object_named(handle, re.split(r"[~^]", name, maxsplit=1)[0])
            if start is not None:
                kind, size = handle.odb.read_header(start)
                if size > MAX_FOLDER_BYTES:  # libgit2 would read it whole
                    continue
                if kind == pygit2.enums.ObjectType.COMMIT and not re.search(r"[~^]", name):
                    return CommitId(str(start))
            target = handle.revparse_single(name)
            return CommitId(str(target.peel(pygit2.Commit).id))
        except (KeyError, ValueError, pygit2.GitError, OSError):
            if commit := _resolve_raw(handle, name):
                return commit

    return NO_COMMIT


def _object_named(handle: pygit2.Repository, name: str) -> pygit2.Oid | None:
    """Return the object that a ref or a whole hash names, unresolved, or None for another form, which git resolves."""
    import pygit2

    if name == "HEAD" or name.startswith("refs/"):
        target = handle.lookup_reference(name).resolve().target
    elif re.fullmatch(r"[0-9a-f]{40}", name):
        return pygit2.Oid(hex=name)
    else:
        try:
            target = handle.lookup_reference_dwim(name).resolve().target
        except (KeyError, ValueError, pygit2.GitError):
            return None

    return target if isinstance(target, pygit2.Oid) else None


def _resolve_raw(handle: pygit2.Repository, revision: str) -> CommitId:
    """Return the commit of a revision without parsing authors, which libgit2 refuses if broken; else `NO_COMMIT`."""
    import pygit2

    base = re.split("[~^]", revision, maxsplit=1)[0]
    commit = NO_COMMIT

    # The order of gitrevisions(7): tags before branches before remotes.
    for form in ("{}", "refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}"):
        try:
            commit = peel_to_commit(handle, str(handle.lookup_reference(form.format(base)).resolve().target))
        except (KeyError, ValueError, pygit2.GitError, OSError):
            continue
        break
    else:
        try:
            commit = peel_to_commit(handle, str(handle.expand_id(base)))
        except (KeyError, ValueError, pygit2.GitError):
            return NO_COMMIT

    for step in _STEP.findall(revision[len(base) :]):
        number = int(step[1:] or 1) if "{" not in step else 0
        # `~n` is n steps to the first parent, `^n` one step to the n-th; a bound, as a caller may write ~999999999.
        for parent_number in [1] * min(number, _MAX_STEPS) if step[0] == "~" else [number] * bool(number):
            parents = parents_of(handle, commit)
            commit = parents[parent_number - 1] if parent_number <= len(parents) else NO_COMMIT

    return commit


def head_target(git_dir: str) -> str:
    """Return the ref that HEAD names (``refs/heads/main``), or empty if it is detached or names no ref.

    The name can be joined to the path of the git directory: it has no NUL and doesn't lead out of ``refs``.
    """
    try:
        text = read_small_file(os.path.join(git_dir, "HEAD"), 4096)
    except OSError:
        return ""

    name = os.fsdecode(text[4:].strip()) if text.startswith(b"ref:") else ""
    return name if is_ref_name(name) else ""


def newest_before(
    repository: Repository, commit: CommitId, before_s: float, cancellation: Cancellation | None = None
) -> CommitId | None:
    """Return the newest commit among `commit` and its ancestors with a time less than `before_s`, or None without one.

    Raises `Cancelled` and `RepositoryNotFound`.
    """
    key = ("before", repository.key, commit, before_s)

    def find() -> CommitId:
        candidates = (name for name, time_s in _walk(repository, commit, cancellation) if time_s < before_s)
        return next(candidates, NO_COMMIT)

    return _answers.get_or_make(key, find) or None


def has_commit_after(
    repository: Repository, commit: CommitId, after_s: float, cancellation: Cancellation | None = None
) -> bool:
    """Return whether `commit` or one of its ancestors has a time greater than `after_s`.

    Raises `Cancelled` and `RepositoryNotFound`.
    """
    key = ("after", repository.key, commit, after_s)

    def find() -> CommitId:
        for number, (name, time_s) in enumerate(_walk(repository, commit, cancellation)):
            if time_s > after_s:
                return name
            if number >= _MAX_OLDER_COMMITS:
                break
        return NO_COMMIT

    return bool(_answers.get_or_make(key, find))


def is_ancestor(repository: Repository, commit: CommitId, tip: CommitId) -> bool:
    """Return whether `commit` is `tip` or one of its ancestors, or False if the repository lacks it."""
    if commit == tip:
        return True
    if repository.kind == "snapshot":
        return False

    import pygit2

    try:
        handle = open_handle(repository.git_dir)
    except UnusableRepository:
        return False

    try:
        return bool(handle.descendant_of(pygit2.Oid(hex=tip), pygit2.Oid(hex=commit)))
    except (KeyError, ValueError, pygit2.GitError):  # a commit on the way is broken, or missing
        return any(name == commit for name, _ in ancestors_by_time(handle, tip))


def _renew_cache() -> None:
    global _answers  # noqa: PLW0603 - a forked worker must not inherit a lock that another thread held
    _answers = LruCache(_MAX_ANSWERS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_cache)


def _walk(
    repository: Repository, commit: CommitId, cancellation: Cancellation | None
) -> Iterator[tuple[CommitId, int]]:
    """Yield commits and their times, by time as far as parents come after their children."""
    if repository.kind == "snapshot":
        return

    import pygit2

    try:
        handle = open_handle(repository.git_dir)
    except UnusableRepository as error:
        raise RepositoryNotFound(repository.name) from error

    seen: set[str] = set()
    try:
        for number, ancestor in enumerate(handle.walk(pygit2.Oid(hex=commit), pygit2.enums.SortMode.TIME)):
            if cancellation is not None and number % _CHECK_EVERY == 0:
                cancellation.check()
            seen.add(str(ancestor.id))
            yield CommitId(str(ancestor.id)), int(ancestor.commit_time)
    except (KeyError, ValueError, pygit2.GitError):
        # A shallow clone ends here, or libgit2 can't parse a commit: the rest is walked by `ancestors_by_time`.
        for name, time_s in ancestors_by_time(handle, commit):
            if cancellation is not None:
                cancellation.check()
            if name not in seen:
                yield name, time_s


def matching_refs(
    repository: Repository, accepts: Callable[[str], bool], cancellation: Cancellation | None = None
) -> list[tuple[str, CommitId]]:
    """Return the refs whose full name `accepts` approves, each with its commit.

    A branch that is only known from `origin` counts under ``refs/heads/``, as it does for `resolve`. Refs that lead to
    no commit (a tag of a file) are left out.

    Parameters
    ----------
    repository
        Where to look; a snapshot has no refs.
    accepts
        Gets a name such as ``refs/heads/main``.
    cancellation
        Looked at every thousand refs: a repository may have millions, which take 11 µs each.

    Returns
    -------
    list of (str, CommitId)
        Full name and 40 hex digits, sorted by name.

    Raises
    ------
    RepositoryNotFound
        If the repository is gone.
    Cancelled
        After ``cancellation.cancel()``, or at its deadline.
    """
    if repository.kind == "snapshot":
        return []

    import pygit2

    try:
        handle = open_handle(repository.git_dir)
        names = {name.decode("utf-8", "surrogateescape") for name in handle.raw_listall_references()}
    except (UnusableRepository, pygit2.GitError) as error:
        raise RepositoryNotFound(repository.name) from error

    targets = {}
    for name in names:
        short_name = name
        if name.startswith(_REMOTE):
            branch = _HEADS + name.removeprefix(_REMOTE)
            if name == _REMOTE + "HEAD":
                continue
            short_name = name if branch in names else branch
        if accepts(short_name):
            targets[short_name] = name

    matches = []
    for number, short_name in enumerate(sorted(targets)):
        if cancellation is not None and number % _CHECK_EVERY == 0:
            cancellation.check()

        try:
            commit = peel_to_commit(handle, str(handle.lookup_reference(targets[short_name]).resolve().target))
        except (KeyError, ValueError, pygit2.GitError, OSError):
            continue
        if commit:
            matches.append((short_name, commit))

    return matches
