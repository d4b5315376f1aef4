"""Reports of workers about a search, besides its rows, and the union of these reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sourcelight.backends.cluster.worker.search import SearchOutcome
from sourcelight.engines.history.history import UnreadCommits

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The outcome of one worker, and the repositories that it was the first to complete."""

    outcome: SearchOutcome
    repositories: frozenset[str]

    def select(self, values: Mapping[str, T]) -> dict[str, T]:
        """Return the values of its repositories."""
        # A worker that gave up on a repository has reported on it, too; only the worker that completed it counts.
        return {name: value for name, value in values.items() if name in self.repositories}

    def select_names(self, names: Iterable[str]) -> frozenset[str]:
        """Return those of its repositories that are in `names`."""
        return self.repositories.intersection(names)

    def unsearchable(self) -> dict[str, str]:
        """Return why repositories can't be searched, by label: a name, or ``name@revision``."""
        reasons = self.outcome.unsearchable
        return {label: reason for label, reason in reasons.items() if self._has_label(label)}

    def _has_label(self, label: str) -> bool:
        if label in self.repositories:
            return True

        # Names may have an @ as well, so the revision may begin at any of them.
        for sign in re.finditer("@", label):
            name = label[: sign.start()]
            if name in self.repositories:
                return True
        return False


@dataclass(slots=True)
class ReportUnion:
    """The reports of all workers; mappings are by repository, and fields as in `SearchOutcome`.

    Attributes
    ----------
    completed
        Repositories that a worker completed.
    searched
        How many repositories were searched.
    """

    completed: set[str] = field(default_factory=set)
    excluded: set[str] = field(default_factory=set)
    timed_out: set[str] = field(default_factory=set)
    searched: int = 0
    name_only: dict[str, Mapping[str, int]] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    unread_cells: dict[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    unsearchable: dict[str, str] = field(default_factory=dict)
    invalid: dict[str, str] = field(default_factory=dict)
    without_history: dict[str, str] = field(default_factory=dict)
    unread: dict[str, UnreadCommits] = field(default_factory=dict)
    shallow: dict[str, str] = field(default_factory=dict)
    unknown_owners: set[str] = field(default_factory=set)
    later_owners: set[str] = field(default_factory=set)
    unowned: dict[str, int] = field(default_factory=dict)

    def add(self, report: WorkerReport) -> None:
        """Add what a worker reports about the repositories that it completed first."""
        outcome = report.outcome
        self.completed |= report.repositories
        # A worker counts the targets of all its repositories, also of those that another one completed.
        self.searched += min(outcome.targets, len(report.repositories))
        # By text of the query and not by repository: every worker that met one reports the same.
        self.invalid |= outcome.invalid

        self.excluded |= report.select_names(outcome.excluded)
        self.timed_out |= report.select_names(outcome.timed_out)
        self.name_only |= report.select(outcome.name_only)
        self.missing |= report.select(outcome.missing)
        self.unread_cells |= report.select(outcome.unread_cells)
        self.unsearchable |= report.unsearchable()

        self.without_history |= report.select(outcome.without_history)
        self.unread |= report.select(outcome.unread)
        self.shallow |= report.select(outcome.shallow)

        self.unknown_owners |= report.select_names(outcome.unknown_owners)
        self.later_owners |= report.select_names(outcome.later_owners)
        self.unowned |= report.select(outcome.unowned)


def unite_reports(reports: Iterable[WorkerReport]) -> ReportUnion:
    """Return the union of the reports of all workers."""
    union = ReportUnion()
    for report in reports:
        union.add(report)
    return union
