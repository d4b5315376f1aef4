"""From the names in a call to repositories and commits."""

from __future__ import annotations

from dataclasses import dataclass

from sourcelight.engines.tools.model import CallContext
from sourcelight.repos import Repository, resolve


@dataclass(frozen=True, slots=True)
class Place:
    """A repository at a revision: as it was asked for (empty for the default one), and the commit that it is."""

    repository: Repository
    revision: str
    commit: str

    @property
    def name(self) -> str:
        """Name of the repository."""
        return self.repository.name


def place_of(context: CallContext, repo: str, revision: str = "") -> Place:
    """Find a repository that the viewer may see, at a revision; the default one is what searches read.

    Raises
    ------
    RepositoryNotFound
        If there is none of that name, or the viewer may not see it.
    RevisionNotFound
        If it has no such revision.
    """
    repository = context.engine.catalog.get(repo.strip("/"), context.viewer)
    if not revision:
        target = context.engine.target_of(repository)
        return Place(repository, target.revision, target.commit or resolve(repository, ""))
    return Place(repository, revision, resolve(repository, revision))


def clean_path(path: str) -> str:
    """A path as trees have it: without slashes around it, doubled ones, and dots that stand for the same folder."""
    return "/".join(part for part in path.split("/") if part not in {"", "."})
