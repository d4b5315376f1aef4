"""The live catalog: finds, names and annotates the repositories of one `open`, and follows their changes.

A walk finds repositories, each is described once, and then all are named, annotated and made private or public together
(`arrange`), because a name depends on the others. Readers see one immutable view, which each change replaces as a
whole, and take no lock. A refresh asks first whether anything changed, by the kernel's events or by times of files,
since every search asks for it.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import NoRepositories, RepositoryNotFound
from sourcelight.repos import discovery
from sourcelight.repos.boundary import Boundary
from sourcelight.repos.catalog.changes import ChangeDetector, has_modified
from sourcelight.repos.catalog.entries import ONLY_FILES_LEFT, CatalogEntry, RepositoryMemory
from sourcelight.repos.catalog.naming import Memory, arrange
from sourcelight.repos.catalog.settings_files import SettingsFiles
from sourcelight.repos.catalog.visibility import Root, ServicePolicy
from sourcelight.repos.description import stamp_files
from sourcelight.repos.names import near_names
from sourcelight.repos.repository import Repository, SkippedRepository
from sourcelight.repos.state import RepositoryRegister
from sourcelight.repos.viewer import Viewer, visible

_log = logging.getLogger("sourcelight.repos")
Path = str | os.PathLike[str]

_MAX_WATCHED_AT_ONCE = 64
"""Repositories that the thread of an event loop may begin to watch: about ten milliseconds."""


@dataclass(frozen=True, slots=True)
class _CatalogView:
    """The state that readers of a catalog see; each change replaces it as a whole."""

    repositories: tuple[Repository, ...] = ()
    skipped: tuple[SkippedRepository, ...] = ()
    warnings: tuple[str, ...] = ()


class Catalog:
    """The repositories below some directories. Safe to use from several threads.

    Make one with `Catalog.open`.
    """

    def __init__(
        self,
        paths: Sequence[str],
        annotations: str | None,
        *,
        worktree: bool,
        policy: ServicePolicy | None = None,
    ) -> None:
        self.paths = tuple(paths)
        self.worktree = worktree
        self._settings = SettingsFiles(annotations)
        self._boundary = Boundary()
        self._memory = RepositoryMemory()
        self._default_visibility = ""
        self._contexts: dict[str, dict[str, object]] = {}

        if policy is not None:
            # Real paths, because a boundary made of links could be moved from outside.
            allowed = (*self.paths, *policy.trusted_paths)
            self._boundary = Boundary(tuple(os.path.realpath(path) for path in allowed))
            self._default_visibility = policy.default_visibility
            self._memory.use_register(policy.register)
            self._settings.use_register(policy.register)

        # Reentrant: refresh calls methods that lock, too.
        self._lock = threading.RLock()
        self._entries: list[CatalogEntry] = []
        self._folders: dict[str, int] = {}
        self._paths_with_repositories: set[str] = set()
        self._walk_skipped: tuple[SkippedRepository, ...] = ()
        self._walk_warnings: tuple[str, ...] = ()
        self._unread_settings: tuple[str, ...] = ()
        self._changes = ChangeDetector()
        self._by_name: dict[str, Repository] = {}
        self._view = _CatalogView()

    @classmethod
    def open(
        cls,
        paths: Path | Sequence[Path],
        *,
        worktree: bool = False,
        annotations: Path | None = None,
        policy: ServicePolicy | None = None,
        progress: Callable[[int, int], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> Self:
        """Find every repository below `paths`.

        Work trees, bare repositories, submodules and mirrors are found at any depth, work trees also inside other work
        trees. Linked work trees of one git directory are one repository. Tracked entries of a work tree never count as
        repositories, even if a directory looks like a git directory or a link leads to one. A path inside a work tree
        means the whole repository if the last commit has files there. A path with files but without a repository is
        read as a snapshot.

        Parameters
        ----------
        paths
            Directories; ``~`` is expanded.
        worktree
            Whether the caller wants modified and untracked files too (revision ``WORKTREE``); stored as `worktree`.
        annotations
            A `repos.toml`; None: the one in or beside each given directory, if any.
        policy
            For a service with accounts: its memory of privacy, and the directories it may read from. None:
            for a user's own files, which may be linked from anywhere.
        progress
            Called with directories read and repositories found.
        cancellation
            Checked for every directory and file.

        Raises
        ------
        NoRepositories
            If no repository can be searched; the message lists skipped directories with reasons.
        ConfigurationError
            If a `repos.toml` can't be used.
        Cancelled
            If `cancellation` asks to stop.
        """
        roots = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        root_paths = [os.path.abspath(os.path.expanduser(os.fspath(path))) for path in roots]
        file = None if annotations is None else os.path.abspath(os.path.expanduser(os.fspath(annotations)))
        catalog = cls(root_paths, file, worktree=worktree, policy=policy)
        catalog._discover(cancellation, progress)
        catalog._settings.read(first=True)
        catalog._arrange()
        if policy is not None:
            catalog._memory.bind_grants(catalog.repositories)

        if not catalog.repositories:
            raise NoRepositories(root_paths, {skip.path: f"{skip.reason}: {skip.message}" for skip in catalog.skipped})

        return catalog

    @classmethod
    def from_repositories(
        cls,
        repositories: Sequence[Repository],
        *,
        contexts: Mapping[str, Mapping[str, object]] | None = None,
        skipped: Sequence[SkippedRepository] = (),
    ) -> Self:
        """Make a catalog of known repositories; it reads no directory and never changes."""
        catalog = cls((), None, worktree=False)
        catalog._contexts = {name: dict(context) for name, context in (contexts or {}).items()}
        ordered = tuple(sorted(repositories, key=lambda repository: repository.name))
        catalog._by_name = {repository.name: repository for repository in ordered}
        catalog._view = _CatalogView(ordered, tuple(skipped))
        return catalog

    @property
    def repositories(self) -> tuple[Repository, ...]:
        """All repositories that can be read, by name."""
        return self._view.repositories

    @property
    def skipped(self) -> tuple[SkippedRepository, ...]:
        """Places that look like a repository but can't be read, by path."""
        return self._view.skipped

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about names, paths and settings files."""
        return self._view.warnings

    @property
    def unread_settings(self) -> tuple[str, ...]:
        """The warnings about settings files that are not read where they are."""
        return self._unread_settings

    @property
    def contexts(self) -> dict[str, dict[str, object]]:
        """Named sets of repositories from `repos.toml`."""
        contexts = dict(self._contexts)
        for file in self._settings.annotations:
            for name, context in file.contexts.items():
                contexts[name] = dict(context)

        return contexts

    @property
    def is_on_this_machine(self) -> bool:
        """Whether the repositories are on this machine, so that grants refer to their paths."""
        return bool(self.paths)

    @property
    def is_watched(self) -> bool:
        """Whether the kernel reports changes of the repositories, so that no file is looked at."""
        with self._lock:
            return self._changes.is_quiet

    @property
    def settings_problems(self) -> list[str]:
        """Reasons why earlier settings apply to files that can't be read; empty if all can be read."""
        return self._settings.problems

    def share(self, register: RepositoryRegister, default_visibility: str = "") -> None:
        """Prepare for readers other than the owner; remember names and privacy in `register`.

        Existing entries stay unchanged. Grants that wait for a name are bound to the repository that has it now.
        """
        with self._lock:
            if self._memory.register is register or not self.is_on_this_machine:
                return
            self._default_visibility = default_visibility
            self._memory.use_register(register)
            self._settings.use_register(register)
            self._arrange()
            self._memory.bind_grants(self.repositories)

    def get(self, name: str, viewer: Viewer | None = None) -> Repository:
        """Return the repository of this name.

        Raises
        ------
        RepositoryNotFound
            If it doesn't exist, or `viewer` (None: the owner) may not see it.
        """
        repository = self._by_name.get(name)
        if repository is None or not (viewer or Viewer.owner()).may_see(repository):
            # Suggests visible names only: a hidden repository must look as if it didn't exist.
            visible_names = (repository.name for repository in self.visible(viewer or Viewer.owner()))
            raise RepositoryNotFound(name, near_names(name, visible_names))
        return repository

    def visible(self, viewer: Viewer) -> tuple[Repository, ...]:
        """Return the repositories that `viewer` may see, by name."""
        return visible(self.repositories, viewer)

    def refresh(self, *, thorough: bool = False, brief: bool = False) -> bool:
        """Pick up moved refs, new, deleted and recreated repositories, and a changed `repos.toml`.

        Costs a few `stat` calls for a repository that did not change. A snapshot is walked again only
        after a pause, for at most 5 % of the time; work trees are not checked.

        Parameters
        ----------
        thorough
            Read all repositories again.
        brief
            Check only commits and `repos.toml`, with half as many calls. For a caller that refreshes many times a
            second, with a full refresh now and then. Misses new repositories, descriptions and times of fetches.

        Returns
        -------
        bool
            Whether anything changed.
        """
        with self._lock:
            # For every search: one system call where the kernel reports changes, else a few calls of `stat`.
            if not thorough and self._finds_nothing(brief=brief, may_watch=True):
                return False

            self._changes.forget()
            changed = False
            if thorough or (not brief and has_modified(self._folders)):
                changed = self._discover(cancellation=None, progress=None)

            for entry in self._entries:
                changed |= entry.refresh(self._boundary, thorough=thorough, brief=brief)

            stamp = self._settings.stamp
            if thorough or stamp[1] or stamp_files(self._settings.paths) != stamp:
                changed |= self._settings.reread()

            if not changed:
                self._changes.remember(self._settings, self._entries, self._folders)
                self._changes.note_calm()

            return changed and self._arrange()

    def is_unchanged(self, *, brief: bool = True) -> bool:
        """Return whether a refresh would find nothing; False also where that is not known without a wait."""
        if not self._lock.acquire(blocking=False):
            return False

        try:
            return self._finds_nothing(brief=brief, may_watch=len(self._entries) <= _MAX_WATCHED_AT_ONCE)
        finally:
            self._lock.release()

    def _finds_nothing(self, *, brief: bool, may_watch: bool) -> bool:
        if self._changes.is_quiet:
            return True
        is_unchanged = self._changes.has_same_commits() if brief else self._changes.has_same_files()
        if is_unchanged and may_watch:
            self._changes.note_calm()
        return is_unchanged

    def _discover(self, cancellation: Cancellation | None, progress: Callable[[int, int], None] | None) -> bool:
        """Walk all paths; return whether repositories were added or removed."""
        walk = discovery.Discovery(self._boundary)
        snapshots: list[str] = []
        warnings: list[str] = []
        for path in self.paths:
            below = discovery.Discovery(self._boundary)
            below.walk(path, cancellation=cancellation, progress=progress)
            walk.merge(below)
            if below.has_repository:
                self._paths_with_repositories.add(path)
                continue

            enclosing = discovery.enclosing_repository(path)
            if enclosing is not None:
                walk.add(enclosing)
                warnings.append(f"{path} is part of {enclosing.worktree}: the whole repository is searched")
            elif discovery.holds_files(path):
                # Files beside repositories were never meant to be searched, also not when the last repository is gone.
                if path in self._paths_with_repositories or self._memory.had_below(path):
                    walk.skipped.append(SkippedRepository(path, "gone", ONLY_FILES_LEFT))
                else:
                    snapshots.append(path)

        if progress is not None:
            progress(walk.visited, len(walk.repositories))

        previous = {_identity_of(entry.source): entry for entry in self._entries}
        entries = []
        sources: list[discovery.DiscoveredRepository | str] = [*walk.repositories.values(), *dict.fromkeys(snapshots)]
        for source in sources:
            if cancellation is not None:
                cancellation.check()
            # Known repositories keep their entry, with all that was read of them.
            entry = previous.pop(_identity_of(source), None)
            if entry is None:
                entry = CatalogEntry(source)
                entry.read(self._boundary, cancellation)
            entries.append(entry)

        came_or_went = bool(previous) or len(entries) != len(self._entries)
        skipped = tuple(dict.fromkeys(walk.skipped))
        came_or_went |= skipped != self._walk_skipped
        self._entries, self._folders = entries, walk.folders
        self._settings.choose(self._settings_folders())
        self._unread_settings = tuple(discovery.warn_of_settings(walk, self._settings.paths))
        warnings += [*self._unread_settings, *discovery.warn_of_directories(walk)]
        came_or_went |= tuple(warnings) != self._walk_warnings
        self._walk_skipped, self._walk_warnings = skipped, tuple(warnings)
        return came_or_went

    def _settings_folders(self) -> list[str]:
        """Return the directories of `repos.toml` files: each path, or the one beside a repository."""
        paths = {entry.path for entry in self._entries}
        return [os.path.dirname(path) if path in paths else path for path in self.paths]

    def _roots(self) -> tuple[Root, ...]:
        roots = []
        for path, folder in zip(self.paths, self._settings_folders(), strict=True):
            settings, real = self._settings.of_folder(folder), os.path.realpath(path)
            declares = settings.declares_privacy or real in self._memory.private_roots
            roots.append(Root(real, settings.default_visibility, declares))
        return tuple(roots)

    def _arrange(self) -> bool:
        """Name and annotate all repositories, decide which are private, and publish the result in one step."""
        descriptions = [entry.description for entry in self._entries if entry.description is not None]
        is_shared = self._memory.register is not None
        memory = Memory(
            self._memory.records,
            self._roots(),
            self._default_visibility,
            has_accounts=is_shared,
            unreadable=frozenset(entry.canonical_path for entry in self._entries if entry.description is None),
        )
        arrangement = arrange(descriptions, self._settings.annotations, memory, self._settings.beside(self.paths))
        self._memory.store(arrangement.records, arrangement.private_roots)
        skipped = list(self._walk_skipped)
        skipped += [entry.skipped for entry in self._entries if entry.skipped is not None]
        warnings = (*self._walk_warnings, *arrangement.warnings, *self._settings.warnings)
        view = _CatalogView(arrangement.repositories, tuple(sorted(skipped, key=lambda item: item.path)), warnings)
        changed = view != self._view

        # Of a running service, only new warnings are logged.
        if is_shared and self._view.repositories:
            for warning in warnings:
                if warning not in self._view.warnings:
                    _log.warning("%s", json.dumps({"event": "repositories", "message": warning}))

        self._by_name = {repository.name: repository for repository in arrangement.repositories}
        # One assignment publishes all three: readers take no lock.
        self._view = view
        return changed


def _identity_of(source: discovery.DiscoveredRepository | str) -> object:
    if isinstance(source, str):
        return source
    return (source.git_dir, source.git_common_dir, source.worktree)
