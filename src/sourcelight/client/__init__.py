"""The notebook's way in: blocking and awaiting clients over any backend, and the results they give.

All logic is written once, in `client` and `methods`; `blocking` is one line per method over `portal`. Engines are
reached only through a backend, and everything that is drawn is drawn by the thread that called.
"""

from sourcelight.client.blocking import Client
from sourcelight.client.client import AsyncClient
from sourcelight.client.conversation import DeepSearchAnswer
from sourcelight.client.factory import (
    aopen,
    aopen_cluster,
    open,  # noqa: A004 - users write sourcelight.open
    open_cluster,
    verify,
)
from sourcelight.client.progress import IncompleteCountWarning, IncompleteResultWarning
from sourcelight.client.search.explanation import QueryExplanation
from sourcelight.client.search.result import Export, SearchResult
from sourcelight.client.search.search_many import ManyResult
from sourcelight.client.services import aconnect, afederate, asign_out, connect, federate, sign_out
from sourcelight.core.backend import Backend, Features

__all__ = [
    "AsyncClient",
    "Backend",
    "Client",
    "DeepSearchAnswer",
    "Export",
    "Features",
    "IncompleteCountWarning",
    "IncompleteResultWarning",
    "ManyResult",
    "QueryExplanation",
    "SearchResult",
    "aconnect",
    "afederate",
    "aopen",
    "aopen_cluster",
    "asign_out",
    "connect",
    "federate",
    "open",
    "open_cluster",
    "sign_out",
    "verify",
]
