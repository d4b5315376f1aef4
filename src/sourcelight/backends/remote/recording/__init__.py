"""Recordings of services: streams, tool calls, JSON responses and errors in a file, and their replay.

`HttpTransport` and `McpSession` ask `tape` whether a recording or a replay runs; searches of this process are not
recorded. A file has no header and no credential: secrets in responses are replaced. Start with `tapes`, then `format`.
"""

from sourcelight.backends.remote.recording.tapes import Recording, record, replay, replayed_endpoint, replaying, tape

__all__ = ["Recording", "record", "replay", "replayed_endpoint", "replaying", "tape"]
