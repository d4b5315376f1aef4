"""Read commits from their bytes: libgit2 refuses commits with a malformed author or committer, git doesn't.

Authors and dates are read as git reads them, however broken the line is. Sources: the manual of git-hash-object, and
git's `commit.c`, `ident.c` (dates), `date.c` (offsets) and `pretty.c` (unreadable lines); tests compare with git.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from sourcelight.core.batches import NO_COMMIT, CommitId
from sourcelight.repos.objects.reader import MAX_FOLDER_BYTES, StoreReader

if TYPE_CHECKING:
    import pygit2


LAST_SECOND = 253_402_300_799
"""The last second of the year 9999. Dates of later years are taken for it: neither Python nor pandas can hold them."""

_DATE = re.compile(rb"(\d+) ([+-]\d+)")
"""Seconds since 1970 and the offset from UTC: ``1767225600 +0100``."""

_MAX_OFFSET = (1 << 31) - 1
"""The largest number in an offset, as git reads it: a signed integer of 32 bits."""

_MAX_DIGITS = 20
"""Digits up to which a number is converted: that of more takes quadratic time, and is out of range anyway."""

_MINUTES_A_DAY = 24 * 60
"""The first offset in minutes that no time zone of Python has."""

_COMMIT, _TAG = 1, 4  # git's numbers for the kinds of objects
_MAX_TAG_DEPTH = 64
"""Tags of tags that are followed to a commit."""


def parse_instant(date: bytes) -> tuple[int, int]:
    """Parse git's ``%ad`` with ``--date=raw``: seconds since 1970 and minutes east of UTC.

    Without a valid date the result is 0, 0, as git shows such commits as of 1970.
    """
    match = _DATE.fullmatch(date)
    if match is not None:
        return (parse_seconds(match[1]), parse_offset(match[2]))
    return (0, 0)


def parse_seconds(digits: bytes) -> int:
    """Parse seconds since 1970; 0 for other text, `LAST_SECOND` for anything later."""
    if not digits.isdigit():
        return 0
    return LAST_SECOND if len(digits) > _MAX_DIGITS else min(int(digits), LAST_SECOND)


def parse_offset(text: bytes) -> int:
    """Parse a time zone such as ``-0730`` as minutes east of UTC: hours are all digits but the last two.

    As in git, ``+051800`` is 518 hours. Returns 0 for text that isn't a number, and for numbers too large for git.
    """
    digits = text[1:]
    if text[:1] not in {b"+", b"-"} or not digits.isdigit() or len(digits) > _MAX_DIGITS:
        return 0

    number = int(digits)
    if number >= _MAX_OFFSET:
        return 0

    hours, minutes = divmod(number, 100)
    return (hours * 60 + minutes) * (-1 if text[:1] == b"-" else 1)


def split_identity(text: bytes) -> tuple[bytes, bytes]:
    """Split ``Name <address>`` into name and address: git's names have no ``<``, its addresses may."""
    name, bracket, email = text.partition(b"<")
    return name.rstrip(b" "), email.removesuffix(b">") if bracket else b""


def as_text(raw: bytes) -> str:
    """Decode bytes of git as text, invalid UTF-8 as U+FFFD.

    Git has converted them to UTF-8 if the commit names an encoding and the bytes fit it. It passes others on unchanged.
    """
    return raw.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class CommitHeader:
    """The header and message of a commit.

    `author` and `committer` are name, address and date (RFC 3339 with the writer's offset). `message` is as git shows
    it: decoded with the encoding that the commit names.
    """

    parents: tuple[str, ...]
    author: tuple[str, str, str]
    committer: tuple[str, str, str]
    message: str

    @property
    def subject(self) -> str:
        """The first paragraph as one line, as git's ``%s``."""
        return " ".join(line.strip() for line in self.message.lstrip("\n").partition("\n\n")[0].split("\n")).strip()

    @property
    def body(self) -> str:
        """All after the first paragraph, without blank lines around it."""
        return self.message.lstrip("\n").partition("\n\n")[2].strip("\n")


def read_commit(reader: StoreReader, commit: CommitId) -> CommitHeader | None:
    """Read a commit; return None if the object store lacks it, or it is too large."""
    data = reader.commit_data(commit)
    if data is None:
        return None

    head, _, message = data.partition(b"\n\n")
    parents: list[str] = []
    people = {b"author": ("", "", ""), b"committer": ("", "", "")}
    encoding = "utf-8"
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"parent":
            parents.append(value.decode("ascii", "replace"))
        elif key in people:
            # The date follows the last ">": a malformed name or address may contain others.
            identity, bracket, date = value.rpartition(b">")
            name, email = split_identity(identity + bracket)
            people[key] = as_text(name), as_text(email), _format_instant(*parse_instant(date.strip()))
        elif key == b"encoding":
            encoding = value.decode("ascii", "replace").strip()

    try:
        text = message.decode(encoding)
    except (LookupError, UnicodeDecodeError):
        text = as_text(message)

    return CommitHeader(
        parents=tuple(parents), author=people[b"author"], committer=people[b"committer"], message=text.strip("\n")
    )


