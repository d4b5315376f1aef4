"""Bodies of requests: a JSON object of bounded size, also where it is compressed.

Every endpoint that takes JSON reads it here, so that no body is larger in memory than its limit, and each fault has the
same status and words everywhere.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from starlette.requests import Request

MAX_BODY_BYTES = 256 * 1024


class RequestRefused(Exception):
    """A refused request: the status and the text of its response."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


async def read_json_object(
    request: Request, *, unpacks: bool = False, max_bytes: int = MAX_BODY_BYTES
) -> dict[str, Any]:
    """Read the JSON object of a request; an empty body is an empty object.

    Parameters
    ----------
    request
        Its body has at most `max_bytes`, unpacked.
    unpacks
        Whether ``Content-Encoding: gzip`` is understood; else the bytes are read as they come.
    max_bytes
        Largest body, unpacked.

    Raises
    ------
    RequestRefused
        Status 400 for another type of content or for what is no object, 413 for too much, 415 for another encoding.
    """
    if request.headers.get("content-type", "application/json").partition(";")[0].strip() != "application/json":
        raise RequestRefused(400, "The body must be JSON with Content-Type application/json.")
    try:
        value = json.loads(await _read(request, max_bytes, unpacks=unpacks) or b"{}")
    except (ValueError, RecursionError):
        raise RequestRefused(400, "The body is not JSON.") from None
    if not isinstance(value, dict):
        raise RequestRefused(400, "The body must be a JSON object.")
    return value


async def _read(request: Request, max_bytes: int, *, unpacks: bool) -> bytes:
    coding = request.headers.get("content-encoding", "identity").strip().lower() if unpacks else "identity"
    if coding not in {"identity", "gzip"}:
        raise RequestRefused(415, "The body may be compressed with gzip only.")
    # wbits 31 is the gzip container. The output is bounded while it is made: 256 KiB may unfold to gigabytes.
    unpacker = zlib.decompressobj(31) if coding == "gzip" else None
    data = b""
    async for portion in request.stream():
        try:
            data += portion if unpacker is None else unpacker.decompress(portion, max_bytes + 1 - len(data))
        except zlib.error:
            raise RequestRefused(400, "The body is not gzip.") from None
        if len(data) > max_bytes or (unpacker is not None and unpacker.unconsumed_tail):
            raise RequestRefused(413, f"The body is larger than {max_bytes:,} bytes.")
    return data
