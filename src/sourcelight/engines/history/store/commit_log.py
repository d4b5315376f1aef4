"""Read new commits with one ``git log``: ids, parents, people, times and messages, as columns of a segment.

A record of its output, which a NUL byte ends::

    c0ffee4c…                               id of the commit
    7ree0001…                               id of its tree
    fa7he301… 507he301…                     ids of its parents, two for a merge
    Ada Byron                               author: name, address, time
    ada@example.org
    1700000000 +0100
    Bob                                     committer: name, address, time
    bob@example.org
    1700000300 +0000
    Retry twice                             subject
    Retry twice                             message, of as many lines as it has

    The second try waits longer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcelight.core.arrays import AnyArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError
from sourcelight.engines.history.git import git_chunks
from sourcelight.engines.history.store.identities import Identity
from sourcelight.repos.objects import store_size
from sourcelight.repos.objects.commits import as_text, parse_instant

# The message comes last: it is the only field with newlines, and takes the rest of the record.
_FIELDS = ("%H", "%T", "%P", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%s", "%B")
"""Fields of a record, as `git log --format` calls them."""

_UNKNOWN_PARENT = -1
"""Number of a parent that the history doesn't have, as beyond the end of a shallow clone."""

MAX_COMMIT_BYTES = 8 * 1024 * 1024
"""Maximum bytes of a commit; a history with a larger one is refused."""

# Messages are kept in memory while they are read, and a hostile one can grow a thousand times when it is inflated. git
# compresses text to a half or a fourth, so a real history stays far below the sum of both limits.
FREE_COMMIT_BYTES = 64 * 1024 * 1024
"""Bytes of commits that any history may have, however small its repository is."""

COMMIT_BYTES_PER_BYTE = 8
"""Bytes of commits that a history may have beyond these, for each byte that the repository stores."""


@dataclass(slots=True)
class NewCommits:
    """New commits, parents before children; `oids` are 40 hex digits, `merges` the numbers of merges."""

    oids: list[bytes] = field(default_factory=list)
    merges: set[int] = field(default_factory=set)
    arrays: dict[str, AnyArray] = field(default_factory=dict)


def read_commits(
    git_dir: str,
    tips: Collection[str],
    stored_oids: Collection[str],
    position: Callable[[str], int | None],
    first: int,
    cancellation: Cancellation | None = None,
) -> NewCommits:
    """Read the commits that are reachable from `tips` and not from `stored_oids`.

    Parameters
    ----------
    git_dir
        The git directory.
    tips, stored_oids
        Commits, 40 hex digits.
    position
        Number of a stored commit, or None; called for parents outside of the new commits.
    first
        Number that the first new commit will have.
    cancellation
        Raises `Cancelled` when stopped.
    """
    revisions = "".join(f"{tip}\n" for tip in tips) + "".join(f"^{oid}\n" for oid in stored_oids)
    # -z ends records with NUL, because messages have newlines. --topo-order --reverse lists parents before children, so
    # numbers of parents are known when a child is read. git may have deleted a commit of a rewritten branch; this must
    # not end the walk.
    arguments = [
        "log",
        "--ignore-missing",
        "--stdin",
        "-z",
        "--topo-order",
        "--reverse",
        "--date=raw",
        # The user's configuration may ask for each of these, and they would change the format.
        "--no-show-signature",
        "--no-notes",
        "--encoding=UTF-8",
        "--no-color",
        f"--format={'%n'.join(_FIELDS)}",
    ]
    chunks = git_chunks(git_dir, arguments, stdin=revisions.encode(), cancellation=cancellation)
    return _parse_records(_split_records(_limit_bytes(chunks, git_dir)), position, first)


def _limit_bytes(chunks: Iterable[bytes], git_dir: str) -> Iterator[bytes]:
    """Pass on chunks; raise `RepositoryError` far above the size of the store, as messages are kept in memory."""
    size = 0
    max_bytes = FREE_COMMIT_BYTES
    is_measured = False
    for chunk in chunks:
        size += len(chunk)
        # Measuring the store lists its files, so it waits until a history exceeds the free bytes.
        if size > max_bytes and not is_measured:
            max_bytes += COMMIT_BYTES_PER_BYTE * store_size(git_dir).bytes
            is_measured = True

        if size > max_bytes:
            raise RepositoryError(
                f"its commits have more than {max_bytes:,} bytes of messages, many times what it stores"
            )

        yield chunk


