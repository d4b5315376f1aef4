"""Who asks: from the headers of a request to an account, its rights and what its credential allows.

Every endpoint asks here and nowhere else. Nothing here answers a request: a refusal is data that an endpoint words.
"""

from sourcelight.server.identity.authentication import (
    FORBIDDEN,
    INSUFFICIENT_SCOPE,
    MALFORMED,
    NO_CREDENTIAL,
    OWNER_TOKEN_VARIABLE,
    SUDO,
    WRONG_TOKEN,
    Authenticator,
    OwnerToken,
    OwnerTokenState,
    Principal,
    Refusal,
    read_owner_token,
)
from sourcelight.server.identity.fair_queue import FairQueue, QueueFull

__all__ = [
    "FORBIDDEN",
    "INSUFFICIENT_SCOPE",
    "MALFORMED",
    "NO_CREDENTIAL",
    "OWNER_TOKEN_VARIABLE",
    "SUDO",
    "WRONG_TOKEN",
    "Authenticator",
    "FairQueue",
    "OwnerToken",
    "OwnerTokenState",
    "Principal",
    "QueueFull",
    "Refusal",
    "read_owner_token",
]
