"""Steps of a question that need repositories, where these are not on this machine: what travels there and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sourcelight.engines.deepsearch.citations.pins import Pin, Pins
from sourcelight.engines.deepsearch.question.scope import QuestionScope
from sourcelight.engines.search import Target
from sourcelight.repos import Catalog, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.evidence.model import Evidence
    from sourcelight.engines.deepsearch.researchers.protocol import Previous
    from sourcelight.engines.tools import CallContext


@dataclass(frozen=True, slots=True)
class Asked:
    """What a step works on; plain enough to travel.

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
    previous: Sequence[Previous] = ()
    items: Sequence[Evidence] = ()
    path: str = ""
    scope: QuestionScope = field(default_factory=QuestionScope)

    @classmethod
    def of(cls, pins: Pins, **more: Any) -> Asked:
        """About some pins."""
        return cls(pins=tuple(pins), failed=tuple(pins.failed.items()), **more)

    @classmethod
    def joined(cls, parts: Sequence[Asked]) -> Asked:
        """The pins of several parts, in the order of names."""
        pins = sorted((pin for part in parts for pin in part.pins), key=lambda pin: (pin.repository, pin.revision))
        return cls(pins=tuple(pins), failed=tuple(one for part in parts for one in part.failed))

    def pinned(self, catalog: Catalog, viewer: Viewer) -> Pins:
        """The pins over the repositories of a catalog; raises `RepositoryNotFound`."""
        targets = [Target(catalog.get(pin.repository, viewer), pin.revision, pin.commit) for pin in self.pins]
        return Pins(tuple(targets), dict(self.failed))


@dataclass(frozen=True, slots=True)
class Found:
    """What a step gave elsewhere."""

    value: Any


def away(step: str, asked: Asked, context: CallContext, heard: Callable[[Any], None] = lambda _: None) -> Found | None:
    """Do a step where the repositories are; None: they are here.

    `heard` is told what happens on the way. Raises what the step raises.
    """
    found: Found | None = context.engine.elsewhere(step, asked, context, heard)
    return found
