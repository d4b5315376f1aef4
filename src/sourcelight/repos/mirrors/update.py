"""Create and update bare mirrors of remote repositories with the git command.

A mirror is fetched into a directory of its own and moved to its place when it is whole, so that a killed process leaves
nothing that looks like a repository. Credentials in a URL go to git through its environment for this one run: they are
not written into the mirror, do not show in process lists, and are cut out of every message.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable

from sourcelight.core.batches.events import CloneProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError
from sourcelight.repos.discovery import PARTIAL_PREFIX
from sourcelight.repos.git.fetch import run_git
from sourcelight.repos.handles import UnusableRepository, open_handle
from sourcelight.repos.mirrors.remotes import Remote, credential_environment, parse_remote
from sourcelight.repos.names import name_from_folder, name_from_origin
from sourcelight.repos.private_files import make_private_folder
from sourcelight.repos.revisions import head_target

_PROGRESS = re.compile(r"(?:remote: )?([A-Z][A-Za-z ]+):\s+(\d+)% \((\d+)/(\d+)\)")
"""Progress of git: ``remote: Counting objects: 40% (4/10)``."""

# What git itself writes into the configuration of a mirror; `tagopt` is of newer versions (2.55 has it, 2.39 has not).
# Anything else may make git run something.
_MIRROR_KEYS = re.compile(
    r"core\.(repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks|logallrefupdates)"
    r"|remote\.origin\.(url|fetch|mirror|tagopt)|extensions\.objectformat|gc\.auto"
)


_MAX_NAME_PARTS, _MAX_NAME_BYTES = 32, 255
"""Directories of the name of a mirror, and bytes of each, as file systems limit them."""

_ABANDONED_S = 3600.0
"""Seconds after which a file of an unfinished fetch counts as left by a process that died."""


def clone(
    url: str,
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[CloneProgress], None] | None = None,
    cancellation: Cancellation | None = None,
) -> str:
    """Mirror a repository below `folder`, or update an existing mirror.

    Parameters
    ----------
    url
        ``https``, ``ssh`` (also ``user@host:path``), ``git`` or ``file`` URL, or a local directory. User and password
        of an https URL are used but not stored; for later updates use a credential helper of git.
    folder
        The directory of mirrors; created if absent. The mirror is ``host/owner/name.git`` below it.
    progress
        Called as git reports.
    cancellation
        Stops git and removes fetched objects; raises `Cancelled`.

    Returns
    -------
    str
        Path of the mirror.

    Raises
    ------
    RepositoryError
        If the URL has none of these forms.
    GitFailed
        If git is missing, too old, or fails; the message ends with git's last lines, without credentials.
    """
    remote = parse_remote(url)
    folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    target = _mirror_path(folder, remote)
    _check_place(folder, target)
    if os.path.isdir(target):
        return _update(target, remote, progress, cancellation)

    parent = os.path.dirname(target)
    make_private_folder(parent)
    _delete_leftovers(parent)
    partial = tempfile.mkdtemp(prefix=f"{PARTIAL_PREFIX}{os.getpid()}-", dir=parent)
    try:
        with remote.source() as source:
            arguments = ["clone", "--mirror", "--progress", "--no-local", "--no-recurse-submodules", "--origin=origin",
                         "--template=", "--", source, partial]  # fmt: skip
            try:
                _fetch(arguments, remote, progress, cancellation)
            except GitFailed as error:
                # The directory is gone when the reader sees the message.
                raise GitFailed(error.argv, error.exit_code, error.stderr_tail.replace(partial, target)) from error

        _record_origin(partial, remote.url)
        try:
            os.rename(partial, target)
        except OSError:
            if not os.path.isdir(target):  # else: another process was faster, and its mirror is as good
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)

    return target


def update_mirror(
    path: str | os.PathLike[str],
    *,
    progress: Callable[[CloneProgress], None] | None = None,
    cancellation: Cancellation | None = None,
) -> str:
    """Update a mirror: fetch new and moved refs, remove deleted ones.

    Returns
    -------
    str
        Path of the mirror.

    Raises
    ------
    RepositoryError
        If `path` is not a mirror as `clone` makes them; its configuration could make git run something else.
    GitFailed
        If git is missing, too old, or fails.
    """
    return _update(os.path.abspath(os.fspath(path)), None, progress, cancellation)


def _update(
    path: str,
    remote: Remote | None,
    progress: Callable[[CloneProgress], None] | None,
    cancellation: Cancellation | None,
) -> str:
    recorded = _recorded_origin(path)
    remote = remote or parse_remote(recorded)
    _delete_abandoned(path)

    with remote.source() as source:
        arguments = ["--git-dir", path, "fetch", "--prune", "--progress", "--no-recurse-submodules", "--no-auto-gc",
                     "--force", "--update-shallow", "--no-write-fetch-head", "--", source,
                     "+refs/*:refs/*"]  # fmt: skip
        _fetch(arguments, remote, progress, cancellation)
        _follow_head(path, remote, source, cancellation)

    with open(os.path.join(path, "FETCH_HEAD"), "w", encoding="ascii"):
        pass  # its time is the time of the last fetch

    return path


def _record_origin(path: str, url: str) -> None:
    import pygit2

    pygit2.Config(os.path.join(path, "config"))["remote.origin.url"] = url


def _follow_head(path: str, remote: Remote, source: str, cancellation: Cancellation | None) -> None:
    """Adopt the remote's default branch, which a fetch doesn't change."""
    with tempfile.TemporaryFile() as answer:
        arguments = ["--git-dir", path, "ls-remote", "--symref", "--", source, "HEAD"]
        environment = credential_environment(remote)
        with contextlib.suppress(GitFailed):  # the default branch then stays unchanged
            run_git(arguments, remote.protocols, environment=environment, output=answer, cancellation=cancellation)
        answer.seek(0)
        match = re.match(rb"ref: (refs/heads/\S+)\tHEAD\n", answer.read(1 << 16))

    name = os.fsdecode(match[1]) if match else ""
    handle = open_handle(path)
    if name and name != head_target(path) and name in handle.references:
        handle.set_head(name)


def _mirror_path(folder: str, remote: Remote) -> str:
    """Return the directory of a remote's mirror: by its name, or beside it if another remote has that name."""
    parts = (name_from_origin(remote.url) or name_from_folder(remote.url)).split("/")
    target = os.path.join(folder, *parts)
    if not os.path.isdir(f"{target}.git") or is_same_origin(_recorded_origin(f"{target}.git"), remote.url):
        return f"{target}.git"
    return f"{target}-{hashlib.sha256(os.fsencode(remote.url)).hexdigest()[:8]}.git"


