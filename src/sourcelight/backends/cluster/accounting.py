"""The accounting of a search over a cluster: each repository of its plans ends up in one set."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sourcelight.backends.cluster.coordinator.members import FailedAttempt, ReplicaOrder, reasons
from sourcelight.backends.cluster.worker_reports import ReportUnion
from sourcelight.core.wire.events import Skipped


@dataclass(frozen=True, slots=True)
class ShardAccounting:
    """Outcome of the shards of a search: each planned shard is in exactly one of the other sets.

    Attributes
    ----------
    planned
        Repositories in the scope of the query that the viewer may see.
    done
        Repositories that a worker searched completely.
    skipped
        Repositories that no worker searched completely, with the failed attempts.
    excluded
        Repositories that a worker excluded: they lack the revision, or a predicate excludes them.
    unfinished
        Repositories that no worker searched completely, because the search stopped at its limit of matches.
    """

    planned: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    skipped: Mapping[str, tuple[FailedAttempt, ...]] = field(default_factory=dict)
    excluded: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()

    @property
    def unanswered(self) -> frozenset[str]:
        """Skipped repositories of which no worker failed: the time limit passed before one could answer."""
        return frozenset(name for name, attempts in self.skipped.items() if not attempts)


def account_for(
    planned: Collection[str], union: ReportUnion, replicas: ReplicaOrder, *, limit_hit: bool
) -> ShardAccounting:
    """Assign every planned repository to one set.

    Parameters
    ----------
    planned
        Names of the repositories.
    union
        The reports of all workers.
    replicas
        The workers that were asked, with their failed attempts.
    limit_hit
        Whether the search stopped at its limit of matches. Then repositories without an answer did not fail.
    """
    names = frozenset(planned)
    remaining = names - union.completed
    searched = ShardAccounting(
        planned=names, done=frozenset(union.completed - union.excluded), excluded=frozenset(union.excluded)
    )
    if limit_hit:
        # A limit ends the search before all workers have answered: none of them failed.
        return replace(searched, unfinished=remaining)

    skipped = {name: replicas.failures(name) for name in planned if name in remaining}
    return replace(searched, skipped=skipped)


def unanswered_items(
    skipped: Mapping[str, tuple[FailedAttempt, ...]], partly_shown: Collection[str]
) -> Iterator[Skipped]:
    """Yield one item for each repository that no worker completed."""
    for name, attempts in sorted(skipped.items()):
        partly = "Some of its matches are shown. " if name in partly_shown else ""
        yield Skipped(
            reason="backend-missing",
            title=f"{name} did not answer",
            message=f"`{name}` was not searched completely. {partly}Tried: {reasons(attempts)}. "
            "Run the search again in a moment.",
            severity="error",
        )
