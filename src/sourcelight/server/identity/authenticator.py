"""The reading of credentials from a request.

A token is accepted from the ``Authorization`` header alone (``token T``, ``Bearer T``, or Basic with the token as user
name, which is what a browser's prompt sends). It is not accepted from the address: addresses end up in logs,
histories and referrers.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import urlsplit

from sourcelight.repos import Viewer
from sourcelight.repos.state import OWNER, USER_ALL, Credential, State
from sourcelight.server.identity.owner import OwnerToken
from sourcelight.server.identity.principal import (
    FORBIDDEN,
    INSUFFICIENT_SCOPE,
    MALFORMED,
    NO_CREDENTIAL,
    SUDO,
    WRONG_TOKEN,
    Principal,
    Refusal,
)

_OWNER_ID = 1
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Authenticator:
    """Tells who asks. Safe to use from several threads; a look-up takes some 50 µs and never waits for a writer.

    Parameters
    ----------
    state
        Where accounts and tokens are kept; what another process changes there counts from the next request on.
    owner
        A further token of the owner, that the environment gave.
    public
        Whether anonymous readers may search.
    dynamic_clients
        Whether OAuth clients that registered themselves are served; if not, their tokens are worthless.
    external_url
        The service's address; empty: whatever name a request used.
    """

    def __init__(
        self,
        state: State,
        *,
        owner: OwnerToken | None = None,
        public: bool = False,
        dynamic_clients: bool = True,
        external_url: str = "",
    ) -> None:
        self.state = state
        self._owner = owner
        self._public = public
        self._dynamic_clients = dynamic_clients
        self._external_url = external_url

    def authenticate(self, headers: Mapping[str, str]) -> Principal | Refusal:
        """Whom the headers of a request (names in lower case) act for, or why they are refused.

        No header, an empty one and one of an unknown scheme are anonymous; whether anonymous readers may go on is the
        endpoint's to decide, as are scope and permission. A wrong token is refused even where anonymous readers are
        welcome.
        """
        header = headers.get("authorization", "").strip()
        scheme, _, rest = header.partition(" ")
        scheme, rest = scheme.lower(), rest.strip()
        if scheme == "token-sudo":
            return SUDO
        if scheme == "basic":
            token = _basic(rest)
        elif scheme in {"token", "bearer"}:
            token = rest
        else:
            return Principal.anonymous()
        if not token or any(blank in token for blank in " \t,"):
            return MALFORMED
        return self._recognised(token, headers.get("host", ""))

    def for_search(self, headers: Mapping[str, str]) -> Principal | Refusal:
        """As `authenticate`, for everything outside the MCP endpoints: needs ``user:all``, or a public service."""
        found = self.authenticate(headers)
        if isinstance(found, Refusal):
            return found
        if found.is_anonymous:
            return found if self._public else NO_CREDENTIAL
        return found if found.may_search else INSUFFICIENT_SCOPE

    def for_page(self, headers: Mapping[str, str], reader: str = "") -> Principal | Refusal:
        """As `for_search`, for pages that are only read: what a signed-in browser shows is a credential, too.

        Parameters
        ----------
        headers
            As in `authenticate`; a credential there wins.
        reader
            The cookie for reading, as `Sessions.reader` made it; empty: none.
        """
        found = self.for_search(headers)
        unknown = found.is_anonymous if isinstance(found, Principal) else found is NO_CREDENTIAL
        here = self.state.sessions.find_reader(reader) if reader and unknown else None
        if here is None:
            return found
        return self._principal(Credential("token", 0, here.account, frozenset({USER_ALL})), "session")

    def for_mcp(self, headers: Mapping[str, str]) -> Principal | Refusal:
        """As `authenticate`, for the MCP endpoints: a credential, then ``MCP#ACCESS``, then a scope that covers it."""
        found = self.authenticate(headers)
        if isinstance(found, Refusal):
            return found
        if found.is_anonymous:
            return NO_CREDENTIAL
        if not found.has_mcp_access:
            return FORBIDDEN
        return found if found.may_use_mcp else INSUFFICIENT_SCOPE

    @property
    def version(self) -> int:
        """A number that differs after any account, right or credential was changed, whichever process did it."""
        return self.state.database.version

    def own_token(self, token: str) -> Principal | None:
        """Whom an access token of scope ``user:all`` acts for; None for any other, those of OAuth clients included."""
        found = self._recognised(token, "")
        is_own = isinstance(found, Principal) and not found.client and found.may_search
        return found if isinstance(found, Principal) and is_own else None

    def _recognised(self, token: str, host: str) -> Principal | Refusal:
        if self._owner is not None and self._owner.matches(token):
            return self._principal(Credential("token", 0, _OWNER_ID, frozenset({USER_ALL})), OWNER)
        found = self.state.credentials.find(token)
        if found is None or (found.dynamic and not self._dynamic_clients):
            return WRONG_TOKEN
        if found.resource and not same_service(found.resource, self._external_url or f"//{host}"):
            return WRONG_TOKEN
        return self._principal(found, f"{found.kind}:{found.id}")

    def _principal(self, credential: Credential, name: str) -> Principal | Refusal:
        rights = self.state.rights.of(credential.account)
        if rights is None:
            return WRONG_TOKEN
        return Principal(
            rights.account,
            Viewer(rights.account, sees_private=rights.is_administrator, granted=rights.repositories),
            credential.scopes,
            rights.permissions,
            name,
            credential.client,
            credential.resource,
        )


def same_service(resource: str, base: str) -> bool:
    """Whether an absolute address (RFC 8707 resource) is part of the service at `base`.

    `base` may lack its scheme (``//host:port``), where only a request's ``Host`` is known. The names of this machine
    are one and the same.
    """
    try:
        mine, asked = urlsplit(base), urlsplit(resource)
        if asked.scheme not in _DEFAULT_PORTS or (mine.scheme and mine.scheme != asked.scheme) or asked.fragment:
            return False
        if asked.username is not None or _place(mine, asked.scheme) != _place(asked, asked.scheme):
            return False
    except ValueError:
        return False
    prefix = mine.path.rstrip("/")
    return asked.path == prefix or asked.path.startswith(f"{prefix}/")


def _place(parts: object, scheme: str) -> tuple[str, int]:
    host: str = getattr(parts, "hostname", None) or ""
    port: int | None = getattr(parts, "port", None)
    name = "localhost" if host.lower() in _LOOPBACK else host.lower()
    return name, port if port is not None else _DEFAULT_PORTS[scheme]


def _basic(value: str) -> str:
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return user or password
