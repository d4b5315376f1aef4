"""People: mailmaps, and suggestions of identities that may be one person, which a reader accepts or not."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sourcelight.core.batches.persons import is_bot
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.git import git_bytes, mailmap_setting

Person = tuple[str, str]
# Names have the spaces around them, as an expression for both would try each share of a run of spaces.
_LINE = re.compile(r"([^<#]*+)<([^<>]*+)>(?:([^<]*+)<([^<>]*+)>)?\s*+(?:#.*)?")
# Characters that a line of a mailmap can't have.
_UNWRITABLE = re.compile(r"[\n\r<>\0]")

# An address that a code host gives for a login: ``12+ann@users.noreply.github.com``.
_NOREPLY = re.compile(r"(?:\d+\+)?([^@+]+)@users\.noreply\.(?:github\.com|gitlab\.com|codeberg\.org)", re.IGNORECASE)

_SHARED_LOCALS = frozenset(
    ["admin", "build", "ci", "code", "contact", "dev", "devel", "developer", "git", "github", "hello", "hi", "home",
     "info", "mail", "me", "nobody", "none", "noreply", "no-reply", "office", "opensource", "oss", "root", "security",
     "support", "team", "test", "ubuntu", "user", "webmaster", "work", "you"]
)  # fmt: skip

_PLACEHOLDER_NAMES = frozenset(
    ["", "unknown", "root", "no author", "your name", "name", "none", "(no author)", "user", "ubuntu"]
)

_LOGIN = "login of a noreply address"
_MIN_LOCAL_CHARS = 5
"""Characters of the part of an address before the ``@`` from which it may tell a person: shorter ones are common."""

_MAX_SHARING = 12
"""Maximum identities that share a key; a key with more identities doesn't belong to one person."""


def check_mailmap(git_dir: str, people: Sequence[Person], cancellation: Cancellation | None = None) -> list[Person]:
    """Map names and addresses with ``.mailmap`` of HEAD, as ``git check-mailmap`` does.

    Names with angle brackets or newlines, which git can't read back, stay unchanged.
    """
    # `git check-mailmap --stdin` reads one person a line, so names with newlines or brackets would shift all later
    # answers.
    positions = [position for position, (name, email) in enumerate(people) if not _UNWRITABLE.search(name + email)]
    lines = "".join(f"{people[position][0]} <{people[position][1]}>\n" for position in positions)
    mapped = list(people)
    if not positions:
        return mapped

    try:
        stdin = lines.encode("utf-8", "surrogateescape")
        answer = git_bytes(
            git_dir, [*mailmap_setting(git_dir), "check-mailmap", "--stdin"], stdin=stdin, cancellation=cancellation
        )
    except GitFailed:
        return mapped

    answer_lines = answer.decode("utf-8", "replace").splitlines()
    # With any other number of lines, answers can't be assigned to people, so none is mapped.
    if len(answer_lines) == len(positions):
        for position, line in zip(positions, answer_lines, strict=True):
            name, _, email = line.rpartition(" <") if " <" in line else ("", "", line[1:])
            mapped[position] = name, email.removesuffix(">")

    return mapped


@dataclass(slots=True)
class Mailmap:
    """Lines of a mailmap; lookups ignore case, as git does."""

    _by_email: dict[str, tuple[str, str]] = field(default_factory=dict)
    _by_person: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def map(self, name: str, email: str) -> Person:
        """Return the proper name and address of a person; unchanged if no line matches."""
        key = email.lower()
        mapped = self._by_person.get((name.lower(), key)) or self._by_email.get(key)
        # gitmailmap(5): a line with name and address of the commit wins over a line with the address alone.
        return (mapped[0] or name, mapped[1] or email) if mapped else (name, email)

    def __bool__(self) -> bool:
        return bool(self._by_email or self._by_person)

    def add(self, name: str, email: str, commit_name: str, commit_email: str) -> None:
        """Add a line; `commit_name` may be empty, and one of `name` and `email`."""
        if commit_name:
            self._by_person[commit_name.lower(), commit_email.lower()] = name, email
        else:
            previous = self._by_email.get(commit_email.lower(), ("", ""))
            self._by_email[commit_email.lower()] = name or previous[0], email or previous[1]


def parse_mailmap(lines: str | Iterable[str]) -> Mailmap:
    """Read a mailmap in the form of git's own file.

    Raises
    ------
    ValueError
        A line is invalid; the message has it.
    """
    mailmap = Mailmap()
    if isinstance(lines, str):
        text_lines = lines.splitlines()
    else:
        text_lines = [field for text in lines for field in text.splitlines()]
    for line in text_lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue

        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"invalid mailmap line {line!r}; expected 'Name <address> Name <address>'")

        name, email, commit_name, commit_email = match.groups("")
        if match[4] is None:
            mailmap.add(name.strip(), "", "", email)
        else:
            mailmap.add(name.strip(), email, commit_name.strip(), commit_email)

    return mailmap


