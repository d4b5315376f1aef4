"""The answer to "who asks?": a principal, or a refusal."""

from __future__ import annotations

from dataclasses import dataclass

from sourcelight.repos import Viewer
from sourcelight.repos.state import MCP, MCP_ACCESS, USER_ALL


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
