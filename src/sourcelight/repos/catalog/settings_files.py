"""Keep the settings of all `repos.toml` files, and the last good text of each while it can't be read.

While a file is faulty, its last good text applies. For a service with accounts, it also applies while the file is
missing or empty. Otherwise an accident could make private repositories public.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Sequence

from sourcelight.core.errors import ConfigurationError, StateUnusable
from sourcelight.repos.catalog.config import ReposConfig, parse_annotations, read_annotations
from sourcelight.repos.description import Stamp, stamp_files
from sourcelight.repos.discovery import SETTINGS_FILE
from sourcelight.repos.state import RepositoryRegister
from sourcelight.repos.tracked_entries import enclosing_work_trees


class SettingsFiles:
    """The settings files of one catalog.

    Parameters
    ----------
    file
        Path of a file that must exist; None for the files in or next to each directory.
    """

    def __init__(self, file: str | None) -> None:
        self._file = file
        self._register: RepositoryRegister | None = None
        self._current: dict[str, ReposConfig] = {}
        self._problems: dict[str, str] = {}
        self._ignored: set[str] = set()
        self.paths: tuple[str, ...] = ()
        self.stamp: tuple[Stamp, bool] = ((), False)

    @property
    def annotations(self) -> tuple[ReposConfig, ...]:
        """The settings in force, one for each file."""
        return tuple(self._current[path] for path in self.paths if path in self._current)

    @property
    def warnings(self) -> list[str]:
        """Warnings about the files, unreadable ones last."""
        reason = "is tracked by the repository around it, so it is content and has no effect"
        return [*(f"{path} {reason}" for path in sorted(self._ignored)), *self.problems]

    @property
    def problems(self) -> list[str]:
        """Reasons why earlier settings apply; empty if all files can be read."""
        return [f"{self._problems[path]}; the former settings stay in force" for path in sorted(self._problems)]

    def of_folder(self, folder: str) -> ReposConfig:
        """Return the settings in force for a searched directory."""
        return self._current.get(self._path_for(folder), ReposConfig())

    def beside(self, folders: Collection[str]) -> frozenset[str]:
        """Return the paths of files that are next to an opened repository, and in none of the opened `folders`."""
        if self._file:
            return frozenset()
        return frozenset(path for path in self.paths if os.path.dirname(path) not in folders)

    def use_register(self, register: RepositoryRegister) -> None:
        """Store settings in `register`, and fall back on stored ones after a restart."""
        self._register = register
        for path, settings in self._current.items():
            self._store(path, settings)

    def choose(self, folders: Sequence[str]) -> None:
        """Select the files of `folders`."""
        self.paths = tuple(dict.fromkeys(self._path_for(folder) for folder in folders))

    def read(self, *, first: bool) -> None:
        """Read all files.

        Parameters
        ----------
        first
            Whether this is the first read: a faulty file is then an error, unless earlier settings are stored.

        Raises
        ------
        ConfigurationError
            If a file can't be used and nothing can replace it.
        """
        self.stamp = stamp_files(self.paths)
        self._problems = {}
        for path in self.paths:
            previous = self._current.get(path)
            if not previous and first:
                previous = self._load_stored(path)
            try:
                config = self._read_one(path)
            except ConfigurationError as error:
                # At the start there are no earlier settings, so the operator must correct the file first.
                if previous is None and first:
                    raise
                self._use_previous(path, previous, str(error))
                continue

            if config is None or config.is_empty:
                if self._register is not None and previous is not None and not previous.is_empty:
                    # A removed or emptied file must not make private repositories public.
                    problem = "missing" if config is None else "empty"
                    self._use_previous(path, previous, f"{path} is {problem}")
                else:
                    self._current[path] = config or ReposConfig()
                continue

            self._current[path] = config
            self._store(path, config)

    def reread(self) -> bool:
        """Read all files again; return whether anything is different."""
        before = (self.annotations, self._problems)
        self.read(first=False)
        return before != (self.annotations, self._problems)

    def _path_for(self, folder: str) -> str:
        return self._file or os.path.join(folder, SETTINGS_FILE)

    def _read_one(self, path: str) -> ReposConfig | None:
        if self._file is not None:
            return read_annotations(path)

        self._ignored.discard(path)
        if not os.path.lexists(path) or os.path.isdir(path):
            return None

        # Someone who can commit to a repository must not decide who may see it.
        if _is_content(path):
            self._ignored.add(path)
            return None

        return read_annotations(path)

    def _use_previous(self, path: str, previous: ReposConfig | None, problem: str) -> None:
        self._problems[path] = problem
        if previous is not None:
            self._current[path] = previous

    def _store(self, path: str, annotations: ReposConfig) -> None:
        if self._register is not None and not annotations.is_empty:
            # The settings apply in this process even if they can't be stored; only a restart would lose them.
            with contextlib.suppress(StateUnusable):
                self._register.save_settings(_path_text(path), annotations.text)

    def _load_stored(self, path: str) -> ReposConfig | None:
        if self._register is None:
            return None
        text = self._register.settings(_path_text(path))
        if text is None:
            return None
        try:
            return parse_annotations(text, path)
        except ConfigurationError:
            return None


def _is_content(path: str) -> bool:
    # The link itself, not its target, is what a repository may track.
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return any(tree.has_entry(real) for tree in enclosing_work_trees(real))


def _path_text(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
