"""Describe one repository, and notice cheaply whether its description may have changed."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sourcelight.core.batches import CommitId, RepositoryInfo
from sourcelight.core.cancellation import Cancellation
from sourcelight.repos.boundary import Boundary, object_sources, read_small_file
from sourcelight.repos.discovery import DiscoveredRepository
from sourcelight.repos.handles import UnusableRepository, included_files, open_handle, unfit_file
from sourcelight.repos.names import name_from_folder, name_from_git_dir, name_from_origin, web_address
from sourcelight.repos.repository import Repository, canonical_path_of, common_dir, home_of, key_of
from sourcelight.repos.revisions import default_commit, head_target
from sourcelight.repos.worktrees import ObjectReader

if TYPE_CHECKING:
    import pygit2


_DEFAULT_DESCRIPTION = "Unnamed repository; edit this file"
_REPLACE = "refs/replace"
_REPLACED = b"refs/replace/"
_OBJECT = re.compile(rb"[0-9a-f]{40}")
"""The name of an object."""

RACY_NS = 200_000_000  # two changes within this time may leave the same time stamp
Stamp = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class RepositoryDescription:
    """A repository under its natural name, with a warning for the reader (or "").

    Parameters
    ----------
    folder
        The directory to show: its work tree, else its git directory.
    home, git_common_dir, real_folder
        Real paths of the repository (`home_of`), of the directory with its objects, and of `folder`.
    is_own_folder
        Whether the git directory names `folder` as its work tree, and not only the other way round.
    sources
        Real paths of other directories that it reads objects from.
    """

    repository: Repository
    folder: str
    warning: str = ""
    home: str = ""
    git_common_dir: str = ""
    real_folder: str = ""
    is_own_folder: bool = True
    sources: tuple[str, ...] = ()


def describe(discovered: DiscoveredRepository, boundary: Boundary | None = None) -> RepositoryDescription:
    """Describe the repository of a git directory.

    Parameters
    ----------
    discovered
        The git directory; its paths are real ones.
    boundary
        Where it may read from; None: anywhere.

    Raises
    ------
    UnusableRepository
        It is empty, damaged, unreadable, in an unsupported format, or reads from outside of `boundary`.
    """
    # Identities are compared before and after: if a link replaces the git directory meanwhile, the checks covered only
    # the old directory.
    before = _file_identities(discovered)
    _check_files(discovered)
    # What the operator named may read from anywhere.
    limits = Boundary() if discovered.is_named or boundary is None else boundary
    sources = object_sources(discovered.git_common_dir, limits)
    _check_boundary(discovered, sources, limits)
    description = _describe(discovered, sources, is_served=boundary is not None and boundary.roots is not None)
    if _file_identities(discovered) != before:
        raise UnusableRepository("gone", "it was replaced while it was read")

    return description


def _check_boundary(discovered: DiscoveredRepository, sources: tuple[str, ...], boundary: Boundary) -> None:
    """Refuse a git directory that reads objects or configuration from outside."""
    if boundary.roots is None:
        return

    directories = discovered.git_dir, discovered.git_common_dir
    problem = boundary.find_problem(
        [
            ("its git directory is", discovered.git_dir),
            ("its objects are in", discovered.git_common_dir),
            *(("it reads objects from", source) for source in sources),
        ]
    )
    if problem:
        raise UnusableRepository("outside", problem)

    # Pipes and large files are refused before they are read.
    unfit = unfit_file(*directories)
    if unfit:
        raise UnusableRepository("unsupported", unfit)

    # The address of its origin becomes its name, and could come from the configuration of another repository.
    problem = boundary.find_problem(("its configuration includes", file) for file in included_files(*directories))
    if problem:
        raise UnusableRepository("outside", problem)


def _file_identities(discovered: DiscoveredRepository) -> tuple[tuple[int, int], ...]:
    """Return device and inode of the git directories, to detect a link that replaces one during a read."""
    identities = []
    for path in dict.fromkeys((discovered.git_dir, discovered.git_common_dir)):
        try:
            info = os.lstat(path)
        except OSError as error:
            raise UnusableRepository("gone", "the git directory no longer exists") from error
        if os.path.realpath(path) != path:
            raise UnusableRepository("gone", "a link replaced the git directory")
        identities.append((info.st_dev, info.st_ino))

    if os.path.realpath(common_dir(discovered.git_dir)) != discovered.git_common_dir:
        raise UnusableRepository("gone", "it names another git directory now")

    return tuple(identities)


def _check_files(discovered: DiscoveredRepository) -> None:
    """Refuse pipes and the like: git reads these files without checking their kind."""
    head = head_target(discovered.git_dir)
    names = [f"{discovered.git_common_dir}/{name}" for name in ("config", "packed-refs", "shallow")]
    names.append(f"{discovered.git_dir}/HEAD")
    if head:
        names.append(f"{discovered.git_common_dir}/{head}")

    for name in names:
        try:
            mode = os.stat(name).st_mode
        except OSError:
            continue
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise UnusableRepository("corrupt", f"{os.path.basename(name)} is not a regular file")


def _describe(discovered: DiscoveredRepository, sources: tuple[str, ...], *, is_served: bool) -> RepositoryDescription:
    import pygit2

    handle = open_handle(discovered.git_dir)
    commit, branch = default_commit(handle)
    if not commit:
        raise _no_commit_error(handle)

    try:
        settings = {entry.name.lower(): entry.value or "" for entry in handle.config}
        origin = handle.remotes["origin"].url or "" if "remote.origin.url" in settings else ""
        shallow = handle.is_shallow
    except (pygit2.GitError, KeyError, ValueError) as error:
        raise UnusableRepository("corrupt", f"its configuration can't be read: {error}") from error

    folder = discovered.worktree or discovered.git_common_dir
    info = _info(discovered, settings, folder=folder, origin=origin, commit=commit)
    reasons = (("shallow", shallow), ("partial clone", _is_partial_clone(settings)))
    incomplete = ", ".join(reason for reason, applies in reasons if applies)
    repository = Repository(
        info=info,
        key=key_of(discovered.git_common_dir),
        kind="git",
        git_dir=discovered.git_dir,
        worktree=discovered.worktree,
        incomplete=incomplete,
        canonical_path=canonical_path_of(discovered.git_common_dir),
        is_served=is_served,
    )
    with ObjectReader(repository) as reader:
        # A commit without its tree can be opened, but every search of it would fail later, with a vaguer error.
        if not reader.holds_tree(commit):
            raise UnusableRepository("corrupt", f"the files of commit {commit[:12]} can't be read")

    warning = f"HEAD names a branch that does not exist; {branch} is searched instead" if branch else ""
    return RepositoryDescription(
        repository=repository,
        folder=folder,
        warning=warning,
        home=home_of(discovered.git_common_dir),
        git_common_dir=discovered.git_common_dir,
        real_folder=os.path.realpath(folder),
        is_own_folder=_is_own_folder(discovered, handle),
        sources=sources,
    )


def _info(
    discovered: DiscoveredRepository, settings: Mapping[str, str], *, folder: str, origin: str, commit: CommitId
) -> RepositoryInfo:
    name_of_folder = name_from_folder if discovered.worktree else name_from_git_dir
    return RepositoryInfo(
        name=name_from_origin(origin) or name_of_folder(folder),
        last_fetched=_last_change(discovered),
        description=_own_description(discovered.git_common_dir),
        commit=commit,
        url=web_address(origin),
        replaced_objects=replaced_objects(discovered.git_common_dir) if _follows_replacements(settings) else 0,
    )


def _is_partial_clone(settings: Mapping[str, str]) -> bool:
    """Return whether git marks a clone as partial: by the extension, by a promisor remote, or by both."""
    return "extensions.partialclone" in settings or any(
        name.startswith("remote.") and name.endswith(".promisor") and value.lower() in {"true", "1", "yes", "on"}
        for name, value in settings.items()
    )


def _is_own_folder(discovered: DiscoveredRepository, handle: pygit2.Repository) -> bool:
    """Return whether the git directory names this work tree: a ``.git`` file may name any git directory."""
    if not discovered.worktree or os.path.realpath(discovered.worktree) == os.path.dirname(discovered.git_common_dir):
        return True
    is_inside = discovered.git_dir == discovered.git_common_dir or discovered.git_dir.startswith(
        discovered.git_common_dir + os.sep
    )
    return is_inside and os.path.realpath(handle.workdir or os.sep) == os.path.realpath(discovered.worktree)


def describe_snapshot(folder: str, cancellation: Cancellation | None = None) -> RepositoryDescription:
    """Describe a directory without git as a repository of one commit."""
    from sourcelight.repos.worktrees import current_state

    real = os.path.realpath(folder)
    canonical_path = canonical_path_of(real)
    draft = Repository(
        info=RepositoryInfo(name_from_folder(real)),
        key=key_of(real),
        kind="snapshot",
        git_dir="",
        worktree=real,
        incomplete="",
        canonical_path=canonical_path,
    )
    state = current_state(draft, cancellation)
    info = RepositoryInfo(draft.name, commit=state.commit, last_fetched=_format_time(os.stat(real).st_mtime))
    return RepositoryDescription(
        repository=Repository(
            info=info,
            key=draft.key,
            kind="snapshot",
            git_dir="",
            worktree=real,
            incomplete="",
            canonical_path=canonical_path,
        ),
        folder=real,
        warning="",
        home=real,
        git_common_dir=real,
        real_folder=real,
    )


def stamp(discovered: DiscoveredRepository) -> tuple[Stamp, bool]:
    """Return a stamp of refs, configuration and description, and whether it is too recent to be trusted."""
    head = head_target(discovered.git_dir)
    return stamp_files(watched_files(discovered, head))


def watched_files(discovered: DiscoveredRepository, head: str) -> tuple[str, ...]:
    """List the files whose `stat` decides whether to read a repository again."""
    git_dir, git_common_dir = discovered.git_dir, discovered.git_common_dir
    common_names = (
        "packed-refs",
        "refs/heads",
        "refs/tags",
        "config",
        "description",
        _REPLACE,
        "objects/info/alternates",
    )
    files = [f"{git_dir}/{name}" for name in ("HEAD", "FETCH_HEAD", "commondir")]
    files += [f"{git_common_dir}/{name}" for name in common_names]
    if head:
        files.append(f"{git_common_dir}/{head}")

    return tuple(files)


def commit_files(discovered: DiscoveredRepository, head: str) -> tuple[str, ...]:
    """List the few files that show whether HEAD's commit may differ: git replaces HEAD and packed refs in place."""
    directories = () if discovered.git_dir == discovered.git_common_dir else (discovered.git_common_dir,)
    ref = (_nearest_existing(discovered.git_common_dir, head),) if head else ()
    return (discovered.git_dir, *directories, *ref)


