"""The endpoints for clients: authorize, token, register, revoke.

The SDK's handlers implement the protocol. This module adds RFC 6749 3.1 and 5.2, RFC 7009 for public clients, RFC 7636
without its weak default, and RFC 9207. Loading the SDK takes a second; `endpoints` does it on demand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

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

from sourcelight.repos.state import MCP, USER_ALL, State
from sourcelight.server.oauth.addresses import DEVICE_GRANT, OAuthOptions, basic_credentials, with_query
from sourcelight.server.oauth.device import DeviceSignIn
from sourcelight.server.oauth.forms import NO_STORE, FormSealer, oauth_error
from sourcelight.server.oauth.provider import Provider, ResourceRefused

_GRANTS = frozenset({"authorization_code", "refresh_token"})
"""Grant types beside the one of devices."""

SCOPES = frozenset({MCP, USER_ALL})
"""Scopes that clients may ask for."""

_NOT_PLAIN = re.compile(r"[^\x20\x21\x23-\x5b\x5d-\x7e]")


# The SDK compares secrets in plain text, which this service doesn't have: it stores hashes.
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

        # A public client has no secret; PKCE binds the code to it.
        if record.secret is None:
            return client

        _, basic = basic_credentials(request.headers.get("authorization", ""))
        if not self._client_provider.secret_matches(client_id, basic or self._form.get("client_secret", "")):
            raise AuthenticationError("the client secret is missing or wrong")

        return client


class Handlers:
    """The four endpoints of one state."""

    def __init__(self, state: State, sealer: FormSealer, options: OAuthOptions, device: DeviceSignIn) -> None:
        self._state = state
        self._sealer = sealer
        self._options = options
        self._device = device

    async def authorize(self, request: Request) -> Response:
        """Check an authorization request and redirect to the consent page, or back to the client."""
        pairs = await _pairs(request)
        repeated = _repeated_name(pairs)
        if repeated:
            return oauth_error(400, "invalid_request", f"{repeated} is repeated")

        if all(name != "code_challenge_method" for name, _ in pairs):
            # RFC 7636 reads an absent method as "plain", which isn't supported; the SDK would read it as S256.
            pairs.append(("code_challenge_method", "plain"))

        base = self._options.base_of(request.scope)
        answer = await AuthorizationHandler(self._provider(base)).handle(_with_query(request, pairs))

        # A redirect to the consent page is ours; any other goes to the client and gets `iss` (RFC 9207), which protects
        # clients that use several authorization servers against mix-up.
        target = answer.headers.get("location", "")
        if target and not target.startswith("consent?"):
            answer.headers["location"] = with_query(_with_plain_description(target), {"iss": base})

        return answer

    async def token(self, request: Request) -> Response:
        """Exchange a code or a refresh token."""
        pairs = await _pairs(request)
        form = dict(pairs)
        client_id, basic = basic_credentials(request.headers.get("authorization", ""))
        form.setdefault("client_id", client_id)

        # RFC 6749, 3.2: parameters must not occur more than once. Two parsers might read different ones.
        if repeated := _repeated_name(pairs):
            return oauth_error(400, "invalid_request", f"{repeated} is repeated")
        if not form.get("grant_type"):
            return oauth_error(400, "invalid_request", "grant_type is missing")
        if form["grant_type"] == DEVICE_GRANT:
            return await self._device.exchange(form)
        if form["grant_type"] not in _GRANTS:
            supported = f"supported grant types: authorization_code, refresh_token, {DEVICE_GRANT}"
            return oauth_error(400, "unsupported_grant_type", supported)

        # Unknown scopes such as `openid` are dropped before the SDK sees them, which would refuse the whole request.
        if available := [scope for scope in form.get("scope", "").split() if scope in SCOPES]:
            form["scope"] = " ".join(available)

        base = self._options.base_of(request.scope)
        provider = self._provider(base, form.get("resource", ""))
        handler = TokenHandler(provider, _Authenticator(provider, form))
        try:
            answer: Response = _with_plain_error(await handler.handle(_with_form(request, form)))
        except ResourceRefused:
            return oauth_error(400, "invalid_target", "the resource differs from the granted one")

        if answer.status_code == 401 and basic:
            # RFC 6749, 5.2: required with a 401 if the client tried to authenticate by the header.
            answer.headers["WWW-Authenticate"] = 'Basic realm="sourcelight"'

        return answer

    async def register(self, request: Request) -> Response:
        """Register a client (RFC 7591) for the scope ``mcp`` only; the answer has the accepted values."""
        options = ClientRegistrationOptions(enabled=True, valid_scopes=[MCP], default_scopes=[MCP])
        handler = RegistrationHandler(self._provider(self._options.base_of(request.scope)), options)
        answer = _with_plain_error(await handler.handle(_with_body(request, narrowed_metadata(await request.body()))))
        answer.headers.update(NO_STORE)
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
            answer = oauth_error(401, "invalid_client", exc.message)
            if basic:
                answer.headers["WWW-Authenticate"] = 'Basic realm="sourcelight"'
            return answer

        token = form.get("token", "")
        if not token:
            return oauth_error(400, "invalid_request", "token is missing")

        # RFC 7009, 2.2: the answer is 200 for an unknown token, too, so that no one can probe for valid ones.
        await anyio.to_thread.run_sync(self._state.authorizations.revoke, token, client.client_id)
        return Response(status_code=200, headers=NO_STORE)

    def _provider(self, base: str, resource: str = "") -> Provider:
        return Provider(self._state, self._sealer, base, dynamic=self._options.registration, resource=resource)


def narrowed_metadata(body: bytes) -> bytes:
    """Return the metadata of a registration without scopes and grant types that a client can't have (RFC 7591, 3.2.1).

    If none would remain, all stay and get refused. An absent authentication method is ``client_secret_basic`` (2).
    """
    try:
        metadata = json.loads(body)
    except (ValueError, RecursionError):
        return body

    if not isinstance(metadata, dict):
        return body

    scope, grants = metadata.get("scope"), metadata.get("grant_types")
    if isinstance(scope, str) and MCP in scope.split():
        metadata["scope"] = MCP

    if isinstance(grants, list) and (available := [grant for grant in grants if grant in _GRANTS]):
        metadata["grant_types"] = available

    metadata.setdefault("token_endpoint_auth_method", "client_secret_basic")
    return json.dumps(metadata).encode()


def plain_description(text: str) -> str:
    """Return a description with only the characters that RFC 6749, 4.1.2.1 and 5.2 allow in one."""
    return _NOT_PLAIN.sub(" ", text.replace('"', "'"))


def _with_plain_error(answer: Response) -> Response:
    if answer.status_code < 400:
        return answer

    try:
        document = json.loads(bytes(answer.body))
    except ValueError:
        return answer

    if not isinstance(document, dict) or not isinstance(document.get("error_description"), str):
        return answer

    # The body is replaced inside the SDK's response, to keep its status and other headers.
    response = JSONResponse(document | {"error_description": plain_description(document["error_description"])})
    answer.body = response.body
    answer.headers["content-length"] = str(len(response.body))
    return answer


def _with_plain_description(address: str) -> str:
    parts = urlsplit(address)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = [(name, plain_description(value) if name == "error_description" else value) for name, value in pairs]
    if query == pairs:
        return address
    return urlunsplit(parts._replace(query=urlencode(query)))


async def _pairs(request: Request) -> list[tuple[str, str]]:
    text = request.scope["query_string"] if request.method == "GET" else await request.body()
    # Blank values count: a parameter that is empty and repeated is still repeated. The bound keeps a body of `&` signs
    # cheap.
    return parse_qsl(text.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100)


def _repeated_name(pairs: list[tuple[str, str]]) -> str:
    names = [name for name, _ in pairs]
    # Quadratic, for at most 100 fields.
    return next((name for name in names if names.count(name) > 1), "")


def _with_query(request: Request, pairs: list[tuple[str, str]]) -> Request:
    scope = dict(request.scope) | {"method": "GET", "query_string": urlencode(pairs).encode()}
    return Request(scope, request.receive)


def _with_body(request: Request, body: bytes) -> Request:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(request.scope, receive)


def _with_form(request: Request, form: Mapping[str, str]) -> Request:
    other_headers = [
        (name, value) for name, value in request.scope["headers"] if name not in {b"content-type", b"content-length"}
    ]
    headers = [*other_headers, (b"content-type", b"application/x-www-form-urlencoded")]
    with_headers = Request(dict(request.scope) | {"headers": headers}, request.receive)
    return _with_body(with_headers, urlencode(form).encode())
