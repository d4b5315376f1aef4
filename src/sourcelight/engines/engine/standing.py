"""What a query comes to while its repositories stay as they are: worked out once, not for every search."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from sourcelight.core.batches import RepositoryFacts
from sourcelight.core.query import Filter
from sourcelight.core.wire.events import Alert
from sourcelight.engines.engine.plan import Plan
from sourcelight.repos import Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.engine.scopes.contexts import Scoped

_MOST = 64

T = TypeVar("T")
_Key: TypeAlias = tuple[tuple[int, ...], Viewer]


@dataclass(frozen=True, slots=True)
class Summary:
    """What some plans come to.

    Attributes
    ----------
    facts
        The facts of all repositories that they name, by name.
    searched
        The repositories whose files or definitions they search, by name.
    replaced
        How many objects are replaced in those of the repositories that have any, by name.
    forks, archived
        Names of those that no plan searches only because nobody asked for forks, or for archived ones.
    """

    facts: Mapping[str, RepositoryFacts]
    searched: Mapping[str, Repository]
    replaced: Mapping[str, int]
    forks: list[str]
    archived: list[str]


def summary_of(plans: Sequence[Plan]) -> Summary:
    """Sum up plans."""
    facts = {t.repository.facts.name: t.repository.facts for p in plans for t in p.targets}
    return Summary(
        facts=facts,
        searched={t.repository.facts.name: t.repository for p in plans for t in p.targets if p.searches},
        replaced={name: known.replaced_objects for name, known in facts.items() if known.replaced_objects},
        forks=sorted({name for plan in plans for name in plan.selection.forks_left_out}),
        archived=sorted({name for plan in plans for name in plan.selection.archived_left_out}),
    )


NO_PLANS = summary_of(())


@dataclass(frozen=True, slots=True)
class Standing:
    """A query's plans over the repositories that its viewer saw, and what they come to.

    Attributes
    ----------
    worktrees
        The repositories that are searched at HEAD and have a work tree, which may differ from it.
    advice
        What was said, or None, of a search that looked everywhere and found nothing; empty before there was one.
    """

    plans: list[Plan]
    worktrees: Sequence[Repository]
    summary: Summary
    advice: list[Alert | None] = field(default_factory=list)


class Kept(Generic[T]):
    """What the last queries come to while the catalog gives the very same repositories, by viewer.

    Queries are told apart by their alternatives, as objects, since the parser keeps them. Safe to share between
    threads.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, tuple[Sequence[Scoped], tuple[Repository, ...], T]] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, scopes: Sequence[Scoped], viewer: Viewer, repositories: tuple[Repository, ...]) -> T | None:
        """Give what was kept, if it still holds."""
        key = _key(scopes, viewer)
        with self._guard:
            found = self._known.get(key)
            if found is None or found[1] is not repositories:
                return None
            self._known.move_to_end(key)
            return found[2]

    def keep(self, scopes: Sequence[Scoped], viewer: Viewer, repositories: tuple[Repository, ...], found: T) -> None:
        """Keep it, and the alternatives that it is known by."""
        with self._guard:
            self._known[_key(scopes, viewer)] = scopes, repositories, found
            if len(self._known) > _MOST:
                self._known.popitem(last=False)

    def clear(self) -> None:
        """Let go of all of it."""
        with self._guard:
            self._known.clear()


def _key(scopes: Sequence[Scoped], viewer: Viewer) -> _Key:
    return tuple(id(item.alternative) for item in scopes), viewer


def stands(scoped: Sequence[Scoped], plans: Sequence[Plan]) -> bool:
    """Whether plans depend on nothing but the list of repositories: on no ref, context, date, file or history."""
    return all(
        item.listed is None
        and not item.context
        and all(isinstance(one, Filter) and one.name != "rev" and one.revs is None for one in item.alternative.filters)
        for item in scoped
    ) and all(plan.commits is None and not plan.places for plan in plans)