def _nearest_existing(git_common_dir: str, ref: str) -> str:
    """Return the file of a ref, or for a packed ref the directory in which it would appear."""
    path = f"{git_common_dir}/{ref}"
    while len(path) > len(git_common_dir) and not os.path.lexists(path):
        path = path.rpartition("/")[0]
    return path


def stamp_files(files: tuple[str, ...]) -> tuple[Stamp, bool]:
    """Return time, inode and size of files (None for an absent one), and whether one changed a moment ago."""
    stamps: list[tuple[int, int, int] | None] = []
    newest = 0
    for file in files:
        try:
            info = os.stat(file)
        except OSError:
            stamps.append(None)
            continue
        stamps.append((info.st_mtime_ns, info.st_ino, info.st_size))
        newest = max(newest, info.st_mtime_ns)

    # A file that changed just now may change again with the same time stamp, so the caller looks again later.
    return tuple(stamps), time.time_ns() - newest < RACY_NS


def replaced_objects(git_common_dir: str) -> int:
    """Count the objects that ``refs/replace`` replaces; reads no object."""
    names: set[bytes] = set()
    try:
        with os.scandir(f"{git_common_dir}/{_REPLACE}") as entries:
            # A set, because a replacement may be both a loose and a packed ref.
            names.update(os.fsencode(entry.name) for entry in entries)
    except OSError:
        pass

    try:
        # A line has 40 hex digits, a space and the name of the ref.
        with open(f"{git_common_dir}/packed-refs", "rb") as file:
            names.update(line[41 + len(_REPLACE) + 1 :].strip() for line in file if line[41:].startswith(_REPLACED))
    except OSError:
        pass

    return sum(_OBJECT.fullmatch(name) is not None for name in names)


