"""The backend that asks a service over HTTP: the stream endpoint and the MCP tools of any compatible service.

httpx stands here and nowhere else. Credentials stay inside `Secret` until the moment a header is written.
"""

from sourcelight.backends.remote.backend import RemoteBackend
from sourcelight.backends.remote.endpoint import Endpoint, Secret, resolve_endpoint

__all__ = ["Endpoint", "RemoteBackend", "Secret", "resolve_endpoint"]
