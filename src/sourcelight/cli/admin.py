"""Actions of the `admin` commands: accounts, roles, tokens, OAuth clients and grants in `state.sqlite`.

A running service sees every change with its next request. Secrets go to standard output only and are shown once.
"""

from __future__ import annotations

import getpass
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from sourcelight.cli.options import read_duration
from sourcelight.cli.output import DONE, format_time, print_line, print_table, say
from sourcelight.core.errors import ConfigurationError, StateError
from sourcelight.core.markup import one_line

if TYPE_CHECKING:
    from sourcelight.repos.state import State

Row = Mapping[str, object]


def run(work: Callable[[State], int | None]) -> int:
    """Open the state, run `work`, close it; return an exit status."""
    from sourcelight.backends.embedded import data_home
    from sourcelight.repos.state import FILE_NAME, State

    with State(str(data_home() / FILE_NAME), actor=f"admin:{_user()}") as state:
        return work(state) or DONE


def show(rows: Iterable[Row], columns: Sequence[str], *, as_json: bool) -> int:
    """Print a table with the given columns, or a JSON array of objects with all keys."""
    records = list(rows)
    if as_json:
        # In ASCII: applications choose their names, and a terminal must not obey characters in them.
        print_line(json.dumps([dict(row) for row in records], indent=2))
    else:
        heads = [column.replace("_", " ") for column in columns]
        print_table(heads, [_cells(row, columns) for row in records])

    return DONE


def back_up(state: State, file: str) -> None:
    """Write a copy of the state."""
    # Times of last use are collected in memory; the copy should have them.
    state.credentials.flush()
    state.database.copy_to(file)
    print_line(f"wrote {file}")


def restore(state: State, file: str, *, is_confirmed: bool) -> None:
    """Replace the state by a copy; a second copy next to it keeps the previous state."""
    if not is_confirmed:
        raise ConfigurationError("this replaces all accounts, permissions and credentials; confirm it with --yes")
    # The copy is made before anything is replaced, so that a failed restore loses nothing.
    before = f"{state.database.path}.before-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    state.database.copy_to(before)
    state.database.replace_from(file)
    print_line(f"restored {file}; the previous contents are in {before}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a user without a name, as in some containers
        return str(os.getuid()) if hasattr(os, "getuid") else "unknown"


def list_audit(state: State, limit: int, *, as_json: bool) -> int:
    """List the newest changes."""
    rows = [
        {
            "id": entry.id,
            "at": _format_time(entry.recorded_at),
            "actor": entry.actor,
            "action": entry.action,
            "subject": entry.subject,
        }
        for entry in state.audit.entries(limit)
    ]
    return show(rows, ("id", "at", "actor", "action", "subject"), as_json=as_json)


def list_users(state: State, *, as_json: bool) -> int:
    """List all accounts."""
    rows = [
        {
            "name": account.name,
            "roles": ["User", *account.roles],
            "password": account.has_password,
            "tokens": _active_tokens(state, account.name),
            "created": _format_time(account.created_at),
        }
        for account in state.accounts.all()
    ]
    return show(rows, ("name", "roles", "password", "tokens", "created"), as_json=as_json)


def _active_tokens(state: State, account: str) -> int:
    now = state.clock()
    return sum(token.state(now) == "active" for token in state.tokens.all(account))


def create_user(state: State, name: str, *, with_password: bool) -> None:
    """Create an account; `with_password` prompts for its password."""
    state.accounts.create(name, read_password() if with_password else "")
    print_line(f"created the account {name}")


def set_password(state: State, name: str, *, remove: bool) -> None:
    """Set or remove a password; sign-in sessions end."""
    # Raises for an unknown account before anyone types a password.
    state.accounts.get(name)
    state.accounts.set_password(name, "" if remove else read_password())
    action = "removed" if remove else "set"
    print_line(f"{action} the password of {name} and ended its sessions")


def list_roles(state: State, *, as_json: bool) -> int:
    """List all roles."""
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
    """List all access tokens, or the tokens of one account."""
    if account:
        state.accounts.get(account)

    rows = [
        {
            "id": token.id,
            "account": token.account,
            "scopes": list(token.scopes),
            "state": token.state(state.clock()),
            "created": _format_time(token.created_at),
            "expires": _format_time(token.expires_at),
            "last_used": _format_time(token.last_used_at),
            "note": token.note,
        }
        for token in state.tokens.all(account or None)
    ]
    columns = ("id", "account", "scopes", "state", "created", "expires", "last_used", "note")
    return show(rows, columns, as_json=as_json)


def create_token(state: State, account: str, scopes: Sequence[str], *, expires: str, note: str, as_json: bool) -> None:
    """Create a token; its secret is the only line on standard output."""
    lifetime_s = read_duration("--expires", expires) if expires else None
    token, secret = state.tokens.create(account, scopes or ("user:all",), note=note, lifetime_s=lifetime_s)
    if as_json:
        result = {
            "id": token.id,
            "account": token.account,
            "scopes": list(token.scopes),
            "expires": _format_time(token.expires_at),
            "token": secret,
        }
        print_line(json.dumps(result, indent=2))
        return

    until = "without expiry"
    if token.expires_at is not None:
        until = f"until {_format_time(token.expires_at)}"

    # On standard error, so that `TOKEN=$(sourcelight admin …)` gets the secret alone.
    say(f"token {token.id} of {token.account}, scope {' '.join(token.scopes)}, {until}; shown only once")
    print_line(secret)


def list_clients(state: State, *, as_json: bool) -> int:
    """List all OAuth clients."""
    rows = [
        {
            "id": client.id,
            "name": client.name,
            "kind": "public" if client.secret is None else "confidential",
            "registered_by": "itself" if client.dynamic else "administrator",
            "scopes": list(client.scopes),
            "redirect_uris": list(client.redirect_uris),
            "created": _format_time(client.created_at),
        }
        for client in state.clients.all()
    ]
    columns = ("id", "name", "kind", "registered_by", "scopes", "redirect_uris", "created")
    return show(rows, columns, as_json=as_json)


def create_client(
    state: State,
    name: str,
    redirect_uris: Sequence[str],
    scopes: Sequence[str],
    *,
    confidential: bool,
    as_json: bool,
) -> None:
    """Create a client and print its id, and for a confidential client its secret."""
    from sourcelight.server.oauth.addresses import redirect_problem

    for uri in redirect_uris:
        problem = redirect_problem(uri)
        if problem:
            raise ConfigurationError(f"can't use the redirect address {uri!r}: {problem}")

    client, secret = state.clients.create(name, redirect_uris, scopes=scopes or ("mcp",), confidential=confidential)
    if as_json:
        result = {"client_id": client.id}
        if secret:
            result["client_secret"] = secret
        print_line(json.dumps(result, indent=2))
        return

    print_line(f"client id: {client.id}")
    if secret:
        print_line(f"client secret (shown only once): {secret}")


def list_client_grants(state: State, account: str, *, as_json: bool) -> int:
    """List the grants that accounts gave OAuth clients."""
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
            "created": _format_time(grant.created_at),
            "last_used": _format_time(grant.last_used_at),
        }
        for grant in state.authorizations.all(account or None)
    ]
    columns = ("id", "account", "client_name", "scopes", "state", "created", "last_used")
    return show(rows, columns, as_json=as_json)


