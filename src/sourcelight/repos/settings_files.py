"""The `repos.toml` of served folders: read whole or not at all, and held on to while they can't be read.

A faulty file says nothing, and what was read last stays in force. So does it for a service with accounts when the file
is gone or empty, since silence must not make anything public, until a file is there again that says something.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from sourcelight.core.errors import ConfigurationError, StateUnusable
from sourcelight.repos.description import Stamp, stamp_files
from sourcelight.repos.naming import FILE_NAME, ReposConfig, parse_annotations, read_annotations
from sourcelight.repos.state import RepositoryRegister
from sourcelight.repos.tracked_entries import enclosing_work_trees


class SettingsFiles:
    """The settings files of one catalog.

    Parameters
    ----------
    given
        A file that the caller named, and that must be there; None: the one in or beside each folder.
    """

    def __init__(self, given: str | None) -> None:
        self._given = given
        self._register: RepositoryRegister | None = None
        self._current: dict[str, ReposConfig] = {}
        self._faults: dict[str, str] = {}
        self._ignored: set[str] = set()
        self.paths: tuple[str, ...] = ()
        self.stamp: tuple[Stamp, bool] = ((), False)

    @property
    def annotations(self) -> tuple[ReposConfig, ...]:
        """What is in force."""
        return tuple(self._current[path] for path in self.paths if path in self._current)

    @property
    def warnings(self) -> list[str]:
        """What a reader should know of the files, those that can't be read last."""
        why = "is tracked by the repository around it: it is content, and says nothing about repositories"
        return [*(f"{path} {why}" for path in sorted(self._ignored)), *self.faults]

    @property
    def faults(self) -> list[str]:
        """Why former settings are in force; empty when all could be read."""
        return [f"{self._faults[path]}; the former settings stay in force" for path in sorted(self._faults)]

    def of_folder(self, folder: str) -> ReposConfig:
        """What is in force for a searched folder."""
        return self._current.get(self._path_for(folder), ReposConfig())

    def keep_in(self, register: RepositoryRegister) -> None:
        """Keep what is read in `register`, and fall back on what is kept there after a restart."""
        self._register = register
        for path, settings in self._current.items():
            self._keep(path, settings)

    def choose(self, folders: Sequence[str]) -> None:
        """Look for the files of `folders`."""
        self.paths = tuple(dict.fromkeys(self._path_for(folder) for folder in folders))

    def read(self, *, first: bool) -> None:
        """Read all files.

        Parameters
        ----------
        first
            Whether nothing was read before: a faulty file is an error then, unless former settings are kept.

        Raises
        ------
        ConfigurationError
            If a file can't be used and nothing can stand in for it.
        """
        self.stamp = stamp_files(self.paths)
        self._faults = {}
        for path in self.paths:
            former = self._current.get(path) or (self._kept(path) if first else None)
            try:
                read = self._read_one(path)
            except ConfigurationError as error:
                if former is None and first:
                    raise
                self._hold(path, former, str(error))
                continue
            if read is None or read.is_empty:
                if self._register is not None and former is not None and not former.is_empty:
                    self._hold(path, former, f"{path} is {'gone' if read is None else 'empty'}")
                else:
                    self._current[path] = read or ReposConfig()
                continue
            self._current[path] = read
            self._keep(path, read)

    def read_again(self) -> bool:
        """Read all files anew; True when anything is different."""
        before = (self.annotations, self._faults)
        self.read(first=False)
        return before != (self.annotations, self._faults)

    def _path_for(self, folder: str) -> str:
        return self._given or os.path.join(folder, FILE_NAME)

    def _read_one(self, path: str) -> ReposConfig | None:
        if self._given is not None:
            return read_annotations(path)
        self._ignored.discard(path)
        if not os.path.lexists(path) or os.path.isdir(path):
            return None
        if _is_content(path):
            self._ignored.add(path)
            return None
        return read_annotations(path)

    def _hold(self, path: str, former: ReposConfig | None, fault: str) -> None:
        self._faults[path] = fault
        if former is not None:
            self._current[path] = former

    def _keep(self, path: str, annotations: ReposConfig) -> None:
        if self._register is not None and not annotations.is_empty:
            with contextlib.suppress(StateUnusable):  # what is in force here stays so; only a restart would not know it
                self._register.save_settings(_text(path), annotations.text)

    def _kept(self, path: str) -> ReposConfig | None:
        text = None if self._register is None else self._register.settings(_text(path))
        if text is None:
            return None
        try:
            return parse_annotations(text, path)
        except ConfigurationError:
            return None


def _is_content(path: str) -> bool:
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return any(tree.has_entry(real) for tree in enclosing_work_trees(real))


def _text(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")
