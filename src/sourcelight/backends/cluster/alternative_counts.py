"""Apply the ``count:`` of each alternative of a query to rows of all workers.

A worker knows its own matches, but not those of workers with earlier repositories. So it sends the rows of each
alternative separately, at most as many as its count allows. This module truncates and unites them as one machine does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.rows import MatchRows, boundaries, first_matches, match_count
from sourcelight.core.query import Alternative
from sourcelight.engines.execution.results.alternatives import ALTERNATIVE, own_counts
from sourcelight.engines.execution.results.ranking import SCORE
from sourcelight.engines.execution.results.union import unite


class AlternativeCounts:
    """Truncates rows of several alternatives at the ``count:`` of each.

    Parameters
    ----------
    alternatives
        Of the query, in its order.

    Attributes
    ----------
    capped
        The largest ``count:`` that was reached; 0: none.
    """

    def __init__(self, alternatives: Sequence[Alternative]) -> None:
        self._alternatives = alternatives
        self._remaining = own_counts(alternatives)
        self._yielded_keys: set[tuple[Any, ...]] = set()
        self.capped = 0

    @property
    def any(self) -> bool:
        """Whether alternatives have their own counts, so that workers send their rows separately."""
        return bool(self._remaining)

    def apply(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the part of `batches` within the counts; they arrive by repository and revision, in worker order."""
        last: tuple[Any, ...] = ()
        pending: list[Any] = []
        for batch in batches:
            for run in _runs(batch):
                rows = MatchRows(run)
                # A separate kind for rows that are never united with rows of files.
                kind = rows.first("type") if rows.first("type") in {"repo", "commit", "diff"} else "file"
                group = kind, rows.first("repository"), rows.first("revision")
                if pending and group != last:
                    yield from self._unite(pending, last[0])
                    pending = []
                last = group
                pending.append(run)

        if pending:
            yield from self._unite(pending, last[0])

    def _unite(self, runs: list[Any], kind: str) -> Iterator[Any]:
        """Merge the rows of one repository at one revision: each alternative within its count, duplicate files once."""
        # Workers mark rows with the number of their alternative, and the mark is removed before rows leave the cluster.
        by_alternative: dict[int, list[Any]] = defaultdict(list)
        for run in runs:
            number = run.column(run.schema.get_field_index(ALTERNATIVE))[0].as_py()
            rows = run.remove_column(run.schema.get_field_index(ALTERNATIVE))
            by_alternative[number].append(rows)

        allowed = [list(self._limit(number, by_alternative[number], kind)) for number in sorted(by_alternative)]
        if kind == "file":
            scores = _scores(allowed)
            yield from (_with_scores(batch, scores) for batch in unite([_without_scores(part) for part in allowed]))
        else:
            yield from (batch for part in allowed for batch in part)

    def _limit(self, number: int, batches: list[Any], kind: str) -> Iterator[Any]:
        node = self._alternatives[number].first("count")
        # A repository or a commit that several alternatives find counts for the first of them.
        distinct = batches if kind == "file" else filter(len, map(self._not_given, batches))
        keys: list[tuple[Any, ...]] = []
        for batch in distinct:
            if kind == "repo":
                self._yielded_keys.update(_keys(batch))  # also rows that the count leaves out, as on one machine

            allowed = batch
            if node is not None and id(node) in self._remaining:
                allowed = first_matches(batch, self._remaining[id(node)])
                self._remaining[id(node)] -= match_count(allowed)
                if batch.num_rows and self._remaining[id(node)] <= 0:
                    self.capped = max(self.capped, int(node.value))

            if allowed.num_rows:
                keys += _keys(allowed) if kind in {"commit", "diff"} else []
                yield allowed

        self._yielded_keys.update(keys)

    def _not_given(self, batch: Any) -> Any:
        return batch.filter(pa.array([key not in self._yielded_keys for key in _keys(batch)], pa.bool_()))


def _runs(batch: Any) -> Iterator[Any]:
    """Cut a batch where the repository, the revision or the alternative changes, or files begin."""
    if not batch.num_rows:
        return
    rows = MatchRows(batch)
    numbers = batch.column(batch.schema.get_field_index(ALTERNATIVE)).to_numpy()
    types = np.array([kind in {"repo", "commit", "diff"} for kind in rows.texts("type")])
    for start, end in boundaries(len(rows), [rows.codes("repository"), rows.codes("revision"), types, numbers]):
        yield batch.slice(start, end - start)


def _keys(batch: Any) -> list[tuple[Any, ...]]:
    """Return the keys that distinguish rows of repositories, and rows of commits."""
    rows = MatchRows(batch)
    identity = ("type", "repository", "revision" if rows.first("type") == "repo" else "commit")
    return list(zip(*(rows.texts(name) for name in identity), strict=True))


def _without_scores(batches: list[Any]) -> list[Any]:
    indexes = [batch.schema.get_field_index(SCORE) for batch in batches]
    return [batch if i < 0 else batch.remove_column(i) for batch, i in zip(batches, indexes, strict=True)]


def _scores(parts: list[list[Any]]) -> dict[str | None, float]:
    """Return the score of each path: its best match in any alternative."""
    best: dict[str | None, float] = {}
    for batch in (batch for part in parts for batch in part):
        rows = MatchRows(batch)
        if SCORE in rows:
            for path, score in zip(rows.texts("path"), rows.column(SCORE).to_pylist(), strict=True):
                best[path] = max(best.get(path, score), score)
    return best


def _with_scores(batch: Any, scores: dict[str | None, float]) -> Any:
    if not scores:
        return batch
    return batch.append_column(SCORE, pa.array([scores[path] for path in MatchRows(batch).texts("path")]))
