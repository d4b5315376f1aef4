"""HTTP requests to a service: credentials, retries, redirects, and statuses as typed errors.

Every request goes out with the credential in a header of its own, which is renewed once when the service refuses it.
What the library raises becomes one of Sourcelight's errors without its frames, and the text of an error page is read
up to a limit and without secrets: neither a message nor a traceback can show the token. A request is sent again only
where that can do no harm: one that changes nothing after any sign that the service is busy, others only when it says
that it did nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2

from sourcelight.backends.remote.bodies import bound_bodies
from sourcelight.backends.remote.endpoint import (
    BUSY,
    REFUSED,
    Credential,
    Endpoint,
    RetryPolicy,
    certificate_context,
    hide,
    refusal_error,
)
from sourcelight.backends.remote.read_ahead import read_ahead
from sourcelight.backends.remote.recording import route
from sourcelight.core import errors

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 5
"""Redirects of one request; more are a loop."""

_MAX_ERROR_CHARS = 2000
"""Characters of an error page that are read."""

_Sent = TypeVar("_Sent")


class _Authorization(httpx2.Auth):
    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        value = await self._credential.authorization()
        if value is not None:
            request.headers["Authorization"] = value.reveal()

        response = yield request
        # Renewed once: a service that refuses the new token too would otherwise be asked for ever.
        if value is not None and response.status_code == httpx2.codes.UNAUTHORIZED and not _lacks_scope(response):
            renewed = await self._credential.renew(value)
            if renewed is not None:
                request.headers["Authorization"] = renewed.reveal()
                yield request


class HttpTransport:
    """A connection pool to one service, bound to the event loop of its first use."""

    def __init__(self, endpoint: Endpoint, credential: Credential, *, retry_policy: RetryPolicy) -> None:
        self._endpoint = endpoint
        self._credential = credential
        self._retry_policy = retry_policy
        # Made on first use: the constructor runs on the caller's thread, and connections belong to an event loop.
        self._client: httpx2.AsyncClient | None = None

    async def aclose(self) -> None:
        """Close all connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @asynccontextmanager
    async def stream(self, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a stream and yield its decompressed bytes; leaving the context closes the connection.

        Raises
        ------
        TransportError, ServiceError, ProtocolError
            The request failed; the bytes raise `TimedOut` and `StreamBroken`.
        """
        live = self._live_stream(params)
        # The route decides whether this is live, recorded or replayed; a recording gets bytes with the secrets already
        # replaced.
        async with route().stream(self._endpoint.url, dict(params), live, self.hide_secrets) as portions:
            yield portions

    @asynccontextmanager
    async def _live_stream(self, params: Mapping[str, str]) -> AsyncIterator[AsyncIterator[bytes]]:
        response = await self._retry(lambda: self._ask(params), BUSY)
        try:
            async with read_ahead(self._bytes(response)) as portions:
                yield portions
        finally:
            await response.aclose()

    def hide_secrets(self, text: str) -> str:
        """Return `text` without any credential that a service may have quoted."""
        return hide(self._credential.redact(text), *(value for _, value in self._endpoint.headers))

    async def fetch(self, path: str) -> bytes:
        """Return the body of a file at the service, by its path from the root of the host; follows no redirects.

        Raises
        ------
        TransportError, ServiceError, ProtocolError
            The request failed.
        """
        client = self._http_client()
        base = httpx2.URL(self._endpoint.url)
        url = base.join(path)

        # `join` keeps the host only for a path, and the request carries the credential.
        if (url.scheme, url.netloc) != (base.scheme, base.netloc):
            raise ValueError(f"not a path: {path[:200]!r}")

        request = client.build_request("GET", url, headers={"Accept": "*/*"})
        return await self._body(request, missing="has no such file")

    async def ask_json(self, method: str, path: str, body: Any, params: Mapping[str, Any]) -> Any:
        """Request an API of the service and return its JSON; None for an empty body.

        It follows no redirects. A service that is busy (429, 503) is asked again, as `RetryPolicy` says.

        Raises
        ------
        TransportError, ServiceError, ProtocolError
            As their names say; the text of a `ServiceError` is the response of the service.
        """
        request = {"method": method, "path": path, "body": body, "params": dict(params)}

        async def send_live(_: Any) -> Any:
            # A POST that may have had an effect must not be repeated.
            return await self._retry(lambda: self._live_json(method, path, body, params), REFUSED)

        return await route().ask("json", self._endpoint.url, request, send_live, _ignore_progress, self.hide_secrets)

    async def _live_json(self, method: str, path: str, body: Any, params: Mapping[str, Any]) -> Any:
        client = self._http_client()
        headers = {"Accept": "application/json", "X-Requested-With": "sourcelight"}
        content = {} if body is None else {"json": body}
        url = httpx2.URL(self._endpoint.url + path)
        request = client.build_request(method, url, params=dict(params), headers=headers, **content)
        data = await self._body(request, missing="has no deep search API")
        try:
            return json.loads(data) if data else None
        except (ValueError, RecursionError):
            raise errors.ProtocolError(
                f"{self._endpoint.url} returned a response that is not JSON; check the address of the service"
            ) from None

    async def _body(self, request: httpx2.Request, *, missing: str) -> bytes:
        """Send a request and return the body of its response; `missing` is the meaning of a 404."""
        response = await self._send(request)
        try:
            if not response.is_success:
                text = await self._error_text(response)
                retry_after = response.headers.get("Retry-After", "")
                raise refusal_error(self._endpoint.url, response.status_code, text, retry_after, missing=missing)
            with _translated_errors(self._endpoint.url, self._retry_policy, has_response=True):
                return await response.aread()
        finally:
            await response.aclose()

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request with the credential and return its response, whose body is still to be read."""
        client = self._http_client()
        with _translated_errors(self._endpoint.url, self._retry_policy, has_response=False):
            return await client.send(request, auth=_Authorization(self._credential), stream=True)

    @asynccontextmanager
    async def post_stream(self, path: str, body: Any) -> AsyncIterator[AsyncIterator[bytes]]:
        """Send a request that changes nothing and yield the bytes of its stream; leaving the context stops it.

        It follows no redirects. A service that is busy is asked again, as `RetryPolicy` says.

        Raises
        ------
        TransportError, ServiceError, ProtocolError
            The request failed; the bytes raise `TimedOut` and `StreamBroken`.
        """
        response = await self._retry(lambda: self._post(path, body), BUSY)
        try:
            async with read_ahead(self._bytes(response)) as portions:
                yield portions
        finally:
            await response.aclose()

    async def _post(self, path: str, body: Any) -> httpx2.Response:
        client = self._http_client()
        headers = {"X-Requested-With": "sourcelight"}
        request = client.build_request("POST", httpx2.URL(self._endpoint.url + path), json=body, headers=headers)
        return await self._accept_stream(await self._send(request))

    async def _retry(self, send: Callable[[], Awaitable[_Sent]], statuses: Collection[int]) -> _Sent:
        """Return what `send` returns; it is sent again when no connection is made, or after one of `statuses`."""
        for attempt in count():
            try:
                return await send()
            except (errors.ConnectFailed, errors.ServiceError) as exc:
                wait_s = self._retry_policy.retry_wait_s(attempt, exc, statuses)
                if wait_s is None:
                    raise
            await asyncio.sleep(wait_s)

        raise AssertionError

    async def _ask(self, params: Mapping[str, str]) -> httpx2.Response:
        client = self._http_client()
        url = httpx2.URL(self._endpoint.stream_url, params=dict(params))
        for _ in range(_MAX_REDIRECTS + 1):
            request = client.build_request("GET", url)
            response = await self._send(request)
            if response.status_code not in _REDIRECTS or "Location" not in response.headers:
                break
            await response.aclose()
            # Followed here and not by the library, which would send the credential along to some targets and drop it
            # for others.
            url = self._redirect_target(url, response)
        else:
            raise errors.ServiceError(
                f"{self._endpoint.url} redirects more than {_MAX_REDIRECTS} times", status=response.status_code
            )

        return await self._accept_stream(response)

    async def _accept_stream(self, response: httpx2.Response) -> httpx2.Response:
        """Return a response that is a stream; any other is read, closed and raised as an error."""
        if response.status_code == httpx2.codes.OK and _is_stream(response):
            return response
        try:
            text = await self._error_text(response)
        finally:
            await response.aclose()
        raise self._refusal(response, text)

    def _http_client(self) -> httpx2.AsyncClient:
        if self._client is None:
            proxy, retry_policy = self._endpoint.proxy, self._retry_policy
            headers = {name: value.reveal() for name, value in self._endpoint.headers}
            headers |= {"Accept": "text/event-stream", "Accept-Encoding": "gzip", "User-Agent": "sourcelight"}
            try:
                self._client = httpx2.AsyncClient(
                    headers=headers,
                    # None leaves the choice to the environment: HTTP_PROXY and NO_PROXY apply.
                    proxy=None if proxy is None else proxy.reveal(),
                    timeout=httpx2.Timeout(
                        retry_policy.connect_timeout_s,
                        read=retry_policy.idle_timeout_s,
                        pool=retry_policy.idle_timeout_s,
                    ),
                    follow_redirects=False,
                    verify=certificate_context(),
                    event_hooks={"response": [bound_bodies(httpx2.AsyncByteStream)]},
                )
            except (ValueError, ImportError, OSError):
                # The message of the error may quote a proxy with its password.
                raise errors.ConfigurationError(
                    "can't use the proxy or certificate settings of the environment: "
                    "check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR"
                ) from None

        return self._client

    def _redirect_target(self, url: httpx2.URL, response: httpx2.Response) -> httpx2.URL:
        try:
            target = url.join(response.headers["Location"])
        except httpx2.InvalidURL:
            raise errors.ProtocolError(f"{self._endpoint.url} redirects to an invalid address") from None

        # The only change of origin that can't send the token to another party, if the host stays the same.
        upgraded = (url.scheme, target.scheme) == ("http", "https")
        same_origin = (target.scheme, target.host, target.port) == (url.scheme, url.host, url.port)
        if target.userinfo or not (same_origin or (upgraded and target.host == url.host)):
            address = f"{target.scheme}://{target.netloc.decode('ascii', 'replace')}"
            raise errors.ServiceError(
                f"{self._endpoint.url} redirects to {address}, which is not followed: "
                "the token goes to one host only; connect to the other address directly if you trust it",
                status=response.status_code,
            )

        return target

    async def _error_text(self, response: httpx2.Response) -> str:
        data = b""
        try:
            with _translated_errors(self._endpoint.url, self._retry_policy, has_response=True):
                async for portion in response.aiter_bytes():
                    data += portion
                    # The rest of an error page isn't read: a hostile service could send one without an end.
                    if len(data) >= _MAX_ERROR_CHARS:
                        break
        except errors.SourcelightError:
            pass  # the text so far is enough

        text = data[:_MAX_ERROR_CHARS].decode(errors="replace").strip()
        # A service may quote the credential; it must not get into a message.
        return self.hide_secrets(text)

    def _refusal(self, response: httpx2.Response, text: str) -> errors.SourcelightError:
        address = self._endpoint.url
        if response.status_code == httpx2.codes.OK:
            kind = response.headers.get("Content-Type", "")
            line = text.splitlines()[0][:200] if text and not text.startswith("<") else ""
            return errors.ProtocolError(
                f"{address} answered with {kind} instead of an event stream; check the address",
                excerpt=line[:120],
            )

        if _lacks_scope(response):
            # A renewed token would have the same scope: RFC 6750, 3.1.
            reason = "this credential is not for searches; pass a token with the scope user:all"
            return errors.Forbidden(f"{address} refuses the search: {reason}", status=response.status_code, text=text)

        return refusal_error(address, response.status_code, text, response.headers.get("Retry-After", ""))

    async def _bytes(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        with _translated_errors(self._endpoint.url, self._retry_policy, has_response=True):
            async for portion in response.aiter_bytes():
                yield portion


def _ignore_progress(progress: Any) -> None:
    """Ignore progress."""
    del progress


def _lacks_scope(response: httpx2.Response) -> bool:
    """Return whether a service refuses a valid credential for its scope."""
    return "insufficient_scope" in response.headers.get("WWW-Authenticate", "")


def _is_stream(response: httpx2.Response) -> bool:
    kind: str = response.headers.get("Content-Type", "")
    return not kind or kind.partition(";")[0].strip().lower() == "text/event-stream"


class _translated_errors:  # noqa: N801 - reads as a statement
    """Translates errors of httpx2 and drops their tracebacks, whose frames hold the request headers."""

    def __init__(self, address: str, retry_policy: RetryPolicy, *, has_response: bool) -> None:
        self._host = urlsplit(address).netloc
        self._retry_policy = retry_policy
        self._open_response = has_response

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, exc: BaseException | None, traceback: object) -> None:
        if not isinstance(exc, httpx2.HTTPError | httpx2.InvalidURL | httpx2.StreamError):
            return
        # Frames of the library hold the request with its header; a notebook that shows local variables would print the
        # token.
        cause = exc.with_traceback(None)
        cause.__context__ = cause.__cause__ = None
        raise self._error(exc) from cause

    def _error(self, exc: Exception) -> errors.SourcelightError:
        reason = str(exc) or type(exc).__name__
        if isinstance(exc, httpx2.ConnectTimeout | httpx2.PoolTimeout):
            return errors.ConnectFailed(
                f"no connection to {self._host} within {self._retry_policy.connect_timeout_s:g} s"
            )
        if isinstance(exc, httpx2.TimeoutException):
            return errors.TimedOut(f"{self._host} sent nothing for {self._retry_policy.idle_timeout_s:g} s")
        if self._open_response:
            return errors.StreamBroken(f"the stream from {self._host} broke: {reason}")

        return errors.ConnectFailed(f"no connection to {self._host}: {reason}")
