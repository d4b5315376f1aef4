"""What pages carry from one step to the next, sealed so that it comes back as it was given.

Slowing down those who guess: whose attempts count together, and how much work waits for a core.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request

from sourcelight.repos.state import AttemptLimit
from sourcelight.server.oauth.addresses import OAuthOptions

PENDING_S = 600
"""Seconds in which a user has to sign in and decide."""


@dataclass(frozen=True, slots=True)
class PendingAuthorization:
    """An authorization request that was found right and waits for its user.

    Parameters
    ----------
    client
        Client id.
    redirect_uri, redirect_uri_given
        Where the answer goes, and whether the request said so itself.
    scopes
        What is asked for.
    challenge
        PKCE challenge (RFC 7636, method S256).
    state
        The client's own mark, given back to it; None when it sent none.
    resource
        What the tokens are for (RFC 8707); "" when not said.
    issuer
        This service's address as the request used it (RFC 9207).
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
    """Seals requests and forms with one key; nothing is kept between a page and its answer."""

    def __init__(self, key: bytes, clock: Callable[[], float] = time.time) -> None:
        self._key = key
        self._clock = clock

    def seal(self, pending: PendingAuthorization) -> str:
        """A text for an address; it is signed, not secret."""
        body = json.dumps([int(self._clock()) + PENDING_S, asdict(pending)], separators=(",", ":"))
        text = base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")
        return f"{text}.{self._mark('pending', text)}"

    def open(self, sealed: str) -> PendingAuthorization | None:
        """The request that was sealed; None for an altered text or one that is too old."""
        text, _, mark = sealed.partition(".")
        if not hmac.compare_digest(mark.encode("utf-8", "replace"), self._mark("pending", text).encode()):
            return None
        try:
            until, fields = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        except (binascii.Error, ValueError):
            return None
        if until < self._clock():
            return None
        return PendingAuthorization(**(fields | {"scopes": tuple(fields["scopes"])}))

    def mark(self, purpose: str, *parts: str) -> str:
        """What a form must send back, so that no foreign page can send it (CSRF)."""
        return self._mark(purpose, *parts)

    def is_marked(self, given: str, purpose: str, *parts: str) -> bool:
        """Whether a form sent back its mark; takes the same time whatever was given."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._mark(purpose, *parts).encode())

    def _mark(self, purpose: str, *parts: str) -> str:
        text = json.dumps([purpose, *parts]).encode()
        return base64.urlsafe_b64encode(hmac.new(self._key, text, hashlib.sha256).digest()).decode().rstrip("=")


Result = TypeVar("Result")
_SIGN_IN_WINDOW_S = 300
_IPV6_NETWORK_BITS = 64


def network_of(request: Request) -> str:
    """Where a request comes from: an IPv4 address, or the network of 64 bits that one user of IPv6 has."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ipaddress.IPv6Network((int(address), _IPV6_NETWORK_BITS), strict=False))
    return host


def sign_in_limits(options: OAuthOptions, name: str, network: str) -> Sequence[AttemptLimit]:
    """What one attempt to sign in counts against: account and address together, the address, the account."""
    account = name.casefold()[:64]
    return (
        AttemptLimit("sign-in", f"{account}\0{network}", options.failures, _SIGN_IN_WINDOW_S),
        AttemptLimit("sign-in by address", network, 4 * options.failures, _SIGN_IN_WINDOW_S),
        AttemptLimit("sign-in by account", account, 10 * options.failures, _SIGN_IN_WINDOW_S),
    )


class Overloaded(Exception):
    """Raised when as much work waits as may."""


class BoundedQueue:
    """Runs work in threads: so many at a time, and so many waiting; more is refused at once.

    Parameters
    ----------
    concurrency
        Pieces of work at the same time. A check of a password takes 16 MiB and a core for a quarter of a second.
    max_waiting
        Pieces of work that may wait for their turn.
    """

    def __init__(self, concurrency: int, max_waiting: int) -> None:
        self._limiter = anyio.CapacityLimiter(concurrency)
        self._capacity = concurrency + max_waiting
        self._admitted = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """Run `work` when its turn comes; raises `Overloaded` when too much waits already."""
        if self._admitted >= self._capacity:
            raise Overloaded
        self._admitted += 1
        try:
            return await anyio.to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._admitted -= 1
