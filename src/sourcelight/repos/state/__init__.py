"""The database `state.sqlite`: accounts, roles, grants, tokens and conversations.

All of them share one connection policy and one list of migrations.

It depends on nothing of repositories except names and paths, and not on HTTP.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.repos.state.accounts import (
        MCP_ACCESS,
        OWNER,
        PERMISSIONS,
        SITE_ADMINISTRATOR,
        USER,
        Account,
        BrowserSession,
        Role,
    )
    from sourcelight.repos.state.attempts import Admission, AttemptLimit
    from sourcelight.repos.state.credentials import MCP, SCOPES, USER_ALL, AccessToken, ScryptCost, VerifiedCredential
    from sourcelight.repos.state.database import AuditEntry, Database
    from sourcelight.repos.state.grants import Permissions, RepositoryGrant
    from sourcelight.repos.state.oauth import IssuedCode, OAuthClient, OAuthGrant, TokenPair
    from sourcelight.repos.state.repositories import RepositoryRecord, RepositoryRegister
    from sourcelight.repos.state.saved_answers import LIFETIME_S, SavedAnswer, TooManyAnswers
    from sourcelight.repos.state.state import FILE_NAME, State

__all__ = [
    "FILE_NAME",
    "LIFETIME_S",
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
    "BrowserSession",
    "Database",
    "IssuedCode",
    "OAuthClient",
    "OAuthGrant",
    "Permissions",
    "RepositoryGrant",
    "RepositoryRecord",
    "RepositoryRegister",
    "Role",
    "SavedAnswer",
    "ScryptCost",
    "State",
    "TokenPair",
    "TooManyAnswers",
    "VerifiedCredential",
]

_MODULES = {
    "accounts": (
        "MCP_ACCESS",
        "OWNER",
        "PERMISSIONS",
        "SITE_ADMINISTRATOR",
        "USER",
        "Account",
        "BrowserSession",
        "Role",
    ),
    "attempts": ("Admission", "AttemptLimit"),
    "credentials": ("MCP", "SCOPES", "USER_ALL", "AccessToken", "ScryptCost", "VerifiedCredential"),
    "database": ("AuditEntry", "Database"),
    "grants": ("Permissions", "RepositoryGrant"),
    "oauth": ("IssuedCode", "OAuthClient", "OAuthGrant", "TokenPair"),
    "repositories": ("RepositoryRecord", "RepositoryRegister"),
    "saved_answers": ("LIFETIME_S", "SavedAnswer", "TooManyAnswers"),
    "state": ("FILE_NAME", "State"),
}
"""The public names of each module."""


def __getattr__(name: str) -> object:
    # Loaded on first use: a catalog needs only the register of repositories, so it loads 4 of these modules instead of
    # 12, and no accounts, tokens and OAuth.
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
