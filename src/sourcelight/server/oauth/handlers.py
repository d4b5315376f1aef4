"""The endpoints for clients: authorize, token, register, revoke.

The SDK's handlers implement the protocol. This module adds RFC 6749 3.1 and 5.2, RFC 7009 for public clients, RFC 7636
without its weak default, and RFC 9207. Loading the SDK takes a second; `endpoints` does it on demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode

import anyio.to_thread
from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message

from sourcelight.repos.state import MCP, State
from sourcelight.server.oauth.addresses import OAuthOptions, basic_credentials, with_query
from sourcelight.server.oauth.provider import Provider, ResourceRefused
from sourcelight.server.oauth.sealing import FormSealer

_NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_GRANTS = frozenset({"authorization_code", "refresh_token"})


class _Authenticator(ClientAuthenticator):
    """Identifies the client of a token request by the hash of its secret.

    A confidential client may send its secret in the form or by Basic, whichever it registered for.
    """

    def __init__(self, provider: Provider, form: Mapping[str, str]) -> None:
        super().__init__(provider)
        self._client_provider = provider
        self._form = form

    async def authenticate_request(self, request: Request) -> OAuthClientInformationFull:
        client_id = self._form.get("client_id", "")
        client = await self._client_provider.get_client(client_id) if client_id else None
        record = self._client_provider.find_client(client_id)
        if client is None or record is None:
            raise AuthenticationError("unknown or disabled client")
        if record.secret is None:
            return client
        _, basic = basic_credentials(request.headers.get("authorization", ""))
        if not self._client_provider.secret_matches(client_id, basic or self._form.get("client_secret", "")):
            raise AuthenticationError("the client secret is missing or wrong")
        return client


class Handlers:
    """The four endpoints of one state."""

    def __init__(self, state: State, sealer: FormSealer, options: OAuthOptions) -> None:
        self._state = state
        self._sealer = sealer
        self._options = options

    async def authorize(self, request: Request) -> Response:
        """Check an authorization request and redirect to the consent page, or back to the client."""
        pairs = await _pairs(request)
        repeated = _repeated(pairs)
        if repeated:
            return _error(400, "invalid_request", f"{repeated} is repeated")
        if all(name != "code_challenge_method" for name, _ in pairs):
            # RFC 7636 reads an absent method as "plain", which isn't supported; the SDK would read it as S256.
            pairs.append(("code_challenge_method", "plain"))
        base = self._options.base_of(request.scope)
        answer = await AuthorizationHandler(self._provider(base)).handle(_with_query(request, pairs))
        target = answer.headers.get("location", "")
        if target and not target.startswith("consent?"):
            answer.headers["location"] = with_query(target, {"iss": base})
        return answer

    async def token(self, request: Request) -> Response:
        """Exchange a code or a refresh token."""
        pairs = await _pairs(request)
        form = dict(pairs)
        client_id, basic = basic_credentials(request.headers.get("authorization", ""))
        form.setdefault("client_id", client_id)
        if repeated := _repeated(pairs):
            return _error(400, "invalid_request", f"{repeated} is repeated")
        if not form.get("grant_type"):
            return _error(400, "invalid_request", "grant_type is missing")
        if form["grant_type"] not in _GRANTS:
            return _error(400, "unsupported_grant_type", "supported grant types: authorization_code, refresh_token")
        base = self._options.base_of(request.scope)
        provider = self._provider(base, form.get("resource", ""))
        handler = TokenHandler(provider, _Authenticator(provider, form))
        try:
            answer: Response = await handler.handle(_with_form(request, form))
        except ResourceRefused:
            return _error(400, "invalid_target", "the resource differs from the granted one")
        if answer.status_code == 401 and basic:
            answer.headers["WWW-Authenticate"] = 'Basic realm="sourcelight"'
        return answer

    async def register(self, request: Request) -> Response:
        """Register a client (RFC 7591) for the scope ``mcp`` only."""
        options = ClientRegistrationOptions(enabled=True, valid_scopes=[MCP], default_scopes=[MCP])
        answer = await RegistrationHandler(self._provider(self._options.base_of(request.scope)), options).handle(
            request
        )
        answer.headers.update(_NO_STORE)
        return answer

    async def revoke(self, request: Request) -> Response:
        """Revoke a token and all tokens of the same consent (RFC 7009); ignores an unknown token."""
        form = dict(await _pairs(request))
        client_id, basic = basic_credentials(request.headers.get("authorization", ""))
        form.setdefault("client_id", client_id)
        provider = self._provider(self._options.base_of(request.scope))
        try:
            client = await _Authenticator(provider, form).authenticate_request(request)
        except AuthenticationError as exc:
            answer = _error(401, "invalid_client", exc.message)
            if basic:
                answer.headers["WWW-Authenticate"] = 'Basic realm="sourcelight"'
            return answer
        token = form.get("token", "")
        if not token:
            return _error(400, "invalid_request", "token is missing")
        await anyio.to_thread.run_sync(self._state.authorizations.revoke, token, client.client_id)
        return Response(status_code=200, headers=_NO_STORE)

    def _provider(self, base: str, resource: str = "") -> Provider:
        return Provider(self._state, self._sealer, base, dynamic=self._options.registration, resource=resource)


async def _pairs(request: Request) -> list[tuple[str, str]]:
    text = request.scope["query_string"] if request.method == "GET" else await request.body()
    return parse_qsl(text.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100)


def _repeated(pairs: list[tuple[str, str]]) -> str:
    names = [name for name, _ in pairs]
    return next((name for name in names if names.count(name) > 1), "")


def _with_query(request: Request, pairs: list[tuple[str, str]]) -> Request:
    scope = dict(request.scope) | {"method": "GET", "query_string": urlencode(pairs).encode()}
    return Request(scope, request.receive)


def _with_form(request: Request, form: Mapping[str, str]) -> Request:
    body = urlencode(form).encode()

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    other_headers = [
        (name, value) for name, value in request.scope["headers"] if name not in {b"content-type", b"content-length"}
    ]
    headers = [*other_headers, (b"content-type", b"application/x-www-form-urlencoded")]
    return Request(dict(request.scope) | {"headers": headers}, receive)


def _error(status: int, error: str, description: str) -> Response:
    return JSONResponse({"error": error, "error_description": description}, status, headers=_NO_STORE)
