"""Clients, codes and tokens for the SDK's OAuth handlers; one provider per request."""

from __future__ import annotations

import hmac
import math
import re
from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    RefreshToken,
    RegistrationError,
    TokenError,
)
from mcp.shared.auth import InvalidRedirectUriError, InvalidScopeError, OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from sourcelight.repos.state import MCP, USER_ALL, IssuedCode, OAuthClient, State, TokenPair
from sourcelight.repos.state.credentials import digest_of
from sourcelight.server.identity.authentication import same_service
from sourcelight.server.oauth.addresses import matches, redirect_problem
from sourcelight.server.oauth.forms import FormSealer, PendingAuthorization

# SHA-256 has 32 bytes, which are 43 characters of base64url without padding (RFC 7636, 4.2).
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_GRANT_TYPES = frozenset({"authorization_code", "refresh_token"})
_MAX_URIS, _MAX_NAME, _MAX_STATE_CHARS = 10, 200, 2000
"""Addresses and characters that a client may register, and characters of the state it sends: all of them are stored."""

Field = TypeVar("Field")


class RegisteredClient(OAuthClientInformationFull):
    """A client for the handlers, with the redirect and scope rules of this service."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """Return the address to redirect to; on loopback any port is valid (RFC 8252, 7.3)."""
        registered = self.redirect_uris or []
        if redirect_uri is None:
            if len(registered) == 1:
                return registered[0]
            raise InvalidRedirectUriError("redirect_uri is required: the client has several addresses")

        if any(matches(str(uri), str(redirect_uri)) for uri in registered):
            return redirect_uri

        raise InvalidRedirectUriError("the redirect_uri is not one of the client's registered addresses")

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """Filter requested scopes by the client's scopes, by default all. ``user:all`` includes ``mcp``.

        Others are left out, and the client is told the result (RFC 6749, 3.3): many clients request ``offline_access``
        or ``openid`` of every server.
        """
        client_scopes = (self.scope or "").split()
        allowed = {*client_scopes, MCP} if USER_ALL in client_scopes else set(client_scopes)
        scopes = list(dict.fromkeys((requested_scope or "").split())) or client_scopes
        granted = [scope for scope in scopes if scope in allowed]
        if not granted:
            raise InvalidScopeError(f"the client may not request these scopes; allowed: {' '.join(client_scopes)}")
        return granted


class Provider:
    """The provider of the SDK's handlers for one request.

    Parameters
    ----------
    state
        Accounts, clients and tokens.
    sealer
        Seals authorization requests for the pages.
    base
        This service's address as the request sees it.
    dynamic
        Whether clients that registered themselves may be used.
    resource
        Resource of the token request (RFC 8707); "" without one.
    """

    def __init__(self, state: State, sealer: FormSealer, base: str, *, dynamic: bool, resource: str = "") -> None:
        self._state = state
        self._sealer = sealer
        self._base = base
        self._dynamic = dynamic
        self._resource = resource

    def find_client(self, client_id: str) -> OAuthClient | None:
        """Return the client of an id, if it may be used."""
        # Read for each request: an operator who turns registration off cuts off those clients at once, also with valid
        # tokens.
        client = self._state.clients.find(client_id)
        return None if client is None or (client.dynamic and not self._dynamic) else client

    def secret_matches(self, client_id: str, secret: str) -> bool:
        """Return whether this is the secret of a confidential client."""
        client = self.find_client(client_id)
        return (
            client is not None and client.secret is not None and hmac.compare_digest(client.secret, digest_of(secret))
        )

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Return the client for the handlers, without its secret, which is stored as a hash."""
        client = self.find_client(client_id)
        if client is None:
            return None

        # Clients that an administrator made have no metadata: a secret decides then.
        method = client.metadata.get("token_endpoint_auth_method")
        return RegisteredClient(
            client_id=client.id,
            client_name=client.name,
            redirect_uris=[AnyUrl(uri) for uri in client.redirect_uris],
            scope=" ".join(client.scopes),
            grant_types=list(client.metadata.get("grant_types", _GRANT_TYPES)),
            token_endpoint_auth_method=method or ("none" if client.secret is None else "client_secret_post"),
        )

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Store a client that registers itself (RFC 7591)."""
        uris = [str(uri) for uri in client_info.redirect_uris or []]
        if not 1 <= len(uris) <= _MAX_URIS:
            raise RegistrationError("invalid_redirect_uri", f"a client has 1 to {_MAX_URIS} redirect_uris")

        for uri in uris:
            if problem := redirect_problem(uri):
                raise RegistrationError("invalid_redirect_uri", f"can't use a redirect_uri: {problem}")

        if not set(client_info.grant_types) <= _GRANT_TYPES or client_info.response_types != ["code"]:
            raise RegistrationError(
                "invalid_client_metadata",
                "grant_types must be authorization_code and refresh_token, response_types must be code",
            )

        # A client that registers itself gets the smaller scope; `user:all` is given by an administrator only.
        if not (client_info.scope or "").split():
            client_info.scope = MCP

        name = (client_info.client_name or "").strip()
        if len(name) > _MAX_NAME:
            raise RegistrationError("invalid_client_metadata", f"client_name has more than {_MAX_NAME} characters")

        # Stored without the secret, which is kept as a hash, and without fields that have their own columns.
        metadata = client_info.model_dump(
            mode="json", exclude_none=True, exclude={"client_secret", "client_id", "redirect_uris", "scope"}
        )
        secret = client_info.client_secret
        client = OAuthClient(
            id=client_info.client_id,
            name=name,
            secret=digest_of(secret) if secret else None,
            redirect_uris=tuple(uris),
            # Whatever scope was requested: no administrator approved a client that registered itself.
            scopes=(MCP,),
            dynamic=True,
            metadata=metadata,
            created_at=int(self._state.clock()),
        )
        await _in_thread(lambda: self._state.clients.store(client))

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Return the address of the consent page, relative so that it works behind a proxy's path."""
        if not _CHALLENGE.fullmatch(params.code_challenge):
            raise AuthorizeError(
                "invalid_request", "code_challenge must be an S256 challenge of 43 base64url characters"
            )

        if len(params.state or "") > _MAX_STATE_CHARS:
            raise AuthorizeError("invalid_request", f"state has more than {_MAX_STATE_CHARS} characters")

        # RFC 8707, 2: a token for a resource elsewhere must not be issued here, or that resource could use it here.
        if params.resource and not same_service(params.resource, self._base):
            raise AuthorizeError("invalid_target", "the resource is not part of this service")

        pending = PendingAuthorization(
            client=client.client_id,
            redirect_uri=str(params.redirect_uri),
            redirect_uri_given=params.redirect_uri_provided_explicitly,
            scopes=tuple(params.scopes or ()),
            challenge=params.code_challenge,
            state=params.state,
            resource=params.resource or "",
            issuer=self._base,
        )
        return f"consent?request={self._sealer.seal(pending)}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """Return the grant of a code; a second use revokes the tokens of the first."""
        code = self._state.authorizations.code(authorization_code)
        # The same answer for an unknown code and one of another client, so that codes can't be probed.
        if code is None or code.client != client.client_id:
            return None

        if code.is_used:
            # A second use means that the code leaked, so the tokens of the first use end, too (OAuth 2.1,
            # 4.1.3).
            await _in_thread(lambda: self._state.authorizations.end(code.family))
            return None

        self._check_resource(code)
        return AuthorizationCode(
            code=authorization_code,
            scopes=list(code.scopes),
            # The SDK compares with its own clock. The state's clock decides here, so that tests and all processes
            # agree.
            expires_at=math.inf if self._state.clock() < code.expires_at else 0,
            client_id=code.client,
            code_challenge=code.challenge,
            redirect_uri=AnyUrl(code.redirect_uri),
            redirect_uri_provided_explicitly=code.redirect_uri_given,
            resource=code.resource or None,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Return tokens for a code."""
        del client
        pair = await _in_thread(lambda: self._state.authorizations.exchange_code(authorization_code.code))
        return _answer(pair, "the authorization code was used before")

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        """Return the grant of a refresh token; a second use revokes its whole family."""
        code = self._state.authorizations.refresh_token(refresh_token)
        if code is None or code.client != client.client_id:
            return None
        if code.is_used:
            await _in_thread(lambda: self._state.authorizations.end(code.family))
            return None
        if code.expires_at <= self._state.clock():
            return None

        self._check_resource(code)
        return RefreshToken(
            token=refresh_token,
            client_id=code.client,
            scopes=list(code.scopes),
            resource=code.resource or None,
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Return new tokens for a refresh token."""
        del client
        token = refresh_token.token
        pair = await _in_thread(lambda: self._state.authorizations.exchange_refresh_token(token, scopes))
        return _answer(pair, "the refresh token was used before")

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Return None: the authenticator checks access tokens."""
        del token
        return None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Do nothing: another handler revokes tokens, also of public clients."""
        del token

    async def exchange_identity_assertion(self, client: OAuthClientInformationFull, params: object) -> OAuthToken:
        """Refuse: this grant type isn't supported."""
        del client, params
        raise TokenError("unsupported_grant_type", "supported grant types: authorization_code, refresh_token")

    def _check_resource(self, code: IssuedCode) -> None:
        """Refuse a token request for a resource that wasn't granted (RFC 8707, 2.2)."""
        if not self._resource:
            return

        if code.resource:
            right = self._resource.rstrip("/") == code.resource.rstrip("/")
        else:
            right = same_service(self._resource, self._base)

        if not right:
            raise ResourceRefused


class ResourceRefused(Exception):
    """A token request names a resource that wasn't granted; passes through the SDK's handler."""


async def _in_thread(work: Callable[[], Field]) -> Field:
    return await anyio.to_thread.run_sync(work)


def _answer(pair: TokenPair | None, message: str) -> OAuthToken:
    if pair is None:
        raise TokenError("invalid_grant", message)

    return OAuthToken(
        access_token=pair.access,
        token_type="Bearer",  # noqa: S106 - the kind of a token
        expires_in=pair.expires_in,
        scope=" ".join(pair.scopes),
        refresh_token=pair.refresh,
    )
