"""The refs of a repository, by pattern."""

from __future__ import annotations

from collections.abc import Callable

from sourcelight.core.errors import RepositoryNotFound
from sourcelight.repos.handles import Unusable, open_handle
from sourcelight.repos.raw_commits import peeled
from sourcelight.repos.repository import Repository

_REMOTE = "refs/remotes/origin/"
_HEADS = "refs/heads/"


def matching_refs(repository: Repository, wanted: Callable[[str], bool]) -> list[tuple[str, str]]:
    """List the refs whose full name is `wanted`, with the commit each leads to.

    A branch that is only known from `origin` counts under ``refs/heads/``, as it does for `resolve`. Refs that lead to
    no commit (a tag of a file) are left out.

    Parameters
    ----------
    repository
        Where to look; a snapshot has no refs.
    wanted
        Gets a name such as ``refs/heads/main``.

    Returns
    -------
    list of (str, str)
        Full name and 40 hex digits, sorted by name.

    Raises
    ------
    RepositoryNotFound
        If the repository is gone.
    """
    if repository.kind == "snapshot":
        return []
    import pygit2

    try:
        handle = open_handle(repository.git_dir)
        names = {name.decode("utf-8", "surrogateescape") for name in handle.raw_listall_references()}
    except (Unusable, pygit2.GitError) as error:
        raise RepositoryNotFound(repository.name) from error
    chosen = {}
    for name in names:
        shown = name
        if name.startswith(_REMOTE):
            branch = _HEADS + name.removeprefix(_REMOTE)
            if name == _REMOTE + "HEAD":
                continue
            shown = name if branch in names else branch
        if wanted(shown):
            chosen[shown] = name
    found = []
    for shown in sorted(chosen):
        try:
            commit = peeled(handle, str(handle.lookup_reference(chosen[shown]).resolve().target))
        except (KeyError, ValueError, pygit2.GitError, OSError):
            continue
        if commit:
            found.append((shown, commit))
    return found
