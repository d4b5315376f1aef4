"""Patterns against many short texts that stand one behind the other: messages, distinct lines, paths, people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.snapshot import Ints, Mask


def found_in(pattern: CompiledPattern, raw: memoryview, starts: Ints, stopped: Stopped = never) -> Ints:
    """Numbers of the texts in which a pattern is found, ascending.

    `raw` holds texts with a newline behind each; `starts` has where each begins, and the end. Raises `Halted`.
    """
    count = len(starts) - 1
    if count <= 0:
        return np.zeros(0, np.int64)
    if pattern.matches_empty or pattern.multi_line:
        return np.flatnonzero(pattern.match_many(raw, starts[:-1], starts[1:] - 1, stopped))
    offsets = pattern.lines(raw, np.array([[0, len(raw)]]), stopped)
    texts = distinct(np.searchsorted(starts, offsets, side="right") - 1)
    if pattern.exact or not len(texts):
        return texts
    which, _, _ = pattern.spans(raw, starts[texts], starts[texts + 1] - 1, stopped)
    return texts[distinct(which)]


def counted_in(pattern: CompiledPattern, raw: memoryview, starts: Ints, stopped: Stopped = never) -> tuple[Ints, Ints]:
    """Numbers of the texts in which a pattern is found, ascending, and how often; empty matches don't count."""
    if pattern.exact and not pattern.multi_line and len(starts) > 1:
        offsets = pattern.lines(raw, np.array([[0, len(raw)]]), stopped)
        texts = np.searchsorted(starts, offsets, side="right") - 1
        first = np.flatnonzero(texts[1:] != texts[:-1]) + 1
        first = np.concatenate((np.zeros(min(1, len(texts)), np.int64), first))
        return texts[first], np.diff(first, append=len(texts))
    texts = found_in(pattern, raw, starts, stopped)
    at, _, _ = pattern.spans(raw, starts[texts], starts[texts + 1] - 1, stopped)
    return texts, np.bincount(at, minlength=len(texts))


def distinct(ascending: Ints) -> Ints:
    """Drop repeated numbers."""
    if len(ascending) < 2:
        return ascending
    return ascending[np.concatenate(([True], ascending[1:] != ascending[:-1]))]


def joined(items: Iterable[bytes]) -> tuple[memoryview, Ints]:
    """Put texts one behind the other, as `found_in` wants them; newlines in them become spaces."""
    cleaned = [item.replace(b"\n", b" ") for item in items]
    starts = np.cumsum([0, *(len(item) + 1 for item in cleaned)])
    return memoryview(b"".join(item + b"\n" for item in cleaned)), starts


def with_newlines(items: Iterable[bytes]) -> dict[int, bytes]:
    """Give the texts that `joined` changes, by number: each is matched by itself, as it is."""
    return {at: item for at, item in enumerate(items) if b"\n" in item}


def any_of(patterns: Sequence[CompiledPattern], raw: memoryview, starts: Ints, stopped: Stopped = never) -> Mask:
    """Tell for each text whether one of the patterns is found in it."""
    mask: NDArray[np.bool_] = np.zeros(max(0, len(starts) - 1), np.bool_)
    for pattern in patterns:
        mask[found_in(pattern, raw, starts, stopped)] = True
    return mask
