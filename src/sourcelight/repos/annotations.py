"""`repos.toml`: what a repository can't say about itself.

::

    [repositories."github.com/owner/name"]   # its name, or its folder (absolute, ~, or relative to this file)
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
from typing import Any, NoReturn

from sourcelight.core.errors import ConfigurationError

FILE_NAME = "repos.toml"
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


@dataclass(frozen=True, slots=True)
class Annotations:
    """A read `repos.toml`.

    Parameters
    ----------
    repositories
        By name or folder, as written: the keys given for it.
    contexts
        By name: `description`, and `repositories` or `query`.
    path
        The file; empty when there is none.
    """

    repositories: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    contexts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    path: str = ""

    def key_for(self, name: str, *folders: str) -> str | None:
        """The key under which a repository is annotated: its name first, then any of its folders."""
        if name in self.repositories:
            return name
        base = os.path.dirname(self.path)
        wanted = {os.path.realpath(folder) for folder in folders if folder}
        for key in self.repositories:
            if os.path.realpath(os.path.join(base, os.path.expanduser(key))) in wanted:
                return key
        return None


def read_annotations(path: str) -> Annotations:
    """Read a `repos.toml`.

    Raises
    ------
    ConfigurationError
        For a file that can't be read or is not TOML, an unknown key or a wrong type; names file, line and what is
        accepted.
    """
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
        whole = tomllib.loads(text)
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not UTF-8: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from error
    check = _Check(path, text)
    for key in whole:
        if key not in {"repositories", "contexts"}:
            check.fail("", key, f"unknown key {key!r}; accepted: repositories, contexts")
    tables = {}
    for section, keys in (("repositories", _KEYS), ("contexts", _CONTEXT_KEYS)):
        tables[section] = check.table(section, whole.get(section, {}), keys)
    for name, context in tables["contexts"].items():
        if ("repositories" in context) == ("query" in context):
            check.fail(name, "", f"context {name!r} needs either repositories or query")
    return Annotations(tables["repositories"], tables["contexts"], os.path.abspath(path))


class _Check:
    """Finds the line of a fault in the text: TOML's values carry none."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.lines = text.splitlines()

    def table(self, section: str, tables: object, keys: Mapping[str, type]) -> dict[str, dict[str, Any]]:
        if not isinstance(tables, dict):
            self.fail("", section, f"{section} must hold tables such as [{section}.name]")
        for name, table in tables.items():
            if not isinstance(table, dict):
                self.fail(section, name, f"{name!r} must be a table: [{section}.{name}]")
            for key, value in table.items():
                self._value(name, key, value, keys)
        return tables

    def _value(self, table: str, key: str, value: object, keys: Mapping[str, type]) -> None:
        wanted = keys.get(key)
        if wanted is None:
            self.fail(table, key, f"unknown key {key!r}; accepted: {', '.join(keys)}")
        good = type(value) is wanted
        if good and isinstance(value, list):
            good = all(isinstance(item, str) for item in value)
        if good and isinstance(value, dict):
            good = all(isinstance(item, str) or item is True for item in value.values())
        if good and key == "name":
            good = bool(str(value).strip()) and not re.search(r"[\x00-\x1f\x7f]", str(value))
        if not good or (key == "stars" and isinstance(value, int) and value < 0):
            self.fail(table, key, f"{key} of {table!r} must be {_WORDS[wanted]}, not {value!r}")

    def fail(self, table: str, key: str, message: str) -> NoReturn:
        start = next((n for n, line in enumerate(self.lines) if line.lstrip().startswith("[") and table in line), 0)
        wanted = re.compile(r"[\"'\[\s.]*" + re.escape(key) + r"[\"'\s.=\]]")
        spots = (n for n in range(start, len(self.lines)) if key and wanted.match(self.lines[n]))
        raise ConfigurationError(f"{self.path}, line {next(spots, start) + 1}: {message}")