@dataclass(frozen=True, slots=True)
class IdentityUsage:
    """An identity after its mailmap: number of commits, and times of the first and last one, in seconds."""

    name: str
    email: str
    commits: int
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True)
class IdentitySuggestion:
    """An identity that may belong to another one.

    Attributes
    ----------
    group
        Number of the group of identities that may be one person, from 0; groups with most commits come first.
    usage
        The identity.
    proper
        The identity with the most commits in the group, under which all would be counted.
    reason
        The common attribute of both identities.
    """

    group: int
    usage: IdentityUsage
    proper: IdentityUsage
    reason: str

    @property
    def mailmap_line(self) -> str:
        """The line of a mailmap that accepts the suggestion; empty for the proper identity itself."""
        if self.usage is self.proper:
            return ""
        proper, usage = self.proper, self.usage
        return f"{proper.name} <{proper.email}> {usage.name} <{usage.email}>"


def suggest_identities(usages: Sequence[IdentityUsage]) -> list[IdentitySuggestion]:
    """Group identities that may be one person.

    Members of a group share an address (ignoring case), a full name (of two or more words, ignoring accents, case and
    order), the login of a code host's noreply address, or a distinctive local part of an address and a name. Bots and
    addresses that many share are left out.
    """
    people = [usage for usage in usages if not is_bot(usage.name, usage.email)]
    groups = _IdentityGroups(len(people))
    for reason, member_lists in (
        ("same address", _keys(people, _address)),
        ("same name", _keys(people, _full_name)),
        (_LOGIN, _keys(people, _login)),
        ("same local part of the address, and a name in common", _keys(people, _local_and_name)),
    ):
        for members in member_lists:
            if len(members) > _MAX_SHARING:
                continue
            # A login alone is a weak key: two people may be called "max". One noreply address in the group shows that
            # the word is a login.
            if reason == _LOGIN and not any(_NOREPLY.fullmatch(people[position].email.strip()) for position in members):
                continue
            groups.join(members, reason)

    shared_groups = groups.with_several()
    shared_groups.sort(key=lambda members: -sum(people[position].commits for position in members))
    suggestions = []
    for number, members in enumerate(shared_groups):
        members.sort(key=lambda position: _proper_first(people[position]))
        proper = people[members[0]]
        suggestions += [
            IdentitySuggestion(
                group=number, usage=people[position], proper=proper, reason=groups.reasons.get(position, "")
            )
            for position in members
        ]

    return suggestions


def _proper_first(usage: IdentityUsage) -> tuple[object, ...]:
    """Return the sort key of a group: most commits first, then the newest."""
    # The last keys make the order, and so the proper identity, the same in each run.
    return -usage.commits, -usage.last, usage.name, usage.email


class _IdentityGroups:
    """Union-find with path halving: members that share any key, also through others, end in one group."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))
        self.reasons: dict[int, str] = {}
        """The first reason that put a member into a group with others."""

    def join(self, members: Sequence[int], reason: str) -> None:
        """Put members into one group, for a reason."""
        first = members[0]
        for member in members[1:]:
            if self._root(first) != self._root(member):
                self.reasons.setdefault(member, reason)
                self.reasons.setdefault(first, reason)
                self._parent[self._root(member)] = self._root(first)

    def with_several(self) -> list[list[int]]:
        """Return the groups of two or more members."""
        groups = defaultdict(list)
        for member in range(len(self._parent)):
            groups[self._root(member)].append(member)
        return [members for members in groups.values() if len(members) > 1]

    def _root(self, member: int) -> int:
        parent = self._parent
        while parent[member] != member:
            # Halved, so that later look-ups take fewer steps.
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member


def _keys(people: Sequence[IdentityUsage], keys: Callable[[IdentityUsage], Iterable[str]]) -> Iterator[list[int]]:
    """Return the positions of people that share a key, one list per key."""
    sharing: defaultdict[str, list[int]] = defaultdict(list)
    for index, usage in enumerate(people):
        for key in keys(usage):
            sharing[key].append(index)
    return (members for members in sharing.values() if len(members) > 1)


def _address(usage: IdentityUsage) -> Iterator[str]:
    email = usage.email.strip().lower()
    if "@" in email and email.partition("@")[0] not in _SHARED_LOCALS:
        yield email


def _full_name(usage: IdentityUsage) -> Iterator[str]:
    parts = [word for word in _words(usage.name) if len(word) > 1]
    if len(parts) > 1 and usage.name.strip().lower() not in _PLACEHOLDER_NAMES:
        yield " ".join(sorted(parts))


def _words(name: str) -> list[str]:
    # NFKD splits letters from their accents, so José and Jose share a key.
    decomposed = unicodedata.normalize("NFKD", name)
    letters = "".join(character for character in decomposed if not unicodedata.combining(character)).casefold()
    return re.findall(r"\w+", letters)


def _login(usage: IdentityUsage) -> Iterator[str]:
    match = _NOREPLY.fullmatch(usage.email.strip())
    if match:
        yield match[1].lower()

    # Without a noreply address, a login may be a one-word name, or the local part of the address.
    parts = usage.name.split()
    if len(parts) == 1 and parts[0].lower() not in _PLACEHOLDER_NAMES:
        yield parts[0].lower()

    local = _local(usage)
    if local and not match:
        yield local


def _local(usage: IdentityUsage) -> str:
    # `ann+git@` is a tag of `ann@`, which many mail servers deliver to the same box.
    local = usage.email.strip().lower().partition("@")[0].partition("+")[0]
    return local if len(local) >= _MIN_LOCAL_CHARS and local not in _SHARED_LOCALS else ""


def _local_and_name(usage: IdentityUsage) -> Iterator[str]:
    local = _local(usage)
    if local:
        for word in _words(usage.name):
            if len(word) > 2:
                yield f"{local} {word}"
