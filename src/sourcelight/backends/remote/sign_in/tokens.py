"""What signing in gives: tokens, and this program's registration at a service. Pure."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sourcelight.backends.remote.endpoint import Secret
from sourcelight.core.errors import SignInFailed

_EARLY_S = 60.0  # a token that is about to end would end on its way


@dataclass(frozen=True, slots=True)
class Registration:
    """What the authorization server knows this program as."""

    client_id: str
    client_secret: Secret | None = None
    redirect_uri: str = ""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one person at one service; `ends_at` is in seconds since 1970, None where nobody said."""

    access: Secret
    refresh: Secret | None = None
    ends_at: float | None = None
    scope: str = ""

    @property
    def fresh(self) -> bool:
        """Whether the access token still holds for a while."""
        return self.ends_at is None or time.time() < self.ends_at - _EARLY_S

    @classmethod
    def read(cls, answer: Mapping[str, Any], former: Tokens | None = None) -> Tokens:
        """Tokens of a token endpoint's answer (RFC 6749, 5.1); a refresh token that it leaves out stays the same.

        Raises
        ------
        SignInFailed
            When the answer holds no usable token.
        """
        access, kind = answer.get("access_token"), str(answer.get("token_type") or "")
        if not isinstance(access, str) or not access or kind.casefold() != "bearer":
            raise SignInFailed("the authorization server gave no bearer token")
        lasts, refresh = answer.get("expires_in"), answer.get("refresh_token")
        return cls(
            Secret(access),
            Secret(refresh) if isinstance(refresh, str) and refresh else former.refresh if former else None,
            time.time() + float(lasts) if isinstance(lasts, int | float) and not isinstance(lasts, bool) else None,
            str(answer.get("scope") or (former.scope if former else "")),
        )
