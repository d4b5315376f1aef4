"""The embedded backend: calls the engine in this process, without a port, JSON or copies."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sourcelight.backends.embedded.factory import data_home, index_folder
from sourcelight.core.backend import ClusterInfo, Features
from sourcelight.core.batches import Event, RepositoryInfo
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch
from sourcelight.core.batches.events import IndexProgress, RepositoryOverview
from sourcelight.core.batches.results import COUNT_SKIPPED, REPOSITORIES_COUNTED, CallObserver, ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.encode import encode_skipped
from sourcelight.core.wire.events import Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import Engine, Limits, LocalEngine
from sourcelight.engines.search import IndexStore
from sourcelight.engines.search.model import GroupBy
from sourcelight.repos import Catalog, ServicePolicy, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import ConversationService

_END = object()
_GROUPS: tuple[GroupBy, ...] = ("repository", "language", "path")
"""Columns by which the engine counts, in its order."""


def open_engine(  # noqa: PLR0913 - its parameters, each by name
    paths: Sequence[str | os.PathLike[str]],
    *,
    index: str | os.PathLike[str] | None = None,
    config: str | os.PathLike[str] | None = None,
    policy: ServicePolicy | None = None,
    worktree: bool = False,
    limits: Limits | None = None,
    max_file_size: int | None = None,
    max_bytes: int | None = None,
    workers: int | None = None,
    progress: Callable[[IndexProgress], None] | None = None,
    cancellation: Cancellation | None = None,
    index_now: bool = True,
) -> LocalEngine:
    """Open an engine over the repositories below `paths`, and index those without a current index.

    Parameters
    ----------
    paths
        Directories. Each git repository below them counts; a directory without any is a snapshot of its files.
    index
        Directory of the index; None: that of the user's cache.
    config
        A ``repos.toml``; None: the one beside the repositories, if any.
    policy
        For a service with accounts: stored visibility, and directories that repositories may read from.
    worktree
        Search work trees as they are on disk instead of HEAD.
    limits
        Limits of each search; None: the defaults.
    max_file_size
        Bytes above which a file matches by name only; None: 2 MiB.
    max_bytes
        Maximum bytes of the index on disk; None: no limit.
    workers
        Processes that build the index; None: one per core.
    progress
        Called with the state of indexing, in the caller's thread.
    cancellation
        Stops indexing; the previous index stays.
    index_now
        False: don't index; the caller calls `LocalEngine.start_indexing`.

    Raises
    ------
    NoRepositories
        `paths` have no repository and no file.
    IndexWriteFailed
        The index can't be written.
    Cancelled
        After ``cancellation.cancel()``.
    """
    catalog = Catalog.open(
        [os.fspath(path) for path in paths],
        worktree=worktree,
        annotations=config,
        policy=policy,
        cancellation=cancellation,
    )
    options: dict[str, Any] = {"workers": workers, "max_bytes": max_bytes}
    if max_file_size is not None:
        options["max_file_size"] = max_file_size

    store = IndexStore(os.fspath(Path(index) if index is not None else index_folder()), **options)
    engine = LocalEngine(catalog, store, limits=limits, worktree=worktree)
    if index_now:
        engine.update(progress=progress, cancellation=cancellation)

    return engine


class EmbeddedBackend:
    """A `Backend` over an engine of this process; its repositories are here, or on the workers of a cluster."""

    local = True

    def __init__(
        self,
        engine: Engine,
        *,
        viewer: Viewer | None = None,
        conversations: ConversationService | None = None,
        name: str = "embedded",
        cluster: ClusterInfo | None = None,
    ) -> None:
        self.name = name
        self.engine = engine
        self.features = Features(
            cluster=cluster, cached_names=self._cached_names, folder_of=self._folder_of, overview=self._overview
        )
        self.viewer = viewer or Viewer.owner()
        self._conversations = conversations
        self._opening = threading.Lock()

        # A pool of its own: in the loop's default one, a few long searches would block name look-ups and file reads of
        # other code.
        self._threads = ThreadPoolExecutor(max_workers=16, thread_name_prefix="sourcelight-search")

    @property
    def conversations(self) -> ConversationService:
        """Deep search; its conversations are in the user's data directory. Opened on first use."""
        with self._opening:
            if self._conversations is None:
                from sourcelight.backends.embedded.factory import open_conversations
                from sourcelight.repos.state import FILE_NAME, State

                self._conversations = open_conversations(State(os.fspath(data_home() / FILE_NAME)))
            return self._conversations

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Yield events of one search. Closing the generator stops the work, and waits until it has stopped."""
        cancellation = Cancellation()
        loop = asyncio.get_running_loop()
        events: Iterator[Event] = iter(())

        def start_search() -> Iterator[Event]:
            return self.engine.stream(request, self.viewer, cancellation)

        step: asyncio.Future[Any] | None = None
        try:
            events = await loop.run_in_executor(self._threads, start_search)
            while True:
                step = loop.run_in_executor(self._threads, _next, events)
                # A thread can't be cancelled. Without the shield, the future would be dropped while the thread is still
                # inside `next`.
                event = await asyncio.shield(step)
                if event is _END:
                    return
                yield event
        finally:
            cancellation.cancel()
            # A generator can't be closed while a thread runs it; `close` would raise ValueError. The cancellation ends
            # the step soon.
            if step is not None and not step.done():
                with suppress(Exception):
                    await asyncio.shield(step)
            if isinstance(events, Generator):  # else it has nothing to close
                events.close()

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:
        """Return matches and files by the columns `by`, counted in the engine, or None if only a stream can answer."""
        # In the engine's order. Other columns need the rows themselves.
        columns = [name for name in _GROUPS if name in by]
        if len(columns) != len(by):
            return None

        cancellation = Cancellation()
        # Always by repository, too, for the number of repositories.
        grouped = list(dict.fromkeys(["repository", *columns]))
        skipped: list[tuple[Skipped, ...]] = []
        table = await self._work(
            lambda: self.engine.count(request, grouped, self.viewer, cancellation, skipped.append), cancellation
        )
        if table is None:
            return None

        repositories = len(table.column("repository").unique())
        if "repository" not in by and len(table):
            # With threads, Arrow doesn't keep the order of groups, and equal calls would return rows in a different
            # order.
            sums = table.group_by(list(by), use_threads=False).aggregate([("matches", "sum"), ("files", "sum")])
            table = sums.select([*by, "matches_sum", "files_sum"]).rename_columns([*by, "matches", "files"])

        table = table.select([*by, "matches", "files"])
        metadata = {REPOSITORIES_COUNTED: str(repositories).encode()}
        if skipped:
            metadata[COUNT_SKIPPED] = json.dumps([encode_skipped(item) for item in skipped[-1]]).encode()
        return table.replace_schema_metadata(metadata)

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """Explain a query over the repositories that the viewer may see."""
        cancellation = Cancellation()
        explanation = await self._work(lambda: self.engine.explain(request, self.viewer, cancellation), cancellation)
        return {**explanation.to_dict(), "text": str(explanation)}

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Answer a tool call or an analysis over the repositories that the viewer may see."""
        from sourcelight.core.tools.catalog import is_conversation
        from sourcelight.engines import tools

        # Other tools shouldn't create `state.sqlite`.
        conversations = self.conversations if is_conversation(name) else None
        context = tools.ToolContext(self.engine, self.viewer, Cancellation(), observer, conversations=conversations)
        answer: ToolResult = await self._work(lambda: tools.call(name, arguments, context), context.cancellation)
        return answer

    async def _work(self, function: Callable[[], Any], cancellation: Cancellation) -> Any:
        work = asyncio.get_running_loop().run_in_executor(self._threads, function)
        # Nobody awaits the work of a stopped call, and `shield` lets go of it: asyncio would print its `Cancelled`.
        work.add_done_callback(_read_exception)
        try:
            return await asyncio.shield(work)
        finally:
            cancellation.cancel()

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """Return information on every repository that the viewer may see, by name."""

        def read_info() -> tuple[RepositoryInfo, ...]:
            self.engine.refresh()
            return tuple(repository.info for repository in self.engine.catalog.visible(self.viewer))

        return await asyncio.get_running_loop().run_in_executor(self._threads, read_info)

    def _overview(self) -> tuple[RepositoryOverview, ...]:
        if isinstance(self.engine, LocalEngine):
            from sourcelight.engines.execution.indexes.disk import overview

            return overview(self.engine, self.viewer)
        return tuple(
            RepositoryOverview(repository.name, repository.info.commit)
            for repository in self.engine.catalog.visible(self.viewer)
        )

    def _cached_names(self) -> tuple[str, ...]:
        return tuple(repository.name for repository in self.engine.catalog.visible(self.viewer))

    def _folder_of(self, repository: str) -> str:
        """Return the work tree of a repository; empty without one, and for a repository that the viewer may not see."""
        for candidate in self.engine.catalog.visible(self.viewer):
            if candidate.name == repository:
                return candidate.worktree
        return ""

    async def aclose(self) -> None:
        """Stop the threads and background work; running searches end at their next check."""
        # Without waiting, because this runs on the event loop, and a search may take until its next check.
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._conversations is not None:
            await asyncio.to_thread(self._conversations.close)
        await asyncio.to_thread(self.engine.close)


def _read_exception(work: asyncio.Future[Any]) -> None:
    if not work.cancelled():
        work.exception()


# An exception can't signal the end of the iterator: a future refuses `StopIteration`.
def _next(events: Iterator[Event]) -> Event | object:
    """Return the next event, its record batch made here and not on the event loop; `_END` when there is none."""
    event = next(events, _END)
    if isinstance(event, RawMatchBatch):
        _ = event.batch
    return event
