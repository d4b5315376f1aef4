"""Frames of answers to tool calls and analyses."""

from __future__ import annotations

from typing import Any

from sourcelight.core.batches.answers import Answer
from sourcelight.core.batches.tables import TABLES
from sourcelight.display.frames.tables import to_pandas


def answer_frame(answer: Answer) -> Any:
    """DataFrame of an answer; its `attrs` have the attributes, ``status`` and ``notices``."""
    attrs = {
        **answer.attributes,
        "status": "complete" if answer.complete else "limited",
        "notices": list(answer.notices),
    }
    return to_pandas(answer.table, TABLES[answer.columns], attrs)
