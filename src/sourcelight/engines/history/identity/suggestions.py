"""Which identities may be one person: a list to be looked through, of which nothing is done by itself."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sourcelight.engines.history.identity.bots import is_bot

_NOREPLY = re.compile(r"(?:\d+\+)?([^@+]+)@users\.noreply\.(?:github\.com|gitlab\.com|codeberg\.org)", re.IGNORECASE)
_SHARED = frozenset(
    ["admin", "build", "ci", "code", "contact", "dev", "devel", "developer", "git", "github", "hello", "hi", "home",
     "info", "mail", "me", "nobody", "none", "noreply", "no-reply", "office", "opensource", "oss", "root", "security",
     "support", "team", "test", "ubuntu", "user", "webmaster", "work", "you"]
)  # fmt: skip
_NO_PERSON = frozenset(
    ["", "unknown", "root", "no author", "your name", "name", "none", "(no author)", "user", "ubuntu"]
)
_LOGIN = "login of a noreply address"
_SHORTEST_LOCAL = 5
_MOST_SHARING = 12
"""A key that more identities share says nothing of one person."""


@dataclass(frozen=True, slots=True)
class Usage:
    """An identity as a history shows it after its mailmap: commits, and when it first and last wrote (seconds)."""

    name: str
    email: str
    commits: int
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class Suggestion:
    """An identity that may belong to another one.

    Attributes
    ----------
    group
        Number of the set of identities that may be one person, from 0, largest set of commits first.
    usage
        The identity.
    proper
        The identity of the group with the most commits, under which it would be counted.
    reason
        What the two share.
    """

    group: int
    usage: Usage
    proper: Usage
    reason: str

    @property
    def mailmap_line(self) -> str:
        """The line of a mailmap that accepts the suggestion; empty for the proper identity itself."""
        if self.usage is self.proper:
            return ""
        proper, usage = self.proper, self.usage
        return f"{proper.name} <{proper.email}> {usage.name} <{usage.email}>"


def suggest(usages: Sequence[Usage]) -> list[Suggestion]:
    """Group identities that may be one person.

    They share an address but for its case, a full name (of two words or more, whatever its accents, case and order),
    the login of a code host's noreply address, or a telling local part of an address together with a name. Bots and
    addresses that many share are left out.
    """
    people = [usage for usage in usages if not is_bot(usage.name, usage.email)]
    parent = list(range(len(people)))
    why: dict[int, str] = {}

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for reason, keyed in (
        ("same address", _keys(people, _address)),
        ("same name", _keys(people, _full_name)),
        (_LOGIN, _keys(people, _login)),
        ("same local part of the address, and a name in common", _keys(people, _local_and_name)),
    ):
        for members in keyed:
            if len(members) > _MOST_SHARING:
                continue
            if reason == _LOGIN and not any(_NOREPLY.fullmatch(people[at].email.strip()) for at in members):
                continue
            first = members[0]
            for other in members[1:]:
                if root(first) != root(other):
                    why.setdefault(other, reason)
                    why.setdefault(first, reason)
                    parent[root(other)] = root(first)
    groups = defaultdict(list)
    for at in range(len(people)):
        groups[root(at)].append(at)
    several = [members for members in groups.values() if len(members) > 1]
    several.sort(key=lambda members: -sum(people[at].commits for at in members))
    found = []
    for number, members in enumerate(several):
        members.sort(key=lambda at: (-people[at].commits, -people[at].last, people[at].name, people[at].email))
        proper = people[members[0]]
        found += [Suggestion(number, people[at], proper, why.get(at, "")) for at in members]
    return found


def _keys(people: Sequence[Usage], keys: Callable[[Usage], Iterable[str]]) -> Iterator[list[int]]:
    """Positions of the people that share a key, the ones of each key together."""
    sharing: defaultdict[str, list[int]] = defaultdict(list)
    for at, usage in enumerate(people):
        for key in keys(usage):
            sharing[key].append(at)
    return (members for members in sharing.values() if len(members) > 1)


def _address(usage: Usage) -> Iterator[str]:
    email = usage.email.strip().lower()
    if "@" in email and email.partition("@")[0] not in _SHARED:
        yield email


def _words(name: str) -> list[str]:
    plain = unicodedata.normalize("NFKD", name)
    kept = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return re.findall(r"\w+", kept)


def _full_name(usage: Usage) -> Iterator[str]:
    words = [word for word in _words(usage.name) if len(word) > 1]
    if len(words) > 1 and usage.name.strip().lower() not in _NO_PERSON:
        yield " ".join(sorted(words))


def _login(usage: Usage) -> Iterator[str]:
    found = _NOREPLY.fullmatch(usage.email.strip())
    if found:
        yield found[1].lower()
    # Others meet a noreply address under their one-word name, or the local part of their address.
    words = usage.name.split()
    if len(words) == 1 and words[0].lower() not in _NO_PERSON:
        yield words[0].lower()
    local = _local(usage)
    if local and not found:
        yield local


def _local(usage: Usage) -> str:
    local = usage.email.strip().lower().partition("@")[0].partition("+")[0]
    return local if len(local) >= _SHORTEST_LOCAL and local not in _SHARED else ""


def _local_and_name(usage: Usage) -> Iterator[str]:
    local = _local(usage)
    if local:
        for word in _words(usage.name):
            if len(word) > 2:
                yield f"{local} {word}"
