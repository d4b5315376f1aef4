"""Researchers turn a question into a draft, whose citations are then checked.

The extractive researcher needs no model; the one with a model lives in `llm` and is loaded only if it is configured.
Start with `protocol`, then `extractive`.
"""

from typing import TYPE_CHECKING

from sourcelight.engines.deepsearch.evidence.pins import PreviousTurn
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.protocol import Draft, ResearchBudget, Researcher

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.research.extractive import ExtractiveResearcher

__all__ = [
    "Draft",
    "Emit",
    "ExtractiveResearcher",
    "PreviousTurn",
    "ResearchBudget",
    "ResearchEvent",
    "ResearchRequest",
    "Researcher",
]


def __getattr__(name: str) -> object:
    if name == "ExtractiveResearcher":  # loaded with the first question, with all that it looks up
        from sourcelight.engines.deepsearch.research.extractive import ExtractiveResearcher

        return ExtractiveResearcher
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
