"""Credentials of a request: from headers to a principal or a refusal.

A token comes from the ``Authorization`` header only (``token T``, ``Bearer T``, or Basic with the token as user name,
which a browser's prompt sends). An address would put it into logs, histories and referrers.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import SplitResult, urlsplit

from sourcelight.repos import Viewer
from sourcelight.repos.state import MCP, MCP_ACCESS, OWNER, USER_ALL, Permissions, State, VerifiedCredential
from sourcelight.server.identity.owner_token import OwnerToken

_OWNER_ID = 1
_OWNER_CREDENTIAL = VerifiedCredential(kind="token", id=0, account=_OWNER_ID, scopes=frozenset({USER_ALL}))
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine."""

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Principal:
    """The account that a request acts for, with its permissions.

    Parameters
    ----------
    account
        Account name; empty for an anonymous reader.
    viewer
        The account as engines see it: which repositories exist.
    scopes
        Scopes of the credential: ``user:all``, ``mcp``; empty for an anonymous reader.
    permissions
        Permissions of the account's roles, such as ``MCP#ACCESS``.
    credential
        Name of the credential for logs: ``owner``, ``token:7``, ``oauth:3``; never a secret.
    client
        OAuth client id; empty for other credentials.
    grant
        Number of the OAuth grant; 0 for other credentials.
    """

    account: str
    viewer: Viewer
    scopes: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    credential: str = ""
    client: str = ""
    grant: int = 0

    @classmethod
    def anonymous(cls) -> Principal:
        """Return a reader without a credential."""
        return cls("", Viewer.anonymous())

    @property
    def is_anonymous(self) -> bool:
        """Whether the request has no credential."""
        return not self.credential

    def covers(self, earlier: Principal) -> bool:
        """Return whether this principal of the same account can search everything that `earlier` could."""
        current, previous = self.viewer, earlier.viewer
        return (
            self.account == earlier.account
            # Greater or equal: new rights during a stream don't end it, lost ones do.
            and self.may_search >= earlier.may_search
            and (
                current.sees_private
                or (
                    not previous.sees_private
                    and current.granted >= previous.granted
                    and current.canonical_paths >= previous.canonical_paths
                )
            )
        )

    @property
    def may_search(self) -> bool:
        """Whether the credential is valid outside the MCP endpoints."""
        return USER_ALL in self.scopes

    @property
    def may_use_mcp(self) -> bool:
        """Whether the credential is valid on the MCP endpoints; ``user:all`` includes them."""
        return USER_ALL in self.scopes or MCP in self.scopes

    @property
    def has_mcp_access(self) -> bool:
        """Whether the account has ``MCP#ACCESS``."""
        return MCP_ACCESS in self.permissions


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a request.

    Parameters
    ----------
    status
        HTTP status.
    text
        Message for the reader, plain text.
    error
        The OAuth word for the challenge (RFC 6750, 3.1): ``invalid_token``, ``insufficient_scope``; empty for none.
    """

    status: int
    text: str
    error: str = ""


NO_CREDENTIAL = Refusal(401, "Private mode requires authentication.")
WRONG_TOKEN = Refusal(401, "Invalid access token.", "invalid_token")
WRONG_SCOPE = Refusal(401, "Invalid access token.", "insufficient_scope")
MALFORMED = Refusal(401, "Invalid Authorization header.", "invalid_request")
SUDO = Refusal(403, "This service has no sudo access tokens.")
#: The text is the spec's, for an account without ``MCP#ACCESS``.
FORBIDDEN = Refusal(403, "forbidden")
INSUFFICIENT_SCOPE = Refusal(403, "The scope of this credential does not cover this request.", "insufficient_scope")


class Authenticator:
    """Identifies the sender of a request. Thread-safe; a look-up takes about 50 µs and never waits for a writer.

    Parameters
    ----------
    state
        Accounts and tokens; a change by another process applies to the next request.
    owner
        Another token of the owner, from the environment.
    public
        Whether anonymous readers may search.
    dynamic_clients
        Whether tokens of OAuth clients that registered themselves are valid.
    external_url
        Address of the service; empty: the name that a request used.
    is_on_this_machine
        Whether repositories have directories on this machine. A grant then applies to its directory only, and not to
        another with the same name.
    """

    def __init__(
        self,
        state: State,
        *,
        owner: OwnerToken | None = None,
        public: bool = False,
        dynamic_clients: bool = True,
        external_url: str = "",
        is_on_this_machine: bool = False,
    ) -> None:
        self.state = state
        self._has_places = is_on_this_machine
        self._owner = owner
        self._public = public
        self._dynamic_clients = dynamic_clients
        self._external_url = external_url
        self._last: tuple[Permissions, VerifiedCredential, Principal] | None = None

    def authenticate(self, headers: Mapping[str, str]) -> Principal | Refusal:
        """Return the principal of the headers of a request (names in lower case), or a refusal.

        A missing or empty header and an unknown scheme are anonymous. The endpoint decides about anonymous readers,
        scopes and permissions. A wrong token is refused even where anonymous readers are allowed.
        """
        header = headers.get("authorization", "").strip()
        # Schemes are case-insensitive (RFC 9110, 11.1).
        scheme, _, value = header.partition(" ")
        scheme, value = scheme.lower(), value.strip()

        # The scheme of the wire for acting as another account, which this service doesn't offer.
        if scheme == "token-sudo":
            return SUDO

        if scheme == "basic":
            token = _basic(value)
        elif scheme in {"token", "bearer"}:
            token = value
        else:
            return Principal.anonymous()

        # A comma joins two headers of the same name: which one was meant is unknown.
        if not token or any(separator in token for separator in " \t,"):
            return MALFORMED

        return self._recognize(token, headers.get("host", ""))

    def for_search(self, headers: Mapping[str, str]) -> Principal | Refusal:
        """Authenticate outside the MCP endpoints: needs ``user:all``, or a public service.

        A token of another scope is refused as a wrong one (wire reference, 2.1); only a challenge distinguishes them.
        """
        return self._check_search(self.authenticate(headers))

    def for_search_again(self, headers: Mapping[str, str], earlier: Principal) -> Principal | Refusal:
        """Authenticate as `for_search`, which returned `earlier` for these same headers.

        The owner of the environment is recognized without another hash: that token is valid for as long as the process
        runs. Rights are read again for everybody.
        """
        if self._owner is not None and earlier.credential == OWNER:
            return self._check_search(self._principal(_OWNER_CREDENTIAL, OWNER))
        return self.for_search(headers)

    def still_searches(self, headers: Mapping[str, str], earlier: Principal) -> bool:
        """Return whether a running request that `for_search` accepted for `earlier` keeps its access."""
        current = self._check_search(self._authenticate_again(headers, earlier))
        return isinstance(current, Principal) and current.covers(earlier)

    def for_page(self, headers: Mapping[str, str], reader: str = "") -> Principal | Refusal:
        """Authenticate for read-only pages, where the cookie of a signed-in browser is a credential too.

        Parameters
        ----------
        headers
            As in `authenticate`; a credential there has precedence.
        reader
            The reader cookie from `Sessions.reader`; empty without one.
        """
        # A wrong token in the header is refused even with a good cookie: the caller meant the token.
        principal = self.for_search(headers)
        is_unknown = principal.is_anonymous if isinstance(principal, Principal) else principal is NO_CREDENTIAL
        session = self.state.sessions.find_reader(reader) if reader and is_unknown else None
        if session is None:
            return principal
        return self._principal(
            VerifiedCredential(kind="token", id=0, account=session.account, scopes=frozenset({USER_ALL})), "session"
        )

    def for_mcp(self, headers: Mapping[str, str]) -> Principal | Refusal:
        """Authenticate for the MCP endpoints: needs a credential, ``MCP#ACCESS``, and a scope that covers it."""
        return _check_mcp(self.authenticate(headers))

    def still_uses_mcp(self, headers: Mapping[str, str], earlier: Principal) -> bool:
        """Return whether a running request that `for_mcp` accepted for `earlier` keeps its access."""
        current = _check_mcp(self._authenticate_again(headers, earlier))
        return isinstance(current, Principal) and current.covers(earlier)

    @property
    def version(self) -> int:
        """A number that changes with every account, permission or credential, in any process."""
        return self.state.database.version

    def account_token(self, token: str) -> Principal | None:
        """Return the principal of an access token of scope ``user:all``, or None for any other token."""
        # Without a host, so tokens bound to a resource are refused here: this is for pages, not for the resource.
        principal = self._recognize(token, "")
        is_own = isinstance(principal, Principal) and not principal.client and principal.may_search
        return principal if isinstance(principal, Principal) and is_own else None

    def _check_search(self, principal: Principal | Refusal) -> Principal | Refusal:
        if isinstance(principal, Refusal):
            return principal
        if principal.is_anonymous:
            return principal if self._public else NO_CREDENTIAL
        return principal if principal.may_search else WRONG_SCOPE

    def _authenticate_again(self, headers: Mapping[str, str], earlier: Principal) -> Principal | Refusal:
        """Authenticate a running request by its grant, or without one by its headers."""
        # An OAuth token lasts an hour and ends when its client renews it, also while a call that began with it runs.
        # What the user allowed is the grant.
        if not earlier.grant:
            return self.authenticate(headers)

        credential = self.state.credentials.find_grant(earlier.grant)
        if credential is None or (credential.dynamic and not self._dynamic_clients):
            return WRONG_TOKEN

        # A token may have fewer scopes than its grant.
        return self._principal(replace(credential, scopes=earlier.scopes), earlier.credential)

    def _recognize(self, token: str, host: str) -> Principal | Refusal:
        # First, and without the database: the owner of the environment can sign in even if the state is locked by a
        # writer.
        if self._owner is not None and self._owner.matches(token):
            return self._principal(_OWNER_CREDENTIAL, OWNER)

        credential = self.state.credentials.find(token)
        # One answer for all causes, so that it doesn't reveal whether a token exists, has expired or was revoked.
        if credential is None or (credential.dynamic and not self._dynamic_clients):
            return WRONG_TOKEN
        if credential.resource and not same_service(credential.resource, self._external_url or f"//{host}"):
            return WRONG_TOKEN

        return self._principal(credential, f"{credential.kind}:{credential.id}")

    def _principal(self, credential: VerifiedCredential, name: str) -> Principal | Refusal:
        # None for an account that was deleted after its credential was read.
        rights = self.state.rights.for_account(credential.account)
        if rights is None:
            return WRONG_TOKEN

        # The token of the environment has one credential, and rights that didn't change are one object.
        last = self._last
        if last is not None and last[0] is rights and last[1] is credential:
            return last[2]

        principal = Principal(
            account=rights.account,
            viewer=Viewer(
                rights.account,
                sees_private=rights.is_administrator,
                # With paths, grants are bound to directories, and a name alone opens nothing.
                granted=frozenset() if self._has_places else rights.names,
                canonical_paths=rights.canonical_paths,
            ),
            scopes=credential.scopes,
            permissions=rights.permissions,
            credential=name,
            client=credential.client,
            grant=credential.id if credential.kind == "oauth" else 0,
        )
        self._last = rights, credential, principal
        return principal


