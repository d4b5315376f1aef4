"""Read questions: their scope, their intents, and the facts that they ask for.

Nothing is searched or counted here. Start with `scope` (repositories and revisions), then `reading` (facts).
"""

from sourcelight.engines.deepsearch.question.intents import (
    QuestionIntents,
    intents_of,
    is_follow_up,
    key_words,
    with_follow_up,
)
from sourcelight.engines.deepsearch.question.reading import asks_for_facts, read_request
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.question.scope import QuestionScope, RepositoryNames, read_scope

__all__ = [
    "FactRequest",
    "QuestionIntents",
    "QuestionScope",
    "RepositoryNames",
    "asks_for_facts",
    "intents_of",
    "is_follow_up",
    "key_words",
    "read_request",
    "read_scope",
    "with_follow_up",
]
