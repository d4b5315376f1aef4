"""Discovery of a service's sign-in endpoints (RFC 9728, RFC 8414). Pure except for `get`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sourcelight.core.errors import SignInFailed

GetJson = Callable[[str], Awaitable[Mapping[str, Any] | None]]
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts of this machine, to which a request may be unencrypted."""


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """The metadata of an authorization server that sign-in uses."""

    issuer: str
    authorization_url: str
    token_url: str
    registration_url: str = ""
    revocation_url: str = ""
    resource: str = ""
    names_itself: bool = False


async def discover(url: str, resource: str, get: GetJson) -> AuthorizationServer:
    """Find the authorization server of a service.

    Parameters
    ----------
    url
        Address of the service.
    resource
        Address of the resource that tokens are for.
    get
        Returns the JSON object at an address, None if there is none.

    Raises
    ------
    SignInFailed
        If there is none, or its metadata is unsafe to trust.
    """
    try:
        return await _discover(url, resource, get)
    except (LookupError, TypeError, ValueError) as exc:
        # Addresses with odd brackets, or values of other types than their names say.
        raise SignInFailed(f"{url} sent malformed metadata of its sign-in: {exc}") from None


async def _discover(url: str, resource: str, get: GetJson) -> AuthorizationServer:
    parts = urlsplit(resource)
    origin = f"{parts.scheme}://{parts.netloc}"
    resource_metadata = await get(f"{origin}/.well-known/oauth-protected-resource{parts.path}")
    resource_metadata = resource_metadata or await get(f"{origin}/.well-known/oauth-protected-resource") or {}
    issuers = str(resource_metadata.get("resource") or "")
    if issuers and not _is_within(resource, issuers):
        raise SignInFailed(f"{url} says that its tokens are for {issuers}, not for this service")

    servers = resource_metadata.get("authorization_servers") or [url]
    issuer = str(servers[0])
    metadata = await _metadata(issuer, get)
    if metadata is None:
        raise SignInFailed(f"{url} offers no sign-in: it has no authorization server; use an access token")
    if str(metadata.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
        raise SignInFailed(f"the authorization server {issuer} identifies itself as {metadata.get('issuer')}")

    methods = metadata.get("code_challenge_methods_supported")
    if methods is None or "S256" not in methods:
        raise SignInFailed(f"the authorization server {issuer} doesn't support PKCE with S256, which sign-in requires")

    return AuthorizationServer(
        issuer=str(metadata["issuer"]),
        authorization_url=_safe(metadata, "authorization_endpoint"),
        token_url=_safe(metadata, "token_endpoint"),
        registration_url=_safe(metadata, "registration_endpoint", required=False),
        revocation_url=_safe(metadata, "revocation_endpoint", required=False),
        resource=issuers or resource,
        names_itself=bool(metadata.get("authorization_response_iss_parameter_supported")),
    )


async def _metadata(issuer: str, get: GetJson) -> Mapping[str, Any] | None:
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    for url in (
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
        f"{origin}{path}/.well-known/openid-configuration",
    ):
        document = await get(url)
        if document is not None:
            return document

    return None


def _safe(document: Mapping[str, Any], name: str, *, required: bool = True) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not value:
        if required:
            raise SignInFailed(f"the authorization server has no {name}")
        return ""

    parts = urlsplit(value)
    # One is opened in a browser and printed: a space or a control character has no place in an address.
    is_plain = value.isascii() and value.isprintable() and " " not in value
    if not is_plain or (parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOCAL)):
        raise SignInFailed(f"the {name} of the authorization server is not safe: {parts.scheme}://{parts.hostname}")

    return value


def _is_within(address: str, resource: str) -> bool:
    parts, resource_parts = urlsplit(address), urlsplit(resource)
    if (parts.scheme, parts.hostname, parts.port) != (
        resource_parts.scheme,
        resource_parts.hostname,
        resource_parts.port,
    ):
        return False

    return f"{parts.path.rstrip('/')}/".startswith(f"{resource_parts.path.rstrip('/')}/")
