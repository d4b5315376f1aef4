"""Read tokens: shaped like a UUID, made from a secret, so that a link can be shown again without being kept."""

from __future__ import annotations

import hashlib
import hmac
import uuid


def read_token(secret: bytes, conversation: int, generation: int) -> str:
    """Give the read token of a conversation; another generation gives another token."""
    text = f"{conversation}.{generation}".encode()
    raw = hmac.new(secret, b"deepsearch read token\0" + text, hashlib.sha256).digest()[:16]
    return str(uuid.UUID(bytes=raw, version=4))


def digest(token: str) -> bytes:
    """What is kept of a read token."""
    return hashlib.sha256(token.lower().encode()).digest()
