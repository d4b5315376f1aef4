"""Methods about history."""

from __future__ import annotations


class HistoryMethods:
    """Awaited methods about history."""


class BlockingHistoryMethods:
    """Their twins."""
