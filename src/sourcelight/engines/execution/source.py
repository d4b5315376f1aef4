"""The port of a search: where its plans and matches come from, on this machine or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.query import Query
from sourcelight.core.wire.events import Alert, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.advice import notices
from sourcelight.engines.execution.pipeline import limit_of
from sourcelight.engines.execution.plan import Plan
from sourcelight.engines.execution.plan_cache import PlanSummary
from sourcelight.engines.execution.protocol import Limits
from sourcelight.engines.execution.scope.revisions import ScopedAlternative
from sourcelight.engines.execution.scope.scope import ScopeSelector
from sourcelight.engines.execution.structures import unread_patterns
from sourcelight.engines.history.history import UnreadCommits
from sourcelight.repos import Viewer


@dataclass(frozen=True, slots=True)
class SearchTask:
    """One search: what it asks, for whom, and what ends it.

    Parameters
    ----------
    query, scoped
        The parsed query, and its alternatives with their contexts resolved.
    request
        The request that they were read from.
    viewer
        Whose repositories exist.
    cancellation
        Ends the work early, also at the time limit.
    started
        Monotonic seconds at which the request came.
    read_s
        Seconds that reading the query took; they are part of its time limit.
    """

    query: Query
    scoped: Sequence[ScopedAlternative]
    request: SearchRequest
    viewer: Viewer
    cancellation: Cancellation
    started: float = 0.0
    read_s: float = 0.0

    def match_limit(self, limits: Limits) -> int:
        """Return matches after which the search stops; `sys.maxsize`: never."""
        return limit_of(self.query.plan, self.request.default_matches or limits.matches)

    def allowed_s(self, limits: Limits) -> float | None:
        """Return seconds that the search may take; None: no limit."""
        plan, request_timeout_s = self.query.plan, self.request.timeout_s
        timeouts = [a.timeout_s() for a in plan]
        longest = max((t for t in timeouts if t is not None), default=None)
        if request_timeout_s is not None:
            longest = request_timeout_s if longest is None else min(longest, request_timeout_s)
        # Who asks for a number of matches is given the time for it, wherever that number stands.
        has_count = self.request.default_matches is not None or any(a.first("count") is not None for a in plan)
        return limits.timeout_s(longest, has_count=has_count)


@dataclass(slots=True)
class SourceReport:
    """The report of a source after a search, besides its matches.

    Parameters
    ----------
    late_repositories
        Repositories with a revision that was not completely searched in time.
    skipped
        What else was not searched, and why.
    capped
        The largest ``count:`` of one alternative among several that was reached; 0: none.
    is_complete
        Whether every repository that was to be searched answered.
    owners_alert
        About missing CODEOWNERS.
    scope_alert
        About repositories and revisions that can't be searched.
    advice
        The first one is the alert of a search without a match over the same repositories, once it is known; None: it
        can't be kept.
    """

    late_repositories: list[str]
    skipped: list[Skipped]
    capped: int = 0
    is_complete: bool = True
    owners_alert: Alert | None = None
    scope_alert: Alert | None = None
    advice: list[Alert | None] | None = field(default=None)


class SearchSource(Protocol):
    """The source of plans and matches of one search; its methods are called in this order, each once."""

    @property
    def plans(self) -> Sequence[Plan]:
        """One for each alternative, once they are resolved; `report` may take repositories out."""
        ...

    @property
    def summary(self) -> PlanSummary:
        """Summary of the plans."""
        ...

    def prepare(self) -> Iterator[Skipped]:
        """Wait for what no search can do without, outside of its time limit; yield what is waited for."""
        ...

    def resolve(self) -> Iterator[Skipped]:
        """Choose the repositories and make `plans`; yield what is waited for; raises `Cancelled`."""
        ...

    def batches(self, limit: int) -> Generator[Any, None, None]:
        """Yield `RecordBatch`, `RawMatches`, and `Skipped` for what is waited for; the caller stops at `limit`."""
        ...

    def under_way(self) -> Sequence[Skipped]:
        """Return the activity beside the search, which is displayed with its progress."""
        ...

    def report(self, matched_repositories: Collection[str], *, limit_hit: bool) -> SourceReport:
        """Sum up the search.

        Parameters
        ----------
        matched_repositories
            Repositories of which there are matches.
        limit_hit
            Whether the caller has stopped at its limit.
        """
        ...


def scope_items(
    scope: ScopeSelector,
    summary: PlanSummary,
    without_history: Mapping[str, str],
    unread: Mapping[str, UnreadCommits],
    shallow: Mapping[str, str],
) -> Iterator[Skipped]:
    """Return the items that are skipped in the same way on this machine and on workers.

    Parameters
    ----------
    scope, summary
        What was chosen, and the summary of its plans.
    without_history, unread, shallow
        By repository: why its history can't be read, which commits of it could not be, and where it ends early.
    """
    yield from notices.unsearchable(scope.unsearchable | scope.invalid)
    yield from notices.without_history(without_history)
    yield from notices.unread_commits(unread)
    yield from notices.cut_histories(shallow)
    yield from notices.replaced_item(summary.replaced)
    yield from unread_patterns(summary.structures)


def scope_alert(scope: ScopeSelector) -> Alert | None:
    """Return the alert about repositories and revisions that can't be searched."""
    if scope.invalid:
        return notices.invalid_revisions(scope.invalid)
    if scope.unsearchable:
        return notices.unsearchable_alert(scope.unsearchable)
    if scope.absent:
        return notices.absent_attributes(scope.absent)
    return None
