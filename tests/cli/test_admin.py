"""`sourcelight admin`: everything that governs who may what."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from sourcelight.cli import main
from sourcelight.repos import Catalog, ServicePolicy
from sourcelight.repos.state import FILE_NAME, State
from sourcelight.testing import make_repo


class Admin:
    """Runs commands on a home of its own, and keeps what they said."""

    def __init__(self, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._patch = patch
        self.err = ""

    def __call__(self, *words: str, status: int = 0, typed: str = "") -> str:
        self._patch.setattr("sys.stdin", io.StringIO(typed))
        self._capsys.readouterr()
        result = main(["admin", *words])
        out, self.err = self._capsys.readouterr()
        assert result == status, self.err
        return out


@pytest.fixture
def admin(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Admin:
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path))
    return Admin(capsys, monkeypatch)


@pytest.fixture
def state(tmp_path: Path, admin: Admin) -> State:
    del admin
    return State(str(tmp_path / FILE_NAME))


def test_accounts_come_and_go(admin: Admin, state: State) -> None:
    admin("user", "create", "ann", "--password", typed="correct horse battery\n")
    assert state.accounts.check_password("ann", "correct horse battery") is not None
    admin("user", "create", "bob")
    value = json.loads(admin("user", "list", "--json"))
    assert [(user["name"], user["password"], user["roles"]) for user in value] == [
        ("owner", False, ["User", "Site Administrator"]),
        ("ann", True, ["User"]),
        ("bob", False, ["User"]),
    ]
    assert admin("user", "list").splitlines()[0].split() == ["name", "roles", "password", "tokens", "created"]
    session = state.sessions.start("ann")
    assert admin("user", "sign-out", "ann") == "ended 1 session of ann\n"
    assert state.sessions.find(session) is None
    admin("user", "set-password", "ann", "--remove")
    assert not state.accounts.get("ann").has_password
    admin("user", "delete", "bob")
    assert [account.name for account in state.accounts.all()] == ["owner", "ann"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("user", "delete", "owner"), "built in"),
        (("user", "delete", "nobody"), "account 'nobody' doesn't exist"),
        (("user", "set-password", "owner"), "10 to 1000"),
        (("user", "create", "a b"), "is invalid"),
        (("role", "delete", "User"), "built in"),
        (("role", "unassign", "User", "owner"), "every account"),
        (("role", "allow", "User", "X#Y"), "MCP#ACCESS"),
        (("role", "assign", "nothing", "owner"), "unknown role 'nothing'"),
        (("token", "create", "owner", "--scope", "all"), "user:all, mcp"),
        (("token", "list", "nobody"), "doesn't exist"),
        (("token", "revoke", "7"), "token 7 doesn't exist"),
        (("oauth-client", "delete", "x"), "OAuth client 'x' doesn't exist"),
        (("oauth-client", "revoke-grant", "7"), "OAuth grant 7 doesn't exist"),
        (("repo", "grant", "a/b"), "either an account or a role"),
        (("repo", "revoke", "a/b", "--user", "owner"), "not granted"),
    ],
)
def test_what_can_not_be_is_one_line_on_standard_error(admin: Admin, words: tuple[str, ...], message: str) -> None:
    assert admin(*words, status=2) == ""
    assert message in admin.err
    assert admin.err.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    [
        ("token", "create", "owner", "--expires", "soon"),
        ("token", "create", "owner", "--expires", "0d"),
        ("oauth-client", "create", "x"),
        ("oauth-client", "create", "x", "--redirect-uri", "http://app.example/cb"),
        ("user", "create"),
        ("nothing",),
    ],
)
def test_wrong_usage_has_its_status(admin: Admin, words: tuple[str, ...]) -> None:
    admin(*words, status=2)


def test_roles_carry_permissions_and_repositories(admin: Admin, state: State) -> None:
    admin("user", "create", "ann")
    admin("role", "disallow", "User", "MCP#ACCESS")
    admin("role", "create", "Code agents")
    admin("role", "allow", "Code agents", "MCP#ACCESS")
    admin("role", "assign", "Code agents", "ann")
    admin("repo", "grant", "example.org/team/secret", "--role", "Code agents")
    admin("repo", "grant", "example.org/team/other", "--user", "ann")
    rights = state.rights.for_account(state.accounts.get("ann").id)
    assert rights is not None
    assert rights.permissions == {"MCP#ACCESS"}
    assert rights.repositories == {"example.org/team/secret", "example.org/team/other"}
    (role,) = [role for role in json.loads(admin("role", "list", "--json")) if role["name"] == "Code agents"]
    assert (role["permissions"], role["accounts"], role["built_in"]) == (["MCP#ACCESS"], ["ann"], False)
    grants = json.loads(admin("repo", "list", "--json"))
    assert [(grant["repository"], grant["user"], grant["role"]) for grant in grants] == [
        ("example.org/team/other", "ann", ""),
        ("example.org/team/secret", "", "Code agents"),
    ]
    admin("repo", "revoke", "example.org/team/other", "--user", "ann")
    admin("role", "unassign", "Code agents", "ann")
    admin("role", "delete", "Code agents")
    assert json.loads(admin("repo", "list", "--json")) == []


def test_a_token_is_the_only_line_on_standard_output_and_shown_once(admin: Admin, state: State) -> None:
    token = admin("token", "create", "owner", "--scope", "mcp", "--expires", "90d", "--note", "laptop").strip()
    result = state.credentials.find(token)
    assert result is not None
    assert result.scopes == {"mcp"}
    assert token not in admin.err
    assert token not in admin("token", "list") + admin("token", "list", "owner", "--json")
    (listing,) = json.loads(admin("token", "list", "--json"))
    assert (listing["id"], listing["state"], listing["note"], listing["scopes"]) == (1, "active", "laptop", ["mcp"])
    value = json.loads(admin("token", "create", "owner", "--json"))
    assert state.credentials.find(value["token"]) is not None
    admin("token", "revoke", "1")
    assert state.credentials.find(token) is None
    assert "revoked" in admin("token", "list")
    state.close()


def test_oauth_clients_are_made_listed_and_deleted(admin: Admin, state: State) -> None:
    callback = "http://localhost:3334/oauth/callback"
    out = admin("oauth-client", "create", "Bridge", "--redirect-uri", callback)
    assert out.startswith("client id: slc_")
    assert "secret" not in out
    value = json.loads(
        admin("oauth-client", "create", "Portal", "--redirect-uri", "https://app.example/cb", "--scope", "user:all",
              "--confidential", "--json")
    )  # fmt: skip
    assert value.keys() == {"client_id", "client_secret"}
    assert value["client_secret"] not in admin("oauth-client", "list") + admin("oauth-client", "list", "--json")
    results = {client["name"]: client for client in json.loads(admin("oauth-client", "list", "--json"))}
    assert (results["Bridge"]["kind"], results["Bridge"]["scopes"]) == ("public", ["mcp"])
    assert (results["Portal"]["kind"], results["Portal"]["scopes"]) == ("confidential", ["user:all"])
    state.authorizations.grant(
        1, value["client_id"], ["user:all"], resource="", redirect_uri="x", redirect_uri_given=True, challenge="x"
    )
    (grant,) = json.loads(admin("oauth-client", "grants", "owner", "--json"))
    assert (grant["client_name"], grant["state"]) == ("Portal", "active")
    admin("oauth-client", "revoke-grant", str(grant["id"]))
    assert "ended" in admin("oauth-client", "grants")
    admin("oauth-client", "delete", value["client_id"])
    assert list(json.loads(admin("oauth-client", "list", "--json"))[0].items())[1] == ("name", "Bridge")


def test_a_damaged_state_is_one_line(admin: Admin, tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database at all, but some length" * 100)
    admin("user", "list", status=2)
    assert FILE_NAME in admin.err
    assert "restore a backup" in admin.err


def test_grants_name_folders_and_names_are_passed_on(
    admin: Admin, state: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = "https://example.org/team/secret"
    for folder in ("one", "two"):
        make_repo(tmp_path / "root" / folder, {"a": folder}, origin=origin)
    (tmp_path / "root" / "repos.toml").write_text('[repositories."example.org/team/secret"]\nprivate = true\n')
    Catalog.open(tmp_path / "root", policy=ServicePolicy(state.repositories))
    admin("user", "create", "ann")
    locations = [str(tmp_path / "root" / folder) for folder in ("one", "two")]
    assert [
        (load["repository"], load["visibility"], load["folder"], load["also_claimed_by"])
        for load in json.loads(admin("repo", "folders", "--json"))
    ] == [
        ("example.org/team/secret", "private", locations[0], [locations[1]]),
        ("example.org/team/secret (two)", "private", locations[1], [locations[0]]),
    ]
    admin("repo", "grant", "example.org/team/secret", "--user", "ann", status=2)
    assert "several directories claim" in admin.err
    assert locations[0] in admin.err
    admin("repo", "grant", "example.org/team/secret (two)", "--user", "ann")
    monkeypatch.chdir(tmp_path / "root" / "one")
    assert locations[0] in admin("repo", "grant", ".", "--user", "ann")
    rights = state.rights.for_account(state.accounts.get("ann").id)
    assert rights is not None
    assert rights.canonical_paths == set(locations)
    assert [load["folder"] for load in json.loads(admin("repo", "list", "--json"))] == locations
    admin("repo", "move", locations[1], str(tmp_path / "three"))
    assert json.loads(admin("repo", "list", "--json"))[1]["folder"] == str(tmp_path / "three")
    admin("repo", "forget", str(tmp_path / "three"))
    admin("repo", "forget", "nothing", status=2)
    admin("repo", "revoke", ".", "--user", "ann")
    assert json.loads(admin("repo", "list", "--json")) == []
