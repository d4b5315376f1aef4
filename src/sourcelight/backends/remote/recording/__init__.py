"""What services say, kept in a file and said again without them: streams as they came, tool calls, answers, faults.

The two ways to a service, `Connection` and `ToolEndpoint`, ask `tape` whether one runs. Nothing of a request is kept
but what was asked: no header, so no credential; of an answer, its bytes or its value, with credentials blotted out.
"""

from sourcelight.backends.remote.recording.tapes import Recording, record, replay, replayed_endpoint, replaying, tape

__all__ = ["Recording", "record", "replay", "replayed_endpoint", "replaying", "tape"]
