"""The commands of `admin` and their options; what they do stands in `admin`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Optional

import typer

from sourcelight.cli import admin
from sourcelight.cli.output import tell

if TYPE_CHECKING:
    from sourcelight.repos.state import State


def _group(text: str) -> typer.Typer:
    return typer.Typer(help=text, rich_markup_mode=None, no_args_is_help=True)


admin_app = _group(
    "Manage accounts, roles, tokens, OAuth clients and access to private repositories. "
    "Works on state.sqlite below SOURCELIGHT_HOME; a running service sees changes with its next request."
)
user_app = _group("Accounts. The account owner is there from the start.")
role_app = _group("Roles: named sets of permissions. Everyone has the role User.")
token_app = _group("Access tokens, sent as Authorization: token T.")
client_app = _group("OAuth clients, and what accounts have allowed them.")
repo_app = _group("Which private repositories exist for whom.")
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
RoleName = Annotated[str, typer.Argument(metavar="ROLE", help="Name of a role, in quotes if it has blanks.")]
Permission = Annotated[str, typer.Argument(metavar="PERMISSION", help="Such as MCP#ACCESS.")]
Repo = Annotated[
    str, typer.Argument(metavar="REPOSITORY", help="Full name, as `sourcelight repos` shows it, or folder.")
]
ToUser = Annotated[str, typer.Option("--user", metavar="ACCOUNT", help="The account.")]
ToRole = Annotated[str, typer.Option("--role", metavar="ROLE", help="The role; all who have it are meant.")]
Scopes = Annotated[
    Optional[list[str]],  # noqa: UP045 - typer of the oldest supported release reads this form
    typer.Option("--scope", help="user:all (everything) or mcp (the MCP endpoints alone)."),
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
        bool, typer.Option("--password", help="Ask for a password, or read it from standard input's first line.")
    ] = False,
) -> int:
    """Create an account; it needs a password, or a token, to sign in on pages."""
    return admin.run(lambda state: admin.create_user(state, name, with_password=password))


@user_app.command("set-password")
def set_password(
    name: User,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the password instead.")] = False,
) -> int:
    """Set the password of an account; it is typed, or read from standard input's first line."""
    return admin.run(lambda state: admin.set_password(state, name, remove=remove))


@user_app.command("sign-out")
def sign_out(name: User) -> int:
    """End all sign-in sessions of an account; its tokens stay."""

    def work(state: State) -> None:
        state.accounts.get(name)
        tell(f"ended {state.sessions.end_all(name)} sessions of {name}")

    return admin.run(work)


@user_app.command("delete")
def delete_user(name: User) -> int:
    """Delete an account with its tokens, sessions and grants."""

    def work(state: State) -> None:
        state.accounts.delete(name)
        tell(f"deleted the account {name}")

    return admin.run(work)


@role_app.command("list")
def list_roles(*, as_json: Json = False) -> int:
    """List all roles, their permissions and holders."""
    return admin.run(lambda state: admin.list_roles(state, as_json=as_json))


@role_app.command("create")
def create_role(name: RoleName) -> int:
    """Create a role without permissions."""

    def work(state: State) -> None:
        tell(f"created the role {state.roles.create(name).name}")

    return admin.run(work)


@role_app.command("delete")
def delete_role(name: RoleName) -> int:
    """Delete a role; what only it granted is lost."""

    def work(state: State) -> None:
        state.roles.delete(name)
        tell(f"deleted the role {name}")

    return admin.run(work)


@role_app.command("allow")
def allow(name: RoleName, permission: Permission) -> int:
    """Add a permission to a role."""

    def work(state: State) -> None:
        state.roles.allow(name, permission)
        tell(f"{name} now has {permission}")

    return admin.run(work)


@role_app.command("disallow")
def disallow(name: RoleName, permission: Permission) -> int:
    """Take a permission from a role."""

    def work(state: State) -> None:
        state.roles.disallow(name, permission)
        tell(f"{name} has {permission} no longer")

    return admin.run(work)


@role_app.command("assign")
def assign(name: RoleName, account: User) -> int:
    """Give a role to an account."""

    def work(state: State) -> None:
        state.roles.assign(name, account)
        tell(f"{account} now has the role {name}")

    return admin.run(work)


@role_app.command("unassign")
def unassign(name: RoleName, account: User) -> int:
    """Take a role from an account."""

    def work(state: State) -> None:
        state.roles.unassign(name, account)
        tell(f"{account} has the role {name} no longer")

    return admin.run(work)


@token_app.command("list")
def list_tokens(
    account: Annotated[str, typer.Argument(metavar="[ACCOUNT]", help="Only those of this account.")] = "",
    *,
    as_json: Json = False,
) -> int:
    """List access tokens: scopes, state, last use; never their secrets."""
    return admin.run(lambda state: admin.list_tokens(state, account, as_json=as_json))


