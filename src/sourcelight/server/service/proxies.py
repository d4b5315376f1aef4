"""Whom a request comes from when a proxy stands in between."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

_MAX_HEADER_BYTES = 4_096


class TrustedProxies:
    """The networks of an operator's own proxies; what they say of whom they speak for is believed."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(network) for network in networks]

    def __contains__(self, address: object) -> bool:
        try:
            found = ipaddress.ip_address(str(address))
        except ValueError:
            return False
        return any(found in network for network in self._networks)

    def client_of(self, forwarded: str) -> str:
        """The last address of an ``X-Forwarded-For`` header that is no proxy of ours; empty where there is none.

        What stands before it was written by whoever that is, and is not believed.
        """
        for text in reversed(forwarded.split(",")):
            try:
                address = ipaddress.ip_address(text.strip().strip("[]"))
            except ValueError:
                return ""
            if address not in self:
                return str(address)
        return ""


class ForwardedAddress:
    """Puts the address that a trusted proxy names in the place of the proxy's own."""

    def __init__(self, app: ASGIApp, *, proxies: TrustedProxies) -> None:
        self._app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with the address replaced where that may be."""
        client = scope.get("client")
        if scope["type"] == "http" and client and client[0] in self._proxies:
            values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
            text = b",".join(values)[-_MAX_HEADER_BYTES:].decode("latin-1")
            if found := self._proxies.client_of(text):
                scope["client"] = (found, 0)
        await self._app(scope, receive, send)
