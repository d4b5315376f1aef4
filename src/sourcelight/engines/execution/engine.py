"""The port of an engine: all that backends, servers and tools may ask of one, wherever its repositories are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sourcelight.core.batches import Event
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.explanation import Explanation
from sourcelight.core.wire.events import Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.indexes.first_indexing import FirstIndexing
from sourcelight.engines.execution.protocol import Limits, ToolHandler
from sourcelight.engines.search import IndexReport
from sourcelight.engines.search.model import GroupBy
from sourcelight.repos import Catalog, Viewer

if TYPE_CHECKING:
    from sourcelight.core.batches.results import ToolResult
    from sourcelight.core.tools.tool import A

StepRunner = Callable[[str, Any, Any, Callable[[Any], None]], Any]
"""Runs a step of deep search: its name, request, tool context, and the callback for its events."""


class Engine(Protocol):
    """Searches repositories, on this machine (`LocalEngine`) or on the workers of a cluster (`ClusterEngine`).

    Attributes
    ----------
    limits
        Bounds of every search.
    indexing
        The first indexing, for which searches wait.
    report
        Report of the last indexing in this process; None: it has run none.
    """

    limits: Limits
    indexing: FirstIndexing
    report: IndexReport | None

    @property
    def catalog(self) -> Catalog:
        """The repositories, and who may see them."""
        ...

    @property
    def holds_files(self) -> bool:
        """Whether the files of its repositories can be read in this process."""
        ...

    @property
    def step_runner(self) -> StepRunner | None:
        """Runs steps of deep search where the repositories are; None if callers run them in this process."""
        ...

    def refresh(self, cancellation: Cancellation | None = None) -> None:
        """Check whether repositories have changed."""
        ...

    def stream(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        """Search and yield events as they arrive; raises `QueryError` before the first one."""
        ...

    def answer_at_once(self, request: SearchRequest, viewer: Viewer) -> list[Event] | None:
        """Return the events of a search that is quick enough for the thread of an event loop; None: call `stream`."""
        ...

    def count(
        self,
        request: SearchRequest,
        by: Sequence[GroupBy],
        viewer: Viewer,
        cancellation: Cancellation,
        on_skipped: Callable[[tuple[Skipped, ...]], None] | None = None,
    ) -> Any | None:
        """Count matches and files by some columns; None if only a stream can answer.

        `on_skipped` receives what a count leaves out that lacks contents alone; without it, that count is None.
        """
        ...

    def explain(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation | None = None) -> Explanation:
        """Explain a query over the repositories that `viewer` may see."""
        ...

    def run_tool(self, handler: ToolHandler[A], arguments: A, context: Any) -> ToolResult:
        """Run a tool for a `sourcelight.engines.tools.ToolContext`; raises what its handler raises."""
        ...

    def close(self) -> None:
        """Stop background work and end connections."""
        ...
