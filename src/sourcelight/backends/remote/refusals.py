"""Refusals of a service: HTTP statuses as typed errors, and when to send a request again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from sourcelight.core.errors import Forbidden, NotFound, RateLimited, ServiceError, Unauthorized

_TOO_MANY_REQUESTS = 429


def refusal_error(
    address: str, status: int, text: str, retry_after: str = "", *, missing: str = "has no search stream"
) -> ServiceError:
    """Return the error for a response with an error status.

    Parameters
    ----------
    where
        Address of the service.
    status
        HTTP status.
    text
        Body of the response without secrets; the message quotes its first line.
    retry_after
        The header of that name.
    missing
        The meaning of a 404.
    """
    line = text.splitlines()[0][:200] if text and not text.startswith("<") else ""
    detail = f": {line}" if line else ""
    if status == _TOO_MANY_REQUESTS:
        return RateLimited(
            f"{address} limits the request rate{detail}", text=text, retry_after_s=retry_after_seconds(retry_after)
        )
    errors: dict[int, tuple[Callable[..., ServiceError], str]] = {
        401: (Unauthorized, "needs a valid access token; set SRC_ACCESS_TOKEN or pass token="),
        403: (Forbidden, "doesn't allow this with this token"),
        404: (NotFound, f"{missing}; check the address"),
    }
    error, meaning = errors.get(status, (ServiceError, f"answered with status {status}"))
    failure = error(f"{address} {meaning}{detail}", status=status, text=text)
    failure.retry_after_s = retry_after_seconds(retry_after) if retry_after else None
    return failure


def retry_after_seconds(retry_after: str) -> float | None:
    """Return the seconds of a ``Retry-After`` header; None when it can't be parsed."""
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        moment = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


BUSY = frozenset({502, 503, 504})
"""Statuses after which a request that changes nothing is sent again."""
REFUSED = frozenset({503})
"""Statuses that say that the service did nothing, so that any request may be sent again."""
