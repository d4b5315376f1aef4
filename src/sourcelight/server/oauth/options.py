"""What an operator chose for the authorization server, and the addresses it answers on."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import Scope

PREFIX = "/.auth"
SIGN_IN = "/.auth/sign-in"
SIGN_OUT = "/.auth/sign-out"
STYLE = "/.auth/style.css"
AUTHORIZE = "/.auth/idp/oauth/authorize"
CONSENT = "/.auth/idp/oauth/consent"
TOKEN = "/.auth/idp/oauth/token"  # noqa: S105 - an address
REGISTER = "/.auth/idp/oauth/register"
REVOKE = "/.auth/idp/oauth/revoke"
METADATA = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


@dataclass(frozen=True, slots=True)
class OAuthOptions:
    """What an operator chose.

    Parameters
    ----------
    external_url
        The service's address without a final ``/``; empty: what each request used.
    registration
        Whether clients may register themselves, and those that did are served.
    registrations
        Registrations that one address may make within ten minutes.
    failures
        Failed sign-ins that one address may make for one account within five minutes; four times as many for one
        address, ten times as many for one account.
    """

    external_url: str = ""
    registration: bool = True
    registrations: int = 30
    failures: int = 5

    def base_of(self, scope: Scope) -> str:
        """The address of the service, which is its issuer name, as a request sees it."""
        return self.external_url or f"{scope['scheme']}://{Headers(scope=scope).get('host', 'localhost')}"
