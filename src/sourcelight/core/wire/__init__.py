"""The stream protocol: its events as values, their bytes, and the request that asks for them.

Nothing here opens a connection, and nothing knows record batches: `sourcelight.core.batches` has the fast way between
``matches`` events and batches. Start with `events`.
"""

from sourcelight.core.wire.decode import decode_event, decode_match, decode_matches
from sourcelight.core.wire.encode import encode, encode_match, frame
from sourcelight.core.wire.request import SearchRequest
from sourcelight.core.wire.sse import RawEvent, SseDecoder

__all__ = [
    "RawEvent",
    "SearchRequest",
    "SseDecoder",
    "decode_event",
    "decode_match",
    "decode_matches",
    "encode",
    "encode_match",
    "frame",
]
