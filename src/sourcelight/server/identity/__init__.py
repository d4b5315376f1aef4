"""Identity: from the headers of a request to its account, permissions and credential, and fair queues per account.

Endpoints turn a `Refusal` into a response; nothing here sends one. Start with `Authenticator` in `authentication`.
"""

from sourcelight.server.identity.authentication import (
    FORBIDDEN,
    MALFORMED,
    NO_CREDENTIAL,
    SUDO,
    WRONG_SCOPE,
    WRONG_TOKEN,
    Authenticator,
    Principal,
    Refusal,
)
from sourcelight.server.identity.fair_queue import FairQueue, QueueFull
from sourcelight.server.identity.owner_token import (
    OWNER_TOKEN_VARIABLE,
    OwnerToken,
    OwnerTokenState,
    make_owner_token,
    read_owner_token,
)

__all__ = [
    "FORBIDDEN",
    "MALFORMED",
    "NO_CREDENTIAL",
    "OWNER_TOKEN_VARIABLE",
    "SUDO",
    "WRONG_SCOPE",
    "WRONG_TOKEN",
    "Authenticator",
    "FairQueue",
    "OwnerToken",
    "OwnerTokenState",
    "Principal",
    "QueueFull",
    "Refusal",
    "make_owner_token",
    "read_owner_token",
]
