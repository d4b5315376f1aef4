"""Frames that differ in anything are told apart, though most columns aren't compared by pandas."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from equal_frames import assert_frame_equal


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "text": pd.array(["a", None], dtype="string[pyarrow]"),
            "kind": pd.Categorical(["b", "a"], categories=["a", "b"]),
            "when": pd.to_datetime(["2024-01-01", "2024-01-02"], utc=True),
            "count": [1, 2],
            "share": [0.5, float("nan")],
            "lines": [[1], [2, 3]],
            "maybe": pd.array([True, None], dtype="boolean"),
        }
    )


@pytest.mark.parametrize("options", [{}, {"check_categorical": False}, {"check_dtype": False, "check_exact": True}])
def test_equal_frames_are_equal(options: dict[str, bool]) -> None:
    assert_frame_equal(frame(), frame(), **options)
    assert_frame_equal(frame().iloc[:0], frame().iloc[:0], **options)


DIFFERENCES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "a text": lambda it: it.assign(text=pd.array(["a", "b"], dtype="string[pyarrow]")),
    "the type of texts": lambda it: it.assign(text=it["text"].astype(object)),
    "a category": lambda it: it.assign(kind=pd.Categorical(["b", "b"], categories=["a", "b"])),
    "an unused category": lambda it: it.assign(kind=it["kind"].cat.add_categories("c")),
    "the order of categories": lambda it: it.assign(kind=it["kind"].cat.reorder_categories(["b", "a"])),
    "ordered categories": lambda it: it.assign(kind=it["kind"].cat.as_ordered()),
    "a zone": lambda it: it.assign(when=it["when"].dt.tz_localize(None)),
    "a unit": lambda it: it.assign(when=it["when"].dt.as_unit("s" if it["when"].dt.unit != "s" else "ns")),
    "the size of numbers": lambda it: it.assign(count=it["count"].astype("int32")),
    "a number": lambda it: it.assign(count=[1, 3]),
    "a fraction": lambda it: it.assign(share=[0.5, 0.5]),
    "a list": lambda it: it.assign(lines=pd.Series([[1], [2]], dtype=object)),
    "a null": lambda it: it.assign(maybe=pd.array([True, False], dtype="boolean")),
    "a name": lambda it: it.rename(columns={"count": "counts"}),
    "the order of columns": lambda it: it[list(it.columns[::-1])],
    "a column": lambda it: it.drop(columns="lines"),
    "a row": lambda it: it.iloc[:1],
    "the index": lambda it: it.set_index(pd.Index([1, 2])),
    "the name of the index": lambda it: it.rename_axis("number"),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_frames_that_differ_in_anything_are_not(difference: str) -> None:
    with pytest.raises(AssertionError):
        assert_frame_equal(frame(), DIFFERENCES[difference](frame()))
