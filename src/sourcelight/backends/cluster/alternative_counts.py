"""Apply the ``count:`` of each alternative of a query to rows of all workers.

A worker knows its own matches, but not those of workers with earlier repositories. So it sends the rows of each
alternative separately, at most as many as its count allows. This module truncates and unites them as one machine does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.rows import MatchRows, boundaries, first_matches, match_count
from sourcelight.core.query import Alternative
from sourcelight.engines.execution.results.alternatives import ALTERNATIVE, own_counts
from sourcelight.engines.execution.results.ranking import SCORE
from sourcelight.engines.execution.results.union import unite

_FILE = "file"
_UNSHARED_TYPES = frozenset({"repo", "commit", "diff"})
"""Types of rows that are never united; rows of all other types are rows of files."""

_RowKey: TypeAlias = tuple[str | None, ...]
"""Type, repository, and revision or commit of a row that isn't of a file."""


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
        self._yielded_keys: set[_RowKey] = set()
        self.capped = 0

    @property
    def any(self) -> bool:
        """Whether alternatives have their own counts, so that workers send their rows separately."""
        return bool(self._remaining)

    def apply(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the part of `batches` within the counts; they arrive by repository and revision, in worker order."""
        group: _RowGroup | None = None
        pending: list[pa.RecordBatch] = []
        for batch in batches:
            for run in _runs(batch):
                # Rows wait until all of their group are here: a later alternative may match the same files.
                run_group = _RowGroup.of(run)
                if group is not None and run_group != group:
                    yield from self._unite(pending, group.kind)
                    pending = []

                group = run_group
                pending.append(run)

        if group is not None:
            yield from self._unite(pending, group.kind)

    def _unite(self, runs: list[pa.RecordBatch], kind: str) -> Iterator[pa.RecordBatch]:
        """Merge the rows of one repository at one revision: each alternative within its count, duplicate files once."""
        # Workers mark rows with the number of their alternative, and the mark is removed before rows leave the cluster.
        by_alternative: dict[int, list[pa.RecordBatch]] = defaultdict(list)
        for run in runs:
            index = run.schema.get_field_index(ALTERNATIVE)
            number = run.column(index)[0].as_py()
            by_alternative[number].append(run.remove_column(index))

        allowed = [list(self._limit(number, by_alternative[number], kind)) for number in sorted(by_alternative)]
        if kind != _FILE:
            for alternative_batches in allowed:
                yield from alternative_batches
            return

        # Uniting knows nothing of scores, so they are put aside, and each file gets its best one back.
        scores = _best_scores(allowed)
        for batch in unite([_without_scores(alternative_batches) for alternative_batches in allowed]):
            yield _with_scores(batch, scores)

    def _limit(self, number: int, batches: list[pa.RecordBatch], kind: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one alternative within its count, without those that earlier alternatives yielded."""
        keys: list[_RowKey] = []
        for batch in batches:
            new_rows = batch
            # A repository or a commit that several alternatives find counts for the first of them.
            if kind != _FILE:
                new_rows = self._without_yielded(batch)
                if not new_rows.num_rows:
                    continue

            # Also repositories that the count leaves out, as on one machine.
            if kind == "repo":
                self._yielded_keys.update(_keys(new_rows))

            allowed = self._count(number, new_rows)
            if allowed.num_rows:
                if kind in {"commit", "diff"}:
                    keys += _keys(allowed)
                yield allowed

        self._yielded_keys.update(keys)

    def _count(self, number: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows within what remains of an alternative's count, and subtract their matches from it."""
        # Alternatives that share their ``count:`` share its node, and what remains of it.
        node = self._alternatives[number].first("count")
        if node is None or id(node) not in self._remaining:
            return batch

        allowed = first_matches(batch, self._remaining[id(node)])
        self._remaining[id(node)] -= match_count(allowed)
        if batch.num_rows and self._remaining[id(node)] <= 0:
            self.capped = max(self.capped, int(node.value))

        return allowed

    def _without_yielded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        is_new = [key not in self._yielded_keys for key in _keys(batch)]
        return batch.filter(pa.array(is_new, pa.bool_()))


@dataclass(frozen=True, slots=True)
class _RowGroup:
    """The values that rows must share to be united: `kind` is ``file``, or a type of `_UNSHARED_TYPES`."""

    kind: str
    repository: str
    revision: str

    @classmethod
    def of(cls, run: pa.RecordBatch) -> _RowGroup:
        rows = MatchRows(run)
        row_type = rows.first("type")
        kind = row_type if row_type in _UNSHARED_TYPES else _FILE
        return cls(kind, rows.first("repository"), rows.first("revision"))


def _runs(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch where the repository, the revision or the alternative changes, or files begin."""
    if not batch.num_rows:
        return
    rows = MatchRows(batch)
    numbers = batch.column(batch.schema.get_field_index(ALTERNATIVE)).to_numpy()
    is_unshared = np.array([row_type in _UNSHARED_TYPES for row_type in rows.texts("type")])
    for start, end in boundaries(len(rows), [rows.codes("repository"), rows.codes("revision"), is_unshared, numbers]):
        yield batch.slice(start, end - start)


def _keys(batch: pa.RecordBatch) -> list[_RowKey]:
    """Return the keys that distinguish rows of repositories, and rows of commits."""
    rows = MatchRows(batch)
    column = "revision" if rows.first("type") == "repo" else "commit"
    return list(zip(rows.texts("type"), rows.texts("repository"), rows.texts(column), strict=True))


def _best_scores(alternatives: list[list[pa.RecordBatch]]) -> dict[str | None, float]:
    """Return the score of each path: its best match in any alternative."""
    best: dict[str | None, float] = {}
    for batches in alternatives:
        for batch in batches:
            rows = MatchRows(batch)
            if SCORE not in rows:
                continue
            for path, score in zip(rows.texts("path"), rows.column(SCORE).to_pylist(), strict=True):
                best[path] = max(best.get(path, score), score)

    return best


def _without_scores(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    without = []
    for batch in batches:
        index = batch.schema.get_field_index(SCORE)
        without.append(batch if index < 0 else batch.remove_column(index))
    return without


def _with_scores(batch: pa.RecordBatch, scores: dict[str | None, float]) -> pa.RecordBatch:
    if not scores:
        return batch
    file_scores = [scores[path] for path in MatchRows(batch).texts("path")]
    return batch.append_column(SCORE, pa.array(file_scores))
