"""Researchers turn a question into a draft, whose citations are then checked.

The extractive researcher needs no model; the one with a model lives in `llm` and is loaded only if it is configured.
Start with `protocol`, then `extractive`.
"""

from sourcelight.engines.deepsearch.evidence.pins import PreviousTurn
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.deepsearch.research.extractive import ExtractiveResearcher
from sourcelight.engines.deepsearch.research.protocol import Draft, ResearchBudget, Researcher

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
