"""Addresses of OAuth: rules of redirects, endpoints and options of the server, and its metadata (RFC 8414).

The redirect rules follow RFC 8252 (7.1 private-use schemes, 7.3 loopback with any port) and RFC 9700 2.1 (exact
comparison).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlencode, urlsplit, urlunsplit

from starlette.datastructures import Headers
from starlette.types import Scope

from sourcelight.repos.state import MCP, USER_ALL

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
MAX_URI_CHARS = 2000
"""Characters of an address in a request: it is stored, shown and sent back."""

# Schemes that a browser or desktop handles itself: it would run, show or mail the code, and no application gets it.
_FOREIGN = frozenset({
    "about", "blob", "chrome", "chrome-extension", "data", "file", "filesystem", "ftp", "ftps", "gopher", "irc",
    "jar", "javascript", "ldap", "mailto", "moz-extension", "ms-settings", "news", "nntp", "resource", "sftp",
    "sms", "smb", "ssh", "tel", "telnet", "urn", "vbscript", "view-source", "ws", "wss",
})  # fmt: skip
"""Schemes of the system, which an application must not be given."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
"""The scheme of an address (RFC 3986, 3.1)."""

_UNFIT = re.compile(r"[\x00-\x20\x7f-\uffff\"<>\\^`{|}]")
"""Characters that no address has unescaped (RFC 3986, 2)."""

_UNFIT_HOST = re.compile(r"[^a-z0-9.:_-]")
"""Characters that no host has."""

_USUAL_PORTS = {"http": 80, "https": 443}

PREFIX = "/.auth"
SIGN_IN = "/.auth/sign-in"
SIGN_OUT = "/.auth/sign-out"
DEVICE = "/.auth/device"
DEVICE_AUTHORIZATION = "/.auth/idp/oauth/device_authorization"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
TOKEN_HELP = "/user/settings/tokens"  # noqa: S105 - an address
STYLE = "/.auth/style.css"
AUTHORIZE = "/.auth/idp/oauth/authorize"
CONSENT = "/.auth/idp/oauth/consent"
TOKEN = "/.auth/idp/oauth/token"  # noqa: S105 - an address
REGISTER = "/.auth/idp/oauth/register"
REVOKE = "/.auth/idp/oauth/revoke"
METADATA = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


def redirect_problem(uri: str) -> str:  # noqa: PLR0911 - one for each fault
    """Return the reason why an address can't be a redirect address; "" when it can.

    Accepted are ``https``, ``http`` on this machine (any port), and private-use schemes such as ``com.example.app:``.
    """
    parts = _parts(uri)
    if parts is None:
        return f"it must be an absolute address of at most {MAX_URI_CHARS} ASCII characters"

    # RFC 6749, 3.1.2: a redirect address has no fragment. An empty one is invisible to `urlsplit`.
    if parts.fragment or uri.endswith("#"):
        return "it has a fragment (#)"
    if parts.username is not None or parts.password is not None:
        return "it has a user name"
    if parts.scheme == "https":
        if parts.hostname:
            return ""
        return "it has no host"

    # RFC 8252, 7.3: loopback redirects of native applications may use http.
    if parts.scheme == "http":
        if parts.hostname in LOOPBACK:
            return ""
        return "plain http is only for loopback addresses"
    if parts.scheme in _FOREIGN:
        return f"the scheme {parts.scheme}: belongs to the system, not to an application"

    if parts.netloc or parts.path:
        return ""
    return "it has nothing after its scheme"


def matches(registered: str, requested: str) -> bool:
    """Return whether `requested` is the registered address; ports of plain http on this machine may differ.

    An empty path counts as ``/``, the case of scheme and host does not count.
    """
    registered_parts = _parts(registered)
    requested_parts = _parts(requested)
    if registered_parts is None or requested_parts is None or redirect_problem(requested):
        return False
    # Parsing an address loses an empty query.
    if ("?" in registered) != ("?" in requested):
        return False

    if _normal_form(registered_parts) == _normal_form(requested_parts):
        return True

    is_local = registered_parts.scheme == "http" and registered_parts.hostname in LOOPBACK
    if not is_local:
        return False
    return _normal_form(registered_parts, with_port=False) == _normal_form(requested_parts, with_port=False)


