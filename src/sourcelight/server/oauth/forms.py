"""Reading forms, checking where they come from, and errors of OAuth as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}


async def form_of(request: Request) -> Mapping[str, str]:
    """Return the fields of a form; of a repeated one the last."""
    text = (await request.body()).decode("utf-8", "replace")
    return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=20))


def is_same_site(request: Request, base_url: str) -> bool:
    """Return whether a form comes from a page of the service at `base_url`, as far as the browser says."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    origin = request.headers.get("origin")
    if site != "same-origin":
        return False
    service = urlsplit(base_url)
    return origin is None or origin == f"{service.scheme}://{service.netloc}"


def oauth_error(status: int, error: str, description: str) -> Response:
    """Return an error of the token endpoint (RFC 6749, 5.2)."""
    return JSONResponse({"error": error, "error_description": description}, status, headers=NO_STORE)