def _split_records(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield records as they arrive; raise `RepositoryError` for one above `MAX_COMMIT_BYTES`."""
    pending: list[bytes] = []
    size = 0
    for chunk in chunks:
        # Messages can't hold NUL (git refuses it), so NUL separates records. A record may span many chunks; its parts
        # are joined once.
        first, *further = chunk.split(b"\0")
        pending.append(first)
        size += len(first)
        if further:
            yield b"".join(pending)
            *complete, last = further
            yield from complete
            pending = [last]
            size = len(last)

        if size > MAX_COMMIT_BYTES:
            oid = b"".join(pending)[:40].decode("ascii", "replace")
            raise RepositoryError(f"commit {oid} has more than {MAX_COMMIT_BYTES:,} bytes of message and parents")

    if size:
        yield b"".join(pending)


def _parse_records(records: Iterable[bytes], position: Callable[[str], int | None], first: int) -> NewCommits:
    columns = _CommitColumns(position, first)
    for record in records:
        fields = record.split(b"\n", len(_FIELDS) - 1)
        # git lists a stored commit again after it forgot others. A first read has nothing stored, and saves the look-up
        # of each commit.
        if not first or position(fields[0].decode()) is None:
            columns.add(fields)

    return NewCommits(columns.oids, columns.merges, columns.arrays())


class _CommitColumns:
    """Columns of new commits; `position` and `first` as in `read_commits`."""

    def __init__(self, position: Callable[[str], int | None], first: int) -> None:
        self.oids: list[bytes] = []
        self.merges: set[int] = set()
        self._position = position
        self._first = first
        self._numbers: dict[bytes, int] = {}
        self._people: dict[Identity, int] = {}
        self._authors: list[int] = []
        self._committers: list[int] = []
        self._times: list[tuple[int, int, int, int]] = []
        self._trees: list[bytes] = []
        self._parents: list[int] = []
        self._parent_starts = [0]
        self._messages: list[bytes] = []
        self._subjects: list[bytes] = []

    def add(self, fields: Sequence[bytes]) -> None:
        """Add a commit; `fields` are in the order of `_FIELDS`."""
        oid, tree, parents, *people, subject, message = fields
        author, author_email, author_date, committer, committer_email, commit_date = people
        number = len(self.oids)
        self.oids.append(oid)
        self._numbers[oid] = self._first + number
        self._trees.append(tree)
        self._authors.append(self._person(author, author_email))
        self._committers.append(self._person(committer, committer_email))
        self._times.append((*parse_instant(author_date), *parse_instant(commit_date)))
        parent_numbers = [self._parent(parent) for parent in parents.split()]
        self._parents += parent_numbers
        self._parent_starts.append(len(self._parents))
        if len(parent_numbers) > 1:
            self.merges.add(number)

        # %B keeps the newline at the end of a message; stored texts get exactly one.
        self._messages.append(_valid_utf8(message.strip()))
        self._subjects.append(_valid_utf8(subject))

    def _person(self, name: bytes, email: bytes) -> int:
        # A history has far fewer people than commits: each is stored once, and commits have numbers.
        return self._people.setdefault((name, email), len(self._people))

    def _parent(self, oid: bytes) -> int:
        # A number takes 4 bytes where an id takes 20, and leads to the row of the parent without a look-up.
        number = self._numbers.get(oid)
        # Not among the new commits: stored before, or missing in a shallow clone.
        if number is None:
            number = self._position(oid.decode())
        if number is None:
            return _UNKNOWN_PARENT
        return number

    def arrays(self) -> dict[str, AnyArray]:
        """Return the sections of a segment that describe commits."""
        times = np.array(self._times, np.int64).reshape(-1, 4)
        return {
            "oid": _bytes(bytes.fromhex(b"".join(self.oids).decode())),
            "tree": _bytes(bytes.fromhex(b"".join(self._trees).decode())),
            "author": np.array(self._authors, np.uint32),
            "committer": np.array(self._committers, np.uint32),
            "parents": np.array(self._parents, np.int32),
            "parent_starts": np.array(self._parent_starts, np.uint32),
            "identities": _bytes(b"".join(b"%b\0%b\n" % person for person in self._people)),
            **_text_sections("message", self._messages),
            **_text_sections("subject", self._subjects),
            # Copies: a column of a table of rows is not contiguous, and the sections of a file must be.
            "author_time": times[:, 0].copy(),
            "author_offset": times[:, 1].astype(np.int32),
            "commit_time": times[:, 2].copy(),
            "commit_offset": times[:, 3].astype(np.int32),
        }


def _bytes(raw: bytes) -> AnyArray:
    return np.frombuffer(raw, np.uint8)


def _text_sections(name: str, items: Sequence[bytes]) -> dict[str, AnyArray]:
    """Return the sections of texts, each with a newline behind it, and of their starts."""
    starts = np.concatenate(([0], np.cumsum([len(item) + 1 for item in items]))).astype(np.uint64)
    return {f"{name}s": _bytes(b"".join(item + b"\n" for item in items)), f"{name}_starts": starts}


def _valid_utf8(raw: bytes) -> bytes:
    """Return valid UTF-8, so that searches see the text that is shown."""
    if raw.isascii():
        return raw
    return as_text(raw).encode()
