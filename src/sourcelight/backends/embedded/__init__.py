"""The service inside this process: repositories, index and engine behind the client's `Backend` protocol.

No query logic lives here; it only opens what the engines need and moves their work off the event loop.
"""

from sourcelight.backends.embedded.backend import EmbeddedBackend, open_engine
from sourcelight.backends.embedded.factory import cache_home, data_home, index_folder, mirrors_folder

__all__ = ["EmbeddedBackend", "cache_home", "data_home", "index_folder", "mirrors_folder", "open_engine"]