def at_offset(when: datetime, offset_min: int) -> datetime:
    """Return a time by a clock of so many minutes from UTC, or in UTC where Python can't express that."""
    try:
        return when.astimezone(_zone_of(offset_min))
    # A date at the edge of the years 1 to 9999 may leave them by its offset.
    except (OverflowError, ValueError):
        return when.astimezone(UTC)


def _format_instant(seconds: int, offset_min: int) -> str:
    """Return RFC 3339; an offset that Python can't express is left at UTC, as the instant is what counts."""
    try:
        return datetime.fromtimestamp(seconds, _zone_of(offset_min)).isoformat()
    except (OverflowError, ValueError):
        return datetime.fromtimestamp(seconds, UTC).isoformat()


def _zone_of(offset_min: int) -> timezone:
    """Return the time zone of an offset. Git stores any, such as `+9999`; Python accepts less than a day."""
    if abs(offset_min) < _MINUTES_A_DAY:
        return timezone(timedelta(minutes=offset_min))
    return UTC


def peel_to_commit(handle: pygit2.Repository, name: str) -> CommitId:
    """Return the commit that an object is or that a tag leads to; empty if there is none."""
    for _ in range(_MAX_TAG_DEPTH):
        kind, data = _read(handle, name)
        if kind == _COMMIT:
            return CommitId(name)
        if kind != _TAG or not data.startswith(b"object "):
            return NO_COMMIT
        name = data[7:47].decode("ascii", "replace")

    return NO_COMMIT


def tree_of(handle: pygit2.Repository, commit: CommitId) -> str:
    """Return the top tree of a commit, 40 hex digits; empty if the commit does not exist."""
    kind, data = _read(handle, commit)
    if kind == _COMMIT and data.startswith(b"tree "):
        return data[5:45].decode("ascii", "replace")
    return ""


def parents_of(handle: pygit2.Repository, commit: CommitId) -> list[CommitId]:
    """Return the parents of a commit, in order; none if it isn't a commit."""
    parsed = _parse_commit(handle, commit)
    return [] if parsed is None else parsed[0]


def commit_time_of(handle: pygit2.Repository, commit: CommitId) -> int | None:
    """Return the committer time of a commit in seconds since 1970, at most `LAST_SECOND`; None if it can't be read."""
    parsed = _parse_commit(handle, commit)
    return None if parsed is None else parsed[1]


def ancestors_by_time(handle: pygit2.Repository, commit: CommitId) -> Iterator[tuple[CommitId, int]]:
    """Yield a commit and its ancestors with their committer times, of those at hand the latest first.

    Commits that the repository lacks (behind a shallow clone) are left out.
    """
    queue: list[tuple[int, int, CommitId, list[CommitId]]] = []
    seen: set[CommitId] = set()

    def meet(names: Iterable[CommitId]) -> None:
        for name in names:
            parsed = _parse_commit(handle, name) if name not in seen else None
            seen.add(name)
            if parsed is not None:
                # The counter keeps the order stable among equal times and stops the comparison before the lists.
                heapq.heappush(queue, (-parsed[1], len(seen), name, parsed[0]))

    meet([commit])
    while queue:
        time_s, _, name, parents = heapq.heappop(queue)
        yield name, -time_s
        meet(parents)


def _parse_commit(handle: pygit2.Repository, commit: CommitId) -> tuple[list[CommitId], int] | None:
    """Return parents and committer time of a commit, or None if it doesn't exist."""
    kind, data = _read(handle, commit)
    if kind != _COMMIT:
        return None

    lines = data.partition(b"\n\n")[0].split(b"\n")
    parents = [CommitId(line[7:47].decode("ascii", "replace")) for line in lines if line.startswith(b"parent ")]
    committer = next((line for line in lines if line.startswith(b"committer ")), b"")
    date = committer.rpartition(b">")[2].split()[:1]
    return parents, parse_seconds(date[0]) if date else 0


def _read(handle: pygit2.Repository, name: str) -> tuple[int, bytes]:
    import pygit2

    try:
        oid = pygit2.Oid(hex=name)
        # Reading the header first keeps an object of many gigabytes out of memory.
        if handle.odb.read_header(oid)[1] > MAX_FOLDER_BYTES:
            return 0, b""
        kind, data = handle.read(oid)
    except (KeyError, ValueError, pygit2.GitError):
        return 0, b""

    return int(kind), data
