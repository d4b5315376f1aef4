"""Conversations: questions and answers kept in `state.sqlite`, worked on one at a time, shared by link.

`ConversationService` is what tools, clients and pages use; it decides who may read what.
"""

from sourcelight.engines.deepsearch.conversations.records import (
    ConversationRecord,
    QuestionEvent,
    QuestionRecord,
    VisibleQuestion,
)
from sourcelight.engines.deepsearch.conversations.service import ConversationService

__all__ = ["ConversationRecord", "ConversationService", "QuestionEvent", "QuestionRecord", "VisibleQuestion"]
