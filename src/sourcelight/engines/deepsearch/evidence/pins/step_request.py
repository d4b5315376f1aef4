"""The commits of a question, and its steps in a form that can be sent to the workers that have the repositories.

A step is a name, such as ``pin`` or ``check``, and a `StepRequest` with all that it reads. If the repositories are on
this machine, `run_step` does nothing, and the caller does the work itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches import CommitId
from sourcelight.engines.deepsearch.question.scope import NamedScope, QuestionScope
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of
from sourcelight.repos import Catalog, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.evidence.model import Evidence
    from sourcelight.engines.tools import ToolContext

_NAME_SEPARATOR = re.compile(r"[/+]")
"""The sign before the short name of a repository: ``water/gate``, or ``water+gate`` for a mirror."""


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
        return frozenset(_NAME_SEPARATOR.split(pin.repository)[-1] for pin in self)

    @property
    def name_words(self) -> frozenset[str]:
        """These last parts, and the words that they are made of, in lower case."""
        return frozenset(word for name in self.short_names for word in (name.lower(), *parts_of(name)))

    def of(self, repository: str, commit: str = "") -> Target | None:
        """Return the target of a repository; at that commit, if one is given."""
        for target in self.targets:
            if target.repository.name == repository and commit in {"", target.commit}:
                return target
        return None

    def of_any(self, repository: str) -> list[Target]:
        """Return all targets of a repository."""
        return [target for target in self.targets if target.repository.name == repository]


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
