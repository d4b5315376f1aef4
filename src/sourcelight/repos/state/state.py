"""The state of one installation: the tables of `state.sqlite`, by subject."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Self

from sourcelight.core.errors import StateUnusable
from sourcelight.repos.state.accounts import Accounts, Roles, Sessions
from sourcelight.repos.state.attempts import Attempts
from sourcelight.repos.state.credentials import AccessTokens, Credentials, ScryptCost
from sourcelight.repos.state.database import AuditLog, Database
from sourcelight.repos.state.devices import DeviceCodes
from sourcelight.repos.state.grants import PermissionReader, RepositoryGrants
from sourcelight.repos.state.oauth import Authorizations, OAuthClients
from sourcelight.repos.state.repositories import RepositoryRegister
from sourcelight.repos.state.saved_answers import SavedAnswers

FILE_NAME = "state.sqlite"


class State:
    """One state file, open; safe to use from several threads, and the file from several processes.

    Parameters
    ----------
    path
        The file, created if absent; empty: in memory.
    clock
        Gives the time, in seconds since 1970.
    cost
        What a password costs to check; None: as much as is advised today.
    actor
        Who makes changes, for the audit log.

    Attributes
    ----------
    accounts, roles, sessions
        Who may sign in, as what, and who is signed in.
    tokens, credentials, clients, authorizations, devices
        What callers prove themselves with: access tokens, other credentials, and those of OAuth.
    repositories, grants, rights
        Names and privacy of repositories, who may read which, and the reader of these.
    attempts, audit, saved_answers
        Failed attempts to sign in, a log of all changes, and answers that people saved.

    Raises
    ------
    StateUnusable
        If the file is damaged, written by a later version, or can't be used.
    """

    def __init__(
        self,
        path: str = "",
        *,
        clock: Callable[[], float] = time.time,
        cost: ScryptCost | None = None,
        actor: str = "sourcelight",
    ) -> None:
        self.database = Database(path, actor)
        self.clock = clock
        self.accounts = Accounts(self.database, clock, cost or ScryptCost())
        self.roles = Roles(self.database, clock)
        self.tokens = AccessTokens(self.database, clock)
        self.repositories = RepositoryRegister(self.database, clock)
        self.grants = RepositoryGrants(self.database, clock, self.repositories)
        self.rights = PermissionReader(self.database)
        self.clients = OAuthClients(self.database, clock)
        self.authorizations = Authorizations(self.database, clock)
        self.devices = DeviceCodes(self.database, self.authorizations, clock)
        self.sessions = Sessions(self.database, clock)
        self.audit = AuditLog(self.database)
        self.attempts = Attempts(self.database, clock)
        self.credentials = Credentials(self.database, clock)
        self.saved_answers = SavedAnswers(self.database, clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the noted last uses, and close the file; closing twice is allowed."""
        with contextlib.suppress(StateUnusable):
            self.credentials.flush()
        self.database.close()
