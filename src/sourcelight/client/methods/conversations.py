"""Methods about deep search conversations."""

from __future__ import annotations


class ConversationMethods:
    """Awaited methods about conversations."""


class BlockingConversationMethods:
    """Their twins."""
