"""`state.sqlite`: one connection policy, one list of migrations; accounts, roles, grants, tokens, conversations.

Knows nothing of repositories but their names and places, and nothing of HTTP.
"""

from sourcelight.repos.state.accounts import (
    MCP_ACCESS,
    OWNER,
    PERMISSIONS,
    SITE_ADMINISTRATOR,
    USER,
    Account,
    Role,
    SignedIn,
)
from sourcelight.repos.state.attempts import Admission, AttemptLimit
from sourcelight.repos.state.credentials import MCP, SCOPES, USER_ALL, AccessToken, Cost, Credential
from sourcelight.repos.state.database import AuditEntry, Database
from sourcelight.repos.state.grants import RepositoryGrant, Rights
from sourcelight.repos.state.oauth import Issued, OAuthClient, OAuthGrant, TokenPair
from sourcelight.repos.state.repositories import RepositoryRecord, RepositoryRegister
from sourcelight.repos.state.state import FILE_NAME, State

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
    "RepositoryRecord",
    "RepositoryRegister",
    "Rights",
    "Role",
    "SignedIn",
    "State",
    "TokenPair",
]
