"""`admin`: accounts, roles, tokens, OAuth clients and grants, straight in `state.sqlite`.

A running service sees every change with its next request. Secrets go to standard output alone and are shown once.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sourcelight.cli.output import DONE, print_table, say, tell
from sourcelight.core.errors import ConfigurationError, StateError
from sourcelight.core.markup import one_line

if TYPE_CHECKING:
    from sourcelight.repos.state import State

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
Row = Mapping[str, object]


def run(work: Callable[[State], int | None]) -> int:
    """Open the state, do `work`, close it."""
    from sourcelight.backends.embedded import data_home
    from sourcelight.repos.state import FILE_NAME, State

    with State(str(data_home() / FILE_NAME), actor=f"admin:{_user()}") as state:
        return work(state) or DONE


def show(rows: Iterable[Row], columns: Sequence[str], *, as_json: bool) -> int:
    """A table with the given columns, or a JSON array of objects with all keys."""
    found = list(rows)
    if as_json:
        tell(json.dumps([dict(row) for row in found], indent=2, ensure_ascii=False))
    else:
        heads = [column.replace("_", " ") for column in columns]
        print_table(heads, [[_cell(row[column]) for column in columns] for row in found])
    return DONE


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"


def list_audit(state: State, limit: int, *, as_json: bool) -> int:
    """The newest changes."""
    rows = [
        {"id": e.id, "at": _moment(e.at), "actor": e.actor, "action": e.action, "subject": e.subject}
        for e in state.audit.entries(limit)
    ]
    return show(rows, ("id", "at", "actor", "action", "subject"), as_json=as_json)


def list_users(state: State, *, as_json: bool) -> int:
    """All accounts."""
    rows = [
        {
            "name": account.name,
            "roles": ["User", *account.roles],
            "password": account.has_password,
            "tokens": sum(token.state(state.clock()) == "active" for token in state.tokens.all(account.name)),
            "created": _moment(account.created_at),
        }
        for account in state.accounts.all()
    ]
    return show(rows, ("name", "roles", "password", "tokens", "created"), as_json=as_json)


def create_user(state: State, name: str, *, with_password: bool) -> None:
    """Make an account; its password is asked for."""
    state.accounts.create(name, read_password() if with_password else "")
    tell(f"created the account {name}")


def set_password(state: State, name: str, *, remove: bool) -> None:
    """Set or remove a password; sign-in sessions end."""
    state.accounts.get(name)
    state.accounts.set_password(name, "" if remove else read_password())
    tell(f"{'removed' if remove else 'set'} the password of {name}; it is signed out everywhere")


def list_roles(state: State, *, as_json: bool) -> int:
    """All roles."""
    rows = [
        {
            "name": role.name,
            "built_in": role.built_in,
            "permissions": list(role.permissions),
            "accounts": ["everyone"] if role.name == "User" else list(role.accounts),
        }
        for role in state.roles.all()
    ]
    return show(rows, ("name", "built_in", "permissions", "accounts"), as_json=as_json)


def list_tokens(state: State, account: str, *, as_json: bool) -> int:
    """All access tokens, or those of one account."""
    if account:
        state.accounts.get(account)
    rows = [
        {
            "id": token.id,
            "account": token.account,
            "scopes": list(token.scopes),
            "state": token.state(state.clock()),
            "created": _moment(token.created_at),
            "expires": _moment(token.expires_at),
            "last_used": _moment(token.last_used_at),
            "note": token.note,
        }
        for token in state.tokens.all(account or None)
    ]
    columns = ("id", "account", "scopes", "state", "created", "expires", "last_used", "note")
    return show(rows, columns, as_json=as_json)


def create_token(state: State, account: str, scopes: Sequence[str], *, expires: str, note: str, as_json: bool) -> None:
    """Make a token; its secret is the only line on standard output."""
    lifetime = read_lifetime(expires) if expires else None
    token, secret = state.tokens.create(account, scopes or ("user:all",), note=note, lifetime_s=lifetime)
    if as_json:
        made = {
            "id": token.id,
            "account": token.account,
            "scopes": list(token.scopes),
            "expires": _moment(token.expires_at),
            "token": secret,
        }
        tell(json.dumps(made, indent=2))
        return
    until = f"until {_moment(token.expires_at)}" if token.expires_at is not None else "without end"
    say(f"token {token.id} of {token.account}, scope {' '.join(token.scopes)}, {until}; it is shown this once")
    tell(secret)


def list_clients(state: State, *, as_json: bool) -> int:
    """All OAuth clients."""
    rows = [
        {
            "id": client.id,
            "name": client.name,
            "kind": "public" if client.secret is None else "confidential",
            "registered_by": "itself" if client.dynamic else "administrator",
            "scopes": list(client.scopes),
            "redirect_uris": list(client.redirect_uris),
            "created": _moment(client.created_at),
        }
        for client in state.clients.all()
    ]
    columns = ("id", "name", "kind", "registered_by", "scopes", "redirect_uris", "created")
    return show(rows, columns, as_json=as_json)


def create_client(
    state: State,
    name: str,
    redirects: Sequence[str],
    scopes: Sequence[str],
    *,
    confidential: bool,
    as_json: bool,
) -> None:
    """Make a client; the id of a public one, or id and secret of a confidential one, on standard output."""
    from sourcelight.server.oauth.addresses import fault_of

    for uri in redirects:
        if fault := fault_of(uri):
            raise ConfigurationError(f"the redirect address {uri!r} can't be used: {fault}")
    client, secret = state.clients.create(name, redirects, scopes=scopes or ("mcp",), confidential=confidential)
    if as_json:
        made = {"client_id": client.id} | ({"client_secret": secret} if secret else {})
        tell(json.dumps(made, indent=2))
        return
    tell(f"client id: {client.id}")
    if secret:
        tell(f"client secret (shown this once): {secret}")


def list_client_grants(state: State, account: str, *, as_json: bool) -> int:
    """What accounts have allowed OAuth clients."""
    if account:
        state.accounts.get(account)
    rows = [
        {
            "id": grant.id,
            "account": grant.account,
            "client": grant.client,
            "client_name": grant.client_name,
            "scopes": list(grant.scopes),
            "resource": grant.resource,
            "state": "ended" if grant.revoked_at is not None else "active",
            "created": _moment(grant.created_at),
            "last_used": _moment(grant.last_used_at),
        }
        for grant in state.authorizations.all(account or None)
    ]
    columns = ("id", "account", "client_name", "scopes", "state", "created", "last_used")
    return show(rows, columns, as_json=as_json)


def list_repository_grants(state: State, repository: str, *, as_json: bool) -> int:
    """Which private repositories are granted to whom."""
    rows = [
        {
            "repository": grant.repository,
            "user": grant.account,
            "role": grant.role,
            "granted": _moment(grant.created_at),
            "folder": grant.place,
        }
        for grant in state.grants.all(name_or_place(repository) if repository else None)
    ]
    return show(rows, ("repository", "user", "role", "granted", "folder"), as_json=as_json)


def list_repository_folders(state: State, *, as_json: bool) -> int:
    """The folder behind each name, whether it is private, and the other folders that claim the name."""
    rows = [
        {
            "repository": record.name,
            "visibility": record.visibility,
            "folder": record.place,
            "also_claimed_by": [place for place in state.repositories.claims(record.claim) if place != record.place],
        }
        for record in sorted(state.repositories.all(), key=lambda record: record.name)
    ]
    return show(rows, ("repository", "visibility", "folder", "also_claimed_by"), as_json=as_json)


def grant_repository(state: State, repository: str, *, user: str, role: str) -> None:
    """Grant a repository by name or folder, and say which one it is."""
    grant = state.grants.add(name_or_place(repository), account=user, role=role)
    if grant.place:
        tell(f"granted {one_line(grant.repository, 200)} to {user or role}: {one_line(grant.place, 4096)}")
        return
    tell(f"granted {repository} to {user or role}")
    say(
        f"no service has had a repository {repository}: the next start of a service ties the grant to the one folder "
        "that has this name then; give a folder to name it now"
    )


def move_repository(state: State, folder: str, target: str) -> None:
    """Take name, privacy and grants of a folder to another one."""
    from sourcelight.repos import place_at

    state.repositories.move(place_at(folder), place_at(target))
    tell(f"what was known of {folder} is known of {target} now; a running service sees it at its next start")


def forget_repository(state: State, repository: str) -> None:
    """Forget a repository with its grants."""
    wanted = name_or_place(repository)
    record = state.repositories.resolve(wanted)
    state.repositories.forget(wanted if record is None else record.place)
    tell(f"forgot {repository} and its grants; a running service sees it at its next start")


def name_or_place(repository: str) -> str:
    """A repository as a command names it: by its name, or by its folder (``/…``, ``./…``, ``~…``)."""
    from sourcelight.repos import place_at

    is_folder = Path(repository).is_absolute() or repository in {".", ".."} or repository.startswith(("./", "../", "~"))
    return place_at(repository) if is_folder else repository


def read_password() -> str:
    """A password: typed twice at a terminal, else the first line of standard input; never empty."""
    if sys.stdin.isatty():
        text = getpass.getpass("Password: ")
        if text and getpass.getpass("Again: ") != text:
            raise StateError("the two passwords differ")
    else:
        text = sys.stdin.readline().rstrip("\r\n")
    if not text:
        # Empty text would mean an account without a password.
        raise StateError("no password was given; a password has 10 to 1000 characters")
    return text


def read_lifetime(text: str) -> float:
    """Seconds of a lifetime such as ``90d``, ``12h``, ``30m``, ``2w``."""
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhdw])", text.strip())
    if match is None:
        raise ConfigurationError(f"{text!r} is no lifetime; accepted: a number with s, m, h, d or w, such as 90d")
    return float(int(match[1]) * _UNITS[match[2]])


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(each) for each in value)
    return value
