"""The stream protocol: its events as values, their bytes, and the request that asks for them.

Pure: bytes in, values out, and back. Nothing here opens a connection, and nothing here knows of record batches; the
fast way between ``matches`` and batches is `sourcelight.core.batches`.
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
