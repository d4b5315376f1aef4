"""Open git directories with pygit2, safely and with typed errors. No other module opens them.

Reading is safe even in a directory of another owner, so libgit2's ownership check is off while a repository is opened:
that check protects from *running* programs of a foreign configuration (hooks, fsmonitor, filters, pagers), and libgit2
runs none of these. It doesn't fetch missing objects either. The files of a git directory are checked before libgit2
reads them: it would wait for a pipe without end.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from sourcelight.core.batches import NO_COMMIT, CommitId
from sourcelight.core.errors import RepositoryError
from sourcelight.repos.boundary import Boundary, read_small_file
from sourcelight.repos.objects.packs import refuse_unfolding
from sourcelight.repos.repository import Reason, Repository, common_dir

if TYPE_CHECKING:
    import pygit2


MAX_BYTES = {
    "HEAD": 4 << 10, "commondir": 4 << 10, "gitdir": 4 << 10, "config": 4 << 20, "config.worktree": 4 << 20,
    "shallow": 16 << 20, "packed-refs": 256 << 20, "index": 512 << 20, "info/attributes": 4 << 20,
    "info/exclude": 4 << 20, "info/grafts": 4 << 20, "objects/info/alternates": 1 << 20, "description": 1 << 20,
}  # fmt: skip
"""Maximum bytes of files in a git directory, far above what git writes: a million refs take 80 MB."""

_MAX_INCLUDES = 32
"""Files of configuration that a repository may include: they may include each other in a circle."""

_LOCAL_LEVEL = 5  # GIT_CONFIG_LEVEL_LOCAL of libgit2; those of the user and the machine are below
_CONTINUATION = re.compile(r"\\\r?\n")
"""The end of a line that continues on the next one."""

_PATH = re.compile(r"(?im)(?:^|\])[^\S\n]*path\s*=([^\n]*)")
"""The value of ``path``, which names a file to include."""

_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}
"""Characters by the letter behind a backslash, in values of a configuration."""

_has_extensions = False

_READ_ALIKE = ("partialclone", "noop-v1", "compatobjectformat")
"""Extensions (gitrepository-layout) that libgit2 doesn't know and that don't change how objects are read. Objects that
a partial clone lacks count as missing. Compatible names of objects are stored next to the regular ones."""

_UNKNOWN_EXTENSION = re.compile(r"unsupported extension name (?:extensions\.)?(\S+)")
"""Messages of libgit2 about a repository that it can't open."""

_UNKNOWN_VERSION = re.compile(r"unsupported repository version (\d+)")

MAX_MAILMAP_BYTES = 4 << 20
"""Bytes above which a mailmap is not read: the largest known one has 30 thousand."""

_MAX_FOLDER_BYTES = 16 << 20
"""Bytes of the root directory above which no description is looked for in it."""


def unfit_file(git_dir: str, git_common_dir: str) -> str:
    """Return the first file of a git directory that must not be read, with the reason; empty if all may be read.

    Parameters
    ----------
    git_dir, git_common_dir
        The git directory, and the directory with objects and refs (the same except in a linked work tree).
    """
    for name, limit in MAX_BYTES.items():
        # A linked work tree has its own HEAD and index, and shares the other files.
        for directory in dict.fromkeys((git_dir, git_common_dir)):
            problem = _file_problem(os.path.join(directory, name), limit)
            if problem:
                return f"{name} {problem}"
    return _unfit_include(_configs_of(git_dir, git_common_dir))


def _file_problem(path: str, limit: int) -> str:
    try:
        info = os.stat(path)
    except OSError:
        return ""
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
        return "is not a regular file"
    if info.st_size > limit:
        return f"has {info.st_size:,} bytes; at most {limit:,} are read"
    return ""


def _unfit_include(configs: Sequence[str]) -> str:
    """Return why the files that configurations include must not be read; empty if they may.

    A file counts each time that it is read: nine files that each include the next one ten times would be read a
    thousand million times.
    """
    for count, (config, is_included) in enumerate(_config_files(configs), 1):
        if count > _MAX_INCLUDES:
            return f"config includes more than {_MAX_INCLUDES} files"

        problem = _file_problem(config, MAX_BYTES["config"])
        if problem:
            return f"a file that config includes {problem}" if is_included else f"config {problem}"
    return ""


