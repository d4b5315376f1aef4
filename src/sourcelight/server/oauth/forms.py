"""Forms: sealed authorization requests, CSRF tokens, where a form comes from, and limits against guessing."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

import anyio
import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sourcelight.repos.state import AttemptLimit
from sourcelight.server.oauth.addresses import OAuthOptions

PENDING_S = 600
"""Seconds that a user has to sign in and decide."""

MAX_FORM_FIELDS = 20
"""Fields of a form; the largest of the service has a dozen."""

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
"""Headers of answers with secrets (RFC 6749, 5.1)."""

_SIGN_IN_WINDOW_S = 300
"""Seconds until a failed sign-in counts no more."""

_IPV6_NETWORK_BITS = 64
"""Bits of an address of IPv6 that all addresses of one user share."""


@dataclass(frozen=True, slots=True)
class PendingAuthorization:
    """A valid authorization request that waits for its user.

    Parameters
    ----------
    client
        Client id.
    redirect_uri, redirect_uri_given
        Target of the response, and whether the request named it.
    scopes
        Requested scopes.
    challenge
        PKCE challenge (RFC 7636, method S256).
    state
        Value of the client, returned to it; None without one.
    resource
        Resource of the tokens (RFC 8707); "" without one.
    issuer
        Address of this service in the request (RFC 9207).
    """

    client: str
    redirect_uri: str
    redirect_uri_given: bool
    scopes: tuple[str, ...]
    challenge: str
    state: str | None
    resource: str
    issuer: str


class FormSealer:
    """Seals requests and forms with one key, without state between a page and its response."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock

    def seal(self, pending: PendingAuthorization) -> str:
        """Return a signed text for an address; it isn't secret."""
        body = json.dumps([int(self._clock()) + PENDING_S, asdict(pending)], separators=(",", ":"))
        text = base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")
        return f"{text}.{self._sign('pending', text)}"

    def open(self, sealed: str) -> PendingAuthorization | None:
        """Return the sealed request, or None for a changed or expired text."""
        # The signature is checked before anything is decoded: JSON of a stranger is never parsed.
        text, _, signature = sealed.partition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._sign("pending", text).encode()):
            return None

        try:
            until, fields = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (binascii.Error, ValueError):
            return None

        if until < self._clock():
            return None

        return PendingAuthorization(**(fields | {"scopes": tuple(fields["scopes"])}))

    def csrf_token(self, purpose: str, *parts: str) -> str:
        """Return the token that a form must send back, so that no foreign page can send the form (CSRF)."""
        return self._sign(purpose, *parts)

    def has_csrf_token(self, value: str, purpose: str, *parts: str) -> bool:
        """Return whether a form sent back its token, in constant time."""
        # As bytes, because `compare_digest` refuses texts that are not ASCII, and a form may send any.
        return hmac.compare_digest(value.encode("utf-8", "replace"), self._sign(purpose, *parts).encode())

    def _sign(self, purpose: str, *parts: str) -> str:
        # As JSON, so that ("a", "bc") and ("ab", "c") have different signatures. `purpose` keeps a token of one form
        # from passing for one of another.
        text = json.dumps([purpose, *parts]).encode()
        return base64.urlsafe_b64encode(hmac.new(self._key, text, hashlib.sha256).digest()).decode().rstrip("=")


Result = TypeVar("Result")


def network_of(request: Request) -> str:
    """Return the origin of a request: an IPv4 address, or the 64-bit network of an IPv6 user."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host

    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        # A provider assigns a whole /64 to one user (RFC 6177), who could guess from 2^64 addresses otherwise.
        return str(ipaddress.IPv6Network((int(address), _IPV6_NETWORK_BITS), strict=False))

    return host


def sign_in_limits(options: OAuthOptions, name: str, network: str) -> Sequence[AttemptLimit]:
    """Return the limits of a sign-in: for the account at the address, for the address, and for the account."""
    account = name.casefold()[:64]
    # The narrow limit meets a forgotten password. The others meet one address that tries many accounts, and many
    # addresses that try one account; these are higher, so that a stranger can't easily lock a user out.
    return (
        AttemptLimit(kind="sign-in", key=f"{account}\0{network}", limit=options.failures, window_s=_SIGN_IN_WINDOW_S),
        AttemptLimit(kind="sign-in by address", key=network, limit=4 * options.failures, window_s=_SIGN_IN_WINDOW_S),
        AttemptLimit(kind="sign-in by account", key=account, limit=10 * options.failures, window_s=_SIGN_IN_WINDOW_S),
    )


class Overloaded(Exception):
    """Too many tasks are waiting."""


class BoundedQueue:
    """Runs tasks in threads with limits on running and waiting ones; refuses others at once.

    Parameters
    ----------
    concurrency
        Concurrent tasks. Checking a password takes 16 MiB and a core for a quarter of a second.
    max_waiting
        Waiting tasks.
    """

    def __init__(self, concurrency: int, max_waiting: int) -> None:
        self._limiter = anyio.CapacityLimiter(concurrency)
        self._capacity = concurrency + max_waiting
        self._admitted = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run `work` in its turn; raise `Overloaded` when too many tasks are waiting."""
        # No `await` between the check and the increment: two requests can't both take the last slot.
        if self._admitted >= self._capacity:
            raise Overloaded
        self._admitted += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._admitted -= 1


async def form_of(request: Request) -> Mapping[str, str]:
    """Return the fields of a form; of a repeated one the last.

    Raises
    ------
    HTTPException
        The form has more than `MAX_FORM_FIELDS` (400); those of the service have at most a dozen.
    """
    text = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS))
    except ValueError:
        raise HTTPException(400, f"The form has more than {MAX_FORM_FIELDS} fields.") from None


def is_same_site(request: Request, base_url: str) -> bool:
    """Return whether a form comes from a page of the service at `base_url`, as far as the browser says."""
    # Old browsers send neither header. The CSRF token protects them; this check comes on top of it.
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    if site != "same-origin":
        return False
    service = urlsplit(base_url)
    return origin is None or origin == f"{service.scheme}://{service.netloc}"


def oauth_error(status: int, error: str, description: str) -> Response:
    """Return an error of the token endpoint (RFC 6749, 5.2)."""
    return JSONResponse({"error": error, "error_description": description}, status, headers=NO_STORE)
