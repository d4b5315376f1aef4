"""Conversations: questions and answers kept in `state.sqlite`, worked on one at a time, shared by link.

`Desk` is what tools, clients and pages use; it decides who may read what.
"""

from sourcelight.engines.deepsearch.conversations.records import Conversation, Event, Question, Shown
from sourcelight.engines.deepsearch.conversations.service import Desk

__all__ = ["Conversation", "Desk", "Event", "Question", "Shown"]
