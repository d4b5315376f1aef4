"""The repositories of a question, each pinned to a commit when it starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import CallError
from sourcelight.engines.execution.natural_language import targets_of
from sourcelight.engines.search import Target

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine
    from sourcelight.engines.tools import CallContext
    from sourcelight.repos import Viewer


@dataclass(frozen=True, slots=True)
class Pin:
    """A repository at a commit; `revision` is as it was asked for, empty for the default one."""

    repository: str
    revision: str
    commit: str


@dataclass(frozen=True, slots=True)
class Pins:
    """All pins of a question, and what could not be pinned and why."""

    targets: tuple[Target, ...]
    failed: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Pin]:
        return (Pin(target.repository.name, target.revision, target.commit) for target in self.targets)

    def __len__(self) -> int:
        return len(self.targets)

    def of(self, repository: str, commit: str = "") -> Target | None:
        """Give the target of a repository; at that commit, if one is given."""
        found = (t for t in self.targets if t.repository.name == repository and commit in {"", t.commit})
        return next(found, None)

    def of_any(self, repository: str) -> list[Target]:
        """Give all targets of a repository."""
        return [target for target in self.targets if target.repository.name == repository]


def pinned(filters: str, context: CallContext) -> Pins:
    """Pin what `filters` choose, be the repositories here or not; raises what `pin` raises."""
    from sourcelight.engines.deepsearch.away import Asked, away

    found = away("pin", Asked(filters=filters), context)
    if found is None:
        return pin(context.engine, filters, context.viewer, context.cancellation)
    pins: Pins = found.value.pinned(context.engine.catalog, context.viewer)
    return _some(pins, filters)


def pin(engine: Engine, filters: str, viewer: Viewer, cancellation: Cancellation) -> Pins:
    """Pin what `filters` choose of the repositories that the viewer may see.

    Raises
    ------
    QueryError
        When the filters can't be read.
    CallError
        When there is nothing to search.
    """
    return _some(pins_here(engine, filters, viewer, cancellation), filters)


def pins_here(engine: Engine, filters: str, viewer: Viewer, cancellation: Cancellation) -> Pins:
    """The pins of repositories that are here, which may be none; raises `QueryError`."""
    targets, failed = targets_of(engine, filters, viewer, cancellation)
    return Pins(tuple(targets), failed)


def _some(pins: Pins, filters: str) -> Pins:
    if not pins.targets:
        reasons = "; ".join(f"{name}: {why}" for name, why in sorted(pins.failed.items()))
        raise CallError(
            f"no repository to search{f' for {filters}' if filters else ''}{f' ({reasons})' if reasons else ''}; "
            "list_repos names those that can be searched",
            call="deepsearch",
        )
    return pins
