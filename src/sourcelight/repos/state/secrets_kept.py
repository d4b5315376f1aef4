"""How secrets are made, and what is kept of them: never the secret itself.

Tokens are 256 random bits, so their plain SHA-256 can't be guessed at; passwords are chosen by people, so they go
through scrypt (RFC 7914) with the cost that OWASP's password storage page gives for 16 MiB (N 2**14, r 8, p 5).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass

SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 1000
_MEMORY = 64 * 1024 * 1024


def make_token(kind: str) -> str:
    """A new secret that starts with ``sl``, the letter `kind` and ``_``, so that scanners can recognise it."""
    return f"sl{kind}_{secrets.token_urlsafe(32)}"


def digest_of(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True, slots=True)
class Cost:
    """What one password costs to check: scrypt's N, r and p. Memory: 128 x N x r bytes."""

    n: int = 2**14
    r: int = 8
    p: int = 5


def password_hash(password: str, cost: Cost | None = None) -> str:
    """What is kept of a password: the cost, a salt and scrypt's answer."""
    cost = cost or Cost()
    salt = os.urandom(16)
    key = _scrypt(password, salt, cost)
    return f"scrypt:{cost.n}:{cost.r}:{cost.p}:{base64.b64encode(salt).decode()}:{base64.b64encode(key).decode()}"


def password_matches(password: str, kept: str) -> bool:
    """Whether `password` is the one of which `kept` was made; no password is kept as empty text, which none matches.

    Takes as long when there is nothing to compare with: whether an account has a password, or is there at all, can't
    be told by the time.
    """
    parts = kept.split(":")
    if len(parts) != 6 or parts[0] != "scrypt" or len(password) > LONGEST_PASSWORD:
        _scrypt(password[:LONGEST_PASSWORD], b"0" * 16, Cost())
        return False
    cost = Cost(int(parts[1]), int(parts[2]), int(parts[3]))
    found = _scrypt(password, base64.b64decode(parts[4]), cost)
    return hmac.compare_digest(found, base64.b64decode(parts[5]))


def _scrypt(password: str, salt: bytes, cost: Cost) -> bytes:
    text = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(text, salt=salt, n=cost.n, r=cost.r, p=cost.p, maxmem=_MEMORY, dklen=32)
