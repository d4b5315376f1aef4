"""The notebook's way in: blocking and awaiting clients over any backend, and the results they give.

All logic is written once, in `client` and `methods`; `blocking` is one line per method over `portal`. Engines are
reached only through a backend, and everything that is drawn is drawn by the thread that called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

_MODULES = {
    **dict.fromkeys(("Client",), "sourcelight.client.blocking"),
    **dict.fromkeys(("AsyncClient",), "sourcelight.client.client"),
    **dict.fromkeys(("DeepSearchAnswer",), "sourcelight.client.conversation"),
    **dict.fromkeys(("aopen", "aopen_cluster", "open", "open_cluster", "verify"), "sourcelight.client.factory"),
    **dict.fromkeys(("IncompleteCountWarning", "IncompleteResultWarning"), "sourcelight.client.progress"),
    **dict.fromkeys(("QueryExplanation",), "sourcelight.client.search.explanation"),
    **dict.fromkeys(("Export", "SearchResult"), "sourcelight.client.search.result"),
    **dict.fromkeys(("ManyResult",), "sourcelight.client.search.search_many"),
    **dict.fromkeys(
        ("aconnect", "afederate", "asign_out", "connect", "federate", "sign_out"), "sourcelight.client.services"
    ),
    **dict.fromkeys(("Backend", "Features"), "sourcelight.core.backend"),
}
"""Module of each name. They load on first use, so that a search doesn't wait for answers of other kinds."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
