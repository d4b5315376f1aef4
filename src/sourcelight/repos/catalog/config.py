"""Read the `repos.toml` of a served directory: annotations of repositories, their privacy, and contexts.

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

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from sourcelight.core.errors import ConfigurationError
from sourcelight.repos.boundary import read_small_file
from sourcelight.repos.names import name_key

DEFAULT_VISIBILITY = "defaultVisibility"
VISIBILITIES = ("private", "public")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
"""Control characters, which no name has."""

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
"""Keys of a repository, with the types of their values."""

_CONTEXT_KEYS: dict[str, type] = {"description": str, "repositories": list, "query": str}
"""Keys of a context."""

_WORDS = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    list: "a list of strings",
    dict: "a table of strings",
}
"""Names of types in messages."""


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
    """The attributes of a file that change when it is written, or replaced."""

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
