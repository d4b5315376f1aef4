"""Address, credentials and retry policy of a service, from arguments and the environment; a check that it is there.

A credential is an access token, or an object that names the value of one header.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import ssl
import urllib.request
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit, urlunsplit

from sourcelight.backends.remote.recording import replayed_endpoint, replaying
from sourcelight.core.errors import (
    ConfigurationError,
    ConnectFailed,
    Forbidden,
    NotFound,
    RateLimited,
    ServiceError,
    SourcelightError,
    Unauthorized,
)
from sourcelight.core.markup.counts import format_wait

# Visible characters of ASCII.
_TOKEN = re.compile(r"[\x21-\x7e]+")
# Name and value of a header (RFC 9110, 5.6.2 and 5.5): printable ASCII, without a newline.
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_TOO_MANY_REQUESTS = 429
_STREAM_PATH = "/.api/search/stream"

_PORTS = {"http": 80, "https": 443}

BUSY = frozenset({502, 503, 504})
"""Statuses after which a request that changes nothing is sent again."""

REFUSED = frozenset({503})
"""Statuses that say that the service did nothing, so that any request may be sent again."""


class Secret:
    """A text that shows itself nowhere: not in a repr, a log line, a format or a pickle."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the text, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[type[Secret], tuple[str]]:
        raise TypeError("a secret can't be pickled")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a service.

    Parameters
    ----------
    url
        http or https address of the service, with the path it is served under, if any; see `parse`.
    headers
        More headers to send with each request; they may contain credentials.
    proxy
        Address of an HTTP proxy for this service; None: the proxy of the environment (``HTTPS_PROXY`` and so on).
    """

    url: str
    headers: tuple[tuple[str, Secret], ...] = field(default=(), repr=False)
    proxy: Secret | None = None

    @classmethod
    def parse(cls, url: str) -> Endpoint:
        """Check an address.

        Raises
        ------
        ConfigurationError
            If it is not http or https, has no host, or holds a credential, a query or a fragment.
        """
        return cls(_check_url(url, "the address of a service"))

    @property
    def stream_url(self) -> str:
        """The address of the stream endpoint."""
        return self.url + _STREAM_PATH


def _check_url(url: str, label: str) -> str:
    if not isinstance(url, str):
        raise ConfigurationError(f"{label} must be text, got {type(url).__name__}")

    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise ConfigurationError(
            f"{label} can't be read; write it like https://host or http://host:7080/path"
        ) from None

    if "@" in parts.netloc:
        # The error doesn't quote the address, which may contain a password.
        raise ConfigurationError(f"{label} must not contain a user name or password; pass the access token separately")
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigurationError(f"{label} must be http or https with a host, like https://host; got {url!r}")
    if parts.query or parts.fragment:
        raise ConfigurationError(f"{label} must have no query and no fragment, like https://host/path")

    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def secret_token(token: str | Secret | None) -> Secret | None:
    """Check and wrap a token; None for an empty one. The error does not quote it."""
    if token is None:
        return None
    value = (token.reveal() if isinstance(token, Secret) else token).strip()
    if value and _TOKEN.fullmatch(value) is None:
        raise ConfigurationError("the access token has spaces or invalid characters")
    return Secret(value) if value else None


def resolve_endpoint(
    url: str | None = None, token: str | Secret | None = None, *, environ: Mapping[str, str] | None = None
) -> tuple[Endpoint, Secret | None]:
    """Return the endpoint and the token from arguments and, where these are None, from the environment.

    It reads ``SRC_ENDPOINT``, ``SRC_ACCESS_TOKEN``, ``SRC_PROXY`` (an http or https address), ``SRC_HEADERS`` (lines of
    ``name: value``) and ``SRC_HEADER_NAME=value`` (``_`` in the name stands for ``-``). The token and the headers of
    the environment are sent only to ``SRC_ENDPOINT`` and addresses below it.

    Raises
    ------
    ConfigurationError
        If there is no address, or a value can't be used; the message names the setting and never its secret.
    """
    environ = os.environ if environ is None else environ
    configured = environ.get("SRC_ENDPOINT", "").strip()
    address = url or configured or replayed_endpoint()
    if not address:
        raise ConfigurationError("no service to connect to: pass its address, or set SRC_ENDPOINT")

    endpoint = Endpoint(_check_url(address, "the address of a service" if url else "SRC_ENDPOINT"))
    # The token and the headers of the environment belong to SRC_ENDPOINT; another service must never get them.
    matches_environment = not url or not configured or _is_below(endpoint.url, _check_url(configured, "SRC_ENDPOINT"))
    if token is None and matches_environment:
        token = environ.get("SRC_ACCESS_TOKEN")

    headers = tuple(_headers(environ)) if matches_environment else ()
    return Endpoint(endpoint.url, headers, _proxy(environ.get("SRC_PROXY", "").strip())), secret_token(token)


def _is_below(url: str, configured: str) -> bool:
    """Return whether an address is that of a service or below it, with its scheme, host and port, or https for http."""
    parts, base = urlsplit(url), urlsplit(configured)
    # A request over http would show a token that belongs to https to everyone on the way.
    if parts.hostname != base.hostname or parts.scheme not in {base.scheme, "https"}:
        return False
    ports = {parts.port or _PORTS[parts.scheme], base.port or _PORTS[base.scheme]}
    return (len(ports) == 1 or parts.port is base.port is None) and f"{parts.path}/".startswith(f"{base.path}/")


def _proxy(value: str) -> Secret | None:
    if not value:
        return None

    try:
        parts = urlsplit(value)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False

    if not usable:
        # The error doesn't quote the value, which may contain a password.
        raise ConfigurationError("SRC_PROXY must be the http or https address of a proxy, like http://host:3128")

    return Secret(value)


def _headers(environ: Mapping[str, str]) -> list[tuple[str, Secret]]:
    headers: dict[str, str] = {}
    for setting, value in environ.items():
        if setting.startswith("SRC_HEADER_"):
            headers[setting.removeprefix("SRC_HEADER_").replace("_", "-").lower()] = value

    for line in environ.get("SRC_HEADERS", "").replace("\\n", "\n").strip().strip('"').splitlines():
        if line.strip():
            name, colon, value = line.partition(":")
            if not colon:
                raise ConfigurationError("SRC_HEADERS must have lines of the form name: value")
            headers[name.strip().lower()] = value.strip()

    for name, value in headers.items():
        # A newline in a value would add headers, or another request, to the connection.
        if _HEADER_NAME.fullmatch(name) is None or _HEADER_VALUE.fullmatch(value) is None:
            raise ConfigurationError("SRC_HEADERS or SRC_HEADER_… has an invalid header name or value")

    return [(name, Secret(value)) for name, value in headers.items()]


class Credential(Protocol):
    """Makes the ``Authorization`` header of each request, fresh when it is sent."""

    async def authorization(self) -> Secret | None:
        """Return the value of the header, or None without a credential."""

    async def renew(self, refused: Secret) -> Secret | None:
        """Return the next value to try after a service refused one, or None."""

    def redact(self, text: str) -> str:
        """Remove from a text every secret of this credential that a service may have quoted back."""


class TokenCredential:
    """A token that stays as it is.

    Parameters
    ----------
    token
        The token; None: requests go without.
    bearer
        Whether it is an OAuth token (``Bearer``) instead of an access token (``token``).
    """

    def __init__(self, token: Secret | None, *, bearer: bool = False) -> None:
        self._token = token
        self._scheme = "Bearer" if bearer else "token"

    async def authorization(self) -> Secret | None:
        """Return the token with its scheme."""
        return None if self._token is None else Secret(f"{self._scheme} {self._token.reveal()}")

    async def renew(self, refused: Secret) -> Secret | None:  # noqa: ARG002 - the protocol's
        """Return None: there is one token only."""
        return None

    def redact(self, text: str) -> str:
        """Remove the token from a text."""
        return hide(text, self._token)


def hide(text: str, *secrets: Secret | None, min_chars: int = 8) -> str:
    """Return `text` with ``***`` instead of each secret; of one below `min_chars`, only where it stands alone."""
    for secret in secrets:
        value = "" if secret is None else re.escape(secret.reveal())
        # Within words, a token of a letter or two is no quotation, and texts would become unreadable.
        pattern = value if len(value) >= min_chars else rf"(?<!\w){value}(?!\w)"
        text = re.sub(pattern, "***", text) if value else text
    return text


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Timeouts and retries of requests.

    Parameters
    ----------
    connect_timeout_s
        Longest wait for a connection.
    idle_timeout_s
        Longest wait for the next bytes; services send something every 5 seconds.
    retries
        How often to try again when the service can't be reached or is too busy, before its first byte.
    backoff_s
        Wait before the first retry; doubled each time, and varied so that callers don't retry at the same moment.
    max_retry_after_s
        Longest wait that a service may ask for; when it asks for more, `RateLimited` is raised at once.
    """

    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 30.0
    retries: int = 3
    backoff_s: float = 0.25
    max_retry_after_s: float = 20.0

    def retry_wait_s(self, attempt: int, error: SourcelightError, statuses: Collection[int]) -> float | None:
        """Return the seconds to wait before the next attempt, or None when the error is final.

        Parameters
        ----------
        attempt
            Number of the failed attempt, from 0.
        error
            Its error. Failed connections are retried. So are `RateLimited` and the errors of `statuses`, after the
            wait that the service asks for, unless that is longer than `max_retry_after_s`.
        statuses
            HTTP statuses of a service that is busy.
        """
        if attempt >= self.retries:
            return None
        if isinstance(error, ConnectFailed):
            return self.wait_s(attempt)
        if not isinstance(error, ServiceError) or error.status not in {_TOO_MANY_REQUESTS, *statuses}:
            return None

        asked_s = error.retry_after_s or 0.0
        return None if asked_s > self.max_retry_after_s else max(self.wait_s(attempt), asked_s)

    def wait_s(self, attempt: int) -> float:
        """Return seconds to wait after the failed attempt number `attempt`, from 0."""
        return self.backoff_s * 2.0**attempt * random.uniform(0.5, 1.0)  # noqa: S311 - spreads callers


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
        # Not the text of the error: asyncio puts addresses into it, and joins the errors of several addresses.
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
        f"no service at {endpoint.url}: {reason}; check the address, or start a service there with 'sourcelight serve'"
    )


