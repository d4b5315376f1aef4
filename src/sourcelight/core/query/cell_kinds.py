"""Kinds of text in the cells of notebooks, and what each value of ``cell:`` looks at."""

from __future__ import annotations

from collections.abc import Mapping

CODE, MARKDOWN, RAW, OUTPUT = "code", "markdown", "raw", "output"

CELL_FILTERS: Mapping[str, frozenset[str]] = {
    CODE: frozenset({CODE}),
    MARKDOWN: frozenset({MARKDOWN}),
    RAW: frozenset({RAW}),
    OUTPUT: frozenset({OUTPUT}),
    "any": frozenset({CODE, MARKDOWN, RAW, OUTPUT}),
}
"""The values of ``cell:``, and the kinds of text that each looks at."""
