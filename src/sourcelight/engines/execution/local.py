"""The engine: a query in, events out; over one catalog and one text index."""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches import Event
from sourcelight.core.batches.overview import IndexProgress
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation, DeadlineExceeded, run_with_deadline
from sourcelight.core.errors import QueryError, RepositoryError, SearchIndexError
from sourcelight.core.query import Query, parse
from sourcelight.core.query.fields import duration_s
from sourcelight.core.query.parse import refuse_unsupported
from sourcelight.core.tools.tool import A
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import natural_language, notices
from sourcelight.engines.execution.background import DefinitionUpdater, HistoryRequest, HistoryUpdater, TermUpdater
from sourcelight.engines.execution.commits.query import asked_of
from sourcelight.engines.execution.explain import Explanation, explain
from sourcelight.engines.execution.first_indexing import FirstIndexing
from sourcelight.engines.execution.plan import SUPPORTED, CachedPlan, Plan, PlanCache, make_plan
from sourcelight.engines.execution.protocol import Limits, ToolHandler
from sourcelight.engines.execution.run import SearchExecution
from sourcelight.engines.execution.scope.revisions import ScopedAlternative, resolve_context
from sourcelight.engines.execution.scope.scope import ScopeResolver
from sourcelight.engines.execution.scope.selection import check_dates
from sourcelight.engines.execution.worktree_changes import WorktreeChanges
from sourcelight.engines.history import HistoryStore
from sourcelight.engines.history.store.store import LocalHistoryStore
from sourcelight.engines.search import IndexReport, IndexStore, Target
from sourcelight.engines.search.model import GroupBy, SearchPart
from sourcelight.engines.search.term_store import TermStore
from sourcelight.repos import Catalog, Repository, Viewer, resolve

if TYPE_CHECKING:
    from sourcelight.core.batches.results import ToolResult
    from sourcelight.engines.navigation import Navigator


WORKTREE = "WORKTREE"
WHOLE_LOOK_S = 0.25
"""How long new repositories, and what the present ones say of themselves, may go unnoticed; commits never do."""
RETRY_S = 30.0
"""How long a repository that could not be indexed, of a full disk or else, waits for a try while it is unchanged."""

_SHORT, _FEW_OR = 300, 6
"""Characters and alternatives of a query that is read in a moment."""
_MAX_CACHED_QUERIES = 64
_TIMEOUT = re.compile(r"(?i)(?<![^\s(])timeout:([^\s()]+)")