def included_files(git_dir: str, git_common_dir: str) -> tuple[str, ...]:
    """List the real paths of files that the configuration includes; `unfit_file` has allowed to read them."""
    files = islice(_config_files(_configs_of(git_dir, git_common_dir)), _MAX_INCLUDES)
    return tuple(dict.fromkeys(os.path.realpath(file) for file, is_included in files if is_included))


def _configs_of(git_dir: str, git_common_dir: str) -> list[str]:
    return [os.path.join(git_common_dir, "config"), os.path.join(git_dir, "config.worktree")]


def _config_files(configs: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield configurations and the files that they include, each time. Taking the next one allows the last.

    If a configuration includes anything, every ``path`` in it counts, in any section, because a section's name can be
    written in too many ways.
    """
    pending = [(config, False) for config in configs]
    while pending:
        config, is_included = pending.pop()
        yield config, is_included
        try:
            with open(config, encoding="utf-8", errors="surrogateescape", newline="") as file:
                text = file.read(MAX_BYTES["config"])
        except OSError:
            continue

        # Most configurations include nothing, and are not searched for paths.
        if "include" in text.lower():
            values = map(_plain_value, _PATH.findall(_CONTINUATION.sub("", text)))
            pending += [(os.path.join(os.path.dirname(config), os.path.expanduser(value)), True) for value in values]


def _plain_value(text: str) -> str:
    """Return a configuration value as git reads it: without quotes, escapes and comment (git-config, "Syntax")."""
    value: list[str] = []
    is_quoted = False
    characters = iter(text.strip())
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            value.append(_ESCAPES.get(escaped, escaped))
        elif character == '"':
            is_quoted = not is_quoted
        elif character in "#;" and not is_quoted:
            break
        else:
            value.append(character)

    return "".join(value).strip().replace("\0", "")


_open_lock = threading.Lock()  # the ownership switch belongs to the whole process


def _renew_lock() -> None:
    global _open_lock  # noqa: PLW0603 - a forked worker must not inherit a lock that another thread held
    _open_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class UnusableRepository(RepositoryError):
    """Raised inside this room for a git directory that can't be read; `reason` is shown to readers."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


def open_handle(git_dir: str) -> pygit2.Repository:
    """Open a git directory (never one above it).

    Raises
    ------
    UnusableRepository
        If it can't be read; the message says why.
    """
    import pygit2

    problem = unfit_file(git_dir, common_dir(git_dir))
    if problem:
        raise UnusableRepository("unsupported", problem)

    with _open_lock:
        # Read and restored: the embedding program may have its own setting, for its own use of libgit2.
        previous = pygit2.settings.owner_validation
        pygit2.settings.owner_validation = False
        _accept_extensions()

        try:
            try:
                handle = pygit2.Repository(git_dir, pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
            except pygit2.GitError:
                handle = _open_without_user(git_dir)
            refuse_unfolding(handle.odb, common_dir(git_dir))
        except (pygit2.GitError, KeyError, ValueError, OSError) as error:
            raise _to_error(git_dir, error) from error
        finally:
            pygit2.settings.owner_validation = previous

    return handle


def own_boundary(repository: Repository) -> Boundary:
    """Return where rules about the files of a repository may come from: if it is served, from its own directories."""
    if not repository.is_served:
        return Boundary()
    folders = dict.fromkeys((repository.worktree, repository.git_dir, common_dir(repository.git_dir)))
    return Boundary(tuple(os.path.realpath(folder) for folder in folders))


def is_own_setting(handle: pygit2.Repository, key: str) -> bool:
    """Return whether the repository's own configuration has a setting, and not only that of the user or the machine."""
    return any(entry.level >= _LOCAL_LEVEL for entry in handle.config if entry.name.lower() == key)


def head_commit(handle: pygit2.Repository) -> CommitId:
    """Return the commit that is checked out, or empty before the first one.

    Raises
    ------
    RepositoryError
        If HEAD, or the branch that it names, can't be read.
    """
    import pygit2

    try:
        return NO_COMMIT if handle.head_is_unborn else CommitId(str(handle.head.target))
    except (pygit2.GitError, KeyError, ValueError) as error:  # ValueError: a name that is not UTF-8, too
        raise RepositoryError(f"the commit that HEAD of {handle.path} names can't be read: {error}") from error


def _accept_extensions() -> None:
    """Register with libgit2, once per process, the extensions that don't matter for reading."""
    global _has_extensions  # noqa: PLW0603 - the setting belongs to the whole process
    if not _has_extensions:
        import pygit2

        pygit2.settings.set_extensions(list(_READ_ALIKE))
        _has_extensions = True


def _open_without_user(git_dir: str) -> pygit2.Repository:
    """Open without the configuration of user and host, which may be the unreadable one."""
    import pygit2

    level = pygit2.enums.ConfigLevel
    search_path = pygit2.settings.search_path
    previous = {level_name: search_path[level_name] for level_name in (level.SYSTEM, level.XDG, level.GLOBAL)}
    try:
        for level_name in previous:
            # The settings of libgit2 are global to the process; callers hold the lock of this module.
            search_path[level_name] = ""
        return pygit2.Repository(git_dir, pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
    finally:
        for level_name, path in previous.items():
            search_path[level_name] = path


def _to_error(git_dir: str, error: Exception) -> UnusableRepository:
    """Distinguish formats that libgit2 can't read, missing permission and damage."""
    git_common_dir = common_dir(git_dir)
    try:
        config = read_small_file(os.path.join(git_common_dir, "config")).decode("utf-8", "replace")
        os.scandir(git_common_dir).close()
    except PermissionError:
        return UnusableRepository("unreadable", "permission denied")
    except FileNotFoundError:
        config = ""
        if not os.path.isdir(git_dir):
            return UnusableRepository("gone", "the git directory no longer exists")
    except OSError as exc:
        return UnusableRepository("unreadable", exc.strerror or str(exc))

    unsupported = _unsupported_feature(config, str(error))
    if unsupported:
        return UnusableRepository("unsupported", unsupported)
    return UnusableRepository("corrupt", f"git can't open it: {error}")


def _unsupported_feature(config: str, error: str) -> str:
    """Name the feature of a format that libgit2 can't read; empty if it can."""
    if re.search(r"(?im)^\s*objectformat\s*=\s*sha256", config):
        return "it uses SHA-256 object names, which libgit2 can't read; convert it to SHA-1"
    if re.search(r"(?im)^\s*refstorage\s*=\s*reftable", config):
        return "it keeps its refs as reftable, which libgit2 can't read; `git refs migrate --ref-format=files` helps"
    if extension := _UNKNOWN_EXTENSION.search(error):
        return f"it uses the extension {extension[1]} of git, which libgit2 can't read"
    if version := _UNKNOWN_VERSION.search(error):
        return f"it has format {version[1]} of git's repositories, which libgit2 can't read"

    return ""


def mailmap_blob(git_dir: str) -> str:
    """Return the blob of HEAD's ``.mailmap`` as 40 hex digits; empty if absent or too large."""
    import pygit2

    try:
        handle = open_handle(git_dir)
        commit = handle.revparse_single("HEAD").peel(pygit2.Commit)
        # libgit2 loads a tree as a whole, so its size is checked before an entry is read.
        if handle.odb.read_header(commit.tree_id)[1] > _MAX_FOLDER_BYTES:
            return ""
        blob = commit.tree[".mailmap"].id
        kind, size = handle.odb.read_header(blob)
    except (UnusableRepository, KeyError, ValueError, pygit2.GitError):
        return ""

    if kind == pygit2.enums.ObjectType.BLOB and size <= MAX_MAILMAP_BYTES:
        return str(blob)
    return ""
