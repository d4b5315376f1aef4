"""Recordings of services: streams, tool calls, JSON responses and errors in a file, and their replay.

`HttpTransport` and `McpSession` send each request through the `Route` of the moment: live, recorded or replayed.
Searches of this process are not recorded. A file has no header and no credential: secrets in responses are replaced.
Start with `routes`, then `tapes`.
"""

from sourcelight.backends.remote.recording.routes import LIVE, Route
from sourcelight.backends.remote.recording.tapes import Recording, record, replay, replayed_endpoint, replaying, route

__all__ = ["LIVE", "Recording", "Route", "record", "replay", "replayed_endpoint", "replaying", "route"]
