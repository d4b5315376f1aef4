"""Read the `repos.toml` of served directories, and keep the last good text while a file can't be read.

While a file is faulty, its last good text applies. For a service with accounts, it also applies while the file is
missing or empty. Otherwise an accident could make private repositories public.

The form of `repos.toml`:

::

    defaultVisibility = "private"            # of repositories for which nothing is written: private or public

    [repositories."github.com/owner/name"]   # its name, or its directory (absolute, ~, or relative to this file)
    name = "team/name"                       # another name
    description = "Payments"
    private = true
    fork = false
    archived = false
    stars = 12
    topics = ["payments", "go"]
    url = "https://host/owner/name"
    metadata = { team = "checkout", reviewed = true }   # key and value, or true for a key alone

    [contexts.backend]                       # a named set of repositories, by list or by query
    description = "Our services"
    repositories = ["team/name"]
    # query = "repo:^team/"
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from sourcelight.core.errors import ConfigurationError, StateUnusable
from sourcelight.repos.boundary import read_small_file
from sourcelight.repos.description import Stamp, stamp_files
from sourcelight.repos.discovery import SETTINGS_FILE
from sourcelight.repos.names import name_key
from sourcelight.repos.state import RepositoryRegister
from sourcelight.repos.tracked_entries import enclosing_work_trees

DEFAULT_VISIBILITY = "defaultVisibility"
VISIBILITIES = ("private", "public")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_MAX_BYTES = 16 << 20
_ATTEMPTS = 5
"""Reads of a file that another process writes: an editor needs one, a synchronization may need more."""

_KEYS: dict[str, type] = {
    "name": str,
    "description": str,
    "private": bool,
    "fork": bool,
    "archived": bool,
    "stars": int,
    "topics": list,
    "url": str,
    "metadata": dict,
}
_CONTEXT_KEYS: dict[str, type] = {"description": str, "repositories": list, "query": str}
_WORDS = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    list: "a list of strings",
    dict: "a table of strings",
}


@dataclass(frozen=True)
class ReposConfig:
    """The contents of one `repos.toml`.

    Parameters
    ----------
    repositories
        Keys by name or directory of a repository, as written in the file.
    contexts
        `description`, and `repositories` or `query`, by name of the context.
    path
        Path of the file; empty without a file.
    default_visibility
        ``private`` or ``public``, for repositories without a key `private`; empty if it isn't set.
    text
        Text of the file.
    """

    repositories: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    contexts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    path: str = ""
    default_visibility: str = ""
    text: str = field(default="", compare=False, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether the file has no setting."""
        return not (self.repositories or self.contexts or self.default_visibility)

    @property
    def declares_privacy(self) -> bool:
        """Whether it makes anything private."""
        return self.default_visibility == "private" or any(note.get("private") for note in self.repositories.values())

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        keys: dict[str, list[str]] = {}
        for key in self.repositories:
            keys.setdefault(name_key(key), []).append(key)
        return keys

    @cached_property
    def _by_folder(self) -> dict[str, list[str]]:
        base = os.path.dirname(self.path)
        keys: dict[str, list[str]] = {}
        for key in self.repositories:
            # No path has a NUL, and the system refuses to look for one.
            if "\0" not in key:
                folder = os.path.realpath(os.path.join(base, os.path.expanduser(key)))
                keys.setdefault(folder, []).append(key)
        return keys

    def keys_by_name(self, *names: str) -> list[str]:
        """Return the keys that equal one of these names, ignoring case."""
        keys: list[str] = []
        for name in dict.fromkeys(map(name_key, names)):
            keys += self._by_name.get(name, ())
        return keys

    def keys_by_directory(self, *folders: str) -> list[str]:
        """Return the keys that lead to one of these directories (real paths)."""
        keys: list[str] = []
        for folder in dict.fromkeys(folders):
            keys += self._by_folder.get(folder, ())
        return keys


def read_annotations(path: str) -> ReposConfig:
    """Read a `repos.toml`.

    Raises
    ------
    ConfigurationError
        The file can't be read or isn't TOML, or it has an unknown key or a wrong type. The message has the file, the
        line and the accepted values.
    """
    try:
        raw = _read_stable(path)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from error

    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not UTF-8: {error}") from error

    return parse_annotations(text, path)


