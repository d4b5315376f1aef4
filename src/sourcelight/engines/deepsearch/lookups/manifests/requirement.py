"""A package that a manifest lists, and when two names mean the same package."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

MAX_LINE = 500
"""Characters of a line that are read: a program made a longer one, and patterns of several parts are slow on it."""
PLUGIN = "build plugin"
"""The group of what a build runs: it isn't counted among packages."""
PLATFORM, BY_NAME = "platform", "by name"
"""Groups of what a manifest names beside packages: they are found by name, and not counted."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that a manifest lists.

    Attributes
    ----------
    name
        Name as written.
    version
        Version or range as written; empty without one.
    group
        Its list, such as ``optional: http2`` or ``devDependencies``; empty for packages that are always required.
    line
        1-based line.
    version_line
        The line with the version, where that is another one; 0 elsewhere.
    condition
        When it counts, as written: ``profile java11``, ``platform: windows``, ``if RUBY_VERSION < "3"``; empty for
        always.
    """

    name: str
    version: str
    group: str
    line: int
    version_line: int = 0
    condition: str = ""


_COMMENTS = (
    (r"\.(?:xml|[cfv][sb]proj|props|targets|config)$", "<!--", "-->"),
    (r"\.(?:gradle|kts|swift|sbt)$", "/*", "*/"),
    (r"\.ps[dm]?1$", "<#", "#>"),
    (r"(?:CMakeLists\.txt|\.cmake)$", "#[[", "]]"),
)


_MAX_TREE_LINES, _MAX_TREE_CHARS = 3_000, 300_000
"""Lines and characters of a manifest in JSON or TOML: readers look for the line of each entry."""

_BLANKS = re.compile(r"(?<=\S)\s{2,}")


def without_comments(path: str, lines: Sequence[str]) -> list[str]:
    """Return lines with spaces for the comments that go over several lines, so that numbers of lines stay.

    Runs of spaces inside a line are one space: the patterns of readers take quadratic time for long ones.
    """
    lines = [_BLANKS.sub(" ", line) if "  " in line or "\t" in line else line for line in lines]
    marks = next(((start, end) for pattern, start, end in _COMMENTS if re.search(pattern, path) is not None), None)
    if marks is None or not any(marks[0] in line for line in lines):
        return list(lines)

    text, parts, position = "\n".join(lines), list[str](), 0
    while (start := text.find(marks[0], position)) >= 0:
        end = text.find(marks[1], start + len(marks[0]))
        end = len(text) if end < 0 else end + len(marks[1])
        parts += [text[position:start], re.sub(r"[^\n]", " ", text[start:end])]
        position = end

    return "".join([*parts, text[position:]]).split("\n")


def is_readable(path: str, lines: Sequence[str]) -> bool:
    """Return whether a manifest is small enough for its reader, whose time grows with entries times lines."""
    if not path.endswith((".json", ".jsonc", ".toml", "Pipfile")):
        return True
    return len(lines) <= _MAX_TREE_LINES and sum(map(len, lines)) <= _MAX_TREE_CHARS


_KEY = re.compile(r"\s*[\"']?([\w./+-]+)[\"']?\s*=")


def lines_of_keys(lines: Sequence[str], start: int = 0) -> dict[str, int]:
    """Return the first line (from 1), behind `start` lines, that assigns each key of TOML."""
    numbers: dict[str, int] = {}
    for number, line in enumerate(lines[start:], start + 1):
        match = _KEY.match(line[:MAX_LINE])
        if match is not None:
            numbers.setdefault(match[1], number)
    return numbers


def table_start(lines: Sequence[str], name: str) -> int:
    """Return the index below the header of a table of TOML; 0 if it has none."""
    header = re.compile(rf"\s*\[\s*{re.escape(name)}\s*\]")
    return next((number for number, line in enumerate(lines, 1) if header.match(line) is not None), 0)


def normalize(name: str) -> str:
    """Return a name in lower case with dashes, as registries compare names."""
    return re.sub(r"[-_.]+", "-", name.lower())


def is_same(requirement: str, requested: str) -> bool:
    """Return whether a listed name is the requested one: as a whole, or its last parts, as in ``github.com/a/b/v2``."""
    if normalize(requirement) == normalize(requested):
        return True

    # `@types/react` is another package than `react`.
    if requirement.startswith("@"):
        return False

    bare = re.sub(r"/v\d+$|\.v\d+$", "", requirement)
    if normalize(bare) == normalize(requested):
        return True

    requested_parts = re.split(r"[/:]", requested.lower())
    parts = re.split(r"[/:]", bare.lower())
    return len(requested_parts) < len(parts) and [normalize(part) for part in parts[-len(requested_parts) :]] == [
        normalize(part) for part in requested_parts
    ]


