"""The commands of `admin` and their options; module `admin` carries them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from sourcelight.cli import admin
from sourcelight.cli.output import print_line
from sourcelight.core.markup.counts import count_of

if TYPE_CHECKING:
    from sourcelight.repos.state import State


def _group(text: str) -> typer.Typer:
    return typer.Typer(help=text, rich_markup_mode=None, no_args_is_help=True)


admin_app = _group(
    "Manage accounts, roles, tokens, OAuth clients and access. "
    "Works on state.sqlite below SOURCELIGHT_HOME; a running service sees changes with its next request."
)
user_app = _group("Accounts. The account owner always exists.")
role_app = _group("Roles: named sets of permissions. Everyone has the role User.")
token_app = _group("Access tokens, sent as Authorization: token T.")
client_app = _group("OAuth clients and their grants.")
repo_app = _group("Access to private repositories.")
for _name, _app in (
    ("user", user_app),
    ("role", role_app),
    ("token", token_app),
    ("oauth-client", client_app),
    ("repo", repo_app),
):
    admin_app.add_typer(_app, name=_name)

Json = Annotated[bool, typer.Option("--json", help="Write JSON.")]
User = Annotated[str, typer.Argument(metavar="ACCOUNT", help="Name of an account.")]
RoleName = Annotated[str, typer.Argument(metavar="ROLE", help="Name of a role, in quotes if it has spaces.")]
Permission = Annotated[str, typer.Argument(metavar="PERMISSION", help="Such as MCP#ACCESS.")]
Repo = Annotated[
    str, typer.Argument(metavar="REPOSITORY", help="Full name, as `sourcelight repos` shows it, or a directory.")
]
ToUser = Annotated[str, typer.Option("--user", metavar="ACCOUNT", help="Account of the grant.")]
ToRole = Annotated[
    str, typer.Option("--role", metavar="ROLE", help="Role of the grant; covers every account that has it.")
]
Scopes = Annotated[
    Optional[list[str]],  # noqa: UP045 - typer of the oldest supported release reads this form
    typer.Option("--scope", metavar="SCOPE", help="user:all (everything) or mcp (the MCP endpoints only)."),
]


@user_app.command("list")
def list_users(*, as_json: Json = False) -> int:
    """List all accounts."""
    return admin.run(lambda state: admin.list_users(state, as_json=as_json))


@user_app.command("create")
def create_user(
    name: User,
    *,
    password: Annotated[
        bool,
        typer.Option("--password", help="Prompt for a password, or read a line of standard input."),
    ] = False,
) -> int:
    """Create an account. It needs a password or a token to sign in."""
    return admin.run(lambda state: admin.create_user(state, name, with_password=password))


@user_app.command("set-password")
def set_password(
    name: User,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the password instead.")] = False,
) -> int:
    """Set the password of an account. Prompts for it, or reads the first line of standard input."""
    return admin.run(lambda state: admin.set_password(state, name, remove=remove))


@user_app.command("sign-out")
def sign_out(name: User) -> int:
    """End all sign-in sessions of an account. Its tokens stay valid."""

    def work(state: State) -> None:
        state.accounts.get(name)
        print_line(f"ended {count_of(state.sessions.end_all(name), 'session')} of {name}")

    return admin.run(work)


@user_app.command("delete")
def delete_user(name: User) -> int:
    """Delete an account with its tokens, sessions and grants."""

    def work(state: State) -> None:
        state.accounts.delete(name)
        print_line(f"deleted the account {name}")

    return admin.run(work)


@role_app.command("list")
def list_roles(*, as_json: Json = False) -> int:
    """List all roles, their permissions and holders."""
    return admin.run(lambda state: admin.list_roles(state, as_json=as_json))


@role_app.command("create")
def create_role(name: RoleName) -> int:
    """Create a role without permissions."""

    def work(state: State) -> None:
        print_line(f"created the role {state.roles.create(name).name}")

    return admin.run(work)


@role_app.command("delete")
def delete_role(name: RoleName) -> int:
    """Delete a role. Its holders lose the permissions that only it gives."""

    def work(state: State) -> None:
        state.roles.delete(name)
        print_line(f"deleted the role {name}")

    return admin.run(work)


@role_app.command("allow")
def allow(name: RoleName, permission: Permission) -> int:
    """Add a permission to a role."""

    def work(state: State) -> None:
        state.roles.allow(name, permission)
        print_line(f"{name} now has {permission}")

    return admin.run(work)


@role_app.command("disallow")
def disallow(name: RoleName, permission: Permission) -> int:
    """Remove a permission from a role."""

    def work(state: State) -> None:
        state.roles.disallow(name, permission)
        print_line(f"{name} no longer has {permission}")

    return admin.run(work)


@role_app.command("assign")
def assign(name: RoleName, account: User) -> int:
    """Assign a role to an account."""

    def work(state: State) -> None:
        state.roles.assign(name, account)
        print_line(f"{account} now has the role {name}")

    return admin.run(work)


@role_app.command("unassign")
def unassign(name: RoleName, account: User) -> int:
    """Remove a role from an account."""

    def work(state: State) -> None:
        state.roles.unassign(name, account)
        print_line(f"{account} no longer has the role {name}")

    return admin.run(work)


@token_app.command("list")
def list_tokens(
    account: Annotated[str, typer.Argument(metavar="[ACCOUNT]", help="Only of this account.")] = "",
    *,
    as_json: Json = False,
) -> int:
    """List access tokens. Shows scopes, state and last use, and no secrets."""
    return admin.run(lambda state: admin.list_tokens(state, account, as_json=as_json))


@token_app.command("create")
def create_token(
    account: User,
    *,
    scope: Scopes = None,
    expires: Annotated[str, typer.Option(metavar="LIFETIME", help="Such as 90d or 12h.  [default: never]")] = "",
    note: Annotated[str, typer.Option(metavar="TEXT", help="Purpose of the token.")] = "",
    as_json: Json = False,
) -> int:
    """Create an access token and print it. It can't be shown again."""
    return admin.run(
        lambda state: admin.create_token(state, account, scope or [], expires=expires, note=note, as_json=as_json)
    )


