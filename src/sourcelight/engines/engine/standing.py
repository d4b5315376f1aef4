"""What a query comes to while its repositories stay as they are: worked out once, not for every search."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.core.batches import RepositoryFacts
from sourcelight.core.query import Filter, Query
from sourcelight.engines.engine.plan import Plan
from sourcelight.repos import Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.engine.scopes.contexts import Scoped
    from sourcelight.engines.engine.scopes.repository_predicates import Place

_MOST = 64


@dataclass(frozen=True, slots=True)
class Standing:
    """A query's plans over the repositories that its viewer saw; `defaults` are the targets at their default revision.

    It holds for as long as the catalog gives the very same `repositories`.
    """

    query: Query
    repositories: tuple[Repository, ...]
    plans: list[Plan]
    defaults: Collection[Place]
    facts: Mapping[str, RepositoryFacts]


class Standings:
    """Those of the last queries, by viewer. Safe to share between threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, Viewer], Standing] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, query: Query, viewer: Viewer, repositories: tuple[Repository, ...]) -> Standing | None:
        """Give what was kept, if it still holds; queries are told apart as objects, since the parser keeps them."""
        with self._guard:
            found = self._known.get((id(query), viewer))
            if found is None or found.query is not query or found.repositories is not repositories:
                return None
            self._known.move_to_end((id(query), viewer))
            return found

    def keep(self, viewer: Viewer, standing: Standing) -> None:
        """Keep it."""
        with self._guard:
            self._known[id(standing.query), viewer] = standing
            if len(self._known) > _MOST:
                self._known.popitem(last=False)


def stands(scoped: Sequence[Scoped], plans: Sequence[Plan]) -> bool:
    """Whether plans depend on nothing but the list of repositories: on no ref, context, date, file or history."""
    return all(
        item.listed is None
        and not item.context
        and all(isinstance(one, Filter) and one.name != "rev" and one.revs is None for one in item.alternative.filters)
        for item in scoped
    ) and all(plan.commits is None and not plan.places for plan in plans)
