"""Requests of browsers: their origin, the lines that they ask for, and replies as files and as streams."""

from __future__ import annotations

import functools
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from sourcelight.server.http.pages.frame import HEADERS, STYLE
from sourcelight.server.http.response import EventStream

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
    for parameter in query.split("&"):
        match = _LINES.fullmatch(parameter.rstrip("="))
        if match is not None:
            first = int(match[1])
            last = int(match[2] or match[1])
            return min(first, last), max(first, last)
    return None


class PageStream(EventStream):
    """Events that a page listens to, with the headers of pages.

    Parameters
    ----------
    frames
        Yields the events.
    end
        Called after the response, whenever the reader leaves.
    """

    def __init__(self, frames: AsyncGenerator[bytes, None], end: Callable[[], Awaitable[None]]) -> None:
        super().__init__(frames, HEADERS, end)
