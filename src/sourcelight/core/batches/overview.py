"""The repositories of a client: how far they are cloned and indexed, their size, and which indexes are ready."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


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
