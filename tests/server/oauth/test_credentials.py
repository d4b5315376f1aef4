"""Every endpoint with every credential: exact status and body. Two users see exactly their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from core.wire.strict_decoder import read_strictly
from server.loopback_tls import TLS
from server.mcp.calling import call
from server.oauth.flow import CALLBACK, PASSWORD, Clock, Flow
from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.repos.state import MCP, MCP_ACCESS, USER, ScryptCost, State
from sourcelight.testing.repositories import RepositoryBuilder

PUBLIC, ANNS, BOBS = "example.org/team/public", "example.org/team/anns", "example.org/team/bobs"
SEARCH, MCP_PATH, DEEP, TRACE = "/.api/search/stream?q=lantern", "/.api/mcp", "/.api/mcp/deepsearch", "/-/debug/trace/x"
PAGES = (f"/{PUBLIC}/-/blob/lantern.py?L1", f"/{PUBLIC}/-/tree/")
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}

NONE = (401, "Private mode requires authentication.\n")
WRONG = (401, "Invalid access token.\n")
NARROW = (401, "Invalid access token.\n")
NO_TRACE = (404, "This trace doesn't exist, or it is no longer stored.\n")
FORBIDDEN = (403, "forbidden\n")
GOOD = (200, None)

TABLE: dict[str, tuple[Any, Any, Any, int, int]] = {
    # credential: what the stream, the MCP endpoints, the trace page, the API of deep search and pages answer
    "none": (NONE, NONE, NONE, 401, 401),
    "bad": (WRONG, WRONG, WRONG, 401, 401),
    "expired": (WRONG, WRONG, WRONG, 401, 401),
    "revoked": (WRONG, WRONG, WRONG, 401, 401),
    "mcp": (NARROW, GOOD, NARROW, 401, 401),
    "user:all": (GOOD, GOOD, NO_TRACE, 200, 200),
    "user:all without MCP#ACCESS": (GOOD, FORBIDDEN, NO_TRACE, 200, 200),
    "mcp without MCP#ACCESS": (NARROW, FORBIDDEN, NARROW, 401, 401),
    "oauth mcp": (NARROW, GOOD, NARROW, 401, 401),
    "oauth user:all": (GOOD, GOOD, NO_TRACE, 200, 200),
    "oauth expired": (WRONG, WRONG, WRONG, 401, 401),
    "oauth revoked": (WRONG, WRONG, WRONG, 401, 401),
    "oauth for another resource": (WRONG, WRONG, WRONG, 401, 401),
    "refresh token": (WRONG, WRONG, WRONG, 401, 401),
    "session cookie": (NONE, NONE, NONE, 401, 401),
    "reader cookie": (NONE, NONE, NONE, 401, 200),
    "deleted account": (WRONG, WRONG, WRONG, 401, 401),
}


@dataclass
class World:
    """A service over three repositories, two of them private, and a header for each credential."""

    service: Service
    state: State
    headers: dict[str, dict[str, str]]

    def tools(self, user: str, name: str, **arguments: Any) -> Any:
        token = self.headers[user]["Authorization"].partition(" ")[2]
        return call(f"{self.service.url}/.api/mcp", token, name, arguments)

    def search(self, user: str, query: str) -> list[tuple[str, Any]]:
        headers = self.headers[user] | {"Accept-Encoding": "identity"}
        answer = self.service.client.get("/.api/search/stream", params={"q": query}, headers=headers)
        assert answer.status_code == 200
        return read_strictly(answer.content)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    for name in (PUBLIC, ANNS, BOBS):
        short = name.rpartition("/")[2]
        repository = RepositoryBuilder(folder / short, origin=f"https://{name}.git")
        files = {"lantern.py": f"def lantern_{short}():\n    return 'lantern'\n"}
        if name == PUBLIC:
            files["uses.py"] = "from beacon import beacon_anns, beacon_bobs\n\nbeacon_anns()\nbeacon_bobs()\n"
        else:
            files["beacon.py"] = f"def beacon_{short}():\n    return 1\n"
        repository.commit(files, f"lantern of {short}")
    private = "".join(f'[repositories."{name}"]\nprivate = true\n' for name in (ANNS, BOBS))
    (folder / "repos.toml").write_text(private, encoding="utf-8")
    engine = open_engine([folder], index=folder.parent / f"{folder.name}-index")
    clock = Clock()
    with (
        State(clock=clock, cost=ScryptCost(2, 1, 1)) as state,
        closing(ConversationService(state)) as desk,
        running(engine, state=state, conversations=desk) as service,
    ):
        headers = _credentials(state, service, clock)
        yield World(service, state, headers)


def _credentials(state: State, service: Service, clock: Clock) -> dict[str, dict[str, str]]:
    for name in ("ann", "bob", "barred", "gone"):
        state.accounts.create(name, PASSWORD)
    state.grants.add(ANNS, account="ann")
    state.roles.create("Bobs")
    state.roles.assign("Bobs", "bob")
    state.grants.add(BOBS, role="Bobs")
    state.roles.disallow(USER, MCP_ACCESS)
    state.roles.create("Agents")
    state.roles.allow("Agents", MCP_ACCESS)
    for name in ("ann", "bob", "gone"):
        state.roles.assign("Agents", name)
    tokens = {
        "bad": "slp_never-given-to-anyone",
        "mcp": state.tokens.create("ann", [MCP])[1],
        "user:all": state.tokens.create("ann")[1],
        "user:all without MCP#ACCESS": state.tokens.create("barred")[1],
        "mcp without MCP#ACCESS": state.tokens.create("barred", [MCP])[1],
        "expired": state.tokens.create("ann", lifetime_s=60)[1],
        "deleted account": state.tokens.create("gone")[1],
        "ann": state.tokens.create("ann")[1],
        "bob": state.tokens.create("bob")[1],
    }
    revoked, tokens["revoked"] = state.tokens.create("ann")
    state.tokens.revoke(revoked.id)
    state.accounts.delete("gone")
    client, _ = state.clients.create("Fixed", [CALLBACK], scopes=["user:all"])
    flow = Flow(service.url)
    with flow.browser:
        old = flow.tokens(client.id, "ann", scope="user:all")
        clock.ahead_s += 3601
        revoked_tokens = flow.tokens(client.id, "ann", scope="user:all")
        flow.browser.post(
            "/.auth/idp/oauth/revoke", data={"token": revoked_tokens["access_token"], "client_id": client.id}
        )
        good = flow.tokens(client.id, "ann", scope="user:all")
        narrow = flow.tokens(client.id, "ann", scope="mcp")
        cookie, reader = flow.browser.cookies["sourcelight-session"], flow.browser.cookies["sourcelight-reader"]
    foreign = state.authorizations.exchange_code(
        state.authorizations.grant(
            state.accounts.get("ann").id,
            client.id,
            ["user:all"],
            resource="https://other.example/.api/mcp",
            redirect_uri=CALLBACK,
            redirect_uri_given=True,
            challenge="x",
        )
    )
    assert foreign is not None
    bearer = {
        "oauth expired": old["access_token"],
        "oauth revoked": revoked_tokens["access_token"],
        "oauth user:all": good["access_token"],
        "refresh token": good["refresh_token"],
        "oauth mcp": narrow["access_token"],
        "oauth for another resource": foreign.access,
    }
    headers = {name: {"Authorization": f"token {token}"} for name, token in tokens.items()}
    headers |= {name: {"Authorization": f"Bearer {token}"} for name, token in bearer.items()}
    cookies = {"session cookie": f"sourcelight-session={cookie}", "reader cookie": f"sourcelight-reader={reader}"}
    return headers | {"none": {}} | {name: {"Cookie": text} for name, text in cookies.items()}


@pytest.mark.parametrize("credential", TABLE)
def test_every_endpoint_answers_every_credential_as_the_table_says(world: World, credential: str) -> None:
    headers = world.headers[credential]
    stream, mcp, trace, api, page = TABLE[credential]
    with httpx2.Client(base_url=world.service.url, timeout=20, trust_env=False, verify=TLS) as client:
        answers = [
            (client.get(SEARCH, headers=headers), stream),
            (client.post(MCP_PATH, json=PING, headers=headers | ACCEPT), mcp),
            (client.post(DEEP, json=PING, headers=headers | ACCEPT), mcp),
            (client.post(f"{MCP_PATH}/v1", json=PING, headers=headers | ACCEPT), mcp),
            (client.post(f"{MCP_PATH}/all", json=PING, headers=headers | ACCEPT), mcp),
            (client.get(TRACE, headers=headers), trace),
        ]
        xhr_headers = headers | {"X-Requested-With": "tests 1"}
        assert client.get("/.api/deepsearch/v1", headers=xhr_headers).status_code == api
        assert client.post("/.api/graphql", json={"query": "{ site { id } }"}, headers=headers).status_code == api
        for location in PAGES:
            assert client.get(location, headers=headers).status_code == page, location
            assert client.post(location, headers=headers).status_code == 405, location
    for answer, (status, text) in answers:
        assert answer.status_code == status, answer.request.url
        if text is not None:
            assert answer.text == text
            assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        if answer.request.url.path.startswith(MCP_PATH):
            assert ("www-authenticate" in answer.headers) is (status == 401)


def test_two_users_see_exactly_their_own_in_the_stream(world: World) -> None:
    for user, visible, hidden in (("ann", ANNS, BOBS), ("bob", BOBS, ANNS)):
        events = world.search(user, "lantern count:all")
        names = {match["repository"] for name, value in events if name == "matches" for match in value}
        assert names == {PUBLIC, visible}
        (final,) = [value for name, value in events if name == "progress" and value["done"]]
        assert (final["repositoriesCount"], final["matchCount"]) == (2, 4)
        assert hidden not in str(events)
        assert hidden.rpartition("/")[2] not in str(events)


@pytest.mark.parametrize(
    "query",
    [
        "repo:{name} lantern",
        "repo:^{name}$",
        "repo:{name}@main lantern",
        "repo:{name}@nothing lantern",
        "r:{name} type:symbol lantern",
        "repo:{name} file:lantern.py",
        "-repo:public -repo:{name} lantern",
        "repo:has.path(nothing) repo:{name}",
    ],
)
def test_a_repository_of_another_is_as_one_that_is_not_there(world: World, query: str) -> None:
    invisible = world.search("ann", query.format(name=BOBS))
    absent = world.search("ann", query.format(name="example.org/team/nobo"))

    def stable(events: list[tuple[str, Any]]) -> str:
        """All matches, the last filters and progress without its time, and the rest; not how they came in parts."""
        matches = [match for name, value in events if name == "matches" for match in value]
        last = {name: value for name, value in events if name in {"filters", "progress"}}
        last.get("progress", {}).pop("durationMs", None)
        text = str((matches, last, [event for event in events if event[0] in {"alert", "error", "done"}]))
        for name in (BOBS, "example.org/team/nobo"):
            text = text.replace(name, "NAME")
        return text

    assert stable(invisible) == stable(absent)


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("list_files", {"repo": "{name}"}),
    ("read_file", {"repo": "{name}", "path": "lantern.py"}),
    ("list_repos", {"query": "{name}"}),
    ("keyword_search", {"query": "repo:^{name}$ lantern"}),
    ("nls_search", {"query": "repo:^{name}$ lantern"}),
    ("go_to_definition", {"repo": "{name}", "path": "lantern.py", "symbol": "lantern_bobs"}),
    ("find_references", {"repo": "{name}", "path": "lantern.py", "symbol": "lantern_bobs"}),
    ("commit_search", {"repos": ["{name}"], "messageTerms": ["lantern"]}),
    ("diff_search", {"repos": ["{name}"], "pattern": "lantern"}),
    ("compare_revisions", {"repo": "{name}", "base": "HEAD~1", "head": "HEAD"}),
]


def _with_name(arguments: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        key: [item.format(name=name) for item in value] if isinstance(value, list) else value.format(name=name)
        for key, value in arguments.items()
    }


@pytest.mark.parametrize(("tool", "arguments"), CALLS, ids=[name for name, _ in CALLS])
def test_a_tool_answers_for_an_invisible_repository_as_for_an_absent_one(
    world: World, tool: str, arguments: dict[str, Any]
) -> None:
    absent_name = "example.org/team/nobo"
    invisible = world.tools("ann", tool, **_with_name(arguments, BOBS))
    absent = world.tools("ann", tool, **_with_name(arguments, absent_name))
    assert invisible.failed == absent.failed
    assert invisible.text.replace(BOBS, "NAME") == absent.text.replace(absent_name, "NAME")
    assert str(invisible.content).replace(BOBS, "NAME") == str(absent.content).replace(absent_name, "NAME")
    assert world.tools("bob", tool, **_with_name(arguments, BOBS)).text != invisible.text


def test_lists_and_people_are_of_the_viewers_own_repositories(world: World) -> None:
    for user, visible, hidden in (("ann", ANNS, BOBS), ("bob", BOBS, ANNS)):
        reply = world.tools(user, "list_repos", query="")
        assert visible in reply.text
        assert PUBLIC in reply.text
        assert hidden not in reply.text + str(reply.content)
        for tool, arguments in (
            ("keyword_search", {"query": "lantern"}),
            ("nls_search", {"query": "lantern"}),
            ("get_contributor_repos", {"author": "Ada"}),
        ):
            reply = world.tools(user, tool, **arguments)
            assert hidden not in reply.text + str(reply.content)


def test_definitions_and_references_do_not_lead_into_repositories_of_others(world: World) -> None:
    for user, visible, hidden in (("ann", ANNS, BOBS), ("bob", BOBS, ANNS)):
        for name in (visible, hidden):
            symbol = f"beacon_{name.rpartition('/')[2]}"
            result = world.tools(user, "go_to_definition", repo=PUBLIC, path="uses.py", symbol=symbol)
            assert f"# {hidden}" not in result.text
            assert hidden not in str(result.content)
            if name == visible:
                assert visible in result.text
        back = world.tools(user, "find_references", repo=visible, path="beacon.py", symbol=f"beacon_{visible[-4:]}")
        assert PUBLIC in back.text
