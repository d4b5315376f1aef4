"""Pin the repositories of a question to commits, and carry its steps to where the repositories are.

Steps of a question that need repositories, where these are not on this machine: what travels there and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ToolError
from sourcelight.engines.deepsearch.question.scope import QuestionScope
from sourcelight.engines.execution.natural_language import targets_of
from sourcelight.engines.search import Target
from sourcelight.repos import Catalog, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.evidence.model import Evidence
    from sourcelight.engines.execution import LocalEngine
    from sourcelight.engines.tools import ToolContext


@dataclass(frozen=True, slots=True)
class Pin:
    """A repository at a commit; `revision` is as requested, empty for the default one."""

    repository: str
    revision: str
    commit: str


@dataclass(frozen=True, slots=True)
class Pins:
    """The pins of a question, and the repositories that could not be pinned, with reasons."""

    targets: tuple[Target, ...]
    failed: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Pin]:
        return (Pin(target.repository.name, target.revision, target.commit) for target in self.targets)

    def __len__(self) -> int:
        return len(self.targets)

    def of(self, repository: str, commit: str = "") -> Target | None:
        """Return the target of a repository; at that commit, if one is given."""
        matching = (t for t in self.targets if t.repository.name == repository and commit in {"", t.commit})
        return next(matching, None)

    def of_any(self, repository: str) -> list[Target]:
        """Return all targets of a repository."""
        return [target for target in self.targets if target.repository.name == repository]


def pin_filters(filters: str, context: ToolContext) -> Pins:
    """Pin the repositories of `filters`, local or remote; raises as `pin`."""
    result = run_step("pin", StepRequest(filters=filters), context)
    if result is None:
        return pin(context.local, filters, context.viewer, context.cancellation)
    pins: Pins = result.value.resolve_pins(context.engine.catalog, context.viewer)
    return _require_pins(pins, filters)


def pin(engine: LocalEngine, filters: str, viewer: Viewer, cancellation: Cancellation) -> Pins:
    """Pin the repositories of `filters` that the viewer may see.

    Raises
    ------
    QueryError
        When the filters can't be read.
    ToolError
        When there is nothing to search.
    """
    return _require_pins(pin_local(engine, filters, viewer, cancellation), filters)


def pin_local(engine: LocalEngine, filters: str, viewer: Viewer, cancellation: Cancellation) -> Pins:
    """Return the pins of local repositories, possibly none; raises `QueryError`."""
    targets, failed = targets_of(engine, filters, viewer, cancellation)
    return Pins(tuple(targets), failed)


def _require_pins(pins: Pins, filters: str) -> Pins:
    if not pins.targets:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in sorted(pins.failed.items()))
        raise ToolError(
            f"no repository to search{f' for {filters}' if filters else ''}{f' ({reasons})' if reasons else ''}; "
            "list_repos names those that can be searched",
            tool="deepsearch",
        )
    return pins


@dataclass(frozen=True, slots=True)
class PreviousTurn:
    """An earlier question of the conversation and its answer; `cited` are names and paths that it cited."""

    question: str
    answer: str
    cited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StepRequest:
    """The input of a step, in a form that can be sent.

    Parameters
    ----------
    question, filters, previous
        As of an `Inquiry`.
    pins, failed
        The commits that count, and what could not be pinned.
    items
        Evidence to be checked.
    path
        A file to be read.
    scope
        As of an `Inquiry`.
    """

    question: str = ""
    filters: str = ""
    pins: tuple[Pin, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    previous: Sequence[PreviousTurn] = ()
    items: Sequence[Evidence] = ()
    path: str = ""
    scope: QuestionScope = field(default_factory=QuestionScope)

    @classmethod
    def from_pins(cls, pins: Pins, **fields: Any) -> StepRequest:
        """Make a request about some pins."""
        return cls(pins=tuple(pins), failed=tuple(pins.failed.items()), **fields)

    @classmethod
    def merge(cls, parts: Sequence[StepRequest]) -> StepRequest:
        """Merge the pins of several parts, sorted by name."""
        pins = sorted((pin for part in parts for pin in part.pins), key=lambda pin: (pin.repository, pin.revision))
        return cls(pins=tuple(pins), failed=tuple(failure for part in parts for failure in part.failed))

    def resolve_pins(self, catalog: Catalog, viewer: Viewer) -> Pins:
        """Resolve the pins in a catalog; raises `RepositoryNotFound`."""
        targets = [Target(catalog.get(pin.repository, viewer), pin.revision, pin.commit) for pin in self.pins]
        return Pins(tuple(targets), dict(self.failed))


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a remote step."""

    value: Any


def run_step(
    step: str, request: StepRequest, context: ToolContext, on_event: Callable[[Any], None] = lambda _: None
) -> StepResult | None:
    """Run a step where the repositories are; None if they are local.

    `on_event` is told what happens on the way. Raises what the step raises.
    """
    run = context.engine.step_runner
    return None if run is None else run(step, request, context, on_event)