def _check_place(folder: str, target: str) -> None:
    """Refuse a mirror outside of `folder`, behind a link or within another mirror: addresses choose their names.

    Raises
    ------
    RepositoryError
        If git would write elsewhere, or into the git directory of another repository.
    """
    if os.path.islink(target) or len(os.fsencode(os.path.basename(target))) > _MAX_NAME_BYTES:
        raise RepositoryError(f"can't create a mirror at {target}: it is a link, or its name is too long")

    directory = os.path.dirname(os.path.abspath(target))
    depth = 0
    while directory != folder:
        is_repository = os.path.basename(directory) == ".git" or os.path.isfile(os.path.join(directory, "HEAD"))
        above = os.path.dirname(directory)
        depth += 1
        if above == directory or depth > _MAX_NAME_PARTS:
            raise RepositoryError(f"can't create a mirror at {target}: it isn't below {folder}")
        if os.path.islink(directory) or is_repository:
            reason = "a repository" if is_repository else "a link"
            raise RepositoryError(f"can't make a mirror at {target}: {directory} is {reason}")
        directory = above


def _delete_abandoned(path: str) -> None:
    """Delete locks and temporary packs that a killed git left in a mirror: the next fetch would fail at such a lock.

    git holds a lock only briefly and writes to a temporary pack continuously. A file without a write for an hour
    therefore belongs to a process that no longer runs.
    """
    before_s = time.time() - _ABANDONED_S
    objects = os.path.join(path, "objects")
    for directory, folders, files in os.walk(path):
        if directory == objects:
            folders[:] = [name for name in folders if name == "pack"]
        for name in files:
            if name.endswith(".lock") or (name.startswith("tmp_") and directory.startswith(objects)):
                file = os.path.join(directory, name)
                with contextlib.suppress(OSError):
                    if os.lstat(file).st_mtime < before_s:
                        os.unlink(file)


