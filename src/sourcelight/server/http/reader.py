"""The reader of a stream: whose limits it counts for, whether its access holds, and whether it is still there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import Receive, Scope

from sourcelight.server.http.middleware.access_log import Address
from sourcelight.server.http.producer import Producer
from sourcelight.server.identity import Authenticator, Principal, Refusal

SHORT_S = 0.02
"""Seconds within which an access is not checked again, and a search is answered without a watch on its reader."""


@dataclass(slots=True)
class Sender:
    """The sender of requests with the same headers over one connection.

    Attributes
    ----------
    headers, client
        The headers by name in lower case, and where the requests come from.
    principal
        Whom the last of them was accepted for; None before the first.
    """

    headers: Mapping[str, str]
    client: Address | None
    principal: Principal | None = None

    def authenticate(self, authenticator: Authenticator) -> Principal | Refusal:
        """Return the principal of the next request, as `Authenticator.for_search`."""
        earlier = self.principal
        principal = (
            authenticator.for_search(self.headers)
            if earlier is None
            else authenticator.for_search_again(self.headers, earlier)
        )
        self.principal = principal if isinstance(principal, Principal) else None
        return principal


def reader_of(principal: Principal, client: Address | None) -> str:
    """Return whose limits a request counts for."""
    # The space keeps an anonymous address apart from account names, which have none.
    return principal.account or f"anonymous {(client or ('',))[0]}"


def headers_of(scope: Scope) -> Mapping[str, str]:
    """Return the headers by name, in lower case: of several with one name the first, as the framework's own do."""
    # The framework's own object scans all headers for each name; a dictionary looks it up.
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])}


class Access:
    """Checks whether the account of a stream still has its access.

    It checks after every change of the state, and at an interval, since credentials expire.
    """

    def __init__(
        self, authenticator: Authenticator, headers: Mapping[str, str], principal: Principal, recheck_s: float
    ) -> None:
        self._authenticator = authenticator
        self._headers = headers
        self._principal = principal
        self._recheck_s = recheck_s
        self._version: int | None = None
        self._checked = time.monotonic()
        self._holds = True

    def holds(self) -> bool:
        """Return whether the access is still valid; the last check counts for a few milliseconds."""
        now = time.monotonic()
        if not self._holds or now - self._checked < SHORT_S:
            return self._holds

        # A number that changes with every write to the state, in any process: cheaper than authenticating again.
        version = self._authenticator.version
        if version == self._version and now - self._checked < self._recheck_s:
            return True

        self._version, self._checked = version, now
        self._holds = self._authenticator.still_searches(self._headers, self._principal)
        return self._holds


class RequestReader:
    """Watches the reader and stops the search on a disconnect."""

    def __init__(self, receive: Receive, producer: Producer) -> None:
        self._receive = receive
        self._producer = producer
        self._task: asyncio.Task[None] | None = None
        self.is_gone = False

    def watch(self) -> None:
        """Start to watch for a disconnect."""
        self._task = asyncio.create_task(self._watch())

    async def let_go(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True
        self._producer.stop()
