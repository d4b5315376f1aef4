"""Read questions: their scope, their intents, and the facts that they ask for.

Nothing is searched or counted here. Start with `scope` (repositories and revisions), then `reading` (facts).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.question.intents import (
        QuestionIntents,
        intents_of,
        is_follow_up,
        key_words,
        with_follow_up,
    )
    from sourcelight.engines.deepsearch.question.reading import read_request
    from sourcelight.engines.deepsearch.question.scope import RepositoryNames, read_scope

__all__ = [
    "QuestionIntents",
    "RepositoryNames",
    "intents_of",
    "is_follow_up",
    "key_words",
    "read_request",
    "read_scope",
    "with_follow_up",
]


def __getattr__(name: str) -> object:
    # Loaded with the first question: their patterns take a quarter of a second to compile.
    if name in {"RepositoryNames", "read_scope"}:
        from sourcelight.engines.deepsearch.question import scope

        return getattr(scope, name)

    if name == "read_request":
        from sourcelight.engines.deepsearch.question import reading

        return reading.read_request

    if name in __all__:
        from sourcelight.engines.deepsearch.question import intents

        return getattr(intents, name)

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
