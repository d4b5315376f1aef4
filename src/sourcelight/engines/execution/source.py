"""The port of a search: where its plans and matches come from, on this machine or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.query import Query
from sourcelight.core.wire.events import Alert, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.advice import notices, skipped_items
from sourcelight.engines.execution.pipeline import limit_of
from sourcelight.engines.execution.plan import Plan
from sourcelight.engines.execution.plan_cache import PlanSummary
from sourcelight.engines.execution.protocol import Limits
from sourcelight.engines.execution.scope.contexts import ScopedAlternative
from sourcelight.engines.execution.scope.scope import ScopeSelector
from sourcelight.engines.execution.structures import unread_patterns
from sourcelight.repos import Viewer

if TYPE_CHECKING:
    from sourcelight.engines.history.history import UnreadCommits


@dataclass(frozen=True, slots=True)
class SearchTask:
    """One search: its query, its viewer, and its time limit.

    Parameters
    ----------
    query, scoped
        The parsed query, and its alternatives with their contexts resolved.
    request
        The request that they were parsed from.
    viewer
        The account that searches. Repositories that it may not see don't exist for the search.
    cancellation
        Ends the search early, also at the time limit.
    started
        Monotonic time at which the request arrived, in seconds.
    read_s
        Seconds that parsing the query took. They count toward its time limit.
    """

    query: Query
    scoped: Sequence[ScopedAlternative]
    request: SearchRequest
    viewer: Viewer
    cancellation: Cancellation
    started: float = 0.0
    read_s: float = 0.0

    def match_limit(self, limits: Limits) -> int:
        """Return the number of matches after which the search stops; `sys.maxsize` without a limit."""
        return limit_of(self.query.plan, self.request.default_matches or limits.matches)

    def allowed_s(self, limits: Limits) -> float | None:
        """Return the seconds that the search may take, or None without a limit."""
        plan, request_timeout_s = self.query.plan, self.request.timeout_s
        timeouts = [alternative.timeout_s() for alternative in plan]
        longest = max((timeout for timeout in timeouts if timeout is not None), default=None)
        if request_timeout_s is not None:
            # A request may shorten the time that its query asks for, but never lengthen it.
            longest = request_timeout_s if longest is None else min(longest, request_timeout_s)

        # A query with an explicit number of matches gets more time, wherever the number is given.
        has_count = self.request.default_matches is not None or any(
            alternative.first("count") is not None for alternative in plan
        )
        return limits.timeout_s(longest, has_count=has_count)


@dataclass(slots=True)
class SourceReport:
    """The report of a source after a search, besides its matches.

    Parameters
    ----------
    late_repositories
        Repositories with a revision that was not fully searched in time.
    skipped
        Everything else that was not searched, with reasons.
    capped
        The largest ``count:`` that one of several alternatives reached; 0 if none did.
    is_complete
        Whether all repositories of the search have answered.
    owners_alert
        The alert about missing CODEOWNERS files.
    scope_alert
        The alert about repositories and revisions that can't be searched.
    advice
        A cache of the alert for a search without matches over the same repositories: empty until it is known, then one
        item. None if it can't be cached.
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
        """One plan per alternative, after `resolve`; `report` may remove repositories."""
        ...

    @property
    def summary(self) -> PlanSummary:
        """Summary of the plans."""
        ...

    def prepare(self) -> Iterator[Skipped]:
        """Wait for indexes that every search needs, outside of its time limit; yield items about the wait."""
        ...

    def resolve(self) -> Iterator[Skipped]:
        """Select the repositories and make `plans`; yield items about waits. Raises `Cancelled`."""
        ...

    def batches(self, limit: int) -> Generator[Any, None, None]:
        """Yield record batches, `RawMatches`, and `Skipped` for what it waits for; the caller stops at `limit`."""
        ...

    def activity(self) -> Sequence[Skipped]:
        """Return the activity beside the search, which is displayed with its progress."""
        ...

    def report(self, matched_repositories: Collection[str], *, limit_hit: bool) -> SourceReport:
        """Sum up the search.

        Parameters
        ----------
        matched_repositories
            Repositories with matches.
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
        The selected scope, and the summary of its plans.
    without_history, unread, shallow
        By repository: why its history can't be read, its unread commits, and why it ends early.
    """
    # One order for both sources, so that answers of a cluster equal those of one machine.
    yield from skipped_items.unsearchable(scope.unsearchable | scope.invalid)
    yield from skipped_items.without_history(without_history)
    yield from skipped_items.unread_commits(unread)
    yield from skipped_items.cut_histories(shallow)
    yield from skipped_items.replaced_item(summary.replaced)
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
