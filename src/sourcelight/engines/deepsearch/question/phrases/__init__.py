"""Phrases that narrow a question: texts, paths, people, messages and revisions.

By now, quoted texts, names, paths and languages are marks such as ``⟨Q0⟩``, ``⟨N1⟩``, ``⟨P2⟩`` and ``⟨G3⟩``. A phrase
is taken out of the text, so that the remaining words can be named as not applied. Start at `terms`.
"""

from sourcelight.engines.deepsearch.question.phrases.commits import (
    take_authors,
    take_changed_text,
    take_messages,
    take_range,
)
from sourcelight.engines.deepsearch.question.phrases.paths import AT_TOP, take_entry, take_paths, take_rename
from sourcelight.engines.deepsearch.question.phrases.terms import (
    CALL,
    DET,
    LACKING,
    MARKED_OR_PATHS,
    TERMS,
    VERBS_OF_CONTENT,
    is_every,
    read_terms,
    terms_of,
)

__all__ = [
    "AT_TOP",
    "CALL",
    "DET",
    "LACKING",
    "MARKED_OR_PATHS",
    "TERMS",
    "VERBS_OF_CONTENT",
    "is_every",
    "read_terms",
    "take_authors",
    "take_changed_text",
    "take_entry",
    "take_messages",
    "take_paths",
    "take_range",
    "take_rename",
    "terms_of",
]
