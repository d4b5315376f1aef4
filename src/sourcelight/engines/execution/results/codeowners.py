"""Rules of CODEOWNERS files: which files have which owners.

Rules have the forms that GitHub and GitLab share, and GitLab's sections. A rule is a path pattern and its owners:
``@handle``, ``@group/team`` or an e-mail address. In each section the last matching rule counts. A rule without owners
makes its files unowned. A pattern starts at the root if it has a slash before its last character; other patterns match
at any depth. ``*`` and ``?`` stay within a directory, ``**`` crosses directories. A directory includes all files below
it, ``dir/*`` only the files directly in it. Character ranges are taken literally, as on GitHub.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import re2

from sourcelight.core.errors import PatternError

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Paths of a CODEOWNERS file; the first existing path counts."""

_MAX_RULES = 20_000
"""Rules of a file that are read."""

_MAX_MEMORY_BYTES = 64 * 1024 * 1024
"""Bytes that RE2 may take for the patterns of all rules."""

_SECTION = re.compile(r"\^?\[(?P<name>[^\]]+)\](?:\[\d+\])?(?P<owners>(?:\s.*)?)\Z")
"""The heading of a section of GitLab: ``^[Documentation][2] @docs``."""

_WORD = re.compile(r"(?:\\.|[^\s\\])+")
"""A word, in which a backslash escapes a blank."""

_TOKEN = re.compile(r"\*\*/|/\*\*\Z|\*+|\?|\\.|.", re.DOTALL)
"""A part of a glob: ``**/``, ``*``, ``?``, or one character."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner and its place in the file: the line, from 0, and the characters in that line."""

    name: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: str
    owners: tuple[Owner, ...]
    section: str


class CodeOwners:
    """The rules of one CODEOWNERS file.

    Parameters
    ----------
    text
        The file's content. Lines that aren't rules are ignored, and so is everything after 20,000 rules.

    Raises
    ------
    PatternError
        If the rules together are too complex to be matched.
    """

    def __init__(self, text: str) -> None:
        self._rules = _rules(text)
        options = re2.Options()
        options.log_errors = False

        # RE2 raises an error when a set outgrows this; its default of 8 MiB is too small for 20,000 ordinary rules.
        options.max_mem = _MAX_MEMORY_BYTES
        self._set = re2.Set.FullMatchSet(options)
        try:
            for rule in self._rules:
                self._set.Add(rule.pattern)
            self._set.Compile()
        except re2.error as exc:
            raise PatternError("CODEOWNERS", "its rules need more than 64 MiB") from exc

    def owners(self, path: str) -> tuple[str, ...]:
        """Return the owners of the file at `path`, as written in CODEOWNERS; empty when it has none."""
        return tuple(dict.fromkeys(owner.name for owner in self.owners_of(path)))

    def owners_of(self, path: str) -> tuple[Owner, ...]:
        """Return the owners of the file at `path` with their places; an owner occurs once per section that names it."""
        if not self._rules:
            return ()
        matching = sorted(self._set.Match(path) or ())
        # Numbers ascend, so the last matching rule of a section overwrites the ones before it.
        deciding = {self._rules[number].section: self._rules[number] for number in matching}
        return tuple(owner for rule in deciding.values() for owner in rule.owners)


def owned_by(owners: tuple[str, ...], name: str) -> bool:
    """Return whether `name` is among `owners`, ignoring case and a leading ``@``; empty means anyone."""
    if not name.strip():
        return bool(owners)
    return _normalize(name) in {_normalize(owner) for owner in owners}


def _normalize(owner: str) -> str:
    return owner.strip().removeprefix("@").casefold()


def _rules(text: str) -> list[_Rule]:
    rules: list[_Rule] = []
    section, default = "", tuple[Owner, ...]()
    for number, line in enumerate(text.split("\n")):
        matches = _words(line)
        if not matches:
            continue

        words = [word.group() for word in matches]
        header = _SECTION.match(" ".join(words))
        if header is not None:
            section = header["name"].strip().casefold()
            after = len(header["owners"].split())
            # GitLab's sections: owners after a section's name apply to its rules without owners.
            default = _owners(number, matches[len(matches) - after :])
            continue

        excluded = words[0].startswith("!")
        owners = _owners(number, matches[1:]) or (default if section else ())
        rules.append(_Rule(_regexp(words[0].removeprefix("!")), () if excluded else owners, section))

        # Each rule is a pattern per path: a hostile file could otherwise make the search quadratic.
        if len(rules) == _MAX_RULES:
            break

    return rules


def _owners(line: int, words: Sequence[re.Match[str]]) -> tuple[Owner, ...]:
    return tuple(
        Owner(name=word.group(), line=line, start=word.start(), end=word.end()) for word in words if "@" in word.group()
    )


def _words(line: str) -> list[re.Match[str]]:
    words = []
    for match in _WORD.finditer(line):
        if match.group().startswith("#"):
            break
        words.append(match)
    return words


def _regexp(pattern: str) -> str:
    """Return RE2 text that matches the whole of each path that `pattern` covers."""
    # As in .gitignore, which CODEOWNERS follows: a slash inside ties the pattern to the directory of the file,
    # otherwise it matches at any depth.
    anchored = "/" in pattern.rstrip("/")
    body = pattern.removeprefix("/")
    if body in {"", "*", "**"}:
        return ".*" if not pattern.startswith("/*") or body == "**" else "[^/]+"

    tail = "(?:/.*)?"
    if body.endswith("/*"):
        tail = ""
    elif body.endswith("/"):
        body, tail = body.rstrip("/"), "/.*"

    parts = []
    for glob in _TOKEN.findall(body):
        if glob == "**/":
            parts.append("(?:.*/)?")
        elif glob == "/**":
            parts.append("/.*")
        elif glob.startswith("**"):
            parts.append(".*")
        elif glob == "*":
            parts.append("[^/]*")
        elif glob == "?":
            parts.append("[^/]")
        else:
            parts.append(re2.escape(glob[-1]))

    return f"(?s:{'' if anchored else '(?:.*/)?'}{''.join(parts)}{tail})"
