"""The local port that the browser is redirected to after a sign-in.

It listens on addresses of this machine alone, while a sign-in runs. Any local program may connect: only a request with
the path and the state of this sign-in is an answer, and the first one counts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qsl, urlsplit

from sourcelight.core.errors import SignInFailed

_READ_S = 5.0
"""Seconds for the head of a request of the browser on this machine."""

_MAX_HEAD_BYTES = 16_384
"""Bytes of such a head: any program may connect."""

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>
<body style="font-family:sans-serif;max-width:40rem;margin:4rem auto"><h1>{title}</h1><p>{text}</p></body></html>"""
_DONE = _PAGE.format(title="Signed in", text="You can close this tab and go back to your notebook.")
_FAILED = _PAGE.format(title="Not signed in", text="Your notebook shows the reason. You can close this tab.")
_HEAD = (
    "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {size}\r\nConnection: close\r\n"
    "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n"
)


class Callback:
    """Waits for the redirect with the answer of the authorization server."""

    def __init__(self, redirect_uri: str, state: str) -> None:
        self.redirect_uri = redirect_uri
        self._state = state
        self._path = urlsplit(redirect_uri).path
        self._answer: asyncio.Future[Mapping[str, str]] = asyncio.get_running_loop().create_future()

    async def answer(self, timeout_s: float) -> Mapping[str, str]:
        """Return the parameters of the answer; raises `SignInFailed` if none arrives in time."""
        try:
            return await asyncio.wait_for(asyncio.shield(self._answer), timeout_s)
        except TimeoutError:
            raise SignInFailed(
                f"no sign-in within {timeout_s:g} s; connect again and finish the sign-in in the browser"
            ) from None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one request; requests with a wrong state are ignored."""
        try:
            async with asyncio.timeout(_READ_S):
                head = await reader.readuntil(b"\r\n\r\n")

            method, _, remaining = head.decode("latin-1").partition(" ")
            target = urlsplit(remaining.partition(" ")[0])
            match = dict(parse_qsl(target.query))
            ours = method == "GET" and target.path == self._path and match.get("state") == self._state

            # The state proves that the request belongs to this sign-in (RFC 6749, 10.12). Only the first answer counts:
            # others may be repeated by the browser, or sent by another page.
            if ours and not self._answer.done():
                self._answer.set_result(match)

            status, page = ("200 OK", _DONE if "code" in match else _FAILED) if ours else ("404 Not Found", "")
            body = page.encode()
            writer.write(_HEAD.format(status=status, size=len(body)).encode() + body)
            await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def listening(redirect_uri: str, state: str) -> AsyncIterator[Callback]:
    """Listen on this machine only, at the port of `redirect_uri`, or at any free port if it has none.

    Raises
    ------
    OSError
        The port is in use.
    """
    parts = urlsplit(redirect_uri)
    # A browser may resolve localhost to either address, so listen on both if the machine has both.
    hosts = ["127.0.0.1"] if parts.hostname == "127.0.0.1" else ["127.0.0.1", "::1"]
    port = parts.port or 0
    servers: list[asyncio.Server] = []
    callback: Callback | None = None

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if callback is None:  # a request before all ports are open
            writer.close()
            return
        await callback.serve(reader, writer)

    try:
        for host in hosts:
            try:
                server = await asyncio.start_server(serve, host, port, limit=_MAX_HEAD_BYTES)
            except OSError:
                if host == "::1":  # this machine has no such address
                    continue
                raise
            servers.append(server)
            # The second address gets the port that the system chose for the first.
            port = server.sockets[0].getsockname()[1]

        callback = Callback(parts._replace(netloc=f"{parts.hostname}:{port}").geturl(), state)
        yield callback
    finally:
        for server in servers:
            server.close()