def _check_mcp(principal: Principal | Refusal) -> Principal | Refusal:
    if isinstance(principal, Refusal):
        return principal
    if principal.is_anonymous:
        return NO_CREDENTIAL
    if not principal.has_mcp_access:
        return FORBIDDEN

    return principal if principal.may_use_mcp else INSUFFICIENT_SCOPE


def same_service(resource: str, base: str) -> bool:
    """Return whether an absolute address (RFC 8707 resource) is part of the service at `base`.

    `base` may lack its scheme (``//host:port``) when only a request's ``Host`` is known. All names of loopback are
    equal.
    """
    try:
        service, target = urlsplit(base), urlsplit(resource)
        if (
            target.scheme not in _DEFAULT_PORTS
            or (service.scheme and service.scheme != target.scheme)
            or target.fragment
        ):
            return False
        if target.username is not None or _origin(service, target.scheme) != _origin(target, target.scheme):
            return False
    except ValueError:
        return False

    # With the slash, so that /code doesn't contain /codex.
    prefix = service.path.rstrip("/")
    return target.path == prefix or target.path.startswith(f"{prefix}/")


def _origin(parts: SplitResult, scheme: str) -> tuple[str, int]:
    host, port = parts.hostname or "", parts.port
    name = "localhost" if host.lower() in _LOOPBACK else host.lower()
    return name, port if port is not None else _DEFAULT_PORTS[scheme]


def _basic(value: str) -> str:
    try:
        user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    # Some clients send the token as the password of an empty user, most as the user with an empty password.
    return user or password
