"""Check that a service is reachable, so that a wrong address fails before the first search."""

from __future__ import annotations

import asyncio
import os
import urllib.request
from contextlib import suppress
from urllib.parse import urlsplit

from sourcelight.backends.remote.endpoint import Endpoint
from sourcelight.backends.remote.recording import replaying
from sourcelight.core.errors import ConnectFailed

_PORTS = {"http": 80, "https": 443}


async def reach(endpoint: Endpoint, timeout_s: float) -> None:
    """Open and close a connection to a service without sending a byte; skip it behind a proxy and in a replay.

    Raises
    ------
    ConnectFailed
        When nothing listens at the address within `timeout_s` seconds.
    """
    parts = urlsplit(endpoint.url)
    host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
    if replaying() or endpoint.proxy or _has_proxy(parts.scheme, host):
        return
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port), timeout_s)
    except TimeoutError:
        raise _connect_error(endpoint, f"no answer within {timeout_s:g} s") from None
    except OSError as exc:
        # asyncio puts addresses into its messages, and joins the errors of several addresses.
        number = exc.errno or 0
        reason = os.strerror(number) if number > 0 else exc.strerror or "no connection"
        raise _connect_error(endpoint, reason) from None
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


def _has_proxy(scheme: str, host: str) -> bool:
    return scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host)


def _connect_error(endpoint: Endpoint, reason: str) -> ConnectFailed:
    return ConnectFailed(
        f"no service at {endpoint.url}: {reason}; check the address, or start a service there with 'sourcelight serve' "
        "(check=False connects later)"
    )
