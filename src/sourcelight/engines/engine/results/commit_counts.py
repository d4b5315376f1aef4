"""Commits that a search has found, counted by author and by age: the filters that it suggests for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.batches.ordering import most_frequent
from sourcelight.core.batches.rows import Rows
from sourcelight.core.query.dates import parse_date
from sourcelight.core.query.fields import present
from sourcelight.core.query.quoting import quote_value
from sourcelight.core.query.regexps import escape_regexp
from sourcelight.core.wire.events import Filter

_AGES = (
    ("after", "yesterday", "Last 24 hours"),
    ("after", "1 week ago", "Last week"),
    ("after", "1 month ago", "Last month"),
    ("before", "2 months ago", "Older than 2 months"),
)


class CommitCounts:
    """Counts commits, each once, while their rows pass; those of one commit must stand together.

    Parameters
    ----------
    now
        Tells the time that ages count from.
    """

    def __init__(self, now: Callable[[], datetime] = present) -> None:
        moment = now()
        self._bounds = [parse_date(text, moment).timestamp() for _, text, _ in _AGES]
        self._by_age = [0] * len(_AGES)
        self._by_author: Counter[str] = Counter()
        self._last = ("", "")

    def add(self, batch: Any) -> None:
        """Count the commits of `batch`."""
        rows = Rows(batch)
        if not len(rows) or "commit_date" not in rows:
            return
        codes = np.stack((rows.codes("repository"), rows.codes("commit")))
        first = np.flatnonzero(np.concatenate(([True], (codes[:, 1:] != codes[:, :-1]).any(axis=0))))
        ends = [(rows.texts("repository", [at])[0] or "", rows.texts("commit", [at])[0] or "") for at in (0, first[-1])]
        if ends[0] == self._last:
            first = first[1:]
        self._last = ends[1]
        at = pa.array(first)
        for author in pc.value_counts(rows.column("author").take(at).cast(pa.string())).to_pylist():
            self._by_author[author["values"] or ""] += author["counts"]
        dates = (
            rows.column("commit_date").take(at).drop_null().cast(pa.timestamp("s", "UTC"), safe=False).cast(pa.int64())
        )
        seconds = np.asarray(dates)
        for number, ((side, _, _), bound) in enumerate(zip(_AGES, self._bounds, strict=True)):
            self._by_age[number] += int((seconds > bound if side == "after" else seconds < bound).sum())

    def filters(self, most: int, *, exhaustive: bool) -> Iterator[Filter]:
        """What narrows the search to one author, or to an age; `most` authors at most."""
        for name, count in most_frequent(self._by_author, most):
            if name:
                yield Filter(f"author:{quote_value(f'^{escape_regexp(name)}$')}", name, count, exhaustive, "author")
        for (side, text, label), count in zip(_AGES, self._by_age, strict=True):
            if count:
                yield Filter(f"{side}:{quote_value(text)}", label, count, exhaustive, "commit date")
