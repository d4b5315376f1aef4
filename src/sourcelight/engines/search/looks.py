"""Looks at the manifests of many repositories at once, and the targets that were opened since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcelight.engines.search import searcher
from sourcelight.engines.search.model import Target

LOOK_S = 0.25
"""Seconds after which manifests are looked at again while their repositories are at the same commits."""


@dataclass(slots=True)
class Looked:
    """When manifests were looked at last, all of the targets' together: each one's file, identity, time and size."""

    of: tuple[Target, ...] | None = None
    files: list[tuple[str, int, int, int]] = field(default_factory=list)
    places: frozenset[tuple[str, str]] = frozenset()
    at: float = -LOOK_S

    @property
    def keys(self) -> set[str]:
        """The folders of the targets."""
        return {key for key, _ in self.places}

    def holds(self, targets: Sequence[Target]) -> bool:
        """Whether all of these are among them."""
        return self.places.issuperset((target.repository.key, target.commit) for target in targets)


@dataclass(frozen=True, slots=True)
class Group:
    """Targets as they were opened, since manifests were first `looked` at, and noted as used."""

    targets: Sequence[Target]
    groups: Sequence[searcher.Opened]
    looked: Looked
    marked: float