class LocalEngine:
    """Answers queries over the repositories of `catalog` with the index of `store`.

    Parameters
    ----------
    catalog
        Repositories, and who may see them.
    store
        The text index.
    limits
        Bounds of every search.
    worktree
        Whether work trees are searched as they are on disk (revision ``WORKTREE``) in place of their HEAD.
    history
        Keeps histories; None: in a folder beside that of `store`. `histories` brings them up to date.
    """

    searches: type[SearchExecution] = SearchExecution
    holds_files = True
    """Whether the files of its repositories can be read in this process."""

    def __init__(
        self,
        catalog: Catalog,
        store: IndexStore,
        *,
        limits: Limits | None = None,
        worktree: bool = False,
        history: HistoryStore | None = None,
    ) -> None:
        self.catalog = catalog
        self.store = store
        self.limits = limits or Limits()
        self.worktree = worktree
        self.cluster: Any = None
        self.report: IndexReport | None = None
        self.indexing = FirstIndexing()
        self.changes = WorktreeChanges()
        self.definitions = DefinitionUpdater(store)
        self.history = history or LocalHistoryStore(store.folder.with_name(f"{store.folder.name}-history"))
        self.histories = HistoryUpdater(self.history)
        self.terms = TermStore(store)
        self.term_updates = TermUpdater(
            self.definitions, lambda targets, cancellation: natural_language.prepare(self, targets, cancellation)
        )
        self._seen = {repository.facts.name for repository in catalog.repositories}
        self._updating = threading.Lock()
        self._next_look = 0.0
        self._tried: dict[str, tuple[str, float]] = {}
        self.standings: PlanCache[CachedPlan] = PlanCache()
        self._read: LruCache[int, tuple[Query, tuple[ScopedAlternative, ...]]] = LruCache(_MAX_CACHED_QUERIES)
        self._targets: tuple[tuple[Repository, ...], tuple[Target, ...]] = ((), ())

    def update(
        self,
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> IndexReport:
        """Index what is missing for the current commit of each repository; failures are data in the report."""
        with self._updating:
            targets = [self.target_of(repository) for repository in self.catalog.repositories]
            self.report = self.store.update(targets, progress=progress, cancellation=cancellation)
            self._note_tries(targets)
            return self.report

    def start_indexing(self, on_end: Callable[[], None] = lambda: None) -> None:
        """Index what is missing in a thread, then call `on_end`; searches wait for it a while, other calls don't."""
        self.indexing.start(lambda note, stop: self.update(progress=note, cancellation=stop), on_end)

    def pending(self, targets: Sequence[Target]) -> list[str]:
        """Name the repositories of `targets` that the first indexing has not reached; none after it."""
        if not self.indexing.is_running:
            return []
        return sorted({target.repository.name for target in targets if not self.store.is_current(target)})

    def refresh(self, cancellation: Cancellation | None = None) -> None:
        """Detect moved refs, and changed work trees where they are searched, and index what is new.

        Costs some microseconds a repository when nothing moved. Other commits are seen at once, and new repositories
        within a quarter of a second. While another thread indexes, the caller goes on with
        the index as it is.
        """
        if self.indexing.is_running or not self._updating.acquire(blocking=False):
            return
        try:
            now = time.monotonic()
            brief = now < self._next_look
            self.catalog.refresh(brief=brief)
            self._next_look = self._next_look if brief else now + WHOLE_LOOK_S
            targets = self._default_targets()
            if self.store.all_current(targets):
                return
            stale = [target for target in targets if not self.store.is_current(target)]
            if any(self._is_due(target, now) for target in stale):
                self.report = self.store.update(stale, cancellation=cancellation)
                self._note_tries(stale)
        finally:
            self._updating.release()

    def _note_tries(self, targets: Sequence[Target]) -> None:
        now = time.monotonic()
        self._tried = {target.repository.key: (target.commit, now) for target in targets}

    def _is_due(self, target: Target, now: float) -> bool:
        """Whether to index a target: one that failed is tried again when it changed, and after a while all the same."""
        if self.report is None or target.repository.facts.name not in self.report.failures:
            return True
        commit, tried = self._tried.get(target.repository.key, ("", 0.0))
        return commit != target.commit or now - tried >= RETRY_S

    def _default_targets(self) -> tuple[Target, ...]:
        """What is searched of each repository; the same object while the repositories are the same."""
        repositories, targets = self._targets
        if repositories is not self.catalog.repositories or self.worktree:
            repositories = self.catalog.repositories
            self._seen.update(repository.facts.name for repository in repositories)
            targets = tuple(map(self.target_of, repositories))
            self._targets = repositories, targets
        return targets

    def run_tool(self, handler: ToolHandler[A], arguments: A, context: Any) -> ToolResult:
        """Run a tool for a `sourcelight.engines.tools.ToolContext`; raises what its handler raises."""
        return handler.run(arguments, context)

    def run_step(self, step: str, request: Any, context: Any, on_event: Callable[[Any], None]) -> Any | None:
        """Run a step of deep search where the repositories are; None: they are here."""
        del step, request, context, on_event
        return None

    def forget_queries(self) -> None:
        """Clear everything cached about queries: parsed queries, plans and results."""
        self._read.clear()
        self.standings.clear()

    def close(self) -> None:
        """Stop background work; finished work stays."""
        self.indexing.stop()
        self.term_updates.stop()
        self.definitions.stop()
        self.histories.stop()

    @functools.cached_property
    def navigation(self) -> Navigator:
        """Definitions and references over the same repositories; made on first use."""
        from sourcelight.engines.navigation import Navigator

        return Navigator(self.catalog, self.store, target_of=self.target_of)

    @property
    def default_histories(self) -> list[HistoryRequest]:
        """What `histories` has to read so that commits of every repository can be searched at its current commit."""
        repositories = (one for one in self.catalog.repositories if one.kind == "git")
        return [HistoryRequest(one, (one.facts.commit,)) for one in repositories]

    @property
    def removed_repositories(self) -> list[str]:
        """Repositories that were here since opening, and are no longer."""
        return sorted(self._seen - {repository.facts.name for repository in self.catalog.repositories})

    def stream(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        """Search and yield events as they arrive.

        Yields `MatchBatch` and `Progress` events, then the final `Filters`, `Progress` (done), up to one `Alert`, and
        `Done`. After ``cancellation.cancel()`` the iterator ends early, without `Done`.

        Raises
        ------
        QueryError
            At the call, before any event, when the query can't be read, or holds what is not supported.
        """
        started = time.monotonic()
        read = self.read(request)
        read_s = time.monotonic() - started
        if isinstance(read, float):
            return notices.late_to_read(read, read_s)
        query, scopes = read
        return self.searches(self, query, scopes, request, viewer, cancellation, started, read_s=read_s).events()

    def count(
        self, request: SearchRequest, by: Sequence[GroupBy], viewer: Viewer, cancellation: Cancellation
    ) -> Any | None:
        """Matches and files by ``repository``, ``language`` or ``path``, without touching a line.

        Returns an Arrow table with the columns of `by`, ``matches`` and ``files`` (int64); None where only a stream
        can answer: a query of several alternatives, or one that finds repositories or uses ``select:`` or owners,
        definitions that are not all known, or anything else that is missing, which the stream then names.
        """
        query = self._parse(request)
        if not _is_countable(query):
            return None
        self.refresh(cancellation)
        scoper = ScopeResolver(self, viewer, cancellation)
        scoped_query = self._scope(query)
        scopes = scoper.resolve(scoped_query)
        if len(scopes) != 1 or scoper.unsearchable or scoper.undecided or scoper.invalid or scoper.missing:
            return None
        plan = make_plan(scopes[0])
        search = self.searches(self, query, scoped_query, request, viewer, cancellation, time.monotonic())
        if plan.repository_hits or search.lacks(plan, scoper):
            return None
        parts: list[SearchPart] = []
        try:
            table = self._count(plan, by, cancellation, parts.append)
        except SearchIndexError:
            return None  # the stream names the repository that can't be searched
        return None if table is None or search.lacks(plan, scoper, parts) else table  # the stream says what is missing

    def _count(
        self,
        plan: Plan,
        by: Sequence[GroupBy],
        cancellation: Cancellation,
        note: Callable[[SearchPart], None],
    ) -> Any | None:
        if plan.commits is not None:
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
            When the query can't be read, or holds what is not supported.
        """
        query, scopes = self.parse(request)
        self.refresh(cancellation)
        stop = cancellation or Cancellation()
        plans = [make_plan(scope) for scope in ScopeResolver(self, viewer, stop).resolve(scopes)]
        return explain(self, query, request, plans, stop)

    def finds(self, request: SearchRequest, viewer: Viewer, timeout_s: float) -> bool:
        """Return whether a query has a match within `timeout_s` seconds; False also when it can't be parsed."""
        cancellation = Cancellation(timeout_s)
        try:
            query = self._parse(request)
            scopes = self._scope(query)
            return self.searches(self, query, scopes, request, viewer, cancellation, time.monotonic()).finds()
        except QueryError:
            return False

    def read(self, request: SearchRequest) -> tuple[Query, tuple[ScopedAlternative, ...]] | float:
        """A query with its contexts resolved; the seconds that were allowed when even that took too long.

        Raises `QueryError` for a query that can't be read, or holds what is not supported.
        """

        def read() -> tuple[Query, tuple[ScopedAlternative, ...]]:
            return self.parse(request)

        text = request.query
        if len(text) <= _SHORT and text.lower().count(" or ") <= _FEW_OR:
            return read()
        # Its own `timeout:` is known only when it is read: seen here so, it may stand in a quoted text as well.
        timeouts_s = [s for s in (request.timeout_s, *map(duration_s, _TIMEOUT.findall(text))) if s is not None]
        allowed_s = self.limits.timeout_s(max(timeouts_s[-1], 0.0) if timeouts_s else None, has_count=True)
        try:
            return run_with_deadline(read, Cancellation(allowed_s))
        except DeadlineExceeded:
            return allowed_s or 0.0

    def parse(self, request: SearchRequest) -> tuple[Query, tuple[ScopedAlternative, ...]]:
        """A query with its contexts resolved, however long that takes; raises `QueryError` as `read`."""
        query = parse(request.query, request.pattern_type, version=request.version)
        cached = self._read.get(id(query))  # the parser keeps short queries, and what is kept here keeps its own
        if cached is not None and cached[0] is query:
            return cached
        parsed_query = self._check(query, request), self._scope(query)
        if len(request.query) <= _SHORT and [id(item.alternative) for item in parsed_query[1]] == [
            *map(id, query.plan)
        ]:
            # No context stood for what may change.
            self._read.put(id(query), parsed_query)
        return parsed_query

    def _parse(self, request: SearchRequest) -> Query:
        return self._check(parse(request.query, request.pattern_type, version=request.version), request)

    def _check(self, query: Query, request: SearchRequest) -> Query:
        if query.root is None:
            raise QueryError("no query found", query=request.query, position=0, hint="type what to search for")
        for alternative in query.plan:
            refuse_unsupported(alternative, SUPPORTED)
            asked_of(alternative)  # raises for a pattern that is too large
        return query

    def _scope(self, query: Query) -> tuple[ScopedAlternative, ...]:
        """The alternatives of a query with their contexts resolved; raises `QueryError`, also for a bad date."""
        contexts = self.catalog.contexts
        alternatives = tuple(
            item for alternative in query.plan for item in resolve_context(alternative, contexts, query.text)
        )
        for item in alternatives:
            check_dates(item.alternative, query.text)
        return alternatives

    def target_of(self, repository: Repository) -> Target:
        """What is searched of `repository`: HEAD, or its work tree where this engine reads those."""
        if self.worktree and repository.kind == "git" and repository.worktree:
            try:
                return Target(repository, WORKTREE, resolve(repository, WORKTREE))
            except RepositoryError:
                pass
        return Target(repository, "", repository.facts.commit)


def _is_countable(query: Query) -> bool:
    """Whether an index alone can tell how often a query matches."""
    if len(query.plan) != 1 or query.plan[0].select():
        return False
    return all(predicate.name not in {"has.owner", "has.contributor"} for predicate in query.plan[0].predicates("file"))
