"""A repository as plain data: values and paths, no open handle, cheap to pickle."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from typing import Literal, NewType

from sourcelight.core.batches import RepositoryInfo
from sourcelight.repos.boundary import read_small_file

UNKNOWN_LENDER = "\0"
"""Stands for a private directory that is not a repository of the catalog. No grant can have this name."""

RepositoryKey = NewType("RepositoryKey", str)
"""Identity of a repository on this machine, safe as a file name. It isn't the name, which a service may show."""

Reason = Literal["unreadable", "empty", "corrupt", "unsupported", "not found", "gone", "outside", "linked"]


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository, or one plain directory that is read as a snapshot.

    Parameters
    ----------
    info
        Name, description, flags; `info.commit` is the commit that a search of the default revision reads.
    key
        Identity on this machine, safe as a file name: from the real path of the git directory or directory.
    kind
        ``git``, or ``snapshot`` for a directory without git.
    git_dir
        Git directory whose HEAD counts; empty for a snapshot.
    worktree
        Work tree or snapshot directory; empty for a bare repository.
    incomplete
        Why the repository is not complete (``shallow``, ``partial clone``, or both); empty if it is complete.
    canonical_path
        Where it is on this machine, as `canonical_path_of` gives it: what grants refer to. Empty for others.
    lenders
        Canonical paths of the private repositories whose objects this one reads. A viewer must be granted all of them.
    lender_names
        The same as names, for a cluster, whose grants are to names; ``UNKNOWN_LENDER`` for one without a name.
    is_served
        Whether others read it than the user who opened it: rules about its files must then be its own.
    """

    info: RepositoryInfo
    key: RepositoryKey
    kind: Literal["git", "snapshot"]
    git_dir: str
    worktree: str = ""
    incomplete: str = ""
    canonical_path: str = ""
    lenders: tuple[str, ...] = ()
    lender_names: tuple[str, ...] = ()
    is_served: bool = False

    @property
    def name(self) -> str:
        """Name that queries use, such as ``github.com/owner/name``."""
        return self.info.name


@dataclass(frozen=True, slots=True)
class SkippedRepository:
    """A directory that looks like a repository but isn't searched, and the reason."""

    path: str
    reason: Reason
    message: str


def key_of(path: str) -> RepositoryKey:
    """Return the file-name-safe identity of a real path: a readable stem and a hash of the whole path."""
    # The stem is for people who look into the index directory; the hash alone makes the key unique.
    stem = os.path.basename(path.removesuffix("/.git").removesuffix("\\.git"))
    return readable_key(stem, hashlib.sha256(os.fsencode(path)).hexdigest())


def readable_key(stem: str, digest: str) -> RepositoryKey:
    """Return a key: the readable part of `stem`, and the start of a hash that makes it unique."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip(".-")[:40] or "repository"
    return RepositoryKey(f"{stem}-{digest[:16]}")


def home_of(git_common_dir: str) -> str:
    """Return the canonical path of the repository with its objects in `git_common_dir`: its main work tree.

    For a bare repository, a mirror or a submodule it is the git directory itself; for a snapshot its directory.
    """
    real = os.path.realpath(git_common_dir)
    return os.path.dirname(real) if os.path.basename(real) == ".git" else real


def canonical_path_of(git_common_dir: str) -> str:
    """Return `home_of` as text, with bytes spelled out if it is not UTF-8, for databases and terminals."""
    home = home_of(git_common_dir)
    try:
        home.encode("utf-8")
    except UnicodeEncodeError:
        return f"bytes:{os.fsencode(home).hex()}"
    return home


def git_dir_of_file(path: str) -> str:
    """Return the git directory that a ``.git`` file names (gitrepository-layout); empty for any other file."""
    try:
        text = read_small_file(path, 8192)
    except OSError:
        return ""

    if not text.startswith(b"gitdir:"):
        return ""

    target = os.fsdecode(text[7:].strip())
    if not target or "\0" in target:
        return ""
    return os.path.realpath(os.path.join(os.path.dirname(path), target))


def common_dir(git_dir: str) -> str:
    """Return the git directory with objects and refs: `git_dir`, or the directory that a linked work tree names."""
    try:
        target = os.fsdecode(read_small_file(os.path.join(git_dir, "commondir"), 4096).strip())
    except OSError:
        return git_dir
    # As the kernel resolves it, which is what git opens: `link/..` is not the directory around the link.
    return git_dir if "\0" in target else os.path.realpath(os.path.join(git_dir, target))
