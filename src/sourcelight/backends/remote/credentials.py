"""What opens a service: an access token, or whatever else can name the value of one header."""

from __future__ import annotations

from typing import Protocol

from sourcelight.backends.remote.endpoint import Secret


class Credential(Protocol):
    """Gives the ``Authorization`` header of each request, fresh when it is sent."""

    async def authorization(self) -> Secret | None:
        """Value of the header; None: there is no credential to send."""

    async def renewed(self, refused: Secret) -> Secret | None:
        """Another value to try after a service refused one; None: there is no other."""

    def hidden(self, text: str) -> str:
        """`text` without any secret of this credential that a service may have quoted back."""


class TokenCredential:
    """A token that stays as it is.

    Parameters
    ----------
    token
        The token; None: requests go without.
    bearer
        Whether it is an OAuth token (``Bearer``) instead of an access token (``token``).
    """

    def __init__(self, token: Secret | None, *, bearer: bool = False) -> None:
        self._token = token
        self._scheme = "Bearer" if bearer else "token"

    async def authorization(self) -> Secret | None:
        """The token with its scheme."""
        return None if self._token is None else Secret(f"{self._scheme} {self._token.reveal()}")

    async def renewed(self, refused: Secret) -> Secret | None:  # noqa: ARG002 - the protocol's
        """None: there is one token only."""
        return None

    def hidden(self, text: str) -> str:
        """`text` without the token."""
        return hide(text, self._token)


def hide(text: str, *secrets: Secret | None) -> str:
    """`text` with ``***`` in the place of each secret."""
    for secret in secrets:
        if secret is not None and secret.reveal():
            text = text.replace(secret.reveal(), "***")
    return text
