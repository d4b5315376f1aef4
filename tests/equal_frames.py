"""Frames that nearly always are equal, compared as pandas does, but sooner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd


def assert_frame_equal(left: pd.DataFrame, right: pd.DataFrame, **options: Any) -> None:
    """Compare frames as `pandas.testing.assert_frame_equal` does.

    That takes .7 ms of a core for each column, and took a sixteenth of the time of all tests. Columns with the same
    types and values are equal by any options; pandas compares all others, and frames that differ in shape or labels.
    """
    if isinstance(left, pd.DataFrame) and type(left) is type(right) and _have_same_labels(left, right):
        pairs = zip(_arrays(left), _arrays(right), strict=True)
        columns = [number for number, arrays in enumerate(pairs) if not _are_identical(*arrays)]
        if not columns:
            return
        left, right = left.iloc[:, columns], right.iloc[:, columns]
    pd.testing.assert_frame_equal(left, right, **options)


def assert_same_table(actual: pd.DataFrame, frame: pd.DataFrame) -> None:
    """Assert that a frame that was read from a file or another library has the values and the dtypes of the first."""
    assert [str(dtype) for dtype in actual.dtypes] == [str(dtype) for dtype in frame.dtypes]
    # pandas reads no categories as objects, whatever they were: only their dtype differs then.
    is_full = all(len(frame[name].cat.categories) for name in frame.select_dtypes("category"))
    assert_frame_equal(actual, frame, check_index_type=True, check_categorical=is_full)


def _arrays(frame: Any) -> Iterator[Any]:
    return (series.array for _, series in frame.items())


def _have_same_labels(left: pd.DataFrame, right: pd.DataFrame) -> bool:
    return left.flags == right.flags and all(
        not isinstance(first, pd.MultiIndex) and type(first) is type(second) and first.identical(second)
        for first, second in ((left.index, right.index), (left.columns, right.columns))
    )


def _are_identical(left: Any, right: Any) -> bool:
    """Return whether two arrays have the same type and values; False also where that takes long to say."""
    if type(left) is not type(right):
        return False
    if isinstance(left, pd.Categorical):
        return (
            left.ordered == right.ordered
            and type(left.categories) is type(right.categories)
            and left.categories.identical(right.categories)
            and np.array_equal(left.codes, right.codes)
        )
    if left.dtype != right.dtype or left.dtype == object:
        return False  # objects may be equal to others of another type
    if isinstance(left, pd.arrays.ArrowExtensionArray):  # strings, too
        return bool(left.__arrow_array__().equals(right.__arrow_array__()))
    if isinstance(left, pd.arrays.NumpyExtensionArray):
        return np.array_equal(left.to_numpy(), right.to_numpy())
    return bool(left.equals(right))
