"""The engine: a query in, events out; over one catalog and one text index."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches import Event
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import Cancelled, QueryError, SearchIndexError
from sourcelight.core.explanation import Explanation
from sourcelight.core.query import Query
from sourcelight.core.wire.events import Alert, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.advice import notices
from sourcelight.engines.execution.advice.explain import explain
from sourcelight.engines.execution.advice.skipped_items import MISSING_CONTENT
from sourcelight.engines.execution.fast_path.answers import IN_THREAD, FastPath
from sourcelight.engines.execution.indexes.repositories import IndexedRepositories
from sourcelight.engines.execution.local_source import LocalSource
from sourcelight.engines.execution.plan import Plan, make_plan, predicates_of_people
from sourcelight.engines.execution.plan_cache import CachedPlan, PlanCache
from sourcelight.engines.execution.protocol import Limits, ToolHandler
from sourcelight.engines.execution.query_reader import QueryReader
from sourcelight.engines.execution.run import SearchExecution
from sourcelight.engines.execution.scope.scope import ScopeResolver
from sourcelight.engines.execution.source import SearchTask
from sourcelight.engines.history import HistoryStore
from sourcelight.engines.search import IndexStore
from sourcelight.engines.search.model import GroupBy, SearchPart
from sourcelight.repos import Catalog, Viewer

if TYPE_CHECKING:
    from sourcelight.core.batches.results import ToolResult
    from sourcelight.core.tools.tool import A
    from sourcelight.engines.navigation import Navigator
    from sourcelight.engines.search.ranking.embedding import Embedder


class LocalEngine(IndexedRepositories):
    """`Engine` over the repositories of `catalog` with the index of `store`.

    Parameters
    ----------
    catalog, store, worktree, history
        As of `IndexedRepositories`.
    limits
        Bounds of every search.

    Attributes
    ----------
    embedder
        Adds a list of scores to `nls_search`, None for none.
    """

    embedder: Embedder | None = None
    holds_files = True
    step_runner = None

    def __init__(
        self,
        catalog: Catalog,
        store: IndexStore,
        *,
        limits: Limits | None = None,
        worktree: bool = False,
        history: HistoryStore | None = None,
    ) -> None:
        super().__init__(catalog, store, worktree=worktree, history=history)
        self.limits = limits or Limits()
        self.queries = QueryReader(self.limits)
        self.plan_cache: PlanCache[CachedPlan] = PlanCache()
        self.fast_path = FastPath(self, self.limits.matches, self._plan_at_once)

    def run_tool(self, handler: ToolHandler[A], arguments: A, context: Any) -> ToolResult:
        """Run a tool for a `sourcelight.engines.tools.ToolContext`; raises what its handler raises."""
        return handler.run(arguments, context)

    def forget_queries(self) -> None:
        """Clear everything cached about queries: parsed queries, plans and results."""
        self.queries.clear()
        self.plan_cache.clear()
        self.fast_path.clear()

    @functools.cached_property
    def navigation(self) -> Navigator:
        """Definitions and references over the same repositories; made on first use."""
        from sourcelight.engines.navigation import Navigator

        return Navigator(self.catalog, self.store, target_of=self.target_of)

    def stream(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        """Search and yield events as they arrive.

        Yields `MatchBatch` and `Progress` events, then the final `Filters`, `Progress` (done), up to one `Alert`, and
        `Done`. After ``cancellation.cancel()`` the iterator ends early, without `Done`.

        Raises
        ------
        QueryError
            At the call, before any event, when the query can't be parsed or has unsupported parts. With the first
            event instead if its shape is known from an earlier search, and became invalid since, such as by a context
            that was removed.
        """
        started = time.monotonic()
        if self.fast_path.knows(request, viewer):
            return self._execute_known_shape(request, viewer, cancellation, started)
        return self._execute(request, viewer, cancellation, started)

    def _execute_known_shape(
        self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation, started: float
    ) -> Iterator[Event]:
        # Without reading the query: only its words are new, and any words can be read.
        if not cancellation.stopped and not self.indexing.is_running:
            self.refresh(cancellation)
            advise = functools.partial(self._advise, request, viewer, cancellation)
            try:
                events = self.fast_path.answer(request, viewer, IN_THREAD, advise)
            except Cancelled:
                return
            if events is not None:
                # The caller may cancel between two events, and then gets no more.
                yield from itertools.takewhile(lambda _: not cancellation.cancelled, events)
                return

        yield from self._execute(request, viewer, cancellation, started)

    def _advise(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation) -> Alert | None:
        """Return the alert of a complete search of a known shape that has no match; raises `Cancelled`."""
        query, scoped = self.queries.parse(request, self.catalog.contexts)
        source = LocalSource(self, self.plan_cache, SearchTask(query, scoped, request, viewer, cancellation))
        return source.nothing_found(self._trial_of(request, viewer))

    def _trial_of(self, request: SearchRequest, viewer: Viewer) -> Callable[[str], bool]:
        """Return a function that tells whether a request with another query has a match."""
        return lambda text: self.finds(request.with_query(text), viewer, notices.TRY_S)

    def _execute(
        self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation, started: float
    ) -> Iterator[Event]:
        read = self.queries.read(request, self.catalog.contexts)
        read_s = time.monotonic() - started

        # Parsing itself took too long; the number is the limit in seconds.
        if isinstance(read, float):
            return notices.late_to_read(read, read_s)

        task = SearchTask(*read, request, viewer, cancellation, started, read_s)
        source = LocalSource(self, self.plan_cache, task)
        finds = self._trial_of(request, viewer)
        return self._run(SearchExecution(source, task, self.limits, finds, source.may_find_in_any_case), source)

    def _run(self, execution: SearchExecution, source: LocalSource) -> Iterator[Event]:
        repositories = self.catalog.repositories
        yield from execution.events()
        # Another thread may have seen new repositories meanwhile, which the plan of this search doesn't have.
        if self.catalog.repositories is repositories:
            self.fast_path.learn(source)

    def answer_at_once(self, request: SearchRequest, viewer: Viewer) -> list[Event] | None:
        """Return the events of `stream` of a small search that waits for nothing, or None for others."""
        if not self.is_unchanged():
            return None

        events = self.fast_path.answer(request, viewer)
        if events is None and self._prepare(request, viewer):
            events = self.fast_path.answer(request, viewer)
        return events

    def _prepare(self, request: SearchRequest, viewer: Viewer) -> bool:
        """Prepare the fast path for the first search in some repositories; return whether it may answer now."""
        source = self._plan_at_once(request, viewer) if self.fast_path.is_familiar(request, viewer) else None
        return source is not None and self.fast_path.prepare(source)

    def _plan_at_once(self, request: SearchRequest, viewer: Viewer) -> LocalSource | None:
        """Return a planned search; None if there are many repositories, or if some may not be open."""
        # A search of all repositories has opened their indexes, so that none has to be read here.
        if not self.are_few or self.store.open_corpus(self._default_targets()) is None:
            return None

        try:
            query, scoped = self.queries.parse(request, self.catalog.contexts)
            source = LocalSource(self, self.plan_cache, SearchTask(query, scoped, request, viewer, Cancellation()))
            source.plan()
        except (QueryError, Cancelled):
            return None
        return source

    def count(
        self,
        request: SearchRequest,
        by: Sequence[GroupBy],
        viewer: Viewer,
        cancellation: Cancellation,
        on_skipped: Callable[[tuple[Skipped, ...]], None] | None = None,
    ) -> Any | None:
        """Return matches and files by ``repository``, ``commit``, ``language`` or ``path``, without touching a line.

        Returns an Arrow table with the columns of `by`, ``matches`` and ``files`` (int64); None if only a stream
        can answer: a query of several alternatives, or one that finds repositories or uses ``select:`` or owners,
        definitions that are not all known, or anything else that is missing, which the stream then names.

        `on_skipped` receives what the stream would report where clones lack contents and nothing else is missing: the
        table then counts the others. Without it, such a count is None too.
        """
        query, scoped = self.queries.parse(request, self.catalog.contexts)
        if not _is_countable(query):
            return None

        self.refresh(cancellation)
        source = LocalSource(self, self.plan_cache, SearchTask(query, scoped, request, viewer, cancellation))
        scoper = source.scoper
        scopes = scoper.resolve(scoped)

        # Only the stream names what these lack.
        if len(scopes) != 1 or scoper.unsearchable or scoper.undecided or scoper.invalid or scoper.missing:
            return None

        plan = make_plan(scopes[0])
        # Asked before the count, which may take long, and again after it: only then it is known what couldn't be read.
        if plan.repository_hits or source.missing_from_count(plan):
            return None

        parts: list[SearchPart] = []
        try:
            table = self._count(plan, by, cancellation, parts.append)
        except SearchIndexError:
            return None  # the stream names the repository that can't be searched

        if table is not None and source.missing_from_count(plan, parts):
            skipped = source.report((), limit_hit=False).skipped
            if on_skipped is None or any(is_limiting(item) and item.reason != MISSING_CONTENT for item in skipped):
                return None
            on_skipped(tuple(skipped))

        return table

    def _count(
        self,
        plan: Plan,
        by: Sequence[GroupBy],
        cancellation: Cancellation,
        note: Callable[[SearchPart], None],
    ) -> Any | None:
        if plan.commits is not None:
            return None
        if plan.text is not None and plan.text.cells and plan.alternative.predicates("file"):
            return None
        if plan.symbols is None:
            return None if plan.text is None else self.store.count(plan.targets, plan.text, by, cancellation, note)
        if plan.text is not None or plan.alternative.predicates("file"):
            return None
        if not all(self.store.symbols_current(target) for target in plan.targets):
            return None

        return self.store.count_symbols(plan.targets, plan.symbols, by, cancellation, note=note)

    def explain(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation | None = None) -> Explanation:
        """Explain a query over the repositories that `viewer` may see, without reading any text.

        Raises
        ------
        QueryError
            When the query can't be parsed or has unsupported parts.
        """
        query, scopes = self.queries.parse(request, self.catalog.contexts)
        self.refresh(cancellation)
        active_cancellation = cancellation or Cancellation()
        plans = [make_plan(scope) for scope in ScopeResolver(self, viewer, active_cancellation).resolve(scopes)]
        return explain(self.store.open, self.limits, query, request, plans, active_cancellation)

    def finds(self, request: SearchRequest, viewer: Viewer, timeout_s: float) -> bool:
        """Return whether a query has a match within `timeout_s` seconds; False also when it can't be parsed."""
        # Its own, because this tries a variant of the query; the search that asked continues.
        cancellation = Cancellation(timeout_s)
        try:
            query, scoped = self.queries.parse(request, self.catalog.contexts)
            source = LocalSource(self, self.plan_cache, SearchTask(query, scoped, request, viewer, cancellation))
            has_match = source.finds()
        except QueryError:
            return False

        # The next search of the same shape without a match tries the same variants, and at once.
        self.fast_path.learn_search(source)
        return has_match


def _is_countable(query: Query) -> bool:
    """Return whether an index alone can tell how often a query matches."""
    if len(query.plan) != 1 or query.plan[0].select():
        return False
    return not predicates_of_people(query.plan[0])
