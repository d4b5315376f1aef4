"""Conversations: questions and answers in `state.sqlite`, answered one at a time and shared by link.

How a question is answered is the matter of `research` and `llm`; pages and HTTP live in the server. Start with
`service.ConversationService`, which tools, clients and pages use and which decides who may read what.
"""

from sourcelight.engines.deepsearch.conversations.records import ConversationRecord, QuestionEvent
from sourcelight.engines.deepsearch.conversations.service import ConversationService

__all__ = ["ConversationRecord", "ConversationService", "QuestionEvent"]
