"""One repository of a catalog, and cheap checks of whether it has changed.

`RepositoryMemory` remembers names and privacy of repositories, in this process or in the register of a service.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError, RepositoryNotFound, StateUnusable
from sourcelight.repos.boundary import Boundary
from sourcelight.repos.description import (
    RepositoryDescription,
    Stamp,
    commit_files,
    describe,
    describe_snapshot,
    stamp_files,
    watched_files,
)
from sourcelight.repos.discovery import DiscoveredRepository
from sourcelight.repos.handles import UnusableRepository
from sourcelight.repos.names import name_key
from sourcelight.repos.repository import Repository, SkippedRepository, canonical_path_of
from sourcelight.repos.revisions import head_target
from sourcelight.repos.state import RepositoryRecord, RepositoryRegister

ONLY_FILES_LEFT = "its repositories are gone, and files beside them are not searched; serve these from elsewhere"

SNAPSHOT_SHARE = 20  # a snapshot is looked through again after 20 times as long as the last look took


@dataclass(slots=True)
class CatalogEntry:
    """One repository: its last `description` or `skipped`, and the time stamps that show whether it has changed."""

    source: DiscoveredRepository | str
    files: tuple[str, ...] = ()
    stamp: Stamp = ()
    is_racy: bool = False
    commit_files: tuple[str, ...] = ()
    commit_stamp: Stamp | None = None
    description: RepositoryDescription | None = None
    skipped: SkippedRepository | None = None
    next_check_s: float = 0.0

    def read(self, boundary: Boundary, cancellation: Cancellation | None = None) -> bool:
        """Read the repository; return whether its description differs from the last one."""
        previous = (self.description, self.skipped)
        started_s = time.monotonic()
        self.description = self.skipped = None
        if isinstance(self.source, DiscoveredRepository):
            head = head_target(self.source.git_dir)
            self.files, self.commit_files = watched_files(self.source, head), commit_files(self.source, head)

        self.commit_stamp = None
        self.stamp, self.is_racy = stamp_files(self.files)  # before reading, so that the next check sees later changes
        try:
            if isinstance(self.source, DiscoveredRepository):
                self.description = describe(self.source, boundary)
            else:
                self.description = describe_snapshot(self.source, cancellation)
        except UnusableRepository as error:
            self.skipped = SkippedRepository(self.path, error.reason, str(error))
        except RepositoryNotFound:
            self.skipped = SkippedRepository(self.path, "gone", "the directory no longer exists")
        # ValueError: pygit2 raises it for text that it can't decode or pass on. No repository may hide the others.
        except (RepositoryError, OSError, ValueError) as error:
            self.skipped = SkippedRepository(self.path, "unreadable", str(error))

        # A directory without git is walked whole, so the pause before the next look is a multiple of the time that it
        # took.
        self.next_check_s = time.monotonic() + SNAPSHOT_SHARE * (time.monotonic() - started_s)
        return previous != (self.description, self.skipped)

    def refresh(self, boundary: Boundary, *, thorough: bool, brief: bool) -> bool:
        """Read it if its files have changed; return whether its description differs. See `Catalog.refresh`."""
        if isinstance(self.source, str):
            return (thorough or time.monotonic() >= self.next_check_s) and self.read(boundary)

        if (brief or self.commit_stamp is None) and not (thorough or self.is_racy or self.is_fallback_branch):
            stamp, is_racy = stamp_files(self.commit_files)
            if brief and stamp == self.commit_stamp:
                return False
            self.commit_stamp = None if is_racy else stamp

        if not (thorough or self.is_racy or stamp_files(self.files)[0] != self.stamp):
            return False

        return self.read(boundary)

    @property
    def may_have_changed(self) -> bool:
        """Whether `refresh` would read it; True also for a snapshot, whose files only a walk can compare."""
        is_git = isinstance(self.source, DiscoveredRepository)
        return not is_git or self.is_racy or stamp_files(self.files)[0] != self.stamp

    @property
    def is_fallback_branch(self) -> bool:
        """Whether HEAD names no branch, so that another branch is read, which `commit_files` don't cover."""
        return self.description is not None and bool(self.description.warning)

    @property
    def is_stable(self) -> bool:
        """Whether `commit_files` alone show a new commit."""
        git = isinstance(self.source, DiscoveredRepository)
        return git and self.commit_stamp is not None and not self.is_racy and not self.is_fallback_branch

    @property
    def canonical_path(self) -> str:
        """The path under which it is remembered."""
        return canonical_path_of(self.source if isinstance(self.source, str) else self.source.git_common_dir)

    @property
    def path(self) -> str:
        """The path to show to a reader."""
        if isinstance(self.source, str):
            return self.source
        return self.source.worktree or self.source.git_dir


class RepositoryMemory:
    """Records of repositories, oldest first.

    Attributes
    ----------
    register
        Where they are stored across restarts; None: nowhere, for a user who searches local files.
    private_roots
        Real paths of searched directories in which anything is or was private.
    """

    def __init__(self) -> None:
        self.register: RepositoryRegister | None = None
        self.records: dict[str, RepositoryRecord] = {}
        self.private_roots: frozenset[str] = frozenset()
        self._is_saved = True

    def use_register(self, register: RepositoryRegister) -> None:
        """Load the records of `register` and store all records there; records of this process win."""
        self.register = register
        self.records = {**{record.canonical_path: record for record in register.all()}, **self.records}
        self.private_roots |= register.private_roots()
        register.save(self.records.values(), private_roots=self.private_roots)

    def had_below(self, path: str) -> bool:
        """Return whether a repository was ever found below a directory, also before this process."""
        below = os.path.join(os.path.realpath(path), "")
        return any(canonical_path.startswith(below) for canonical_path in self.records)

    def store(self, records: Mapping[str, RepositoryRecord], private_roots: frozenset[str]) -> None:
        """Store records. A removed public repository loses its name to a new one."""
        names = {name_key(record.name) for record in records.values()}
        released = [
            path for path, record in self.records.items() if path not in records and name_key(record.name) in names
        ]
        changed = [record for path, record in records.items() if self.records.get(path) != record]
        if self._is_saved and not (changed or released) and private_roots <= self.private_roots:
            return

        for path in released:
            del self.records[path]

        self.records.update(records)
        self.private_roots |= private_roots
        if self.register is not None:
            try:
                self.register.save(changed if self._is_saved else self.records.values(), released, self.private_roots)
                self._is_saved = True
            except StateUnusable:  # it is in force in this process; the next change tries again
                self._is_saved = False

    def bind_grants(self, repositories: Sequence[Repository]) -> None:
        """Bind grants by name to the repositories of these names, unless several claim a name."""
        if self.register is None:
            return

        claims = Counter(record.claim for record in self.records.values())
        paths = {}
        for repository in repositories:
            claim = self.records[repository.canonical_path].claim
            # If two repositories claim the name, the grant stays unbound: it isn't known which one was meant.
            if claims[claim] == 1 or name_key(repository.name) != claim:
                paths[repository.name] = repository.canonical_path

        self.register.bind(paths)
