"""The reading of credentials from a request.

A token is accepted from the ``Authorization`` header alone (``token T``, ``Bearer T``, or Basic with the token as user
name, which is what a browser's prompt sends). It is not accepted from the address: addresses end up in logs,
histories and referrers.

The owner's first token: given by the environment, taken over from an earlier version, or made at the first start.

The answer to "who asks?": a principal, or a refusal.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from sourcelight.core.errors import ConfigurationError
from sourcelight.repos import Viewer
from sourcelight.repos.state import MCP, MCP_ACCESS, OWNER, USER_ALL, State, VerifiedCredential

OWNER_TOKEN_VARIABLE = "SOURCELIGHT_OWNER_TOKEN"  # noqa: S105 - the name of a variable, not a token
_FILE = "owner-token"
_SHORTEST = 16
_NOTE = "first start"


@dataclass(frozen=True, slots=True)
class OwnerToken:
    """A token of the owner that no file keeps, as its SHA-256, which is enough to recognise it.

    A plain hash is enough because tokens are long random text; `read_owner_token` refuses short ones.
    """

    digest: bytes

    @classmethod
    def of(cls, token: str) -> OwnerToken:
        """The recogniser of `token`."""
        return cls(_digest(token))

    def matches(self, token: str) -> bool:
        """Whether `token` is the owner's; takes the same time whatever was given."""
        return hmac.compare_digest(self.digest, _digest(token))


@dataclass(frozen=True, slots=True)
class OwnerTokenState:
    """What a start found or made.

    Parameters
    ----------
    origin
        ``environment``, ``made`` or ``kept``.
    token
        Recognises the environment's token; None otherwise, since `state.sqlite` keeps the others.
    text
        The token itself, known only when given or just made.
    """

    origin: Literal["environment", "made", "kept"]
    token: OwnerToken | None = None
    text: str = ""


def read_owner_token(state: State, home: str, environ: Mapping[str, str]) -> OwnerTokenState:
    """The owner's token: from the environment, else one that `state` keeps, else a new one.

    A file ``owner-token`` below `home`, as earlier versions kept it, is taken over into `state` and deleted: the token
    goes on working. Two first starts at the same moment agree on one token.

    Raises
    ------
    ConfigurationError
        When the environment's token is too short or holds blanks or non-ASCII, or the file can't be used.
    """
    given = environ.get(OWNER_TOKEN_VARIABLE, "")
    if given:
        if len(given) < _SHORTEST or not given.isascii() or not given.isprintable() or " " in given:
            raise ConfigurationError(
                f"environment variable {OWNER_TOKEN_VARIABLE} is no safe token; accepted: {_SHORTEST} or more "
                "printable ASCII characters without blanks"
            )
        return OwnerTokenState("environment", OwnerToken.of(given), given)
    path = Path(home) / _FILE
    if path.exists():
        state.tokens.store(OWNER, _kept(path), (USER_ALL,), note="taken over from the file owner-token")
        try:
            path.unlink(missing_ok=True)
        except OSError as fault:
            raise ConfigurationError(f"{path}: is taken over, but can't be deleted: {fault.strerror}") from fault
    text = state.tokens.create_first(OWNER, note=_NOTE)
    return OwnerTokenState("made", None, text) if text else OwnerTokenState("kept")


