"""Opening deep search over a state file, as the operator or the environment chose it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.conversations import Desk
    from sourcelight.repos.state import State


def open_desk(state: State, *, sharing: bool = True) -> Desk:
    """Deep search whose conversations are kept in `state`; what a dead process left running is marked as interrupted.

    Parameters
    ----------
    state
        Accounts and conversations.
    sharing
        Whether conversations can be shared by link.
    """
    from sourcelight.engines.deepsearch.conversations import Desk

    return Desk(state, sharing=sharing)
