"""Engines of this process as a backend: repositories, index and engine behind the client's `Backend` protocol.

It opens what the engines need and runs their work off the event loop; query logic is in `engines`. Start with
`backend`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.backends.embedded.backend import EmbeddedBackend, open_engine
    from sourcelight.backends.embedded.factory import cache_home, data_home, index_folder, mirrors_folder

__all__ = ["EmbeddedBackend", "cache_home", "data_home", "index_folder", "mirrors_folder", "open_engine"]


def __getattr__(name: str) -> object:
    # Loaded on first use: who needs only a directory must not load engines.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "backend" if name in {"EmbeddedBackend", "open_engine"} else "factory"
    return getattr(import_module(f"{__name__}.{module}"), name)
