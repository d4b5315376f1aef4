"""Short plain answers: errors and health."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import PlainTextResponse


def plain(status: int, text: str, headers: Mapping[str, str] | None = None) -> PlainTextResponse:
    """A line of plain text; for 401 with the challenge that HTTP asks for."""
    extra = {"WWW-Authenticate": 'Bearer realm="sourcelight"'} if status == 401 else {}
    return PlainTextResponse(f"{text}\n" if text else "", status, {**extra, **(headers or {})})
