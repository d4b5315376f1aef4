"""What a repository is to the rest of the package: facts and places, no open handle, cheap to pickle."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from typing import Literal

from sourcelight.core.batches import RepositoryFacts

Reason = Literal["unreadable", "empty", "corrupt", "unsupported", "not found", "gone"]


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository, or one plain folder that is read as a snapshot.

    Parameters
    ----------
    facts
        Name, description, flags; `facts.commit` is the commit that a search of the default revision reads.
    key
        Identity on this machine, safe as a file name: from the real path of the git directory or folder.
    kind
        ``git``, or ``snapshot`` for a folder without git.
    git_dir
        Git directory whose HEAD counts; empty for a snapshot.
    worktree
        Work tree or snapshot folder; empty for a bare repository.
    incomplete
        Why the repository does not hold everything (``shallow``, ``partial clone``, or both); empty when it does.
    """

    facts: RepositoryFacts
    key: str
    kind: Literal["git", "snapshot"]
    git_dir: str
    worktree: str = ""
    incomplete: str = ""

    @property
    def name(self) -> str:
        """Name that queries use, such as ``github.com/owner/name``."""
        return self.facts.name


@dataclass(frozen=True, slots=True)
class SkippedRepository:
    """Something that looked like a repository but can't be searched, and why."""

    path: str
    reason: Reason
    message: str


def key_of(path: str) -> str:
    """File-name-safe identity of a real path: a readable stem and a hash of the whole path."""
    stem = os.path.basename(path.removesuffix("/.git").removesuffix("\\.git"))
    return readable_key(stem, hashlib.sha256(os.fsencode(path)).hexdigest())


def readable_key(stem: str, digest: str) -> str:
    """A name for files: what is readable of `stem`, and the start of a hash that tells it from others."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip(".-")[:40] or "repository"
    return f"{stem}-{digest[:16]}"


def common_dir(git_dir: str) -> str:
    """The git directory that holds objects and refs: `git_dir` itself, or for a linked work tree the one it names."""
    try:
        with open(os.path.join(git_dir, "commondir"), "rb") as file:
            named = os.fsdecode(file.read(4096).strip())
    except OSError:
        return git_dir
    return os.path.normpath(os.path.join(git_dir, named))
