"""What the SDK's OAuth handlers ask of this service: clients, codes, tokens. One provider serves one request."""

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
from sourcelight.server.oauth.addresses import fault_of, matches
from sourcelight.server.oauth.sealing import FormSealer, PendingAuthorization

_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_GRANT_TYPES = frozenset({"authorization_code", "refresh_token"})
_MOST_URIS, _LONGEST_NAME, _LONGEST_STATE = 10, 200, 2000
Given = TypeVar("Given")


class RegisteredClient(OAuthClientInformationFull):
    """A client as the handlers see it, with our rules for addresses and scopes."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """The address to answer at; on loopback any port is right (RFC 8252, 7.3)."""
        known = self.redirect_uris or []
        if redirect_uri is None:
            if len(known) == 1:
                return known[0]
            raise InvalidRedirectUriError("redirect_uri is needed: the client has several addresses")
        if any(matches(str(each), str(redirect_uri)) for each in known):
            return redirect_uri
        raise InvalidRedirectUriError("the redirect_uri is not one of the client's registered addresses")

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """The scopes that are asked for; none named means all of the client's. ``user:all`` includes ``mcp``."""
        own = (self.scope or "").split()
        allowed = {*own, MCP} if USER_ALL in own else set(own)
        wanted = list(dict.fromkeys((requested_scope or "").split())) or own
        for scope in wanted:
            if scope not in allowed:
                raise InvalidScopeError(f"the client may not ask for the scope {scope}; it may for {' '.join(own)}")
        return wanted


