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
    from sourcelight.client.progress import IncompleteCountWarning, IncompleteResultWarning, RepeatedCommitsWarning
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
    "RepeatedCommitsWarning",
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
    "sourcelight.client.blocking": ("Client",),
    "sourcelight.client.client": ("AsyncClient",),
    "sourcelight.client.conversation": ("DeepSearchAnswer",),
    "sourcelight.client.factory": ("aopen", "aopen_cluster", "open", "open_cluster", "verify"),
    "sourcelight.client.progress": ("IncompleteCountWarning", "IncompleteResultWarning", "RepeatedCommitsWarning"),
    "sourcelight.client.search.explanation": ("QueryExplanation",),
    "sourcelight.client.search.result": ("Export", "SearchResult"),
    "sourcelight.client.search.search_many": ("ManyResult",),
    "sourcelight.client.services": ("aconnect", "afederate", "asign_out", "connect", "federate", "sign_out"),
    "sourcelight.core.backend": ("Backend", "Features"),
}
"""The public names of each module."""


def __getattr__(name: str) -> object:
    # Loaded on first use, so that a search doesn't wait for answers of other kinds.
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
