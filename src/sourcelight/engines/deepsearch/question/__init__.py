"""What a question wants: its intents, and whether it asks for a count or a list of everything."""

from sourcelight.engines.deepsearch.question.exhaustive import CountedQuery, counted_query
from sourcelight.engines.deepsearch.question.intents import Intents, intents_of, leans, with_follow_up

__all__ = ["CountedQuery", "Intents", "counted_query", "intents_of", "leans", "with_follow_up"]
