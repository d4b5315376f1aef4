"""Researchers: what turns a question into a draft whose citations are then checked.

The extractive one is always there and needs nothing; the model one is loaded only when it is chosen.
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