def refusal_error(
    address: str, status: int, text: str, retry_after: str = "", *, missing: str = "has no search stream"
) -> ServiceError:
    """Return the error for a response with an error status.

    Parameters
    ----------
    address
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
    # The first line of an HTML page, as proxies send it, doesn't describe the error.
    line = text.splitlines()[0][:200] if text and not text.startswith("<") else ""
    detail = f": {line}" if line else ""
    wait_s = retry_after_seconds(retry_after)
    if status == _TOO_MANY_REQUESTS:
        advice = "wait before you try again" if wait_s is None else f"try again in {format_wait(wait_s)}"
        return RateLimited(f"{address} limits the request rate; {advice}{detail}", text=text, retry_after_s=wait_s)

    errors: dict[int, tuple[Callable[..., ServiceError], str]] = {
        401: (Unauthorized, "needs a valid access token; set SRC_ACCESS_TOKEN or pass token="),
        403: (Forbidden, "doesn't allow this with this token"),
        404: (NotFound, f"{missing}; check the address"),
    }
    error, meaning = errors.get(status, (ServiceError, f"answered with status {status}"))
    failure = error(f"{address} {meaning}{detail}", status=status, text=text)
    failure.retry_after_s = wait_s
    return failure


def retry_after_seconds(retry_after: str) -> float | None:
    """Return the seconds of a ``Retry-After`` header, or None when it can't be parsed."""
    if retry_after.strip().isdecimal():
        return float(retry_after)

    try:
        moment = parsedate_to_datetime(retry_after)
    except (ValueError, OverflowError):  # a year of 20 digits
        return None

    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def certificate_context() -> ssl.SSLContext:
    """Return the certificates that services are checked against, read again only after a change: it takes 30 ms."""
    settings = [os.environ.get(name, "") for name in ("SSLKEYLOGFILE", "SSL_CERT_FILE", "SSL_CERT_DIR")]
    paths = [*settings[1:], *ssl.get_default_verify_paths()[:2]]  # the file and the directory, as far as they exist
    files = [Path(path) for path in paths if path and Path(path).exists()]
    return _read_certificates(*settings, *(file.stat().st_mtime_ns for file in files))


@lru_cache(maxsize=4)
def _read_certificates(*_settings: str | int) -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()  # which reads the same settings
