"""Read the versions that lock files give a package: of Cargo, npm, Yarn, Bundler, Go and others.

Nothing is parsed as a whole: a lock file has up to a hundred thousand lines, and one package takes a few of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.lookups.manifests.requirement import MAX_LINE

_MAX_LINES = 200_000
"""Lines of a lock file that are read: those of large workspaces have half of them."""
_MAX_VERSIONS = 20


@dataclass(frozen=True, slots=True)
class LockedVersion:
    """A version of a package in a lock file, and the lines (from 1) of its name and its version."""

    name: str
    version: str
    line: int
    version_line: int


@dataclass(frozen=True, slots=True)
class _LockFormat:
    """The form of an entry: the line with the name, and the version there or some lines below.

    Attributes
    ----------
    head
        The expression of the line with the name, which is put in for ``NAME``. It may have the version, too.
    version
        The expression of the line with the version; empty if it is the same line.
    distance
        Lines below the name in which the version may be.
    """

    head: str
    version: str = ""
    distance: int = 0


_TOML = _LockFormat(r'name = "(?P<name>NAME)"\s*$', r'version = "(?P<version>[^"]+)"', 3)
_FORMATS: Mapping[str, _LockFormat] = {
    r"(?:Cargo|poetry|uv|pdm)\.lock": _TOML,
    r"(?:package-lock|npm-shrinkwrap)\.json": _LockFormat(
        r'\s*"(?:node_modules/)?(?P<name>NAME)"\s*:\s*\{\s*$', r'\s*"version"\s*:\s*"(?P<version>[^"]+)"', 3
    ),
    r"yarn\.lock": _LockFormat(
        r"\"?(?P<name>NAME)@[^:]{1,200}.*:\s*$", r"\s+\"?version\"?:?\s+\"?(?P<version>[^\"\s]+)", 2
    ),
    r"pnpm-lock\.yaml": _LockFormat(r"  ['\"]?/?(?P<name>NAME)[@/](?P<version>\d[\w.+-]*)[^:]{0,200}:"),
    r"[\w.-]*Gemfile\.lock|[\w.-]+\.gemfile\.lock": _LockFormat(r"    (?P<name>NAME) \((?P<version>[^()]{1,60})\)\s*$"),
    r"composer\.lock": _LockFormat(r'\s*"name"\s*:\s*"(?P<name>NAME)"', r'\s*"version"\s*:\s*"(?P<version>[^"]+)"', 2),
    r"mix\.lock": _LockFormat(r'\s*"(?P<name>NAME)"\s*:\s*\{\s*:hex,\s*:\w+,\s*"(?P<version>[^"]+)"'),
    r"go\.sum": _LockFormat(r"(?P<name>(?:[\w.~-]+/){0,6}NAME(?:/v\d+)?) (?P<version>v[^/\s]{1,80}) h1:"),
    r"pubspec\.lock": _LockFormat(r"  (?P<name>NAME):\s*$", r"    version: \"(?P<version>[^\"]+)\"", 9),
    r"Package\.resolved": _LockFormat(
        r'\s*"(?:identity|package)"\s*:\s*"(?P<name>NAME)"', r'\s*"version"\s*:\s*"(?P<version>[^"]+)"', 8
    ),
    r"Podfile\.lock": _LockFormat(r"  - \"?(?P<name>NAME) \((?P<version>\d[^()]{0,40})\)"),
    r"Pipfile\.lock": _LockFormat(r'\s*"(?P<name>NAME)"\s*:\s*\{\s*$', r'\s*"version"\s*:\s*"(?P<version>[^"]+)"', 400),
    r"packages\.lock\.json": _LockFormat(
        r'\s*"(?P<name>NAME)"\s*:\s*\{\s*$', r'\s*"resolved"\s*:\s*"(?P<version>[^"]+)"', 4
    ),
    r"gradle\.lockfile": _LockFormat(r"(?P<name>(?:[\w.-]+:)?NAME):(?P<version>[^=\s]{1,60})="),
    r"rebar\.lock": _LockFormat(r"\s*[\[{]*\{?<<\"(?P<name>NAME)\">>,\{pkg,<<\"\w+\">>,<<\"(?P<version>[^\"]+)\">>"),
    r"shard\.lock": _LockFormat(r"  (?P<name>NAME):\s*$", r"    version:\s+\"?(?P<version>[^\"\s]+)", 4),
    r"bun\.lock": _LockFormat(r"\s*\"(?P<name>NAME)\": \[\"[^\"]{0,100}@(?P<version>\d[^\"]{0,60})\""),
}
_BY_NAME = tuple((re.compile(rf"(?:^|/)(?:{name})$"), lock) for name, lock in _FORMATS.items())
LOCK_FILES = rf"(^|/)({'|'.join(_FORMATS).replace('(?:', '(')})$"
"""Regular expression for paths of lock files."""


def read_locked(path: str, lines: Sequence[str], name: str) -> list[LockedVersion]:
    """Return the versions that a lock file gives a package, in its order; nothing without an entry."""
    lock = next((lock for pattern, lock in _BY_NAME if pattern.search(path) is not None), None)
    if lock is None or len(lines) > _MAX_LINES:
        return []

    # Registries take dashes, underscores and dots for the same.
    spelling = re.sub(r"(?:\\?[-_.])+", "[-_.]+", re.escape(name)[:400])
    head = re.compile(lock.head.replace("NAME", spelling), re.IGNORECASE)
    version = re.compile(lock.version) if lock.version else None
    versions: list[LockedVersion] = []
    for number, line in enumerate(lines, 1):
        match = head.match(line[:MAX_LINE])
        if match is None:
            continue
        if version is None:
            versions.append(LockedVersion(match["name"], match["version"], number, number))
        elif (entry := _version_below(lines, number, version, lock.distance)) is not None:
            versions.append(LockedVersion(match["name"], entry[0], number, entry[1]))
        if len(versions) >= _MAX_VERSIONS:
            break

    return versions


def _version_below(
    lines: Sequence[str], number: int, version: re.Pattern[str], distance: int
) -> tuple[str, int] | None:
    """Return the version on one of the lines below an entry's first one, and its line; None at the next entry."""
    for below, line in enumerate(lines[number : number + distance], number + 1):
        match = version.match(line[:MAX_LINE])
        if match is not None:
            return match["version"], below
        if re.match(r"\[\[|\s*\}", line) is not None:
            return None
    return None
