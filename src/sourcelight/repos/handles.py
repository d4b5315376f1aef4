"""The one place where a git directory is opened with pygit2, safely and with our own errors.

Reading is safe even in a folder that someone else owns, so libgit2's ownership check is lifted while a repository is
opened: that check protects from *running* what a foreign configuration names (hooks, fsmonitor, filters, pagers), and
libgit2 runs none of these. It does not fetch missing objects either.
"""

from __future__ import annotations

import os
import re
import threading
from typing import TYPE_CHECKING

from sourcelight.core.errors import RepositoryError
from sourcelight.repos.git_files import unfit_file
from sourcelight.repos.repository import Reason, common_dir
from sourcelight.repos.small_files import read_small_file
from sourcelight.repos.unfolding import refuse_unfolding

if TYPE_CHECKING:
    import pygit2

_READ_ALIKE = ("partialclone", "noop-v1", "compatobjectformat")
"""Extensions (gitrepository-layout) that libgit2 does not know and that change nothing for who reads: what a partial
clone lacks is missing, and the compatible names of objects are beside the others."""

_UNKNOWN_EXTENSION = re.compile(r"unsupported extension name (?:extensions\.)?(\S+)")
_UNKNOWN_VERSION = re.compile(r"unsupported repository version (\d+)")
_opening = threading.Lock()  # the ownership switch belongs to the whole process


def _renew_lock() -> None:
    global _opening  # noqa: PLW0603 - a forked worker must not inherit a lock that another thread held
    _opening = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


class Unusable(RepositoryError):
    """Raised inside this room for a git directory that can't be read; `reason` is the word a reader sees."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


def open_handle(git_dir: str) -> pygit2.Repository:
    """Open a git directory (never one above it).

    Raises
    ------
    Unusable
        If it can't be read, and why in words.
    """
    import pygit2

    problem = unfit_file(git_dir, common_dir(git_dir))
    if problem:
        raise Unusable("unsupported", problem)
    with _opening:
        former = pygit2.settings.owner_validation
        pygit2.settings.owner_validation = False
        _accept_extensions()
        try:
            try:
                handle = pygit2.Repository(git_dir, pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
            except pygit2.GitError:
                handle = _open_without_user(git_dir)
            refuse_unfolding(handle.odb, common_dir(git_dir))
        except (pygit2.GitError, KeyError, ValueError, OSError) as error:
            raise _why(git_dir, error) from error
        finally:
            pygit2.settings.owner_validation = former
    return handle


def _accept_extensions() -> None:
    """Tell libgit2, once in a process, of the extensions that change nothing for who reads."""
    global _is_told  # noqa: PLW0603 - the setting belongs to the whole process
    if not _is_told:
        import pygit2

        pygit2.settings.set_extensions(list(_READ_ALIKE))
        _is_told = True


_is_told = False


def _open_without_user(git_dir: str) -> pygit2.Repository:
    """Open without the configuration of user and host: theirs may be the one that can't be read."""
    import pygit2

    level = pygit2.enums.ConfigLevel
    places = pygit2.settings.search_path
    former = {each: places[each] for each in (level.SYSTEM, level.XDG, level.GLOBAL)}
    try:
        for each in former:
            places[each] = ""
        return pygit2.Repository(git_dir, pygit2.enums.RepositoryOpenFlag.NO_SEARCH)
    finally:
        for each, place in former.items():
            places[each] = place


def _why(git_dir: str, error: Exception) -> Unusable:
    """Tell formats that libgit2 lacks, missing permission and damage apart."""
    shared = common_dir(git_dir)
    try:
        config = read_small_file(os.path.join(shared, "config")).decode("utf-8", "replace")
        os.scandir(shared).close()
    except PermissionError:
        return Unusable("unreadable", "permission denied")
    except FileNotFoundError:
        config = ""
        if not os.path.isdir(git_dir):
            return Unusable("gone", "the git directory no longer exists")
    except OSError as fault:
        return Unusable("unreadable", fault.strerror or str(fault))
    unsupported = _unsupported(config, str(error))
    return Unusable("unsupported", unsupported) if unsupported else Unusable("corrupt", f"git can't open it: {error}")


def _unsupported(config: str, error: str) -> str:
    """What libgit2 can't read of a format; empty when it could."""
    if re.search(r"(?im)^\s*objectformat\s*=\s*sha256", config):
        return "it uses SHA-256 object names, which libgit2 can't read; convert it to SHA-1"
    if re.search(r"(?im)^\s*refstorage\s*=\s*reftable", config):
        return "it keeps its refs as reftable, which libgit2 can't read; `git refs migrate --ref-format=files` helps"
    if extension := _UNKNOWN_EXTENSION.search(error):
        return f"it uses the extension {extension[1]} of git, which libgit2 can't read"
    if version := _UNKNOWN_VERSION.search(error):
        return f"it has format {version[1]} of git's repositories, which libgit2 can't read"
    return ""