@token_app.command("create")
def create_token(
    account: User,
    *,
    scope: Scopes = None,
    expires: Annotated[str, typer.Option(metavar="LIFETIME", help="Such as 90d or 12h.  [default: never]")] = "",
    note: Annotated[str, typer.Option(help="What it is for.")] = "",
    as_json: Json = False,
) -> int:
    """Create an access token and print it, this once."""
    return admin.run(
        lambda state: admin.create_token(state, account, scope or [], expires=expires, note=note, as_json=as_json)
    )


@token_app.command("revoke")
def revoke_token(number: Annotated[int, typer.Argument(metavar="ID", help="Number of a token.")]) -> int:
    """Make a token worthless at once."""

    def work(state: State) -> None:
        token = state.tokens.revoke(number)
        tell(f"revoked token {token.id} of {token.account}")

    return admin.run(work)


@client_app.command("list")
def list_clients(*, as_json: Json = False) -> int:
    """List OAuth clients, those that registered themselves included."""
    return admin.run(lambda state: admin.list_clients(state, as_json=as_json))


@client_app.command("create")
def create_client(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What users are shown.")],
    *,
    redirect: Annotated[
        list[str],
        typer.Option("--redirect", metavar="URI", help="Where answers go; more than one may be given."),
    ],
    scope: Scopes = None,
    confidential: Annotated[
        bool, typer.Option("--confidential", help="Give it a secret: for clients that run on a server.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Create an OAuth client, with scope mcp unless --scope says otherwise."""
    return admin.run(
        lambda state: admin.create_client(
            state, name, redirect, scope or [], confidential=confidential, as_json=as_json
        )
    )


@client_app.command("delete")
def delete_client(client: Annotated[str, typer.Argument(metavar="CLIENT_ID", help="Id of a client.")]) -> int:
    """Delete an OAuth client; all its tokens end."""

    def work(state: State) -> None:
        state.clients.delete(client)
        tell(f"deleted the OAuth client {client}")

    return admin.run(work)


@client_app.command("grants")
def list_client_grants(
    account: Annotated[str, typer.Argument(metavar="[ACCOUNT]", help="Only those of this account.")] = "",
    *,
    as_json: Json = False,
) -> int:
    """List what accounts have allowed OAuth clients."""
    return admin.run(lambda state: admin.list_client_grants(state, account, as_json=as_json))


@client_app.command("end-grant")
def end_grant(number: Annotated[int, typer.Argument(metavar="ID", help="Number of a grant.")]) -> int:
    """Take back what an account allowed; all tokens that came of it end."""

    def work(state: State) -> None:
        state.authorizations.end(number)
        tell(f"ended the grant {number}")

    return admin.run(work)


@repo_app.command("list")
def list_repository_grants(
    repository: Annotated[str, typer.Argument(metavar="[REPOSITORY]", help="Only this repository.")] = "",
    *,
    as_json: Json = False,
) -> int:
    """List which private repositories are granted to whom."""
    return admin.run(lambda state: admin.list_repository_grants(state, repository, as_json=as_json))


@repo_app.command("folders")
def list_repository_folders(*, as_json: Json = False) -> int:
    """List the folder behind each name, whether it is private, and which other folders claim the name.

    Undecided ones are private until repos.toml says otherwise.
    """
    return admin.run(lambda state: admin.list_repository_folders(state, as_json=as_json))


@repo_app.command("grant")
def grant_repository(repository: Repo, *, user: ToUser = "", role: ToRole = "") -> int:
    """Let a private repository exist for an account, or for all who have a role.

    The grant is to the folder that has the name now, and to no other that takes the name later.
    """
    return admin.run(lambda state: admin.grant_repository(state, repository, user=user, role=role))


@repo_app.command("revoke")
def revoke_repository(repository: Repo, *, user: ToUser = "", role: ToRole = "") -> int:
    """Take a grant back."""

    def work(state: State) -> None:
        state.grants.remove(admin.name_or_place(repository), account=user, role=role)
        tell(f"{repository} is no longer granted to {user or role}")

    return admin.run(work)


@admin_app.command("audit")
def list_audit(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1_000_000, help="How many of the newest.")] = 1_000,
    as_json: Json = False,
) -> int:
    """List changes of accounts, rights and credentials: when, who, what. Nothing is ever removed from this list."""
    return admin.run(lambda state: admin.list_audit(state, limit, as_json=as_json))


@repo_app.command("move")
def move_repository(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Where it stood.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Where it stands now.")],
) -> int:
    """Take name, privacy and grants of a folder along after the folder was moved."""
    return admin.run(lambda state: admin.move_repository(state, folder, target))


@repo_app.command("forget")
def forget_repository(repository: Repo) -> int:
    """Forget a repository that is gone, with its grants: its name is free, and it is new when it comes back."""
    return admin.run(lambda state: admin.forget_repository(state, repository))