def _read_stable(path: str) -> bytes:
    """Read a consistent version of a file: retry while it is being written, then raise."""
    for _ in range(_ATTEMPTS):
        before = _FileState.of(path)
        # One byte more than allowed, to distinguish a file of the maximum size from a larger one.
        raw = read_small_file(path, _MAX_BYTES + 1)
        if len(raw) > _MAX_BYTES:
            raise OSError(f"larger than {_MAX_BYTES:,} bytes")
        if before.size == len(raw) and _FileState.of(path) == before:
            return raw

    raise OSError("it is being written")


class _FileState(NamedTuple):
    """What changes when a file is written, or replaced."""

    modified_ns: int
    inode: int
    size: int

    @classmethod
    def of(cls, path: str) -> _FileState:
        info = os.stat(path)
        return cls(info.st_mtime_ns, info.st_ino, info.st_size)


def parse_annotations(text: str, path: str) -> ReposConfig:
    """Parse the text of a `repos.toml`; `path` is for messages and for paths relative to it.

    Raises
    ------
    ConfigurationError
        As `read_annotations`.
    """
    try:
        document = tomllib.loads(text)
    # Deeply nested arrays exceed the parser's recursion limit.
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from error

    check = _TomlChecker(path, text)
    for key in document:
        # An unknown key is an error and not a warning: a misspelled `private` must not publish a repository.
        if key not in {"repositories", "contexts", DEFAULT_VISIBILITY}:
            check.fail("", key, f"unknown key {key!r}; accepted: repositories, contexts, {DEFAULT_VISIBILITY}")

    default = document.get(DEFAULT_VISIBILITY, "")
    if DEFAULT_VISIBILITY in document and default not in VISIBILITIES:
        check.fail("", DEFAULT_VISIBILITY, f'{DEFAULT_VISIBILITY} must be "private" or "public", not {default!r}')

    repositories = check.table("repositories", document.get("repositories", {}), _KEYS)
    contexts = check.table("contexts", document.get("contexts", {}), _CONTEXT_KEYS)
    for name, context in contexts.items():
        if ("repositories" in context) == ("query" in context):
            check.fail(name, "", f"context {name!r} needs either repositories or query")

    return ReposConfig(
        repositories=repositories,
        contexts=contexts,
        path=os.path.abspath(path),
        default_visibility=default,
        text=text,
    )


class _TomlChecker:
    """Checks values and finds the line of an error, because parsed TOML has no positions."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.splitlines()

    def table(self, section: str, tables: object, keys: Mapping[str, type]) -> dict[str, dict[str, Any]]:
        if not isinstance(tables, dict):
            self.fail("", section, f"{section} must contain tables, such as [{section}.name]")

        for name, table in tables.items():
            if not isinstance(table, dict):
                self.fail(section, name, f"{name!r} must be a table: [{section}.{name}]")
            for key, value in table.items():
                self._value(name, key, value, keys)

        return tables

    def _value(self, table: str, key: str, value: object, keys: Mapping[str, type]) -> None:
        expected = keys.get(key)
        if expected is None:
            self.fail(table, key, f"unknown key {key!r}; accepted: {', '.join(keys)}")

        # Not `isinstance`: in Python, True is an int.
        if type(value) is not expected or not _is_valid(key, value):
            self.fail(table, key, f"{key} of {table!r} must be {_WORDS[expected]}, not {value!r}")

    def fail(self, table: str, key: str, message: str) -> NoReturn:
        raise ConfigurationError(f"{self.path}, line {self._line_index(table, key) + 1}: {message}")

    def _line_index(self, table: str, key: str) -> int:
        """Return the line of a key in a table, good enough for a message: it searches the text for both."""
        table_line = 0
        for index, line in enumerate(self.lines):
            if line.lstrip().startswith("[") and table in line:
                table_line = index
                break

        if key:
            # ``private = true``, ``"private" = true``, or the end of a table's name: ``[repositories.name]``.
            pattern = re.compile(r"[\"'\[\s.]*" + re.escape(key) + r"[\"'\s.=\]]")
            for index in range(table_line, len(self.lines)):
                if pattern.match(self.lines[index]):
                    return index
        return table_line


def _is_valid(key: str, value: object) -> bool:
    """Return whether a value of the right type may stand for `key`."""
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    if isinstance(value, dict):
        return all(isinstance(item, str) or item is True for item in value.values())
    if key == "name":
        return bool(str(value).strip()) and _CONTROL.search(str(value)) is None
    if key == "stars" and isinstance(value, int):
        return value >= 0
    return True


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