def form_source(uri: str) -> str:
    """Return the content policy source that lets a form lead to `uri`; "" for an invalid address."""
    parts = _parts(uri)
    if parts is None or redirect_problem(uri):
        return ""
    # A policy can't express an IPv6 address.
    is_ipv6 = ":" in (parts.hostname or "")
    if parts.scheme not in {"http", "https"} or is_ipv6:
        return f"{parts.scheme}:"

    source = f"{parts.scheme}://{parts.hostname}"
    if parts.port is not None:
        source += f":{parts.port}"
    return source


def redirect_host(uri: str) -> str:
    """Return the target of a redirect for a reader: a host with its port, or a scheme."""
    parts = _parts(uri)
    if parts is None:
        return ""
    if parts.scheme in {"http", "https"}:
        return parts.netloc
    return f"the application of {parts.scheme}:"


def is_local(uri: str) -> bool:
    """Return whether a redirect stays on the user's machine."""
    parts = _parts(uri)
    if parts is None:
        return False
    # Other schemes are those of applications, which the system opens.
    return parts.scheme not in {"http", "https"} or parts.hostname in LOOPBACK


def _parts(uri: str) -> SplitResult | None:
    if not uri or len(uri) > MAX_URI_CHARS or _UNFIT.search(uri):
        return None

    try:
        parts = urlsplit(uri)
        # Raises for a port that isn't a number.
        _ = parts.port
    except ValueError:
        return None

    if not _SCHEME.fullmatch(parts.scheme):
        return None
    if parts.hostname and _UNFIT_HOST.search(parts.hostname):
        return None
    return parts


def _normal_form(parts: SplitResult, *, with_port: bool = True) -> tuple[object, ...]:
    """Return what two equal addresses share: without a port, a web address has the usual one; without a path, ``/``."""
    port = None
    if with_port:
        port = parts.port
        if port is None:
            port = _USUAL_PORTS.get(parts.scheme)

    path = parts.path
    if not path and parts.scheme in _USUAL_PORTS:
        path = "/"
    return parts.scheme, parts.hostname, port, path, parts.query, parts.fragment, parts.username, parts.password


@dataclass(frozen=True, slots=True)
class OAuthOptions:
    """Settings of the authorization server.

    Parameters
    ----------
    external_url
        Address of the service without a final ``/``; empty: the address of each request.
    registration
        Whether clients may register themselves, and registered ones may be used.
    devices
        Whether command-line clients may sign in by device authorization.
    registrations
        Registrations of one address within ten minutes.
    failures
        Failed sign-ins of one address for one account within five minutes; four times as many for one address, ten
        times as many for one account.
    """

    external_url: str = ""
    registration: bool = True
    devices: bool = True
    registrations: int = 30
    failures: int = 5

    def base_of(self, scope: Scope) -> str:
        """Return the address of the service, its issuer name, as a request sees it."""
        return self.external_url or f"{scope['scheme']}://{Headers(scope=scope).get('host', 'localhost')}"


def server_metadata(base: str, *, registration: bool, devices: bool = True) -> dict[str, Any]:
    """Return the metadata of a service at `base`; its addresses have no final ``/``.

    Clients that request every listed scope and register themselves get ``mcp`` alone.
    """
    methods = ["none", "client_secret_post", "client_secret_basic"]
    grant_types = ["authorization_code", "refresh_token"]
    if devices:
        grant_types.append(DEVICE_GRANT)

    document: dict[str, Any] = {
        "issuer": base,
        "authorization_endpoint": f"{base}{AUTHORIZE}",
        "token_endpoint": f"{base}{TOKEN}",
        "revocation_endpoint": f"{base}{REVOKE}",
        "scopes_supported": [MCP, USER_ALL],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": grant_types,
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "code_challenge_methods_supported": ["S256"],
        # RFC 9207: a client that sees `iss` can refuse an answer of another server (mix-up attack).
        "authorization_response_iss_parameter_supported": True,
    }
    if devices:
        document["device_authorization_endpoint"] = f"{base}{DEVICE_AUTHORIZATION}"

    if registration:
        document["registration_endpoint"] = f"{base}{REGISTER}"

    return document


def with_query(address: str, values: Mapping[str, str | None]) -> str:
    """Return `address` with extra query parameters; skips None and keeps existing ones."""
    parts = urlsplit(address)
    extra = urlencode({name: value for name, value in values.items() if value is not None})
    query = "&".join(filter(None, (parts.query, extra)))
    return urlunsplit(parts._replace(query=query))


def basic_credentials(header: str) -> tuple[str, str]:
    """Return client id and secret of a Basic header, percent-decoded (RFC 6749, 2.3.1); both empty without one."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""

    try:
        name, _, secret = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""

    return unquote(name), unquote(secret)
