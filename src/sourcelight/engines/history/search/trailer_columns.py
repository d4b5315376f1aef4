"""Columns that are read from the trailers of commit messages."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.people import co_authors
from sourcelight.engines.history.search.lines import matching_texts
from sourcelight.engines.history.search.tables import Column


def co_author_texts(history: History, commits: CommitNumbers) -> Column:
    """Lists of the ``Co-authored-by`` trailers of commits, as ``Name <address>``."""

    def make() -> tuple[Int64Array, Column]:
        counts = np.zeros(len(history.commits), np.int64)
        texts: list[str] = []
        for commit in commits_with_co_authors(history):
            pairs = co_authors(history.message(commit))
            counts[commit] = len(pairs)
            texts += [f"{name} <{email}>" for name, email in pairs]
        return np.concatenate(([0], np.cumsum(counts))), pa.array(texts, pa.string())

    starts, texts = history.remember("co-author texts", make)
    first, counts = starts[commits], starts[commits + 1] - starts[commits]
    offsets = np.zeros(len(commits) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    # The same running number as in `_parent_lists` of `tables`: texts of each commit are one run of the cached array.
    positions = np.arange(int(offsets[-1])) + np.repeat(first - offsets[:-1], counts)
    return pa.ListArray.from_arrays(pa.array(offsets), texts.take(pa.array(positions)))


def commits_with_co_authors(history: History) -> list[int]:
    """Commits whose messages seem to have such trailers, ascending."""
    pattern = compile_pattern("co-authored-by", kind="literal", case_sensitive=False)
    return [
        base + local
        for base, segment in zip(history.bases.commits, history.segments, strict=False)
        for local in matching_texts(
            pattern, segment.bytes_of("messages"), segment["message_starts"].view(np.int64)
        ).tolist()
    ]
