"""Counting by people, periods, folders: numbers in, groups out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.errors import CallError

Numbers = NDArray[np.int64]
PERIODS = ("day", "week", "month", "quarter", "year")
_DAY_S = 86_400


def periods(seconds: Any, period: str) -> tuple[Numbers, Numbers]:
    """Start and end of the period of each instant, in seconds since 1970, UTC; a week begins on Monday."""
    times = np.asarray(seconds, np.int64)
    if period in {"day", "week"}:
        days = times // _DAY_S
        if period == "week":
            days = (days + 3) // 7 * 7 - 3  # 1970 began on a Thursday
        return days * _DAY_S, (days + (7 if period == "week" else 1)) * _DAY_S
    months = times.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    length = {"month": 1, "quarter": 3, "year": 12}[period]
    first = months // length * length
    return _seconds(first), _seconds(first + length)


def _seconds(months: Numbers) -> Numbers:
    return months.astype("datetime64[M]").astype("datetime64[s]").astype(np.int64)


def period_of(call: str, by: Sequence[str]) -> str | None:
    """The period that `by` names; raises `CallError` when it names two."""
    named = [name for name in by if name in PERIODS]
    if len(named) > 1:
        raise CallError(f"{call}: by names two periods, {' and '.join(named)}", call=call, argument="by")
    return named[0] if named else None


def group(keys: Sequence[Numbers]) -> tuple[Numbers, list[Numbers]]:
    """Number the distinct combinations of keys; gives the number of each row, and the keys of each number, sorted."""
    codes = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        values, places = np.unique(key, return_inverse=True)
        codes = codes * max(1, len(values)) + places
        _, codes = np.unique(codes, return_inverse=True)
    first = np.full(int(codes.max()) + 1 if len(codes) else 0, -1, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return codes, [np.asarray(key)[first] for key in keys]


def total(codes: Numbers, weights: Any, groups: int) -> Numbers:
    """Sum of weights in each group."""
    return np.bincount(codes, np.asarray(weights, np.float64), groups).round().astype(np.int64)


def bounds(codes: Numbers, values: Any, groups: int) -> tuple[Numbers, Numbers]:
    """Least and greatest value of each group; there is one in each."""
    low = np.full(groups, np.iinfo(np.int64).max)
    high = np.full(groups, np.iinfo(np.int64).min)
    np.minimum.at(low, codes, values)
    np.maximum.at(high, codes, values)
    return low, high


def count_distinct(codes: Numbers, values: Numbers, groups: int) -> Numbers:
    """How many distinct values each group has; values are not negative."""
    if not len(codes):
        return np.zeros(groups, np.int64)
    width = int(values.max()) + 1
    pairs = np.sort(codes * width + values)
    first = np.concatenate(([True], pairs[1:] != pairs[:-1]))
    return np.bincount(pairs[first] // width, minlength=groups).astype(np.int64)
