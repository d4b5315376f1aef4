"""Which redirect addresses a client may have, and which one it may use.

Source: RFC 8252 (7.1 private-use schemes, 7.3 loopback with any port), RFC 9700 2.1 (exact comparison).

What an operator chose for the authorization server, and the addresses it answers on.

The document that tells OAuth clients how to get a token here (RFC 8414).

Addresses and headers of the protocol, taken apart and put together.
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

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
LONGEST = 2000
# Schemes that a browser or desktop acts on by itself: what is sent there would be run, shown or mailed, not received.
_FOREIGN = frozenset({
    "about", "blob", "chrome", "chrome-extension", "data", "file", "filesystem", "ftp", "ftps", "gopher", "irc",
    "jar", "javascript", "ldap", "mailto", "moz-extension", "ms-settings", "news", "nntp", "resource", "sftp",
    "sms", "smb", "ssh", "tel", "telnet", "urn", "vbscript", "view-source", "ws", "wss",
})  # fmt: skip
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*")
_UNFIT = re.compile(r"[\x00-\x20\x7f-\uffff\"<>\\^`{|}]")


def fault_of(uri: str) -> str:  # noqa: PLR0911 - one for each fault
    """Why an address can't be a redirect address; "" when it can.

    Accepted are ``https``, ``http`` on this machine (any port), and private-use schemes such as ``com.example.app:``.
    """
    parts = _parts(uri)
    if parts is None:
        return f"it is no absolute address of at most {LONGEST} plain ASCII characters"
    if parts.fragment or uri.endswith("#"):
        return "it has a fragment (#)"
    if parts.username is not None or parts.password is not None:
        return "it has a user name"
    if parts.scheme == "https":
        return "" if parts.hostname else "it names no host"
    if parts.scheme == "http":
        return "" if parts.hostname in LOOPBACK else "plain http is for addresses of the user's own machine alone"
    if parts.scheme in _FOREIGN:
        return f"the scheme {parts.scheme}: is no application's own"
    return "" if parts.netloc or parts.path else "it names nothing behind its scheme"


def matches(registered: str, asked: str) -> bool:
    """Whether `asked` is the registered address: the same text, but for the port of plain http on this machine.

    An empty path counts as ``/``, the case of scheme and host does not count.
    """
    mine, other = _parts(registered), _parts(asked)
    if mine is None or other is None or fault_of(asked) or ("?" in registered) != ("?" in asked):
        return False  # an empty query is lost when an address is taken apart
    if _text(mine) == _text(other):
        return True
    is_local = mine.scheme == "http" and mine.hostname in LOOPBACK
    return is_local and _text(mine, port=False) == _text(other, port=False)


def form_source(uri: str) -> str:
    """What a content policy has to allow so that a form may lead to `uri`; "" for an unfit address."""
    parts = _parts(uri)
    if parts is None or fault_of(uri):
        return ""
    if parts.scheme not in {"http", "https"} or ":" in (parts.hostname or ""):
        return f"{parts.scheme}:"  # a policy has no words for an address of IP version 6
    return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port is not None else "")


def place_of(uri: str) -> str:
    """Where a redirect leads, in few words for a reader: a host with its port, or a scheme."""
    parts = _parts(uri)
    if parts is None:
        return ""
    return parts.netloc if parts.scheme in {"http", "https"} else f"the application behind {parts.scheme}:"


def is_local(uri: str) -> bool:
    """Whether a redirect stays on the user's own machine."""
    parts = _parts(uri)
    return parts is not None and (parts.scheme not in {"http", "https"} or parts.hostname in LOOPBACK)


def _parts(uri: str) -> SplitResult | None:
    if not uri or len(uri) > LONGEST or _UNFIT.search(uri):
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port  # raises for a port that is no number
    except ValueError:
        return None
    if not _SCHEME.fullmatch(parts.scheme) or (parts.hostname and re.search(r"[^a-z0-9.:_-]", parts.hostname)):
        return None
    return parts


def _text(parts: SplitResult, *, port: bool = True) -> tuple[object, ...]:
    default = {"http": 80, "https": 443}.get(parts.scheme)
    number = (parts.port if parts.port is not None else default) if port else None
    web = parts.scheme in {"http", "https"}
    path = parts.path or ("/" if web else "")
    user = (parts.username, parts.password)
    return parts.scheme, parts.hostname, number, path, parts.query, parts.fragment, user


PREFIX = "/.auth"
SIGN_IN = "/.auth/sign-in"
SIGN_OUT = "/.auth/sign-out"
STYLE = "/.auth/style.css"
AUTHORIZE = "/.auth/idp/oauth/authorize"
CONSENT = "/.auth/idp/oauth/consent"
TOKEN = "/.auth/idp/oauth/token"  # noqa: S105 - an address
REGISTER = "/.auth/idp/oauth/register"
REVOKE = "/.auth/idp/oauth/revoke"
METADATA = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration")


@dataclass(frozen=True, slots=True)
class OAuthOptions:
    """What an operator chose.

    Parameters
    ----------
    external_url
        The service's address without a final ``/``; empty: what each request used.
    registration
        Whether clients may register themselves, and those that did are served.
    registrations
        Registrations that one address may make within ten minutes.
    failures
        Failed sign-ins that one address may make for one account within five minutes; four times as many for one
        address, ten times as many for one account.
    """

    external_url: str = ""
    registration: bool = True
    registrations: int = 30
    failures: int = 5

    def base_of(self, scope: Scope) -> str:
        """The address of the service, which is its issuer name, as a request sees it."""
        return self.external_url or f"{scope['scheme']}://{Headers(scope=scope).get('host', 'localhost')}"


def server_metadata(base: str, *, registration: bool) -> dict[str, Any]:
    """The document for a service at `base`; every address is plain text without a final ``/``.

    Only the scope ``mcp`` is named, although ``user:all`` is served, too: clients ask for all that they are told of,
    and one that registers itself would be refused.
    """
    methods = ["none", "client_secret_post", "client_secret_basic"]
    document: dict[str, Any] = {
        "issuer": base,
        "authorization_endpoint": f"{base}{AUTHORIZE}",
        "token_endpoint": f"{base}{TOKEN}",
        "revocation_endpoint": f"{base}{REVOKE}",
        "scopes_supported": ["mcp"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }
    if registration:
        document["registration_endpoint"] = f"{base}{REGISTER}"
    return document


def with_query(address: str, values: Mapping[str, str | None]) -> str:
    """`address` with further query parameters; those it has stay as they are, and None is left out."""
    parts = urlsplit(address)
    more = urlencode({name: value for name, value in values.items() if value is not None})
    return urlunsplit(parts._replace(query="&".join(part for part in (parts.query, more) if part)))


def basic_credentials(header: str) -> tuple[str, str]:
    """Client id and secret of a Basic header, percent-decoded (RFC 6749, 2.3.1); both empty when there are none."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        name, _, secret = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return "", ""
    return unquote(name), unquote(secret)
