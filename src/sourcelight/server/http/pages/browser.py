"""Requests of browsers: where a request comes from, which lines it asks for, files and streams of pages."""

from __future__ import annotations

import functools
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from sourcelight.server.http.pages.frame import HEADERS, STYLE

_LINES = re.compile(r"(?:L|lines=)([1-9]\d{0,8})(?:-L?([1-9]\d{0,8}))?")
_ASSET_HEADERS = {"Cache-Control": "max-age=3600"}


def is_own_request(request: Request) -> bool:
    """Return whether the browser reports that the service's own page, or the user, made a request.

    The cookies of any other request are ignored. For old browsers, which don't report it, the cookie has
    ``SameSite=Strict``.
    """
    return request.headers.get("sec-fetch-site", "none") in {"none", "same-origin"}


def is_foreign_link(request: Request, base_url: str) -> bool:
    """Return whether the reader followed a link on another site, so the browser sent no cookie.

    The page that this service sends for such a link requests the address again; it names itself as the referrer, so
    that no browser is sent in circles.
    """
    headers = request.headers
    return (
        request.method == "GET"
        and headers.get("sec-fetch-site") in {"cross-site", "same-site"}
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and "authorization" not in headers
        and not headers.get("referer", "").startswith(f"{base_url}/")
    )


async def send_style(_: Request) -> Response:
    """Return the style sheet of all pages."""
    return Response(STYLE + _asset("page.css"), media_type="text/css", headers=_ASSET_HEADERS)


async def send_script(_: Request) -> Response:
    """Return the script of all pages."""
    return Response(_asset("page.js"), media_type="text/javascript", headers=_ASSET_HEADERS)


@functools.cache
def _asset(name: str) -> str:
    return (Path(__file__).parent / name).read_text("utf-8")


def requested_lines(query: str) -> tuple[int, int] | None:
    """Return the first and last line that an address asks for, as in ``?L3-9``, or ``?lines=3-9`` of a form."""
    match = next((match for part in query.split("&") if (match := _LINES.fullmatch(part.rstrip("=")))), None)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return min(first, last), max(first, last)


class EventStream(StreamingResponse):
    """Events that a page listens to. Its generator is closed when the reader leaves, not by the garbage collector."""

    def __init__(self, frames: AsyncGenerator[bytes, None]) -> None:
        # X-Accel-Buffering: nginx otherwise collects the stream before it passes it on.
        super().__init__(frames, media_type="text/event-stream", headers={**HEADERS, "X-Accel-Buffering": "no"})
        self._frames = frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                await self._frames.aclose()
