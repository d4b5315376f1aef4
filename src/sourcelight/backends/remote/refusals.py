"""What a service's refusals mean: statuses as typed errors, in words that say what to try."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from sourcelight.core.errors import Forbidden, NotFound, RateLimited, ServiceError, Unauthorized

_TOO_MANY_REQUESTS = 429


def refused(
    where: str, status: int, text: str, retry_after: str = "", *, missing: str = "has no search stream"
) -> ServiceError:
    """The error for an answer with an error status.

    Parameters
    ----------
    where
        Address of the service.
    status
        HTTP status.
    text
        Body of the answer, without secrets; its first line is quoted.
    retry_after
        The header of that name.
    missing
        What a 404 means here.
    """
    line = text.splitlines()[0][:200] if text and not text.startswith("<") else ""
    said = f": {line}" if line else ""
    if status == _TOO_MANY_REQUESTS:
        return RateLimited(f"{where} asks to slow down{said}", text=text, retry_after_s=seconds(retry_after))
    known: dict[int, tuple[Callable[..., ServiceError], str]] = {
        401: (Unauthorized, "wants a valid access token (SRC_ACCESS_TOKEN, or token=…)"),
        403: (Forbidden, "does not allow this with the given token"),
        404: (NotFound, f"{missing}; is it the right address?"),
    }
    error, meaning = known.get(status, (ServiceError, f"answered with status {status}"))
    return error(f"{where} {meaning}{said}", status=status, text=text)


def seconds(retry_after: str) -> float | None:
    """Seconds that a ``Retry-After`` header asks to wait; None when it says nothing that can be read."""
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        when = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