@token_app.command("revoke")
def revoke_token(number: Annotated[int, typer.Argument(metavar="ID", help="Number of a token.")]) -> int:
    """Revoke a token at once."""

    def work(state: State) -> None:
        token = state.tokens.revoke(number)
        print_line(f"revoked token {token.id} of {token.account}")

    return admin.run(work)


@client_app.command("list")
def list_clients(*, as_json: Json = False) -> int:
    """List OAuth clients. Includes those that registered themselves."""
    return admin.run(lambda state: admin.list_clients(state, as_json=as_json))


@client_app.command("create")
def create_client(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name to show to users.")],
    *,
    redirect_uri: Annotated[
        list[str],
        typer.Option("--redirect-uri", metavar="URI", help="Address to which answers are sent. May be repeated."),
    ],
    scope: Scopes = None,
    confidential: Annotated[
        bool, typer.Option("--confidential", help="Issue a secret, for clients that run on a server.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Create an OAuth client. Its default scope is mcp."""
    return admin.run(
        lambda state: admin.create_client(
            state, name, redirect_uri, scope or [], confidential=confidential, as_json=as_json
        )
    )


@client_app.command("delete")
def delete_client(client: Annotated[str, typer.Argument(metavar="CLIENT_ID", help="Id of a client.")]) -> int:
    """Delete an OAuth client and revoke all its tokens."""

    def work(state: State) -> None:
        state.clients.delete(client)
        print_line(f"deleted the OAuth client {client}")

    return admin.run(work)


@client_app.command("grants")
def list_client_grants(
    account: Annotated[str, typer.Argument(metavar="[ACCOUNT]", help="Only of this account.")] = "",
    *,
    as_json: Json = False,
) -> int:
    """List the grants that accounts gave OAuth clients."""
    return admin.run(lambda state: admin.list_client_grants(state, account, as_json=as_json))


@client_app.command("revoke-grant")
def revoke_grant(number: Annotated[int, typer.Argument(metavar="ID", help="Number of a grant.")]) -> int:
    """Revoke a grant of an account and all tokens issued from it."""

    def work(state: State) -> None:
        state.authorizations.end(number)
        print_line(f"revoked the grant {number}")

    return admin.run(work)


@repo_app.command("list")
def list_repository_grants(
    repository: Annotated[str, typer.Argument(metavar="[REPOSITORY]", help="Only this repository.")] = "",
    *,
    as_json: Json = False,
) -> int:
    """List grants of private repositories."""
    return admin.run(lambda state: admin.list_repository_grants(state, repository, as_json=as_json))


@repo_app.command("folders")
def list_repository_folders(*, as_json: Json = False) -> int:
    """List the directory of each repository. Shows its visibility, and other directories that claim the name.

    Undecided repositories are private unless repos.toml lists them as public.
    """
    return admin.run(lambda state: admin.list_repository_folders(state, as_json=as_json))


@repo_app.command("grant")
def grant_repository(repository: Repo, *, user: ToUser = "", role: ToRole = "") -> int:
    """Grant a private repository to an account or a role.

    Every account with the role gets access. The grant stays with the directory that has the name now. Another
    directory that takes the name later doesn't get it.
    """
    return admin.run(lambda state: admin.grant_repository(state, repository, user=user, role=role))


@repo_app.command("revoke")
def revoke_repository(repository: Repo, *, user: ToUser = "", role: ToRole = "") -> int:
    """Revoke a grant."""

    def work(state: State) -> None:
        state.grants.remove(admin.name_or_directory(repository), account=user, role=role)
        print_line(f"{repository} is no longer granted to {user or role}")

    return admin.run(work)


@admin_app.command("backup")
def back_up(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File to write; it must not exist.")],
) -> int:
    """Write a copy of state.sqlite, even while the service runs. Protect it like the original."""
    return admin.run(lambda state: admin.back_up(state, file))


@admin_app.command("restore")
def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A copy that `admin backup` wrote.")],
    *,
    yes: Annotated[
        bool, typer.Option("--yes", help="Confirm that you replace all accounts, permissions and credentials.")
    ] = False,
) -> int:
    """Replace the contents of state.sqlite with a copy.

    First saves the current contents in a file next to it. A running service uses the restored contents at once.
    Credentials that were revoked after the backup become valid again.
    """
    return admin.run(lambda state: admin.restore(state, file, is_confirmed=yes))


@admin_app.command("audit")
def list_audit(
    *,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=1_000_000, metavar="NUMBER", help="Maximum number of entries.")
    ] = 1_000,
    as_json: Json = False,
) -> int:
    """List changes of accounts, permissions and credentials.

    Each entry has its time and actor. Entries are never deleted.
    """
    return admin.run(lambda state: admin.list_audit(state, limit, as_json=as_json))


@repo_app.command("move")
def move_repository(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Directory before the move.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Directory after the move.")],
) -> int:
    """Update a moved repository. Keeps its name, visibility and grants."""
    return admin.run(lambda state: admin.move_repository(state, source, target))


@repo_app.command("forget")
def forget_repository(repository: Repo) -> int:
    """Forget a removed repository and its grants.

    Another repository can then take its name. If the directory comes back, it counts as new.
    """
    return admin.run(lambda state: admin.forget_repository(state, repository))
