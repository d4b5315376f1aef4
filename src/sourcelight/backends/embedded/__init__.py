"""Engines of this process as a backend: repositories, index and engine behind the client's `Backend` protocol.

It opens what the engines need and runs their work off the event loop; query logic is in `engines`. Start with
`backend`.
"""

from sourcelight.backends.embedded.backend import EmbeddedBackend, open_engine
from sourcelight.backends.embedded.factory import cache_home, data_home, index_folder, mirrors_folder

__all__ = ["EmbeddedBackend", "cache_home", "data_home", "index_folder", "mirrors_folder", "open_engine"]
