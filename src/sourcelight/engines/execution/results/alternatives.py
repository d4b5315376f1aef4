"""The ``count:`` of each alternative of a query, where alternatives have several.

`CountLimits` cuts rows where the rows of all repositories are known. A worker of a cluster knows those of its own
repositories only: there, `AlternativeNumbers` adds the alternative of each row, and the coordinator cuts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.rows import MatchRows, first_matches, match_count
from sourcelight.core.query import Alternative, Filter
from sourcelight.core.query.fields import COUNT_RANKED

ALTERNATIVE = "alternative"
"""Column of the number of the alternative that found a row, in rows of `AlternativeNumbers`."""


class CountPolicy(Protocol):
    """The processing of the rows of each alternative."""

    @property
    def capped(self) -> int:
        """The largest ``count:`` that was reached; 0: none."""
        ...

    @property
    def has_limits(self) -> bool:
        """Whether an alternative may end before the others."""
        ...

    @property
    def is_separate(self) -> bool:
        """Whether the rows of alternatives stay separate: a row that two of them match appears twice."""
        ...

    def within(self, alternative: Alternative, batches: Iterable[Any]) -> Iterable[Any]:
        """Return the rows of an alternative that continue."""
        ...


class CountLimits:
    """Cuts the rows of each alternative at its ``count:``.

    Parameters
    ----------
    alternatives
        Of the query, in its order.
    """

    def __init__(self, alternatives: Sequence[Alternative]) -> None:
        self._remaining = own_counts(alternatives)
        self.capped = 0

    @property
    def has_limits(self) -> bool:
        """Whether alternatives have counts of their own."""
        return bool(self._remaining)

    @property
    def is_separate(self) -> bool:
        """False: a file that several alternatives find is one file."""
        return False

    def within(self, alternative: Alternative, batches: Iterable[Any]) -> Iterable[Any]:
        """Return as much of an alternative's rows as its ``count:`` allows."""
        # The filter node and not its value: ``(a count:5) or (b count:5)`` has two counts, ``(a or b) count:5`` shares
        # one node.
        node = alternative.first("count")
        if node is None or id(node) not in self._remaining:
            return batches
        return self._limit(node, batches)

    def _limit(self, node: Filter, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            remaining = self._remaining[id(node)]
            if remaining > 0:
                limited = first_matches(batch, remaining)
                self._remaining[id(node)] = remaining - match_count(limited)
                yield limited
            if self._remaining[id(node)] <= 0:
                self.capped = max(self.capped, int(node.value))
                return


class AlternativeNumbers:
    """Adds the column `ALTERNATIVE` to rows, for a coordinator that cuts them; as many as all counts may leave.

    Parameters
    ----------
    alternatives
        Of the query, in its order.
    """

    capped = 0
    has_limits = True
    is_separate = True

    def __init__(self, alternatives: Sequence[Alternative]) -> None:
        self._alternatives = alternatives
        self._counts = own_counts(alternatives)

    def within(self, alternative: Alternative, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield rows with the number of their alternative."""
        # By identity: two alternatives may be equal and still have counts of their own.
        number = next(i for i, other in enumerate(self._alternatives) if other is alternative)
        bounded = id(alternative.first("count")) in self._counts

        # Not its own count alone: rows that another alternative gives first take nothing of it.
        remaining = sum(self._counts.values()) if bounded else sys.maxsize
        for batch in filter(len, batches):
            # Rows of repositories aren't cut here: they are few, and the coordinator cuts them.
            limited = batch if MatchRows(batch).first("type") == "repo" else first_matches(batch, remaining)
            remaining -= match_count(limited)
            if limited.num_rows:
                yield limited.append_column(ALTERNATIVE, pa.array(np.full(limited.num_rows, number, dtype=np.int32)))
            if remaining <= 0:
                return


def numbers_or_limits(alternatives: Sequence[Alternative]) -> CountPolicy:
    """Return the policy of a worker of a cluster: rows are numbered if alternatives have counts of their own."""
    if own_counts(alternatives):
        return AlternativeNumbers(alternatives)
    return CountLimits(alternatives)


def own_counts(alternatives: Sequence[Alternative]) -> dict[int, int]:
    """Return the limit of each alternative's ``count:``, by the filter's identity; empty if all share one."""
    counts = [alternative.first("count") for alternative in alternatives]
    limits = {id(node): int(node.value) for node in counts if node is not None and int(node.value) < COUNT_RANKED}
    return limits if len({id(node) for node in counts}) > 1 else {}