def is_called(requirement: Requirement, name: str) -> bool:
    """Return whether a list names a package so. A module of Terraform ends with what it is for, as in ``vpc/aws``."""
    if requirement.group == "module" and requirement.name.count("/") == 2:
        is_whole = normalize(requirement.name) == normalize(name)
        return is_whole or is_same(requirement.name.rpartition("/")[0], name)
    return is_same(requirement.name, name)


_WITH_SCOPES = re.compile(
    r"(?:^|/)(?:package\.json|Cargo\.toml|composer\.json|pyproject\.toml|Pipfile|pubspec\.yaml|shard\.yml|pom\.xml"
    r"|project\.clj|Makefile|[\w.-]+\.gemspec)$"
)
"""Manifests with a list for each purpose, all of which are read: what one list has is in no other."""
_WITHOUT_SCOPE = re.compile(
    r"(?:by name|platform|build plugin)$|Suggests|Enhances|catalog|plugin of|provider|module|find_package|fetchcontent"
    r"|conditional"
)
"""Groups that say how a package is found, or that it isn't always needed, and nothing of what it is for."""


def says_scope(path: str, requirement: Requirement) -> bool:
    """Return whether a manifest says what it lists a package for; a build program may say so in code around it.

    R has one list, "Suggests", for tests, documents and what else is not always needed.
    """
    names_group = requirement.group != "" and _WITHOUT_SCOPE.match(requirement.group) is None
    return names_group or _WITH_SCOPES.search(path) is not None


_SHORT_PREFIX = re.compile(r"(?:aio|go|io|js|lib|node|php|py|rb|ruby|rs)$")
"""Beginnings of names of clients and bindings, before that of what they are for: ``ioredis``, ``libcurl``."""


class Likeness(Enum):
    """The ways in which the name of a listed package resembles a requested one that it isn't."""

    SAME_LETTERS = "which differs from {} only in case and separators"
    BEGINS = "a package whose name begins with {}"
    ENDS = "a package whose name ends with {}"


def likeness(requirement: str, requested: str) -> Likeness | None:
    """Return how a listed name, or the last part of it, resembles a requested one; None if it doesn't.

    ``nikic/fast-route`` has the letters of ``FastRoute``, ``jackson-databind`` begins with ``jackson``, and ``ioredis``
    ends with ``redis``.
    """
    last = re.split(r"[/:]", requirement)[-1]
    letters, last_letters = _letters(requested), _letters(last)
    if letters and letters in {last_letters, _letters(requirement)}:
        return Likeness.SAME_LETTERS
    if len(requested) <= 3:
        return None

    parts, requested_parts = normalize(last).split("-"), normalize(requested).split("-")
    if len(parts) > len(requested_parts) and parts[: len(requested_parts)] == requested_parts:
        return Likeness.BEGINS
    is_prefixed = last_letters.endswith(letters) and _SHORT_PREFIX.match(last_letters[: -len(letters)]) is not None
    return Likeness.ENDS if letters and is_prefixed else None


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", name.lower())


_MAX_ABOVE = 2_000
"""Lines above a key in which its tables or mappings begin."""


def keys_around(path: str, lines: Sequence[str], number: int) -> list[str]:
    """Return the keys of the tables or mappings that a line (from 1) of configuration is in, outermost first."""
    if path.endswith((".yaml", ".yml", ".json", ".jsonc", ".json5")):
        keys: list[str] = []
        indent = _indent(lines[number - 1])
        for line in reversed(lines[max(0, number - 1 - _MAX_ABOVE) : number - 1]):
            if not line.strip() or line.lstrip().startswith(("#", "//")) or _indent(line) >= indent:
                continue
            indent = _indent(line)
            head = re.match(r"\s*(?:-\s+)?[\"']?([\w./-]+)[\"']?\s*:\s*[{\[]?\s*(?:#.*)?$", line[:MAX_LINE])
            keys += [head[1]] if head is not None else []
            if not indent:
                break

        return keys[::-1]

    for line in reversed(lines[max(0, number - 1 - _MAX_ABOVE) : number - 1]):
        header = re.match(r"\s*\[{1,2}([^\]]+)\]{1,2}\s*(?:[#;].*)?$", line[:MAX_LINE])
        if header is not None:
            return [part.strip("\"' ") for part in re.split(r"[.:]", header[1])]

    return []


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def has_word(line: str, word: str) -> bool:
    """Return whether a line has a word in any case, also as a part of a name: no "ecto" in a ``NodeSelector``."""
    matches = re.finditer(re.escape(word), line, re.IGNORECASE)
    return any(
        (not line[: match.start()][-1:].isalpha() or (match[0][:1].isupper() and line[match.start() - 1].islower()))
        for match in matches
    )
