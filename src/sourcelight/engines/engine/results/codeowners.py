"""Who owns a file: the rules of a CODEOWNERS file.

The forms that GitHub and GitLab have in common, and GitLab's sections. A rule is a path pattern and its owners
(``@handle``, ``@group/team`` or an e-mail address); of the rules of a section the last one that matches counts, and a
rule without owners makes its files unowned. A pattern with a slash that is not its last character starts at the root,
others match at any depth; ``*`` and ``?`` stay within a directory, ``**`` does not; a directory stands for all below
it, and ``dir/*`` for the files directly in it. Character ranges are taken literally, as GitHub does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import re2

PLACES = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where such a file is looked for; the first that is there counts."""

_MOST_RULES = 20_000
_MOST_MEMORY = 64 * 1024 * 1024
_SECTION = re.compile(r"\^?\[(?P<name>[^\]]+)\](?:\[\d+\])?(?P<owners>(?:\s.*)?)\Z")
_WORD = re.compile(r"(?:\\.|[^\s\\])+")
_PIECE = re.compile(r"\*\*/|/\*\*\Z|\*+|\?|\\.|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Owner:
    """An owner where the file names it: line from 0, characters of that line."""

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
        The file's content; what can't be read as a rule is ignored, as is all after 20,000 rules.
    """

    def __init__(self, text: str) -> None:
        self._rules = _rules(text)
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _MOST_MEMORY
        self._set = re2.Set.FullMatchSet(options)
        for rule in self._rules:
            self._set.Add(rule.pattern)
        self._set.Compile()

    def owners(self, path: str) -> tuple[str, ...]:
        """Owners of the file at `path`, as they are written in the file; none when nobody owns it."""
        return tuple(dict.fromkeys(owner.name for owner in self.named(path)))

    def named(self, path: str) -> tuple[Owner, ...]:
        """The places that give the file at `path` its owners: the same one twice where two sections name it."""
        if not self._rules:
            return ()
        matching = sorted(self._set.Match(path) or ())
        deciding = {self._rules[number].section: self._rules[number] for number in matching}
        return tuple(owner for rule in deciding.values() for owner in rule.owners)


def owned_by(owners: tuple[str, ...], wanted: str) -> bool:
    """Whether `wanted` is among `owners`, without regard to case or a leading ``@``; empty stands for anyone."""
    if not wanted.strip():
        return bool(owners)
    return _plain(wanted) in {_plain(owner) for owner in owners}


def _plain(owner: str) -> str:
    return owner.strip().removeprefix("@").casefold()


def _rules(text: str) -> list[_Rule]:
    rules: list[_Rule] = []
    section, default = "", tuple[Owner, ...]()
    for number, line in enumerate(text.split("\n")):
        found = _words(line)
        if not found:
            continue
        words = [word.group() for word in found]
        header = _SECTION.match(" ".join(words))
        if header is not None:
            section = header["name"].strip().casefold()
            after = len(header["owners"].split())
            default = _owners(number, found[len(found) - after :])
            continue
        excluded = words[0].startswith("!")
        owners = _owners(number, found[1:]) or (default if section else ())
        rules.append(_Rule(_regexp(words[0].removeprefix("!")), () if excluded else owners, section))
        if len(rules) == _MOST_RULES:
            break
    return rules


def _owners(line: int, words: Sequence[re.Match[str]]) -> tuple[Owner, ...]:
    return tuple(Owner(word.group(), line, word.start(), word.end()) for word in words if "@" in word.group())


def _words(line: str) -> list[re.Match[str]]:
    words = []
    for found in _WORD.finditer(line):
        if found.group().startswith("#"):
            break
        words.append(found)
    return words


def _regexp(pattern: str) -> str:
    """RE2 text that matches the whole of each path that `pattern` stands for."""
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
    for piece in _PIECE.findall(body):
        if piece == "**/":
            parts.append("(?:.*/)?")
        elif piece == "/**":
            parts.append("/.*")
        elif piece.startswith("**"):
            parts.append(".*")
        elif piece == "*":
            parts.append("[^/]*")
        elif piece == "?":
            parts.append("[^/]")
        else:
            parts.append(re2.escape(piece[-1]))
    return f"(?s:{'' if anchored else '(?:.*/)?'}{''.join(parts)}{tail})"
