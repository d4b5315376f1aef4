"""Read commits (ids, parents, people, times, messages) with one ``git log`` over the new ones, and open histories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sourcelight.core.arrays import AnyArray
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError
from sourcelight.engines.history.git import git_chunks
from sourcelight.engines.history.history import History, Identities
from sourcelight.engines.history.segment import Segment, open_segment
from sourcelight.engines.history.store.folder import HistoryManifest
from sourcelight.engines.storage.sections import SectionFile
from sourcelight.repos.objects import store_size
from sourcelight.repos.objects.commits import as_text, parse_instant, split_identity

_FIELDS = ("%H", "%T", "%P", "%an", "%ae", "%ad", "%cn", "%ce", "%cd", "%s", "%B")
_UNKNOWN_PARENT = -1

MAX_COMMIT_BYTES = 8 << 20
"""Maximum bytes of a commit; a history with a larger one is refused."""

FREE_COMMIT_BYTES = 64 << 20

COMMIT_BYTES_PER_BYTE = 8
"""Maximum bytes of all commits: `FREE_COMMIT_BYTES`, plus this many for each byte that the repository stores."""


def open_history(
    folder: Path, manifest: HistoryManifest, shallow: str = "", reusable: Sequence[Segment] = ()
) -> History:
    """Open the files of a manifest, reusing open segments. Raises `IndexDamaged`, FileNotFoundError."""
    # Segments never change, so the previous snapshot's segments are reused by name: their mapped pages and caches
    # stay.
    open_segments = {segment.file.path.name: segment for segment in reusable}
    segments = tuple(open_segments.get(entry.name) or open_segment(folder / entry.name) for entry in manifest.segments)
    people, numbers = merge_people(segments)
    mapped = people_texts(people)
    if manifest.people:
        raw = SectionFile(folder / manifest.people, "history").bytes_of("people")
        # The file has one mapped person a line, in the order of `people`, as it was written for exactly these segments.
        mapped = bytes(raw).split(b"\n")[:-1]

    return History(
        repository=manifest.repository,
        tips=dict(manifest.tips),
        segments=segments,
        identities=make_identities(people, mapped),
        identity_numbers=numbers,
        mailmap=manifest.mailmap,
        shallow=shallow,
    )


def merge_people(segments: Sequence[Segment]) -> tuple[list[tuple[bytes, bytes]], list[AnyArray]]:
    """Return the distinct identities of all segments, and for each segment the numbers of its identities."""
    person_numbers: dict[tuple[bytes, bytes], int] = {}
    numbers = [
        np.array([person_numbers.setdefault(person, len(person_numbers)) for person in segment.identities], np.int32)
        for segment in segments
    ]
    return list(person_numbers), numbers


def people_texts(people: Sequence[tuple[bytes, bytes]]) -> list[bytes]:
    """Return people as git writes them: ``Name <address>``."""
    return [b"%b <%b>" % person if person[0] else b"<%b>" % person[1] for person in people]


def make_identities(people: Sequence[tuple[bytes, bytes]], mapped: Sequence[bytes]) -> Identities:
    """Return the identities of `people`, whose mapped texts are `mapped`."""
    split = [_split(text) for text in mapped]
    numbers: dict[tuple[str, str], int] = {}

    # Equal mapped pairs get one number, in the order of first use. That is the person; names and addresses stay
    # identities.
    person = np.array([numbers.setdefault(pair, len(numbers)) for pair in split], np.int32)
    return Identities(
        names=[as_text(name) for name, _ in people],
        emails=[as_text(email) for _, email in people],
        mapped_names=[name for name, _ in split],
        mapped_emails=[email for _, email in split],
        person=person,
        person_names=[name for name, _ in numbers],
        person_emails=[email for _, email in numbers],
    )


def _split(text: bytes) -> tuple[str, str]:
    name, email = split_identity(text)
    return as_text(name), as_text(email)


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
        "--no-show-signature",
    ]
    arguments += ["--no-notes", "--encoding=UTF-8", "--no-color", f"--format={'%n'.join(_FIELDS)}"]
    chunks = git_chunks(git_dir, arguments, stdin=revisions.encode(), cancellation=cancellation)
    return _parse_records(_split_records(_limit_bytes(chunks, git_dir)), position, first)


def _limit_bytes(chunks: Iterable[bytes], git_dir: str) -> Iterator[bytes]:
    """Pass on chunks; raise `RepositoryError` far above the size of the store, as messages are kept in memory."""
    size, max_bytes, is_measured = 0, FREE_COMMIT_BYTES, False
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
            yield from further[:-1]
            pending, size = further[-1:], len(further[-1])

        if size > MAX_COMMIT_BYTES:
            oid = b"".join(pending)[:40].decode("ascii", "replace")
            raise RepositoryError(f"commit {oid} has more than {MAX_COMMIT_BYTES:,} bytes of message and parents")

    if size:
        yield b"".join(pending)


def _parse_records(records: Iterable[bytes], position: Callable[[str], int | None], first: int) -> NewCommits:
    columns = _CommitColumns(position, first)
    for record in records:
        # %B is last: it is the only field with newlines, and takes the rest of the record.
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
        self._people: dict[tuple[bytes, bytes], int] = {}
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
        oid, tree, parents, author, author_email, author_date, *remaining = fields
        committer, committer_email, commit_date, subject, message = remaining
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
        return _UNKNOWN_PARENT if number is None else number

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
    return raw if raw.isascii() else as_text(raw).encode()


def map_identities(
    git_dir: str, mailmap: str, people: Sequence[tuple[bytes, bytes]], cancellation: Cancellation | None = None
) -> list[bytes]:
    """Map people by the blob `mailmap` (empty: none) with git; return ``Name <address>`` for each.

    A person that git doesn't take for a contact stays as written.
    """
    texts = people_texts(people)
    if not mailmap:
        return texts

    mapped: list[bytes] = []
    while len(mapped) < len(texts):
        # With an explicit mailmap, git reads none from a work tree.
        text = b"".join(item + b"\n" for item in texts[len(mapped) :])
        output = b""
        try:
            for chunk in git_chunks(
                git_dir,
                ["-c", f"mailmap.blob={mailmap}", "check-mailmap", "--stdin"],
                stdin=text,
                cancellation=cancellation,
            ):
                output += chunk
        except GitFailed:
            # git ends at the first line that it doesn't take for a contact. What it wrote so far counts, that contact
            # stays as written, and git starts again behind it.
            lines = output.split(b"\n")[:-1]
            mapped += lines
            mapped += texts[len(mapped) : len(mapped) + 1]
            continue

        lines = output.split(b"\n")[:-1]
        mapped += lines
        if not lines:
            break

    return mapped + texts[len(mapped) :]
