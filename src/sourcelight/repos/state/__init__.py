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
        BrowserSession,
    )
    from sourcelight.repos.state.attempts import AttemptLimit
    from sourcelight.repos.state.credentials import MCP, SCOPES, USER_ALL, ScryptCost, VerifiedCredential
    from sourcelight.repos.state.database import Database
    from sourcelight.repos.state.grants import Permissions
    from sourcelight.repos.state.oauth import IssuedCode, OAuthClient, TokenPair
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
    "AttemptLimit",
    "BrowserSession",
    "Database",
    "IssuedCode",
    "OAuthClient",
    "Permissions",
    "RepositoryRecord",
    "RepositoryRegister",
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
        "BrowserSession",
    ),
    "attempts": ("AttemptLimit"),
    "credentials": ("MCP", "SCOPES", "USER_ALL", "ScryptCost", "VerifiedCredential"),
    "database": ("Database"),
    "grants": ("Permissions"),
    "oauth": ("IssuedCode", "OAuthClient", "TokenPair"),
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
