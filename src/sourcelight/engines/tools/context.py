"""The context of a tool call: engine, viewer and limits. It resolves names in arguments to commits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import CallObserver, ToolResult, place_text
from sourcelight.core.cancellation import Cancellation, ScanStopped, Stopped
from sourcelight.core.markup import one_line
from sourcelight.core.tools.tool import WireArguments
from sourcelight.engines.execution import Engine, LocalEngine
from sourcelight.repos import Repository, Viewer, resolve


class Conversations(Protocol):
    """The interface of deep search for its tools; `sourcelight.engines.deepsearch` implements it."""

    def ask(self, question: str, context: ToolContext, *, repos: Sequence[str] = (), revision: str = "") -> ToolResult:
        """Open a conversation and wait a while for its answer; table ``conversation``.

        `repos` and `revision` narrow the question; if empty, it is about all repositories and their default branches.
        """

    def read(self, identifier: str, context: ToolContext) -> ToolResult:
        """Return questions and answers of a conversation that the viewer may read; table ``conversation``."""

    def follow_up(
        self, identifier: str, question: str, context: ToolContext, *, repos: Sequence[str] = (), revision: str = ""
    ) -> ToolResult:
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
        """Return the viewer's own conversations; table ``conversations``."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The context of a call: its engine, viewer and limits.

    Parameters
    ----------
    engine
        The engine, which answers over the catalog.
    viewer
        The account whose permissions apply. Handlers read only repositories of ``engine.catalog.visible(viewer)``.
    cancellation
        Checked every few milliseconds of work.
    observer
        Called with progress; None without a listener.
    served
        Whether the limits of the MCP endpoints apply (mcp.md 3). Otherwise, answers are complete unless limited.
    base_url
        Prefix of addresses in answers; empty inside one process.
    conversations
        Deep search; None if there is none.
    has_pages
        Whether readers can open links. Otherwise answers have locations such as ``repository@commit:path#L3-9``.
    without_changes
        Whether rows of commits may lack their files and lines, for a caller that needs neither: reading the changes of
        all commits takes as long as building a history.
    parted
        Whether this process answers for some of the repositories, and a coordinator combines the parts.
    """

    engine: Engine
    viewer: Viewer
    cancellation: Cancellation = field(default_factory=Cancellation)
    observer: CallObserver | None = None
    served: bool = False
    base_url: str = ""
    conversations: Conversations | None = None
    without_changes: bool = False
    parted: bool = False
    has_pages: bool = True

    @property
    def local(self) -> LocalEngine:
        """The engine with its indexes, for work that runs where the repositories are."""
        if not isinstance(self.engine, LocalEngine):
            raise TypeError("this operation needs the repositories, which are not in this process")
        return self.engine

    @contextmanager
    def watch_scan(self) -> Iterator[Stopped]:
        """Yield the check for a stop that a scan takes; if the scan stops, raise the reason."""
        try:
            yield lambda: self.cancellation.cancelled
        except ScanStopped:
            # The scan knows only that it was stopped; the cancellation knows why.
            self.cancellation.check()
            raise

    def link(self, url: str) -> str:
        """Return a relative address of the service as readers can use it."""
        return f"{self.base_url}{url}" if self.has_pages else one_line(place_text(url))


@dataclass(frozen=True, slots=True)
class RequestedCommit:
    """A repository at a revision: as requested (empty for the default one), and its commit."""

    repository: Repository
    revision: str
    commit: CommitId

    @property
    def name(self) -> str:
        """Name of the repository."""
        return self.repository.name


def requested_commit(context: ToolContext, repo: str, revision: str = "") -> RequestedCommit:
    """Find a repository that the viewer may see, at a revision; the default one is what searches read.

    Raises
    ------
    RepositoryNotFound
        No repository has this name, or the viewer may not see it.
    RevisionNotFound
        The repository doesn't have this revision.
    """
    repository = context.engine.catalog.get(repo.strip("/"), context.viewer)
    if not revision:
        target = context.local.target_of(repository)
        return RequestedCommit(repository, target.revision, target.commit or resolve(repository, ""))
    return RequestedCommit(repository, revision, resolve(repository, revision))


def clean_path(path: str) -> str:
    """Return a path as in git trees: no leading, trailing or doubled slashes, no ``.`` segments."""
    return "/".join(part for part in path.split("/") if part not in {"", "."})


def is_below(path: str, directory: str) -> bool:
    """Return whether a path is a directory or below it; every path is below an empty one."""
    return not directory or path == directory or path.startswith(f"{directory}/")
