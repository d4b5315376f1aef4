"""The repositories of one `open`: found, named, annotated, and kept up to date."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from sourcelight.core.batches import Cancellation
from sourcelight.core.errors import ConfigurationError, NoRepositories, RepositoryError, RepositoryNotFound
from sourcelight.repos.annotations import FILE_NAME, Annotations, read_annotations
from sourcelight.repos.describe import (
    Description,
    Stamp,
    commit_files,
    describe,
    describe_snapshot,
    stamp_files,
    watched_files,
)
from sourcelight.repos.discovery import Discovery, Found
from sourcelight.repos.enclosing import enclosing_repository, holds_files
from sourcelight.repos.handles import Unusable
from sourcelight.repos.naming import arrange
from sourcelight.repos.permissions import Viewer, visible
from sourcelight.repos.repository import Repository, SkippedRepository
from sourcelight.repos.revisions import head_target

Path = str | os.PathLike[str]
SNAPSHOT_SHARE = 20  # a snapshot is looked through again after 20 times as long as the last look took


@dataclass(slots=True)
class _Entry:
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

    def read(self, cancellation: Cancellation | None = None) -> bool:
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
                self.description = describe(self.place)
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

    def refresh(self, *, thorough: bool, brief: bool) -> bool:
        if isinstance(self.place, str):
            return (thorough or time.monotonic() >= self.look_again) and self.read()
        if brief and not (thorough or self.racy or self.stands_in):
            stamp, racy = stamp_files(self.commit_files)
            if stamp == self.commit_stamp:
                return False
            self.commit_stamp = None if racy else stamp
        if not (thorough or self.racy or stamp_files(self.files)[0] != self.stamp):
            return False
        return self.read()

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
    def path(self) -> str:
        return self.place if isinstance(self.place, str) else self.place.worktree or self.place.git_dir


class Catalog:
    """Repositories below some folders. Safe to use from several threads.

    Make one with `Catalog.open`.
    """

    def __init__(self, paths: Sequence[str], annotations: str | None, *, worktree: bool) -> None:
        self.paths = tuple(paths)
        self.worktree = worktree
        self._given_annotations = annotations
        self._lock = threading.RLock()
        self._entries: list[_Entry] = []
        self._folders: dict[str, int] = {}
        self._walk_skipped: tuple[SkippedRepository, ...] = ()
        self._walk_warnings: tuple[str, ...] = ()
        self._annotations: tuple[Annotations, ...] = ()
        self._annotation_files: tuple[str, ...] = ()
        self._annotation_stamp: tuple[Stamp, bool] = ((), False)
        self._annotation_warning = ""
        self._watched: list[tuple[str, int, int, int]] | None = None
        self._absent: list[str] = []
        self._by_name: dict[str, Repository] = {}
        self._view: tuple[tuple[Repository, ...], tuple[SkippedRepository, ...], tuple[str, ...]] = ((), (), ())

    @classmethod
    def open(
        cls,
        paths: Path | Sequence[Path],
        *,
        worktree: bool = False,
        annotations: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> Self:
        """Find every repository below `paths`.

        Work trees, bare repositories, submodules and mirrors are found at any depth, also inside other work trees;
        linked work trees of one git directory are one repository. A path inside a work tree, of which the last commit
        holds files, means the whole repository. A path that holds files but no repository is read as a snapshot.

        Parameters
        ----------
        paths
            Folders; ``~`` is expanded.
        worktree
            Whether the caller wants modified and untracked files too (revision ``WORKTREE``); kept as `worktree`.
        annotations
            A `repos.toml`; None: the one in or beside each given folder, if any.
        progress
            Called with folders read and repositories found.
        cancellation
            Checked for every folder and file.

        Raises
        ------
        NoRepositories
            If nothing can be searched; says what was skipped and why.
        ConfigurationError
            If a `repos.toml` can't be used.
        Cancelled
            If `cancellation` asks to stop.
        """
        given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        places = [os.path.abspath(os.path.expanduser(os.fspath(path))) for path in given]
        file = None if annotations is None else os.path.abspath(os.path.expanduser(os.fspath(annotations)))
        catalog = cls(places, file, worktree=worktree)
        catalog._discover(cancellation, progress)
        catalog._read_annotations()
        catalog._arrange()
        if not catalog.repositories:
            raise NoRepositories(places, {skip.path: f"{skip.reason}: {skip.message}" for skip in catalog.skipped})
        return catalog

    @classmethod
    def listed(
        cls,
        repositories: Sequence[Repository],
        *,
        contexts: Mapping[str, Mapping[str, object]] | None = None,
    ) -> Self:
        """Make a catalog of repositories that somebody else found; it looks at no folder, and never changes."""
        catalog = cls((), None, worktree=False)
        catalog._annotations = (Annotations(contexts={name: dict(c) for name, c in (contexts or {}).items()}),)
        ordered = tuple(sorted(repositories, key=lambda repository: repository.name))
        catalog._by_name = {repository.name: repository for repository in ordered}
        catalog._view = (ordered, (), ())
        return catalog

    @property
    def repositories(self) -> tuple[Repository, ...]:
        """All repositories that can be read, by name."""
        return self._view[0]

    @property
    def skipped(self) -> tuple[SkippedRepository, ...]:
        """What looked like a repository but can't be read, by path."""
        return self._view[1]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know about the names and places."""
        return self._view[2]

    @property
    def contexts(self) -> dict[str, dict[str, object]]:
        """Named sets of repositories from `repos.toml`, shape checked."""
        return {name: dict(context) for file in self._annotations for name, context in file.contexts.items()}

    def get(self, name: str, viewer: Viewer | None = None) -> Repository:
        """Give the repository of this name.

        Raises
        ------
        RepositoryNotFound
            If there is none, or `viewer` (None: the owner) may not see it.
        """
        repository = self._by_name.get(name)
        if repository is None or not (viewer or Viewer.owner()).may_see(repository):
            raise RepositoryNotFound(name)
        return repository

    def visible(self, viewer: Viewer) -> tuple[Repository, ...]:
        """The repositories that exist for `viewer`, by name."""
        return visible(self.repositories, viewer)

    def refresh(self, *, thorough: bool = False, brief: bool = False) -> bool:
        """Notice moved refs, new, deleted and recreated repositories, and a changed `repos.toml`.

        Costs a few `stat` calls for a repository that did not change. A snapshot is looked through only after a
        while, at most 5 % of the time; work trees are not looked at.

        Parameters
        ----------
        thorough
            Read everything anew.
        brief
            Look only for other commits and at `repos.toml`, with half as many calls: for a caller who does so many
            times a second, and looks at everything now and then. New repositories, descriptions and times of fetches
            are not noticed.

        Returns
        -------
        bool
            Whether anything changed.
        """
        with self._lock:
            if brief and not thorough and self._is_as_watched():
                return False
            self._watched = None
            changed = False
            if thorough or (not brief and any(_changed(folder, then) for folder, then in self._folders.items())):
                changed = self._discover(None, None)
            for entry in self._entries:
                changed |= entry.refresh(thorough=thorough, brief=brief)
            if thorough or self._annotation_stamp[1] or stamp_files(self._annotation_files) != self._annotation_stamp:
                changed |= self._read_annotations_again()
            if brief and not changed:
                self._watch()
            return changed and self._arrange()

    def _watch(self) -> None:
        """Note what a brief look has to look at, when all is at rest."""
        if self._annotation_stamp[1]:
            return
        found = [*zip(self._annotation_files, self._annotation_stamp[0], strict=True)]
        for entry in self._entries:
            if not entry.rests:
                return
            found += zip(entry.commit_files, entry.commit_stamp or (), strict=True)
        self._watched = [(file, *stamp) for file, stamp in found if stamp is not None]
        self._absent = [file for file, stamp in found if stamp is None]

    def _is_as_watched(self) -> bool:
        if self._watched is None:
            return False
        look = os.stat
        try:
            for file, modified, inode, size in self._watched:
                info = look(file)
                if info.st_mtime_ns != modified or info.st_ino != inode or info.st_size != size:
                    return False
        except OSError:
            return False
        return not any(map(os.path.lexists, self._absent))

    def _discover(self, cancellation: Cancellation | None, progress: Callable[[int, int], None] | None) -> bool:
        """Walk all paths; True when places came or went."""
        walk = Discovery()
        snapshots: list[str] = []
        warnings: list[str] = []
        for path in self.paths:
            below = Discovery()
            below.walk(path, cancellation=cancellation, progress=progress)
            walk.merge(below)
            around = None if below.met else enclosing_repository(path)
            if around is not None:
                walk.add(around)
                warnings.append(f"{path} is part of {around.worktree}: the whole repository is searched")
            elif not below.met and holds_files(path):
                snapshots.append(path)
        if progress is not None:
            progress(walk.visited, len(walk.found))
        former = {_identity(entry.place): entry for entry in self._entries}
        entries = []
        places: list[Found | str] = [*walk.found.values(), *dict.fromkeys(snapshots)]
        for place in places:
            if cancellation is not None:
                cancellation.check()
            entry = former.pop(_identity(place), None)
            if entry is None:
                entry = _Entry(place)
                entry.read(cancellation)
            entries.append(entry)
        came_or_went = bool(former) or len(entries) != len(self._entries)
        skipped = tuple(dict.fromkeys(walk.skipped))
        came_or_went |= skipped != self._walk_skipped
        self._entries, self._folders = entries, walk.folders
        self._walk_skipped, self._walk_warnings = skipped, tuple(warnings)
        return came_or_went

    def _read_annotations(self) -> None:
        if self._given_annotations is not None:
            files = [self._given_annotations]
        else:
            own = {entry.path for entry in self._entries}
            folders = [os.path.dirname(path) if path in own else path for path in self.paths]
            files = list(dict.fromkeys(os.path.join(folder, FILE_NAME) for folder in folders))
        self._annotation_files = tuple(files)
        self._annotation_stamp = stamp_files(self._annotation_files)
        required = self._given_annotations is not None
        self._annotations = tuple(read_annotations(file) for file in files if required or os.path.isfile(file))
        self._annotation_warning = ""

    def _read_annotations_again(self) -> bool:
        """Read changed files; a fault keeps what was read before, since a running search must not stop for it."""
        former = (self._annotations, self._annotation_warning)
        try:
            self._read_annotations()
        except ConfigurationError as error:
            self._annotation_warning = f"{error}; the former settings stay in force"
        return former != (self._annotations, self._annotation_warning)

    def _arrange(self) -> bool:
        """Name and annotate everything, and publish it in one step."""
        descriptions = [entry.description for entry in self._entries if entry.description is not None]
        repositories, warnings = arrange(descriptions, self._annotations)
        skipped = [*self._walk_skipped, *(entry.skipped for entry in self._entries if entry.skipped is not None)]
        notes = [*self._walk_warnings, *warnings, *([self._annotation_warning] if self._annotation_warning else [])]
        view = (repositories, tuple(sorted(skipped, key=lambda skip: skip.path)), tuple(notes))
        changed = view != self._view
        self._by_name = {repository.name: repository for repository in repositories}
        self._view = view
        return changed


def _identity(place: Found | str) -> object:
    return place if isinstance(place, str) else (place.git_dir, place.shared, place.worktree)


def _changed(folder: str, then: int) -> bool:
    try:
        return os.stat(folder).st_mtime_ns != then
    except OSError:
        return True
