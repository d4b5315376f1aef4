"""Being signed in: the flow in the browser, and tokens that stay fresh.

Tokens are in a file under a lock, since several processes may renew them. `sign_in` uses the stored ones while they are
fresh, or renews them, and opens the browser only if that fails. A code counts only with the state, the verifier (PKCE)
and the issuer of this sign-in.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import secrets
import sys
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2

from sourcelight.backends.remote.bodies import bound_bodies
from sourcelight.backends.remote.endpoint import Endpoint, Secret, certificate_context, hide
from sourcelight.backends.remote.sign_in.callback import Callback, listening
from sourcelight.backends.remote.sign_in.discovery import AuthorizationServer, discover
from sourcelight.backends.remote.sign_in.tokens import Registration, TokenCache, Tokens
from sourcelight.core.errors import ConnectFailed, SignInFailed, TimedOut

MCP_PATH = "/.api/mcp"
_ANY_PORT_REDIRECT = "http://127.0.0.1/oauth/callback"
# The address that administrators register for clients of this kind.
_DEFAULT_CLIENT_REDIRECT = "http://localhost:3334/oauth/callback"
_REQUEST_S = 30.0
"""Seconds for one request to the authorization server."""

_Form = Mapping[str, str | Secret]


@dataclass(frozen=True, slots=True)
class SignInOptions:
    """Options of a sign-in.

    Parameters
    ----------
    client_id
        A client that an administrator made, with the redirect address `redirect_uri`; empty: this program registers
        itself, which the service restricts to its tools.
    client_secret
        Its secret, if it has one.
    scope
        Permission to request: ``mcp`` for the tools; ``user:all`` also for searches, if the client may have it.
    redirect_uri
        Address on this machine to come back to; empty: any free port, or with a `client_id`
        ``http://localhost:3334/oauth/callback``.
    timeout_s
        Longest wait for the person, in seconds.
    open_browser
        Opens an address in a browser and returns whether that worked; None uses the user's browser.
    """

    client_id: str = ""
    client_secret: Secret | None = None
    scope: str = "mcp"
    redirect_uri: str = ""
    timeout_s: float = 300.0
    open_browser: Callable[[str], bool] | None = None


class OAuthCredential:
    """A `Credential` of a person who signed in.

    Parameters
    ----------
    endpoint
        The service.
    options
        How to sign in.
    cache
        Where tokens are kept; None: the user's file for this service.
    """

    def __init__(self, endpoint: Endpoint, options: SignInOptions, cache: TokenCache | None = None) -> None:
        self._endpoint = endpoint
        self._options = options
        self._cache = cache or TokenCache(endpoint.url, options.client_id, options.scope)
        self._tokens: Tokens | None = None
        self._client: Registration | None = None
        self._server: AuthorizationServer | None = None
        self._lock = asyncio.Lock()

    def __repr__(self) -> str:
        return f"SignedIn({self._endpoint.url!r})"

    # Credential

    async def authorization(self) -> Secret | None:
        """Return the access token, renewed if it is about to end.

        Raises
        ------
        SignInFailed
            If it can't be renewed and the user must sign in again.
        """
        if self._tokens is None or not self._tokens.fresh:
            async with self._lock:
                await self._renew(None)
        return self._header()

    async def renew(self, refused: Secret) -> Secret | None:
        """Return a new access token after one was refused."""
        async with self._lock:
            # While this call waited for the lock, another one may have replaced the refused token.
            if self._header() == refused:
                await self._renew(refused)
        return self._header()

    def redact(self, text: str) -> str:
        """Remove tokens from a text."""
        tokens = self._tokens
        client = self._client.client_secret if self._client else None
        return hide(text, *((tokens.access, tokens.refresh) if tokens else ()), client, self._options.client_secret)

    def _header(self) -> Secret | None:
        if self._tokens is None:
            return None
        return Secret(f"Bearer {self._tokens.access.reveal()}")

    # Signing in and out

    async def sign_in(self, tell: Callable[[str], None]) -> None:
        """Use the stored tokens, or start a sign-in.

        Parameters
        ----------
        tell
            Called with the address to open if no browser could be opened.

        Raises
        ------
        SignInFailed
            When the user doesn't sign in, or the service refuses it.
        TransportError
            When the service can't be reached.
        """
        async with self._lock:
            try:
                await self._renew(None)
            except SignInFailed:
                await self._sign_in_interactively(tell)

    async def sign_out(self) -> None:
        """Revoke the stored tokens and delete them."""
        client, tokens = await asyncio.to_thread(self._cache.load)
        token = None if tokens is None else tokens.refresh or tokens.access
        if client is not None and token is not None:
            async with self._http() as http:
                server = await self._discover(http)
                if server.revocation_url:
                    await self._post(http, server.revocation_url, client, {"token": token})

        await asyncio.to_thread(self._cache.forget)
        self._tokens = None

    async def _renew(self, refused: Secret | None) -> None:
        """Return valid tokens: those of the file, which another process may have renewed, or new ones."""
        async with self._cache.lock():
            client, tokens = await asyncio.to_thread(self._cache.load)
            if client is None or tokens is None:
                raise SignInFailed(f"not signed in to {self._endpoint.url}: connect with sign_in=True")

            self._client, self._tokens = client, tokens
            if tokens.fresh and self._header() != refused:
                return
            if tokens.refresh is None:
                raise SignInFailed(f"the sign-in to {self._endpoint.url} has ended: connect with sign_in=True again")

            async with self._http() as http:
                server = await self._discover(http)
                form: _Form = {
                    "grant_type": "refresh_token",
                    "refresh_token": tokens.refresh,
                    "resource": server.resource,
                }
                status, answer = await self._post(http, server.token_url, client, form)

            if status != httpx2.codes.OK:
                refusal = self._refusal("the sign-in has ended: connect with sign_in=True again", answer)
                # A server error may pass, so the stored tokens are deleted only after a refusal.
                if status < httpx2.codes.INTERNAL_SERVER_ERROR:
                    await asyncio.to_thread(self._cache.store, client, None)
                self._tokens = None
                raise refusal

            self._tokens = Tokens.read(answer, tokens)
            await asyncio.to_thread(self._cache.store, client, self._tokens)

    async def _sign_in_interactively(self, tell: Callable[[str], None]) -> None:
        options = self._options
        client, _ = await asyncio.to_thread(self._cache.load)

        # `state` ties the answer of the browser to this request; the verifier ties the code to this program (PKCE).
        state, verifier = Secret(secrets.token_urlsafe(32)), Secret(secrets.token_urlsafe(64))
        redirect_uri = (
            options.redirect_uri
            or (_DEFAULT_CLIENT_REDIRECT if options.client_id else client and client.redirect_uri)
            or ""
        )
        async with self._http() as http:
            server = await self._discover(http)
            async with AsyncExitStack() as stack:
                try:
                    callback = await stack.enter_async_context(
                        listening(redirect_uri or _ANY_PORT_REDIRECT, state.reveal())
                    )
                except OSError as exc:
                    if options.client_id or options.redirect_uri:
                        raise SignInFailed(f"the port of {redirect_uri} is in use: {exc.strerror or exc}") from None
                    # The port of an earlier registration is taken: any other port will do, with a new registration.
                    callback = await stack.enter_async_context(listening(_ANY_PORT_REDIRECT, state.reveal()))

                client = await self._register(http, server, client, callback.redirect_uri)
                address = self._address(server, client, callback=callback, state=state, verifier=verifier)
                if not await asyncio.to_thread(options.open_browser or _open_browser, address):
                    tell(address)

                answer = await callback.answer(options.timeout_s)

            code = self._code(server, answer)
            form: _Form = {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": callback.redirect_uri,
                "code_verifier": verifier,
                "resource": server.resource,
            }
            status, token_response = await self._post(http, server.token_url, client, form)

        if status != httpx2.codes.OK:
            raise self._refusal("the service returned no token", token_response)

        self._client, self._tokens = client, Tokens.read(token_response)
        await asyncio.to_thread(self._cache.store, client, self._tokens)

    async def _register(
        self, http: httpx2.AsyncClient, server: AuthorizationServer, cached: Registration | None, redirect_uri: str
    ) -> Registration:
        options = self._options
        if options.client_id:
            return Registration(options.client_id, options.client_secret, redirect_uri)
        if cached is not None and cached.redirect_uri == redirect_uri:
            return cached

        if not server.registration_url:
            raise SignInFailed(
                f"{self._endpoint.url} doesn't let programs register themselves: ask an administrator for a client, "
                f"and pass its client_id (redirect address {_DEFAULT_CLIENT_REDIRECT}); or use an access token"
            )

        metadata = {
            "client_name": "sourcelight",
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": "native",
            "scope": options.scope,
        }
        response = await self._send(http.build_request("POST", server.registration_url, json=metadata), http)
        response_json = _json(response)
        client_id = response_json.get("client_id")
        if not response.is_success or not isinstance(client_id, str):
            raise self._refusal("the service refused to register this program", response_json)

        client_secret = response_json.get("client_secret")
        return Registration(client_id, Secret(client_secret) if client_secret else None, redirect_uri)

    def _address(
        self, server: AuthorizationServer, client: Registration, *, callback: Callback, state: Secret, verifier: Secret
    ) -> str:
        digest = hashlib.sha256(verifier.reveal().encode()).digest()
        parameters = {
            "response_type": "code",
            "client_id": client.client_id,
            "redirect_uri": callback.redirect_uri,
            "scope": self._options.scope,
            "state": state.reveal(),
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "resource": server.resource,
        }
        separator = "&" if urlsplit(server.authorization_url).query else "?"
        return f"{server.authorization_url}{separator}{urlencode(parameters)}"

    def _code(self, server: AuthorizationServer, answer: Mapping[str, str]) -> Secret:
        # RFC 9207: without this check, another server could get a code that was meant for this one.
        issuer = answer.get("iss")
        if (issuer is not None or server.names_itself) and issuer != server.issuer:
            raise SignInFailed("the answer came from another authorization server than the request went to")
        if "code" not in answer:
            raise self._refusal("the sign-in was not completed", answer)
        return Secret(answer["code"])

    # HTTP

    async def _discover(self, http: httpx2.AsyncClient) -> AuthorizationServer:
        if self._server is None:

            async def get(url: str) -> Mapping[str, Any] | None:
                response = await self._send(http.build_request("GET", url), http)
                if response.status_code == httpx2.codes.OK:
                    return _json(response) or None
                return None

            self._server = await discover(self._endpoint.url, self._endpoint.url + MCP_PATH, get)
        return self._server

    async def _post(
        self, http: httpx2.AsyncClient, url: str, client: Registration, form: _Form
    ) -> tuple[int, Mapping[str, Any]]:
        fields = {name: value.reveal() if isinstance(value, Secret) else value for name, value in form.items()}
        fields["client_id"] = client.client_id
        if client.client_secret is not None:
            fields["client_secret"] = client.client_secret.reveal()

        request = http.build_request("POST", url, data=fields)
        del fields  # tracebacks that show local variables must not show secrets
        response = await self._send(request, http)
        return response.status_code, _json(response)

    async def _send(self, request: httpx2.Request, http: httpx2.AsyncClient) -> httpx2.Response:
        host = request.url.host
        try:
            return await http.send(request)
        except httpx2.TimeoutException:
            raise TimedOut(f"{host} did not answer within {_REQUEST_S:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            raise ConnectFailed(f"no connection to {host}: {self.redact(str(exc) or type(exc).__name__)}") from None

    def _http(self) -> httpx2.AsyncClient:
        proxy = self._endpoint.proxy
        return httpx2.AsyncClient(
            headers={"User-Agent": "sourcelight", "Accept": "application/json", "Accept-Encoding": "gzip"},
            event_hooks={"response": [bound_bodies(httpx2.AsyncByteStream)]},
            timeout=_REQUEST_S,
            proxy=None if proxy is None else proxy.reveal(),
            follow_redirects=False,  # a redirect could send secrets to another host
            verify=certificate_context(),
        )

    def _refusal(self, message: str, answer: Mapping[str, Any]) -> SignInFailed:
        code = str(answer.get("error") or "")[:100]
        description = self.redact(str(answer.get("error_description") or ""))[:300]
        reason = ": ".join(part for part in (code, description) if part)
        return SignInFailed(
            f"{self._endpoint.url}: {message}{f' ({reason})' if reason else ''}", code=code, description=description
        )


def _json(response: httpx2.Response) -> Mapping[str, Any]:
    try:
        value = response.json()
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _open_browser(address: str) -> bool:
    """Open the user's browser, if there is one with a window."""
    if sys.platform.startswith("linux") and not any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))):
        return False
    try:
        return webbrowser.open(address)
    except (webbrowser.Error, OSError):
        return False
