"""Opening a stream: credentials, retries, redirects, and the service's refusals as typed errors.

What a service's refusals mean: statuses as typed errors, in words that say what to try.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from sourcelight.backends.remote.bodies import bound_bodies
from sourcelight.backends.remote.endpoint import Credential, Endpoint, RetryPolicy, hide
from sourcelight.backends.remote.read_ahead import read_ahead
from sourcelight.backends.remote.recording import tape
from sourcelight.core.errors import (
    ConfigurationError,
    ConnectFailed,
    Forbidden,
    NotFound,
    ProtocolError,
    RateLimited,
    ServiceError,
    SourcelightError,
    StreamBroken,
    TimedOut,
    Unauthorized,
)

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


_BUSY = frozenset({502, 503, 504})
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_MOST_ERROR_TEXT = 2000


class _Authorization(httpx.Auth):
    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        value = await self._credential.authorization()
        if value is not None:
            request.headers["Authorization"] = value.reveal()
        response = yield request
        if value is not None and response.status_code == httpx.codes.UNAUTHORIZED:
            again = await self._credential.renewed(value)
            if again is not None:
                request.headers["Authorization"] = again.reveal()
                yield request


class HttpTransport:
    """One pool of connections to one service; it belongs to the event loop it is first used on."""

    def __init__(self, endpoint: Endpoint, credential: Credential, *, patience: RetryPolicy) -> None:
        self._endpoint = endpoint
        self._credential = credential
        self._patience = patience
        self._client: httpx.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def stream(self, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Ask for a stream; gives its bytes, decompressed. Leaving the context hangs up.

        Raises
        ------
        TransportError, ServiceError, ProtocolError
            As their names say; the bytes raise `TimedOut` and `StreamBroken`.
        """
        running = tape()
        live = self._live_stream(params)
        if running is not None:
            live = running.deck.stream(self._endpoint.url, dict(params), live, self._hidden)
        async with live as portions:
            yield portions

    @asynccontextmanager
    async def _live_stream(self, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        response = await self._answered(params)
        try:
            async with read_ahead(self._bytes(response)) as portions:
                yield portions
        finally:
            await response.aclose()

    def _hidden(self, text: str) -> str:
        """`text` without any credential that a service may have quoted back."""
        return hide(self._credential.hidden(text), *(value for _, value in self._endpoint.headers))

    async def ask_json(self, method: str, path: str, body: Any, params: Mapping[str, Any]) -> Any:
        """Ask an API of the service once and give its JSON; None for an answer without a body.

        Redirects are not followed.

        Raises
        ------
        TransportError, ServiceError, ProtocolError
            As their names say; the text of a `ServiceError` is what the service answered.
        """
        running = tape()
        if running is None:
            return await self._live_json(method, path, body, params)
        what = {"method": method, "path": path, "body": body, "params": dict(params)}

        async def live(_: Any) -> Any:
            return await self._live_json(method, path, body, params)

        return await running.deck.ask("json", self._endpoint.url, what, live, _untold, self._hidden)

    async def _live_json(self, method: str, path: str, body: Any, params: Mapping[str, Any]) -> Any:
        client = self._opened()
        headers = {"Accept": "application/json", "X-Requested-With": "sourcelight"}
        content = {} if body is None else {"json": body}
        url = httpx.URL(self._endpoint.url + path)
        request = client.build_request(method, url, params=dict(params), headers=headers, **content)
        with _mapped(self._endpoint.url, self._patience, answered=False):
            response = await client.send(request, auth=_Authorization(self._credential), stream=True)
        try:
            if not response.is_success:
                text = await self._error_text(response)
                missing = "has no API of deep search"
                raise refused(
                    self._endpoint.url, response.status_code, text, response.headers.get("Retry-After", ""),
                    missing=missing,
                )  # fmt: skip
            with _mapped(self._endpoint.url, self._patience, answered=True):
                data = await response.aread()
        finally:
            await response.aclose()
        try:
            return json.loads(data) if data else None
        except ValueError:
            raise ProtocolError(f"{self._endpoint.url} answered with something that is not JSON") from None

    async def _answered(self, params: Mapping[str, str]) -> httpx.Response:
        failure: SourcelightError
        for attempt in range(self._patience.retries + 1):
            wait = self._patience.wait_s(attempt)
            try:
                return await self._ask(params)
            except ConnectFailed as exc:
                failure = exc
            except RateLimited as exc:
                failure = exc
                asked = exc.retry_after_s
                if asked is not None and asked > self._patience.retry_after_limit_s:
                    break
                wait = max(wait, asked or 0.0)
            except ServiceError as exc:
                if exc.status not in _BUSY:
                    raise
                failure = exc
            if attempt < self._patience.retries:
                await asyncio.sleep(wait)
        raise failure

    async def _ask(self, params: Mapping[str, str]) -> httpx.Response:
        client = self._opened()
        auth = _Authorization(self._credential)
        url = httpx.URL(self._endpoint.stream_url, params=dict(params))
        for _ in range(_MOST_REDIRECTS + 1):
            request = client.build_request("GET", url)
            with _mapped(self._endpoint.url, self._patience, answered=False):
                response = await client.send(request, auth=auth, stream=True)
            if response.status_code not in _REDIRECTS or "Location" not in response.headers:
                break
            await response.aclose()
            url = self._redirected(url, response)
        else:
            raise ServiceError(f"{self._endpoint.url} redirects in circles", status=response.status_code)
        if response.status_code == httpx.codes.OK and _is_stream(response):
            return response
        try:
            text = await self._error_text(response)
        finally:
            await response.aclose()
        raise self._refusal(response, text)

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            proxy, patience = self._endpoint.proxy, self._patience
            headers = {name: value.reveal() for name, value in self._endpoint.headers}
            headers |= {"Accept": "text/event-stream", "Accept-Encoding": "gzip", "User-Agent": "sourcelight"}
            try:
                self._client = httpx.AsyncClient(
                    headers=headers,
                    proxy=None if proxy is None else proxy.reveal(),
                    timeout=httpx.Timeout(
                        patience.connect_timeout_s, read=patience.silence_timeout_s, pool=patience.silence_timeout_s
                    ),
                    follow_redirects=False,
                    event_hooks={"response": [bound_bodies(httpx.AsyncByteStream)]},
                )
            except (ValueError, ImportError, OSError):
                # Its message may quote a proxy with its password.
                raise ConfigurationError(
                    "the proxy or certificate settings of the environment can't be used: "
                    "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
                ) from None
        return self._client

    def _redirected(self, url: httpx.URL, response: httpx.Response) -> httpx.URL:
        try:
            target = url.join(response.headers["Location"])
        except httpx.InvalidURL:
            raise ProtocolError(f"{self._endpoint.url} redirects to something that is no address") from None
        upgraded = (url.scheme, target.scheme) == ("http", "https")
        same_origin = (target.scheme, target.host, target.port) == (url.scheme, url.host, url.port)
        if target.userinfo or not (same_origin or (upgraded and target.host == url.host)):
            raise ServiceError(
                f"{self._endpoint.url} redirects to {target.scheme}://{target.host}, which is not followed: "
                "the token belongs to the first; connect to the other by its own address if you trust it",
                status=response.status_code,
            )
        return target

    async def _error_text(self, response: httpx.Response) -> str:
        found = b""
        try:
            with _mapped(self._endpoint.url, self._patience, answered=True):
                async for portion in response.aiter_bytes():
                    found += portion
                    if len(found) >= _MOST_ERROR_TEXT:
                        break
        except SourcelightError:
            pass  # what came of the text is enough
        text = found[:_MOST_ERROR_TEXT].decode(errors="replace").strip()
        # A service that quotes the credential back must not get it into a message.
        return self._hidden(text)

    def _refusal(self, response: httpx.Response, text: str) -> SourcelightError:
        where = self._endpoint.url
        if response.status_code == httpx.codes.OK:
            kind = response.headers.get("Content-Type", "")
            line = text.splitlines()[0][:200] if text and not text.startswith("<") else ""
            return ProtocolError(
                f"{where} answered with {kind} instead of an event stream; is it the right address?",
                excerpt=line[:120],
            )
        return refused(where, response.status_code, text, response.headers.get("Retry-After", ""))

    async def _bytes(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        with _mapped(self._endpoint.url, self._patience, answered=True):
            async for portion in response.aiter_bytes():
                yield portion


def _untold(progress: Any) -> None:
    """Tell nobody."""
    del progress


def _is_stream(response: httpx.Response) -> bool:
    kind: str = response.headers.get("Content-Type", "")
    return not kind or kind.partition(";")[0].strip().lower() == "text/event-stream"


class _mapped:  # noqa: N801 - reads as a statement
    """Turns httpx's errors into ours; their tracebacks are dropped, whose frames hold the headers sent."""

    def __init__(self, where: str, patience: RetryPolicy, *, answered: bool) -> None:
        self._where = urlsplit(where).netloc
        self._patience = patience
        self._answered = answered

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, exc: BaseException | None, traceback: object) -> None:
        if not isinstance(exc, httpx.HTTPError | httpx.InvalidURL | httpx.StreamError):
            return
        cause = exc.with_traceback(None)
        cause.__context__ = cause.__cause__ = None
        raise self._error(exc) from cause

    def _error(self, exc: Exception) -> SourcelightError:
        reason = str(exc) or type(exc).__name__
        if isinstance(exc, httpx.ConnectTimeout | httpx.PoolTimeout):
            return ConnectFailed(f"no connection to {self._where} within {self._patience.connect_timeout_s:g} s")
        if isinstance(exc, httpx.TimeoutException):
            return TimedOut(f"{self._where} sent nothing for {self._patience.silence_timeout_s:g} s")
        if self._answered:
            return StreamBroken(f"the stream from {self._where} broke: {reason}")
        return ConnectFailed(f"no connection to {self._where}: {reason}")