class Provider:
    """Answers the SDK's handlers for one request.

    Parameters
    ----------
    state
        Where everything is kept.
    sealer
        Seals authorization requests for the pages.
    base
        This service's address as the request sees it.
    dynamic
        Whether clients that registered themselves are served.
    resource
        What the token request is for (RFC 8707); "" when not said.
    """

    def __init__(self, state: State, sealer: FormSealer, base: str, *, dynamic: bool, resource: str = "") -> None:
        self._state = state
        self._sealer = sealer
        self._base = base
        self._dynamic = dynamic
        self._resource = resource

    def known(self, client_id: str) -> OAuthClient | None:
        """The client of this id, if it is served."""
        found = self._state.clients.find(client_id)
        return None if found is None or (found.dynamic and not self._dynamic) else found

    def secret_matches(self, client_id: str, secret: str) -> bool:
        """Whether this is the secret of a confidential client."""
        found = self.known(client_id)
        return found is not None and found.secret is not None and hmac.compare_digest(found.secret, digest_of(secret))

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """The client as the handlers want it; without its secret, of which only a hash is known."""
        found = self.known(client_id)
        if found is None:
            return None
        method = found.metadata.get("token_endpoint_auth_method")
        return RegisteredClient(
            client_id=found.id,
            client_name=found.name,
            redirect_uris=[AnyUrl(uri) for uri in found.redirect_uris],
            scope=" ".join(found.scopes),
            grant_types=list(found.metadata.get("grant_types", _GRANT_TYPES)),
            token_endpoint_auth_method=method or ("none" if found.secret is None else "client_secret_post"),
        )

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a client that registers itself (RFC 7591)."""
        uris = [str(uri) for uri in client_info.redirect_uris or []]
        if not 1 <= len(uris) <= _MOST_URIS:
            raise RegistrationError("invalid_redirect_uri", f"a client has 1 to {_MOST_URIS} redirect_uris")
        for uri in uris:
            if fault := fault_of(uri):
                raise RegistrationError("invalid_redirect_uri", f"a redirect_uri can't be used: {fault}")
        if not set(client_info.grant_types) <= _GRANT_TYPES or client_info.response_types != ["code"]:
            raise RegistrationError(
                "invalid_client_metadata",
                "grant_types are authorization_code and refresh_token, response_types is code alone",
            )
        if not (client_info.scope or "").split():
            client_info.scope = MCP
        name = (client_info.client_name or "").strip()
        if len(name) > _LONGEST_NAME:
            raise RegistrationError("invalid_client_metadata", f"client_name has more than {_LONGEST_NAME} characters")
        kept = client_info.model_dump(
            mode="json", exclude_none=True, exclude={"client_secret", "client_id", "redirect_uris", "scope"}
        )
        secret = client_info.client_secret
        client = OAuthClient(
            client_info.client_id,
            name,
            digest_of(secret) if secret else None,
            tuple(uris),
            (MCP,),
            dynamic=True,
            metadata=kept,
            created_at=int(self._state.clock()),
        )
        await _in_thread(lambda: self._state.clients.store(client))

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """The address of the page on which the user decides; relative, so that it holds behind a proxy's path."""
        if not _CHALLENGE.fullmatch(params.code_challenge):
            raise AuthorizeError("invalid_request", "code_challenge is no S256 challenge: 43 characters of base64url")
        if len(params.state or "") > _LONGEST_STATE:
            raise AuthorizeError("invalid_request", f"state has more than {_LONGEST_STATE} characters")
        if params.resource and not same_service(params.resource, self._base):
            raise AuthorizeError("invalid_target", "the resource is not part of this service")
        pending = PendingAuthorization(
            client.client_id,
            str(params.redirect_uri),
            params.redirect_uri_provided_explicitly,
            tuple(params.scopes or ()),
            params.code_challenge,
            params.state,
            params.resource or "",
            self._base,
        )
        return f"consent?request={self._sealer.seal(pending)}"

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """What a code stands for; a code that comes a second time ends what the first gave."""
        found = self._state.authorizations.code(authorization_code)
        if found is None or found.client != client.client_id:
            return None
        if found.used:
            await _in_thread(lambda: self._state.authorizations.end(found.family))
            return None
        self._check_resource(found)
        return AuthorizationCode(
            code=authorization_code,
            scopes=list(found.scopes),
            expires_at=math.inf if self._state.clock() < found.expires_at else 0,
            client_id=found.client,
            code_challenge=found.challenge,
            redirect_uri=AnyUrl(found.redirect_uri),
            redirect_uri_provided_explicitly=found.redirect_uri_given,
            resource=found.resource or None,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Tokens for a code."""
        del client
        pair = await _in_thread(lambda: self._state.authorizations.exchange_code(authorization_code.code))
        return _answer(pair, "the authorization code was used before")

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        """What a refresh token stands for; one that comes a second time ends its whole family."""
        found = self._state.authorizations.refresh_token(refresh_token)
        if found is None or found.client != client.client_id:
            return None
        if found.used:
            await _in_thread(lambda: self._state.authorizations.end(found.family))
            return None
        if found.expires_at <= self._state.clock():
            return None
        self._check_resource(found)
        return RefreshToken(
            token=refresh_token,
            client_id=found.client,
            scopes=list(found.scopes),
            resource=found.resource or None,
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """New tokens for a refresh token."""
        del client
        token = refresh_token.token
        pair = await _in_thread(lambda: self._state.authorizations.exchange_refresh_token(token, scopes))
        return _answer(pair, "the refresh token was used before")

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Unused: requests are recognised by the authenticator."""
        del token
        return None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Unused: revocation has its own handler, which serves public clients, too."""
        del token

    async def exchange_identity_assertion(self, client: OAuthClientInformationFull, params: object) -> OAuthToken:
        """Refuse: this grant is not offered."""
        del client, params
        raise TokenError("unsupported_grant_type", "grants are authorization_code and refresh_token")

    def _check_resource(self, found: IssuedCode) -> None:
        """Refuse a token request for another resource than the one that was allowed (RFC 8707, 2.2)."""
        if not self._resource:
            return
        if found.resource:
            right = self._resource.rstrip("/") == found.resource.rstrip("/")
        else:
            right = same_service(self._resource, self._base)
        if not right:
            raise ResourceRefused


class ResourceRefused(Exception):
    """Raised through the SDK's handler for a token request that names another resource than was allowed."""


async def _in_thread(work: Callable[[], Given]) -> Given:
    return await anyio.to_thread.run_sync(work)


def _answer(pair: TokenPair | None, fault: str) -> OAuthToken:
    if pair is None:
        raise TokenError("invalid_grant", fault)
    return OAuthToken(
        access_token=pair.access,
        token_type="Bearer",  # noqa: S106 - the kind of a token
        expires_in=pair.expires_in,
        scope=" ".join(pair.scopes),
        refresh_token=pair.refresh,
    )
