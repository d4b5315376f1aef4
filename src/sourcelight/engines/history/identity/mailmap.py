"""Mailmaps: the repository's own by git itself, and further lines that a reader accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.commands import git_bytes, mailmap_setting

Person = tuple[str, str]
_LINE = re.compile(r"\s*([^<#]*?)\s*<([^<>]*)>(?:\s*([^<]*?)\s*<([^<>]*)>)?\s*(?:#.*)?")
_UNWRITABLE = re.compile(r"[\n\r<>\0]")


def check_mailmap(git_dir: str, people: Sequence[Person], cancellation: Cancellation | None = None) -> list[Person]:
    """Map names and addresses with ``.mailmap`` of HEAD, as ``git check-mailmap`` does.

    People whose names git could not read back (with angle brackets or newlines) stay as they are.
    """
    asked = [at for at, (name, email) in enumerate(people) if not _UNWRITABLE.search(name + email)]
    lines = "".join(f"{people[at][0]} <{people[at][1]}>\n" for at in asked)
    mapped = list(people)
    if not asked:
        return mapped
    try:
        stdin = lines.encode("utf-8", "surrogateescape")
        answer = git_bytes(
            git_dir, [*mailmap_setting(git_dir), "check-mailmap", "--stdin"], stdin=stdin, cancellation=cancellation
        )
    except GitFailed:
        return mapped
    given = answer.decode("utf-8", "replace").splitlines()
    if len(given) == len(asked):
        for at, line in zip(asked, given, strict=True):
            name, _, email = line.rpartition(" <") if " <" in line else ("", "", line[1:])
            mapped[at] = name, email.removesuffix(">")
    return mapped


@dataclass(slots=True)
class Mailmap:
    """Lines of a mailmap; look-ups do not care about case, as git's don't."""

    _by_email: dict[str, tuple[str, str]] = field(default_factory=dict)
    _by_person: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def map(self, name: str, email: str) -> Person:
        """The proper name and address of someone; as given when no line speaks of them."""
        key = email.lower()
        found = self._by_person.get((name.lower(), key)) or self._by_email.get(key)
        return (found[0] or name, found[1] or email) if found else (name, email)

    def __bool__(self) -> bool:
        return bool(self._by_email or self._by_person)

    def add(self, name: str, email: str, commit_name: str, commit_email: str) -> None:
        """Add a line; `commit_name` may be empty, and of `name` and `email` one may be."""
        if commit_name:
            self._by_person[commit_name.lower(), commit_email.lower()] = name, email
        else:
            former = self._by_email.get(commit_email.lower(), ("", ""))
            self._by_email[commit_email.lower()] = name or former[0], email or former[1]


def parse_mailmap(lines: str | Iterable[str]) -> Mailmap:
    """Read a mailmap in the form of git's own file.

    Raises
    ------
    ValueError
        For a line that is none; says which.
    """
    mailmap = Mailmap()
    split = lines.splitlines() if isinstance(lines, str) else [part for text in lines for part in text.splitlines()]
    for line in split:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"no line of a mailmap: {line!r}; it has the form: Name <address> Name <address>")
        name, email, commit_name, commit_email = (part or "" for part in found.groups())
        if found[4] is None:
            mailmap.add(name, "", "", email)
        else:
            mailmap.add(name, email, commit_name, commit_email)
    return mailmap
