"""Questions about the times of a commit's ancestors. Times are committer times, in seconds since 1970."""

from __future__ import annotations

from collections.abc import Iterator

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryNotFound
from sourcelight.repos.handles import Unusable, open_handle
from sourcelight.repos.raw_commits import ancestors_by_time
from sourcelight.repos.repository import Repository

_OLDER_IN_A_ROW = 1000
"""Older commits, newest first, after which none is expected to be newer: clocks go wrong, but not all of them."""

_CHECK_EVERY = 1000


def newest_before(
    repository: Repository, commit: str, before_s: float, cancellation: Cancellation | None = None
) -> str | None:
    """Give the newest commit among `commit` and its ancestors with a time less than `before_s`; None without one.

    Raises `Cancelled` and `RepositoryNotFound`.
    """
    key = ("before", repository.key, commit, before_s)
    if key not in _known:
        found = (name for name, time_s in _walk(repository, commit, cancellation) if time_s < before_s)
        _remember(key, next(found, ""))
    return str(_known[key]) or None


def has_commit_after(
    repository: Repository, commit: str, after_s: float, cancellation: Cancellation | None = None
) -> bool:
    """Tell whether `commit` or one of its ancestors has a time greater than `after_s`.

    Raises `Cancelled` and `RepositoryNotFound`.
    """
    key = ("after", repository.key, commit, after_s)
    if key not in _known:
        answer = ""
        for number, (name, time_s) in enumerate(_walk(repository, commit, cancellation)):
            if time_s > after_s:
                answer = name
                break
            if number >= _OLDER_IN_A_ROW:
                break
        _remember(key, answer)
    return bool(_known[key])


def is_ancestor(repository: Repository, commit: str, tip: str) -> bool:
    """Tell whether `commit` is `tip` or one of its ancestors; False, too, for what the repository does not hold."""
    if commit == tip:
        return True
    if repository.kind == "snapshot":
        return False
    import pygit2

    try:
        handle = open_handle(repository.git_dir)
    except Unusable:
        return False
    try:
        return bool(handle.descendant_of(pygit2.Oid(hex=tip), pygit2.Oid(hex=commit)))
    except (KeyError, ValueError, pygit2.GitError):  # a commit on the way is broken, or missing
        return any(name == commit for name, _ in ancestors_by_time(handle, tip))


_MOST_KNOWN = 10_000
_known: dict[tuple[str, str, str, float], str] = {}


def _remember(key: tuple[str, str, str, float], answer: str) -> None:
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = answer


def _walk(repository: Repository, commit: str, cancellation: Cancellation | None) -> Iterator[tuple[str, int]]:
    """Yield commits and their times, by time as far as parents come after their children."""
    if repository.kind == "snapshot":
        return
    import pygit2

    try:
        handle = open_handle(repository.git_dir)
    except Unusable as error:
        raise RepositoryNotFound(repository.name) from error
    met: set[str] = set()
    try:
        for number, found in enumerate(handle.walk(pygit2.Oid(hex=commit), pygit2.enums.SortMode.TIME)):
            if cancellation is not None and number % _CHECK_EVERY == 0:
                cancellation.check()
            met.add(str(found.id))
            yield str(found.id), int(found.commit_time)
    except (KeyError, ValueError, pygit2.GitError):
        # A shallow clone ends here, or libgit2 can't make out a commit: what is there is walked in another way.
        for name, time_s in ancestors_by_time(handle, commit):
            if cancellation is not None:
                cancellation.check()
            if name not in met:
                yield name, time_s
