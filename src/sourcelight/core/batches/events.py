"""Events of a search in this process, with matches as record batches, and the progress of clones and indexes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NewType

from sourcelight.core.wire.events import Alert, Done, ErrorEvent, Filters, Progress, UnknownEvent

CommitId = NewType("CommitId", str)
"""The id that a revision resolved to: 40 hex digits of a commit, or of the state of a work tree or snapshot.

A revision, as a caller writes it, is a `str`: functions that take a `CommitId` don't resolve anything.
"""

NO_COMMIT = CommitId("")
"""In place of a commit that isn't known, or isn't there."""


@dataclass(frozen=True, slots=True)
class RepositoryInfo:
    """Information about a repository apart from its content.

    `id` is stable on one machine; `last_fetched` is RFC 3339 in UTC, empty when unknown; `commit` is what a search of
    the default revision reads. `url` is where its code host shows it, empty when there is none. `replaced_objects` is
    how many objects ``refs/replace`` names others for, which is not followed: an object is what its name says.
    """

    name: str
    id: int = 0
    stars: int = 0
    last_fetched: str = ""
    description: str = ""
    fork: bool = False
    archived: bool = False
    private: bool = False
    topics: tuple[str, ...] = ()
    metadata: Mapping[str, str | None] = field(default_factory=dict)
    commit: CommitId = NO_COMMIT
    url: str = ""
    replaced_objects: int = 0


@dataclass(frozen=True, slots=True)
class MatchBatch:
    """A ``matches`` event: a record batch with a subset of the columns of `schema.MATCHES`.

    All rows of one file in one revision are adjacent, in line order, and never split over two batches. `repositories`
    describes each repository that occurs for the first time in this stream.
    """

    batch: Any
    repositories: tuple[RepositoryInfo, ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.batch.num_rows)

    @property
    def nbytes(self) -> int:
        """About how many bytes it takes."""
        return int(self.batch.nbytes)


@dataclass(frozen=True, slots=True)
class OtherMatch:
    """A match that isn't a row: of a type that this version doesn't know, or with a field that can't be read.

    `payload` is the JSON object as sent; `reason` says why it isn't a row.
    """

    type: str
    repository: str
    reason: str
    payload: Any = None


@dataclass(frozen=True, slots=True)
class OtherMatches:
    """Matches of a ``matches`` event that don't become rows. Made by the client of a service, never sent."""

    matches: tuple[OtherMatch, ...]


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """The outcome of one service in an answer of several.

    `status` is ``running``, ``complete``, ``limited``, ``interrupted`` or ``failed``, and `reasons` say why it is not
    complete. `matches` and `rows` are those of the answer that are of this service; `duplicates` are rows that it gave
    and that are in the answer from another one. `endpoint` holds no credential.
    """

    name: str
    endpoint: str
    status: str = "running"
    reasons: tuple[str, ...] = ()
    matches: int = 0
    rows: int = 0
    duplicates: int = 0
    elapsed_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ServiceStatuses:
    """Progress of each service of a federation; replaces the previous one. Made in this process, and never sent."""

    services: tuple[ServiceStatus, ...]


@dataclass(frozen=True, slots=True)
class RepositoryOverview:
    """One repository of a client.

    Attributes
    ----------
    name, commit
        The repository, and the commit that searches of the default revision read (40 hex digits).
    files, text_bytes
        Size of that commit; None when its text is not indexed yet.
    disk_bytes
        Bytes of all its indexes; None when they were not measured.
    ready
        Whether each kind of index is current, by name; empty when it was not looked at.
    """

    name: str
    commit: str = ""
    files: int | None = None
    text_bytes: int | None = None
    disk_bytes: int | None = None
    ready: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexProgress:
    """Progress of an update: repositories, files and bytes so far, and the `repository` of the last step."""

    repositories_done: int
    repositories_total: int
    files: int
    text_bytes: int
    repository: str = ""


@dataclass(frozen=True, slots=True)
class CloneProgress:
    """Progress of git: its name of the step (``Receiving objects``), done and total in the step's units."""

    url: str
    step: str
    done: int
    total: int


Event = MatchBatch | OtherMatches | Progress | Filters | Alert | ErrorEvent | ServiceStatuses | Done | UnknownEvent
