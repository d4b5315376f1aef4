"""Rules of ``.gitattributes``: which attributes hold for a path; pure, and in linear time whatever the patterns are.

Source: the manuals of gitattributes and gitignore. Macros are not expanded: ``binary`` says how a file is stored, not
who wrote it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sourcelight.core.query.regexps import glob_regexp

MAX_LINE_BYTES = 2048
"""Bytes of a line above which git passes over it, too."""

MAX_RULES = 2_000
"""Rules of one repository that are read; further ones are passed over."""

_TRUE = frozenset({"", "true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})
"""Spellings of true and false in ``.gitattributes``."""


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """One line of a ``.gitattributes`` file.

    Attributes
    ----------
    regexp
        Compiled expression (RE2) that the paths match to which the line applies.
    values
        Whether each attribute is set; None: the line makes it unspecified again, or gives it a text.
    """

    regexp: Any
    values: Mapping[str, bool | None]


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
        self._rules: list[AttributeRule] = []
        # A deeper file decides after the ones above it; within a file, a later line after an earlier one.
        for directory, text in sorted(files, key=lambda item: (item[0].count("/"), item[0])):
            for line in text.splitlines():
                if len(self._rules) == MAX_RULES:
                    return
                if len(line.encode()) > MAX_LINE_BYTES:
                    continue
                rule = _parse_rule(directory, line.strip(), names)
                if rule is not None:
                    self._rules.append(rule)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def of(self, path: str) -> dict[str, bool]:
        """Return the attributes that are set (True) or unset (False) for a path."""
        attributes: dict[str, bool] = {}
        # gitattributes(5): the last matching line wins for each attribute, and `!name` (None) unsets it.
        for rule in self._rules:
            if not rule.regexp.search(path):
                continue
            for name, value in rule.values.items():
                if value is None:
                    attributes.pop(name, None)
                else:
                    attributes[name] = value

        return attributes


def _parse_rule(directory: str, line: str, names: Collection[str]) -> AttributeRule | None:
    """Return the rule of a line, or None if it is a comment, a macro, invalid, or about none of `names`."""
    if not line or line.startswith(("#", "[attr]")):
        return None

    pattern, assignments = _split_line(line)
    # gitattributes(5): negative patterns are forbidden, and one for directories never matches a file.
    if not pattern or pattern.startswith("!") or pattern.endswith("/"):
        return None

    values = {}
    for word in assignments.split():
        name, value = _parse_assignment(word)
        if name in names:
            values[name] = value

    return AttributeRule(_compile(directory, pattern), values) if values else None


def _split_line(line: str) -> tuple[str, str]:
    """Return the pattern of a line, which may be in quotes, and its attributes."""
    if line.startswith('"'):
        end = line.find('"', 1)
        if end > 0:
            return line[1:end], line[end + 1 :]

    pattern, _, assignments = line.replace("\t", " ").partition(" ")
    return pattern, assignments


def _parse_assignment(word: str) -> tuple[str, bool | None]:
    """Return an attribute and whether it is set, or None if it is unspecified or has another value."""
    if word.startswith("-"):
        return word[1:], False
    if word.startswith("!"):
        return word[1:], None

    name, sign, value = word.partition("=")
    if not sign or value.lower() in _TRUE:
        return name, True
    if value.lower() in _FALSE:
        return name, False
    return name, None


def _compile(directory: str, pattern: str) -> Any:
    import re2

    from sourcelight.core.query.regexps import escape_regexp

    options = re2.Options()
    options.log_errors = False
    # gitignore(5): a pattern with a slash belongs to the directory of its file, any other to all directories below.
    anchored = "/" in pattern.rstrip("/")
    body = glob_regexp(pattern.lstrip("/"))
    middle = "" if anchored else "(?:.*/)?"
    try:
        return re2.compile(f"^{escape_regexp(directory)}{middle}{body}$", options=options)
    except re2.error:
        # A class that no character satisfies: an invalid pattern matches nothing, as in git.
        return re2.compile(r"[^\x00-\x{10FFFF}]", options=options)
