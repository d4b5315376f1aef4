"""Whom a frame asks, and asking under a bar."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from sourcelight.client import AsyncClient, Backend
from sourcelight.client import Client as BlockingClient
from sourcelight.client.portal import call
from sourcelight.client.progress import painting
from sourcelight.client.provenance import backend_of
from sourcelight.core.batches.results import Answer, CallObserver
from sourcelight.display.notebook import CallState, ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame

Client = BlockingClient | AsyncClient
_SHOWN_AFTER_S = 0.5


def backend_for(frame: DataFrame, client: Client | None) -> Backend:
    """What answers for a frame: that of `client`, or what the frame came from.

    Raises
    ------
    NoClient
        When that is not open any more.
    """
    return client.backend if client is not None else backend_of(frame.attrs)


def asked(
    title: str, work: Callable[[CallObserver], Awaitable[DataFrame]], rows: int, progress: ProgressChoice
) -> DataFrame:
    """What `work` gives, with a bar drawn meanwhile; blocks, inside a running event loop too."""
    return call(_watched, title, work, rows, progress)


async def _watched(
    title: str, work: Callable[[CallObserver], Awaitable[DataFrame]], rows: int, progress: ProgressChoice
) -> DataFrame:
    state = CallState(title)
    async with painting(state, progress, after_s=_SHOWN_AFTER_S):
        try:
            frame = await work(state.update)
        except BaseException as fault:
            if isinstance(fault, Exception):
                state.fail(str(fault))
            state.interrupt()
            raise
        notices = tuple(frame.attrs.get("notices", ()))
        state.finish(Answer("", _Counted(rows), {}, not notices, notices))
    return frame


class _Counted:
    """As many rows as a bar counts."""

    def __init__(self, rows: int) -> None:
        self.num_rows: Any = rows
