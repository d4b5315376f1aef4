"""Stopping a scan in the middle."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Stopped: TypeAlias = Callable[[], bool]
"""Asked about every 10 ms of scanning whether to stop; once True it stays True."""


class Halted(Exception):
    """Raised out of a scan whose caller wants it to stop: what was found so far is not all there is, and not given."""


def never() -> bool:
    """Let a scan run to its end."""
    return False


def check(stopped: Stopped) -> None:
    """Raise `Halted` when it is time to stop."""
    if stopped():
        raise Halted
