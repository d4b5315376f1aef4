"""Where the next page of a comparison begins, as opaque text."""

from __future__ import annotations

import base64
import binascii
import hashlib

from sourcelight.core.errors import CallError

_CALL = "compare_revisions"
_CHECK_BYTES = 4


def write_cursor(base: str, head: str, ordinal: int) -> str:
    """Text that leads to the file number `ordinal` (from 0) of the comparison of two commits."""
    body = bytes.fromhex(base) + bytes.fromhex(head) + ordinal.to_bytes(4, "big")
    return base64.urlsafe_b64encode(body + _check(body)).decode("ascii").rstrip("=")


def read_cursor(cursor: str, base: str, head: str) -> int:
    """The number of the file that a cursor leads to.

    Raises
    ------
    CallError
        If the text is no cursor, or belongs to the comparison of other commits; says which.
    """
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    body, check = raw[:-_CHECK_BYTES], raw[-_CHECK_BYTES:]
    if len(body) != 44 or check != _check(body):
        raise CallError(
            "after is no cursor of compare_revisions; give the endCursor of the page before, or leave it out",
            call=_CALL,
            argument="after",
        )
    own_base, own_head = body[:20].hex(), body[20:40].hex()
    if (own_base, own_head) != (base, head):
        raise CallError(
            f"the cursor belongs to the comparison {own_base[:12]}..{own_head[:12]}, but base and head are now "
            f"{base[:12]}..{head[:12]}; start without after, or give these commits as base and head",
            call=_CALL,
            argument="after",
        )
    return int.from_bytes(body[40:44], "big")


def _check(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()[:_CHECK_BYTES]