def _follows_replacements(settings: Mapping[str, str]) -> bool:
    """Return whether git itself would follow replacements here."""
    return settings.get("core.usereplacerefs", "true").lower() not in {"false", "no", "off", "0"}


def _no_commit_error(handle: object) -> UnusableRepository:
    """Distinguish a repository without a commit from one whose commit can't be read."""
    import pygit2

    assert isinstance(handle, pygit2.Repository)  # noqa: S101 - narrows for the type checker
    try:
        names = handle.raw_listall_references()
        if not names and handle.head_is_unborn:
            return UnusableRepository("empty", "it has no commit yet")
    except pygit2.GitError as error:
        return UnusableRepository("corrupt", f"its refs can't be read: {error}")

    return UnusableRepository("corrupt", "the commit that HEAD names can't be read")


def _own_description(git_common_dir: str) -> str:
    """Return the first lines of git's description file; empty for git's default text."""
    try:
        raw = read_small_file(os.path.join(git_common_dir, "description"), 2000, follow=False)
    except OSError:
        return ""
    text = raw.decode("utf-8", "replace").strip()
    return "" if text.startswith(_DEFAULT_DESCRIPTION) else text


def _last_change(discovered: DiscoveredRepository) -> str:
    """Return the time of the last fetch or ref change, RFC 3339 in UTC."""
    head = head_target(discovered.git_dir)
    names = [f"{discovered.git_dir}/{name}" for name in ("FETCH_HEAD", "logs/HEAD", "HEAD")]
    names += [f"{discovered.git_common_dir}/{name}" for name in ("packed-refs", "refs/heads", "refs/tags")]
    if head:
        names.append(f"{discovered.git_common_dir}/{head}")

    times = []
    for name in names:
        try:
            times.append(os.stat(name).st_mtime)
        except OSError:
            continue

    return _format_time(max(times)) if times else ""


def _format_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
