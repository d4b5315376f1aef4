"""Searches and counts over many repositories, a corpus of up to 64 of them at a time.

How one corpus is read is the matter of `sourcelight.engines.search.scan`. Start at `loop`.
"""

from sourcelight.engines.search.searcher.loop import MatchCounts, OnNotes, SearchLoop, count, has_match, search
from sourcelight.engines.search.searcher.parts import PendingPart

__all__ = ["MatchCounts", "OnNotes", "PendingPart", "SearchLoop", "count", "has_match", "search"]
