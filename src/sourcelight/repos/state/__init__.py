"""`state.sqlite`: one connection policy, one list of migrations; accounts, roles, grants, tokens, conversations.

Knows nothing of repositories but their names, and nothing of HTTP.
"""

from sourcelight.repos.state.accounts import OWNER, Account
from sourcelight.repos.state.attempts import Admission, AttemptLimit
from sourcelight.repos.state.audit import AuditEntry
from sourcelight.repos.state.authorizations import Issued, OAuthGrant, TokenPair
from sourcelight.repos.state.clients import OAuthClient
from sourcelight.repos.state.credentials import Credential
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.grants import RepositoryGrant
from sourcelight.repos.state.rights import Rights
from sourcelight.repos.state.roles import MCP_ACCESS, PERMISSIONS, SITE_ADMINISTRATOR, USER, Role
from sourcelight.repos.state.secrets_kept import Cost
from sourcelight.repos.state.sessions import SignedIn
from sourcelight.repos.state.state import FILE_NAME, State
from sourcelight.repos.state.tokens import MCP, SCOPES, USER_ALL, AccessToken

__all__ = [
    "FILE_NAME",
    "MCP",
    "MCP_ACCESS",
    "OWNER",
    "PERMISSIONS",
    "SCOPES",
    "SITE_ADMINISTRATOR",
    "USER",
    "USER_ALL",
    "AccessToken",
    "Account",
    "Admission",
    "AttemptLimit",
    "AuditEntry",
    "Cost",
    "Credential",
    "Database",
    "Issued",
    "OAuthClient",
    "OAuthGrant",
    "RepositoryGrant",
    "Rights",
    "Role",
    "SignedIn",
    "State",
    "TokenPair",
]
