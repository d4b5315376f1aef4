"""From the names in a call to repositories and commits, and the addresses of what an answer shows."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

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


def repository_url(base_url: str, repository: str, commit: str = "") -> str:
    """Address of a repository, at a commit if one is given; relative to the service where `base_url` is empty."""
    return f"{base_url}/{quote(repository, safe='/ ()@').replace(' ', '%20')}{'@' + commit if commit else ''}"


def file_url(base_url: str, repository: str, commit: str, path: str, lines: tuple[int, int] | None = None) -> str:
    """Address of a file at a commit, with the lines `lines` (first and last, 1-based) if given."""
    where = f"{repository_url(base_url, repository, commit)}/-/blob/{quote(path)}"
    return where if lines is None else f"{where}?L{lines[0]}-{lines[1]}"
