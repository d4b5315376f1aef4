"""Dollar signs of code stay dollar signs."""

from __future__ import annotations

from typing import Any

from sourcelight.display.frames.tables import matches_table, to_pandas


def test_a_frame_tells_the_front_end_not_to_typeset_code() -> None:
    frame: Any = to_pandas(matches_table([]))
    assert "tex2jax_ignore" in frame._repr_html_()
