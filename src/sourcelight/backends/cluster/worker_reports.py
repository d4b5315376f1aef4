"""Reports of workers about a search, besides its rows, and the union of these reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
        return any(label[: sign.start()] in self.repositories for sign in re.finditer("@", label))


@dataclass(frozen=True, slots=True)
class ReportUnion:
    """The reports of all workers; mappings are by repository, and fields as in `SearchOutcome`.

    Attributes
    ----------
    completed
        Repositories that a worker completed.
    searched
        How many repositories were searched.
    """

    completed: frozenset[str]
    excluded: frozenset[str]
    timed_out: frozenset[str]
    searched: int
    name_only: dict[str, Mapping[str, int]]
    missing: dict[str, list[str]]
    unread_cells: dict[str, Mapping[str, Sequence[str]]]
    unsearchable: dict[str, str]
    invalid: dict[str, str]
    without_history: dict[str, str]
    unread: dict[str, UnreadCommits]
    shallow: dict[str, str]
    unknown_owners: frozenset[str]
    later_owners: frozenset[str]
    unowned: dict[str, int]


def unite_reports(reports: Sequence[WorkerReport]) -> ReportUnion:
    """Return the union of the reports of all workers."""
    outcomes = [report.outcome for report in reports]
    return ReportUnion(
        completed=_unite_names(report.repositories for report in reports),
        excluded=_unite_names(report.select_names(report.outcome.excluded) for report in reports),
        timed_out=_unite_names(report.select_names(report.outcome.timed_out) for report in reports),
        # A worker counts the targets of all its repositories, also of those that another one completed.
        searched=sum(min(report.outcome.targets, len(report.repositories)) for report in reports),
        name_only=_unite(report.select(report.outcome.name_only) for report in reports),
        missing=_unite(report.select(report.outcome.missing) for report in reports),
        unread_cells=_unite(report.select(report.outcome.unread_cells) for report in reports),
        unsearchable=_unite(report.unsearchable() for report in reports),
        invalid=_unite(outcome.invalid for outcome in outcomes),
        without_history=_unite(report.select(report.outcome.without_history) for report in reports),
        unread=_unite(report.select(report.outcome.unread) for report in reports),
        shallow=_unite(report.select(report.outcome.shallow) for report in reports),
        unknown_owners=_unite_names(report.select_names(report.outcome.unknown_owners) for report in reports),
        later_owners=_unite_names(report.select_names(report.outcome.later_owners) for report in reports),
        unowned=_unite(report.select(report.outcome.unowned) for report in reports),
    )


def _unite(mappings: Iterable[Mapping[str, T]]) -> dict[str, T]:
    union: dict[str, T] = {}
    for mapping in mappings:
        union.update(mapping)
    return union


def _unite_names(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
