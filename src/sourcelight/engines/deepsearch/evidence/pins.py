"""Pin the repositories of a question to commits, and carry its steps to where the repositories are.

Steps of a question that need repositories, where these are not on this machine: what travels there and back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches import CommitId
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError, SourcelightError, ToolError
from sourcelight.engines.deepsearch.question.scope import NamedScope, QuestionScope
from sourcelight.engines.search import Target
from sourcelight.repos import Catalog, Viewer, resolve

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.evidence.model import Evidence
    from sourcelight.engines.execution import LocalEngine
    from sourcelight.engines.tools import ToolContext


@dataclass(frozen=True, slots=True)
class Pin:
    """A repository at a commit; `revision` is as requested, empty for the default one."""

    repository: str
    revision: str
    commit: CommitId


@dataclass(frozen=True, slots=True)
class Pins:
    """The pins of a question, and the repositories that could not be pinned, with reasons."""

    targets: tuple[Target, ...]
    failed: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Pin]:
        return (Pin(target.repository.name, target.revision, target.commit) for target in self.targets)

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def short_names(self) -> frozenset[str]:
        """The last parts of the names of repositories, as questions write them."""
        return frozenset(re.split(r"[/+]", pin.repository)[-1] for pin in self)

    def of(self, repository: str, commit: str = "") -> Target | None:
        """Return the target of a repository; at that commit, if one is given."""
        matching = (t for t in self.targets if t.repository.name == repository and commit in {"", t.commit})
        return next(matching, None)

    def of_any(self, repository: str) -> list[Target]:
        """Return all targets of a repository."""
        return [target for target in self.targets if target.repository.name == repository]


_FORKS_TOO = "fork:yes archived:yes"


def pin_filters(filters: str, context: ToolContext, named_scope: NamedScope | None = None) -> Pins:
    """Pin the repositories of `filters`, those `named_scope` alone if any are, local or remote; raises as `pin`."""
    named_scope = named_scope or NamedScope()
    result = run_step("pin", StepRequest(filters=filters, named_scope=named_scope), context)
    if result is None:
        pins = pin_local(context.local, filters, context.viewer, context.cancellation, named_scope)
    else:
        pins = result.value.resolve_pins(context.engine.catalog, context.viewer)

    present = {name.casefold() for name in (*(pin.repository for pin in pins), *pins.failed)}
    unknown = [name for name in named_scope.repositories if name.casefold() not in present]
    failed = dict.fromkeys(unknown, "no repository of this name can be searched")
    return _require_pins(Pins(pins.targets, {**pins.failed, **failed}), filters)


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


def pin_local(
    engine: LocalEngine, filters: str, viewer: Viewer, cancellation: Cancellation, named_scope: NamedScope | None = None
) -> Pins:
    """Return the pins of local repositories, possibly none; raises `QueryError`.

    What is named narrows what the filters choose; a fork or an archived repository counts when it is named.
    """
    from sourcelight.engines.execution.natural_language import targets_of

    targets, failed = targets_of(engine, filters, viewer, cancellation)
    if not named_scope:
        return Pins(tuple(targets), failed)

    if named_scope.repositories:
        names = {name.casefold() for name in named_scope.repositories}
        # Only if a name is missing: searches leave out forks and archived repositories, but one that is named is
        # wanted.
        if names - {target.repository.name.casefold() for target in targets}:
            try:
                targets, failed = targets_of(engine, f"{filters} {_FORKS_TOO}".strip(), viewer, cancellation)
            except QueryError:  # the filters leave forks out themselves
                cancellation.check()

        targets = [target for target in targets if target.repository.name.casefold() in names]
        failed = {label: reason for label, reason in failed.items() if label.partition("@")[0].casefold() in names}

    if named_scope.revision:
        targets, extra_notices = _at_revision(targets, named_scope.revision)
        failed = {**failed, **extra_notices}

    return Pins(tuple(targets), failed)


def _at_revision(targets: Sequence[Target], revision: str) -> tuple[list[Target], dict[str, str]]:
    """Return the targets at a revision, and why it can't be read in others."""
    moved: list[Target] = []
    failed: dict[str, str] = {}
    for target in targets:
        try:
            commit = resolve(target.repository, revision)
        except SourcelightError as exc:
            failed[target.repository.name] = str(exc)
        else:
            moved.append(replace(target, revision=revision, commit=commit))

    return moved, failed


def _require_pins(pins: Pins, filters: str) -> Pins:
    if not pins.targets:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in sorted(pins.failed.items()))
        raise ToolError(
            f"no repository to search{f' for {filters}' if filters else ''}{f' ({reasons})' if reasons else ''}; "
            "list_repos lists the repositories that can be searched",
            tool="deepsearch",
        )

    return pins


@dataclass(frozen=True, slots=True)
class PreviousTurn:
    """An earlier question of the conversation and its answer.

    The answer cited the names and paths in `cited_names`. `named_scope` is the scope of the question; None if it is
    unknown, as in conversations of earlier versions.
    """

    question: str
    answer: str
    cited_names: tuple[str, ...] = ()
    named_scope: NamedScope | None = None


@dataclass(frozen=True, slots=True)
class StepRequest:
    """The input of a step, in a form that can be sent to a worker.

    Parameters
    ----------
    question, filters, previous
        As in `ResearchRequest`.
    pins, failed
        The commits to read, and the repositories that have none, with reasons.
    items
        Evidence to check.
    path
        A file to read.
    scope
        As in `ResearchRequest`.
    named_scope
        Repositories and revisions to pin in addition to `filters`.
    """

    question: str = ""
    filters: str = ""
    pins: tuple[Pin, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    previous: Sequence[PreviousTurn] = ()
    items: Sequence[Evidence] = ()
    path: str = ""
    scope: QuestionScope = field(default_factory=QuestionScope)
    named_scope: NamedScope = field(default_factory=NamedScope)

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
    """Run a step on the workers that have the repositories; None if the repositories are local.

    Progress goes to `on_event`. Raises what the step raises.
    """
    run = context.engine.step_runner
    return None if run is None else run(step, request, context, on_event)
