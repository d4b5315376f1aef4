"""A service over HTTP as a backend: its stream endpoint, its MCP tools and its conversations API.

Engines and DataFrames live elsewhere. Only this room imports httpx2, and a credential stays in a `Secret` until it
becomes a header. Start with `backend`, then `transport`.
"""

from sourcelight.backends.remote.backend import RemoteBackend
from sourcelight.backends.remote.endpoint import Endpoint, Secret, resolve_endpoint

__all__ = ["Endpoint", "RemoteBackend", "Secret", "resolve_endpoint"]
