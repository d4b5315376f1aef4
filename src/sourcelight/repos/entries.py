"""One place of a catalog: what stands there, and how to notice cheaply that it says something else."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError, RepositoryNotFound
from sourcelight.repos.boundary import Boundary
from sourcelight.repos.describe import (
    Description,
    Stamp,
    commit_files,
    describe,
    describe_snapshot,
    stamp_files,
    watched_files,
)
from sourcelight.repos.discovery import Found
from sourcelight.repos.handles import Unusable
from sourcelight.repos.repository import SkippedRepository, place_of
from sourcelight.repos.revisions import head_target

SNAPSHOT_SHARE = 20  # a snapshot is looked through again after 20 times as long as the last look took


@dataclass(slots=True)
class CatalogEntry:
    """One place: what it said last (`description` or `skipped`), and by what to notice that it says something else."""

    place: Found | str
    files: tuple[str, ...] = ()
    stamp: Stamp = ()
    racy: bool = False
    commit_files: tuple[str, ...] = ()
    commit_stamp: Stamp | None = None
    description: Description | None = None
    skipped: SkippedRepository | None = None
    look_again: float = 0.0

    def read(self, boundary: Boundary, cancellation: Cancellation | None = None) -> bool:
        """Read the place anew; True when it says something else than before."""
        former = (self.description, self.skipped)
        began = time.monotonic()
        self.description = self.skipped = None
        if isinstance(self.place, Found):
            head = head_target(self.place.git_dir)
            self.files, self.commit_files = watched_files(self.place, head), commit_files(self.place, head)
        self.commit_stamp = None
        self.stamp, self.racy = stamp_files(self.files)  # before reading: what changes meanwhile is seen next time
        try:
            if isinstance(self.place, Found):
                self.description = describe(self.place, boundary)
            else:
                self.description = describe_snapshot(self.place, cancellation)
        except Unusable as error:
            self.skipped = SkippedRepository(self.path, error.reason, str(error))
        except RepositoryNotFound:
            self.skipped = SkippedRepository(self.path, "gone", "the folder no longer exists")
        except (RepositoryError, OSError) as error:
            self.skipped = SkippedRepository(self.path, "unreadable", str(error))
        self.look_again = time.monotonic() + SNAPSHOT_SHARE * (time.monotonic() - began)
        return former != (self.description, self.skipped)

    def refresh(self, boundary: Boundary, *, thorough: bool, brief: bool) -> bool:
        """Read the place anew if it may say something else; True when it does. See `Catalog.refresh`."""
        if isinstance(self.place, str):
            return (thorough or time.monotonic() >= self.look_again) and self.read(boundary)
        if brief and not (thorough or self.racy or self.stands_in):
            stamp, racy = stamp_files(self.commit_files)
            if stamp == self.commit_stamp:
                return False
            self.commit_stamp = None if racy else stamp
        if not (thorough or self.racy or stamp_files(self.files)[0] != self.stamp):
            return False
        return self.read(boundary)

    @property
    def stands_in(self) -> bool:
        """Whether HEAD names no branch, so that another one stands in for it, which `commit_files` say nothing of."""
        return self.description is not None and bool(self.description.warning)

    @property
    def rests(self) -> bool:
        """Whether `commit_files` alone tell of another commit."""
        git = isinstance(self.place, Found)
        return git and self.commit_stamp is not None and not self.racy and not self.stands_in

    @property
    def address(self) -> str:
        """The place by which it is remembered."""
        return place_of(self.place if isinstance(self.place, str) else self.place.shared)

    @property
    def path(self) -> str:
        """Where a reader sees it."""
        return self.place if isinstance(self.place, str) else self.place.worktree or self.place.git_dir