def list_repository_grants(state: State, repository: str, *, as_json: bool) -> int:
    """List grants of private repositories."""
    identifier = name_or_directory(repository) if repository else None
    rows = [
        {
            "repository": grant.repository,
            "user": grant.account,
            "role": grant.role,
            "granted": _format_time(grant.created_at),
            "folder": grant.canonical_path,
        }
        for grant in state.grants.all(identifier)
    ]
    return show(rows, ("repository", "user", "role", "granted", "folder"), as_json=as_json)


def list_repository_folders(state: State, *, as_json: bool) -> int:
    """List the directory behind each name, its visibility, and other directories that claim the name."""
    rows = []
    for record in sorted(state.repositories.all(), key=lambda record: record.name):
        claims = state.repositories.claims(record.claim)
        rows.append(
            {
                "repository": record.name,
                "visibility": record.visibility,
                "folder": record.canonical_path,
                "also_claimed_by": [path for path in claims if path != record.canonical_path],
            }
        )

    return show(rows, ("repository", "visibility", "folder", "also_claimed_by"), as_json=as_json)


def grant_repository(state: State, repository: str, *, user: str, role: str) -> None:
    """Grant a repository by name or directory, and print which one it is."""
    grant = state.grants.add(name_or_directory(repository), account=user, role=role)
    if grant.canonical_path:
        print_line(
            f"granted {one_line(grant.repository, 200)} to {user or role}: {one_line(grant.canonical_path, 4096)}"
        )
        return

    print_line(f"granted {repository} to {user or role}")
    say(
        f"no service has served {repository} yet: the next start of a service binds the grant to the directory that "
        "then has this name; pass a directory to choose it now"
    )


def move_repository(state: State, source: str, target: str) -> None:
    """Move name, visibility and grants of one directory to another."""
    from sourcelight.repos import canonical_path_at

    state.repositories.move(canonical_path_at(source), canonical_path_at(target))
    print_line(
        f"{target} now has the name, visibility and grants of {source}; a running service sees it at its next start"
    )


def forget_repository(state: State, repository: str) -> None:
    """Forget a repository with its grants."""
    identifier = name_or_directory(repository)
    record = state.repositories.resolve(identifier)
    state.repositories.forget(identifier if record is None else record.canonical_path)
    print_line(f"forgot {repository} and its grants; a running service sees it at its next start")


def name_or_directory(repository: str) -> str:
    """Return a repository as the state has it, from its name or its directory (``/…``, ``./…``, ``~…``)."""
    from sourcelight.repos import canonical_path_at

    is_relative = repository in {".", ".."} or repository.startswith(("./", "../", "~"))
    if is_relative or Path(repository).is_absolute():
        return canonical_path_at(repository)
    return repository


def read_password() -> str:
    """Read a password, twice at a terminal, else from the first line of standard input; never empty."""
    if sys.stdin.isatty():
        text = getpass.getpass("Password: ")
        if text and getpass.getpass("Again: ") != text:
            raise StateError("the two passwords differ")
    else:
        text = sys.stdin.readline().rstrip("\r\n")

    if not text:
        # Empty text would mean an account without a password.
        raise StateError("the password is empty; use 10 to 1000 characters")

    return text


def _format_time(seconds: int | None) -> str | None:
    return None if seconds is None else format_time(seconds)


def _cells(row: Row, columns: Sequence[str]) -> list[object]:
    return [_format_cell(row[column]) for column in columns]


def _format_cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return value
