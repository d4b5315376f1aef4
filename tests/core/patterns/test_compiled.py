from __future__ import annotations

import numpy as np
import pytest

from sourcelight.core.errors import PatternError
from sourcelight.core.patterns import compile_pattern


def test_what_re2_refuses_is_a_pattern_error_with_its_reason() -> None:
    with pytest.raises(PatternError, match=r"error parsing regexp: missing \)"):
        compile_pattern("a(", kind="regexp", case_sensitive=True)


def test_spans_are_relative_to_their_line() -> None:
    buffer = b"\nxx foo foo\nfoo\n"
    pattern = compile_pattern("foo", kind="literal", case_sensitive=True)
    rows, starts, ends = pattern.spans(buffer, np.array([1, 12]), np.array([11, 15]))
    assert (rows.tolist(), starts.tolist(), ends.tolist()) == ([0, 0, 1], [3, 7, 0], [6, 10, 3])
