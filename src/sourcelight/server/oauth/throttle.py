"""Slowing down those who guess: whose attempts count together, and how much work waits for a core."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request

from sourcelight.repos.state import AttemptLimit
from sourcelight.server.oauth.options import OAuthOptions

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
