"""For whom and over what a tool runs: engine, viewer, limits; and from names in arguments to commits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from sourcelight.core.batches.results import CallObserver, ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.tools.tool import WireArguments
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Repository, Viewer, resolve


class Conversations(Protocol):
    """What the two deep-search tools need of deep search; `sourcelight.engines.deepsearch` implements it."""

    def ask(self, question: str, context: ToolContext) -> ToolResult:
        """Open a conversation and wait a while for its answer; table ``conversation``."""

    def read(self, identifier: str, context: ToolContext) -> ToolResult:
        """Questions and answers of a conversation that the viewer may read; table ``conversation``."""

    def follow_up(self, identifier: str, question: str, context: ToolContext) -> ToolResult:
        """Ask another question in the viewer's own conversation and wait a while; table ``conversation``."""

    def change(self, identifier: str, changes: WireArguments, context: ToolContext) -> ToolResult:
        """Rename, star, share or delete the viewer's own conversation, or cancel its question."""

    def list(
        self,
        context: ToolContext,
        *,
        text: str = "",
        starred: bool | None = None,
        order: str = "-updated_at",
        first: int = 50,
        skip: int = 0,
    ) -> ToolResult:
        """The viewer's own conversations; table ``conversations``."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom and how a call runs.

    Parameters
    ----------
    engine
        Answers over the catalog; also reaches history and navigation.
    viewer
        Whose permissions hold. Repositories are taken from ``engine.catalog.visible(viewer)`` alone.
    cancellation
        Checked between units of some milliseconds.
    observer
        Told how far the work is; None: nobody looks.
    served
        Whether the limits of the MCP endpoints hold (mcp.md 3); else everything is returned unless asked otherwise.
    base_url
        What addresses in answers start with; empty inside one process.
    conversations
        Deep search; None where there is none.
    parted
        Whether other repositories of the same call are asked elsewhere, and the answer is made of all together.
    """

    engine: LocalEngine
    viewer: Viewer
    cancellation: Cancellation = field(default_factory=Cancellation)
    observer: CallObserver | None = None
    served: bool = False
    base_url: str = ""
    conversations: Conversations | None = None
    parted: bool = False


@dataclass(frozen=True, slots=True)
class RequestedCommit:
    """A repository at a revision: as it was asked for (empty for the default one), and the commit that it is."""

    repository: Repository
    revision: str
    commit: str

    @property
    def name(self) -> str:
        """Name of the repository."""
        return self.repository.name


def place_of(context: ToolContext, repo: str, revision: str = "") -> RequestedCommit:
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
        return RequestedCommit(repository, target.revision, target.commit or resolve(repository, ""))
    return RequestedCommit(repository, revision, resolve(repository, revision))


def clean_path(path: str) -> str:
    """A path as trees have it: without slashes around it, doubled ones, and dots that stand for the same folder."""
    return "/".join(part for part in path.split("/") if part not in {"", "."})
