"""The notebook's way in: blocking and awaiting clients over any backend, and the results they give.

All logic is written once, in `aio` and `methods`; `blocking` is one line per method over `portal`. Engines are reached
only through a backend, and everything that is drawn is drawn by the thread that called.
"""

from sourcelight.client.aio import AsyncClient
from sourcelight.client.backend import Backend
from sourcelight.client.blocking import Client
from sourcelight.client.conversation import DeepSearchAnswer
from sourcelight.client.explained import QueryExplanation
from sourcelight.client.incomplete import IncompleteAnswer, IncompleteCount
from sourcelight.client.many import ManyResult
from sourcelight.client.opening import (
    aconnect,
    afederate,
    aopen,
    asign_out,
    connect,
    federate,
    open,  # noqa: A004 - users write sourcelight.open
    sign_out,
)
from sourcelight.client.result import Export, SearchResult

__all__ = [
    "AsyncClient",
    "Backend",
    "Client",
    "DeepSearchAnswer",
    "Export",
    "IncompleteAnswer",
    "IncompleteCount",
    "ManyResult",
    "QueryExplanation",
    "SearchResult",
    "aconnect",
    "afederate",
    "aopen",
    "asign_out",
    "connect",
    "federate",
    "open",
    "sign_out",
]