def is_same_origin(first: str, second: str) -> bool:
    """Return whether two URLs mean one repository: the same host and path, and no two different ports."""
    name = name_from_origin(first)
    if not name or name != name_from_origin(second):
        return first == second

    ports = set()
    for url in (first, second):
        match = re.match(r"[^:]+://[^/]*:(\d+)(?:/|$)", url)
        if match:
            ports.add(match[1])

    return len(ports) < 2


def _recorded_origin(path: str) -> str:
    """Return the origin of a mirror, if its configuration has only the keys of a mirror."""
    import pygit2

    try:
        bare = open_handle(path).is_bare
        entries = {entry.name.lower(): entry.value or "" for entry in pygit2.Config(os.path.join(path, "config"))}
    except (UnusableRepository, pygit2.GitError, OSError) as error:
        raise RepositoryError(f"{path} is not a mirror that can be updated: {error}") from error

    # A key such as core.sshCommand would run a program at the next fetch.
    strange = sorted(name for name in entries if not _MIRROR_KEYS.fullmatch(name))
    if not bare or strange or "remote.origin.url" not in entries:
        problem = f"its configuration also sets {', '.join(strange[:5])}" if strange else "it is not a bare mirror"
        raise RepositoryError(f"{path} is not a mirror made by `sourcelight clone`: {problem}")

    return entries["remote.origin.url"]


def _fetch(
    arguments: list[str],
    remote: Remote,
    progress: Callable[[CloneProgress], None] | None,
    cancellation: Cancellation | None,
) -> None:
    def line(text: str) -> None:
        match = _PROGRESS.match(text)
        if match and progress is not None:
            progress(CloneProgress(url=remote.url, step=match[1], done=int(match[3]), total=int(match[4])))

    secrets = [word for word in (remote.password, remote.user if not remote.password else "") if word]
    try:
        run_git(
            arguments,
            remote.protocols,
            environment=credential_environment(remote),
            secrets=secrets,
            line=line,
            cancellation=cancellation,
        )
    except GitFailed as error:
        if "ould not read Username" in error.stderr_tail or "terminal prompts disabled" in error.stderr_tail:
            hint = f"{error.stderr_tail}\nset up a credential helper of git, or put user and token into the URL"
            raise GitFailed(error.argv, error.exit_code, hint) from error
        raise


def find_mirrors(folder: str | os.PathLike[str]) -> dict[str, str]:
    """Return the paths of the mirrors below a directory that `update_mirror` can update, with their origins."""
    mirrors: dict[str, str] = {}
    for directory, folders, _ in os.walk(os.path.abspath(os.path.expanduser(os.fspath(folder)))):
        folders[:] = sorted(name for name in folders if not name.startswith(PARTIAL_PREFIX))
        for name in [name for name in folders if name.endswith(".git")]:
            path = os.path.join(directory, name)
            with contextlib.suppress(RepositoryError):
                mirrors[path] = _recorded_origin(path)
                folders.remove(name)

    return mirrors


def _delete_leftovers(parent: str) -> None:
    """Delete partial fetches of killed processes."""
    for name in os.listdir(parent):
        match = re.match(re.escape(PARTIAL_PREFIX) + r"(\d+)-", name)
        if match and not _is_running(int(match[1])):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


def _is_running(process: int) -> bool:
    if os.name == "nt":  # a signal there would end the process; leave its directory alone
        return True

    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True

    return True