def _kept(path: Path) -> bytes:
    try:
        kind, _, value = path.read_text(encoding="ascii").strip().partition(":")
        digest = bytes.fromhex(value)
    except (OSError, ValueError) as fault:
        raise ConfigurationError(f"{path}: can't be read: {fault}; delete it to make a new owner token") from fault
    if kind != "sha256" or len(digest) != hashlib.sha256().digest_size:
        raise ConfigurationError(f"{path}: holds no hash of a token; delete it to make a new owner token")
    return digest


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True, slots=True)
class Principal:
    """Whom a request acts for, and how far.

    Parameters
    ----------
    account
        Account name; empty for an anonymous reader.
    viewer
        The same as the engines know it: which repositories exist.
    scopes
        What the credential is good for: ``user:all``, ``mcp``; empty for an anonymous reader.
    permissions
        What the account's roles allow, such as ``MCP#ACCESS``.
    credential
        Which credential it was, for logs and clean-up: ``owner``, ``token:7``, ``oauth:3``; never a secret.
    client
        OAuth client id; empty for other credentials.
    resource
        What an OAuth token was issued for (RFC 8707); empty when for no resource in particular.
    """

    account: str
    viewer: Viewer
    scopes: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    credential: str = ""
    client: str = ""
    resource: str = ""

    @classmethod
    def anonymous(cls) -> Principal:
        """A reader without a credential."""
        return cls("", Viewer.anonymous())

    @property
    def is_anonymous(self) -> bool:
        """Whether no credential was given."""
        return not self.credential

    def covers(self, earlier: Principal) -> bool:
        """Whether everything that `earlier` could search can be searched by this one, of the same account, too."""
        now, then = self.viewer, earlier.viewer
        return (
            self.account == earlier.account
            and self.may_search >= earlier.may_search
            and (
                now.sees_private
                or (not then.sees_private and now.granted >= then.granted and now.places >= then.places)
            )
        )

    @property
    def may_search(self) -> bool:
        """Whether the credential is good outside the MCP endpoints."""
        return USER_ALL in self.scopes

    @property
    def may_use_mcp(self) -> bool:
        """Whether the credential is good on the MCP endpoints; ``user:all`` includes them."""
        return USER_ALL in self.scopes or MCP in self.scopes

    @property
    def has_mcp_access(self) -> bool:
        """Whether the account holds ``MCP#ACCESS``."""
        return MCP_ACCESS in self.permissions


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is turned away.

    Parameters
    ----------
    status
        HTTP status.
    text
        What a reader is told; plain text.
    error
        The OAuth word for the challenge (RFC 6750, 3.1): ``invalid_token``, ``insufficient_scope``; empty for none.
    """

    status: int
    text: str
    error: str = ""


NO_CREDENTIAL = Refusal(401, "Private mode requires authentication.")
WRONG_TOKEN = Refusal(401, "Invalid access token.", "invalid_token")
MALFORMED = Refusal(401, "Invalid Authorization header.", "invalid_request")
SUDO = Refusal(403, "Sudo access tokens are not offered by this service.")
#: The text is the spec's, for an account without ``MCP#ACCESS``.
FORBIDDEN = Refusal(403, "forbidden")
INSUFFICIENT_SCOPE = Refusal(403, "The scope of this credential does not cover this request.", "insufficient_scope")


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
    has_places
        Whether the repositories of this service have places on this machine: a grant counts for its place alone then,
        and not for whatever has its name.
    """

    def __init__(
        self,
        state: State,
        *,
        owner: OwnerToken | None = None,
        public: bool = False,
        dynamic_clients: bool = True,
        external_url: str = "",
        has_places: bool = False,
    ) -> None:
        self.state = state
        self._has_places = has_places
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
        return self._principal(VerifiedCredential("token", 0, here.account, frozenset({USER_ALL})), "session")

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
            return self._principal(VerifiedCredential("token", 0, _OWNER_ID, frozenset({USER_ALL})), OWNER)
        found = self.state.credentials.find(token)
        if found is None or (found.dynamic and not self._dynamic_clients):
            return WRONG_TOKEN
        if found.resource and not same_service(found.resource, self._external_url or f"//{host}"):
            return WRONG_TOKEN
        return self._principal(found, f"{found.kind}:{found.id}")

    def _principal(self, credential: VerifiedCredential, name: str) -> Principal | Refusal:
        rights = self.state.rights.for_account(credential.account)
        if rights is None:
            return WRONG_TOKEN
        return Principal(
            rights.account,
            Viewer(
                rights.account,
                sees_private=rights.is_administrator,
                granted=frozenset() if self._has_places else rights.names,
                places=rights.places,
            ),
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
