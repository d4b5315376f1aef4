"""Rules of ``.gitattributes``: which attributes hold for a path; pure, and in linear time whatever the patterns are.

Source: the manuals of gitattributes and gitignore. Macros are not expanded: ``binary`` says how a file is stored, not
who wrote it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sourcelight.core.query.regexps import glob_regexp

MAX_LINE_BYTES = 2048
"""Bytes of a line above which git passes over it, too."""

MAX_RULES = 2_000
"""Rules of one repository that are read; further ones are passed over."""

_TRUE, _FALSE = frozenset({"", "true", "1", "yes", "on"}), frozenset({"false", "0", "no", "off"})
Rule = tuple[Any, Mapping[str, bool | None]]


class Attributes:
    """Attributes of paths by the ``.gitattributes`` files of a tree.

    Parameters
    ----------
    files
        Directory of each file (``""`` for the top, ``"src/"``) and its text.
    names
        Attributes to read; others are passed over.
    """

    def __init__(self, files: Iterable[tuple[str, str]], names: Collection[str]) -> None:
        self._rules: list[Rule] = []
        # A deeper file decides after the ones above it; within a file, a later line after an earlier one.
        for directory, text in sorted(files, key=lambda item: (item[0].count("/"), item[0])):
            for line in text.splitlines():
                if len(self._rules) < MAX_RULES and len(line.encode()) <= MAX_LINE_BYTES:
                    rule = _rule(directory, line.strip(), names)
                    self._rules += [rule] if rule is not None else []

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, path: str) -> dict[str, bool]:
        """Return the attributes that are set (True) or unset (False) for a path."""
        attributes: dict[str, bool] = {}
        # gitattributes(5): the last matching line wins for each attribute, and `!name` (None) unsets it.
        for pattern, values in self._rules:
            if pattern.search(path):
                for name, value in values.items():
                    if value is None:
                        attributes.pop(name, None)
                    else:
                        attributes[name] = value

        return attributes


def _rule(directory: str, line: str, names: Collection[str]) -> Rule | None:
    if not line or line.startswith(("#", "[attr]")):
        return None
    pattern, _, assignments = _pattern(line)
    values = {name: value for word in assignments.split() for name, value in (_value(word),) if name in names}
    if not values or not pattern or pattern.startswith("!") or pattern.endswith("/"):
        return None
    return _compile(directory, pattern), values


def _pattern(line: str) -> tuple[str, str, str]:
    """Return the pattern of a line, which may be in quotes, and its attributes."""
    if line.startswith('"') and (end := line.find('"', 1)) > 0:
        return line[1:end], "", line[end + 1 :]
    return line.replace("\t", " ").partition(" ")


def _value(word: str) -> tuple[str, bool | None]:
    """Return an attribute and whether it is set, or None if it is unspecified or has another value."""
    if word.startswith("-"):
        return word[1:], False
    if word.startswith("!"):
        return word[1:], None
    name, sign, value = word.partition("=")
    lower = value.lower()
    return name, True if not sign or lower in _TRUE else False if lower in _FALSE else None


def _compile(directory: str, pattern: str) -> Any:
    import re2

    from sourcelight.core.query.regexps import escape_regexp

    options = re2.Options()
    options.log_errors = False
    anchored = "/" in pattern.rstrip("/")
    body = glob_regexp(pattern.lstrip("/"))
    middle = "" if anchored else "(?:.*/)?"
    try:
        return re2.compile(f"^{escape_regexp(directory)}{middle}{body}$", options=options)
    except re2.error:
        # A class that no character satisfies: an invalid pattern matches nothing, as in git.
        return re2.compile(r"[^\x00-\x{10FFFF}]", options=options)
