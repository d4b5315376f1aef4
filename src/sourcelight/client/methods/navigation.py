"""Methods about navigation."""

from __future__ import annotations


class NavigationMethods:
    """Awaited methods about navigation."""


class BlockingNavigationMethods:
    """Their twins."""
