"""The GraphQL endpoint over real repositories: what stock clients ask, and what must not get through."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from backends.remote.loopback_app import served
from git_output import git
from server.loopback_tls import TLS
from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import ServicePolicy
from sourcelight.repos.state import FILE_NAME, State
from sourcelight.server.http.graphql import limits
from sourcelight.server.http.graphql.endpoint import GraphQLEndpoint
from sourcelight.server.http.settings import Settings
from sourcelight.server.identity import Authenticator
from sourcelight.testing.repositories import RepositoryBuilder

PUBLIC, SECRET = "example.org/a/public", "example.org/a/secret"
TEXT = "first needle\r\nsecond\nthird needle\nlast without newline"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("served")
    public = RepositoryBuilder(root / "public", origin=f"https://{PUBLIC}.git")
    public.commit(
        {"src/text.txt": TEXT, "src/main.py": "def needle():\n    return 1\n", "binary.bin": b"needle\0\n"}, "start"
    )
    public.commit({"src/deep/er/more.txt": "more\n"}, "add more\nof the needle\n\nwith a body\n\nof two paragraphs\n")
    RepositoryBuilder(root / "secret", origin=f"https://{SECRET}.git").commit(
        {"key.py": "needle = 'private'\n"}, "start"
    )
    (root / "repos.toml").write_text(
        f'[repositories."{SECRET}"]\nprivate = true\n[repositories."{PUBLIC}"]\nprivate = false\n'
    )
    return root


@pytest.fixture(scope="module")
def state(root: Path) -> State:
    state = State(str(root.parent / f"{root.name}-{FILE_NAME}"))
    state.accounts.create("ann")
    return state


@pytest.fixture(scope="module")
def engine(root: Path, state: State) -> Iterator[LocalEngine]:
    policy = ServicePolicy(state.repositories, "", ())
    engine = open_engine([root], index=root.parent / f"{root.name}-index", policy=policy)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def service(engine: LocalEngine, state: State) -> Iterator[Service]:
    with running(engine, Settings(), state=state) as service:
        service.client.timeout = httpx2.Timeout(30.0)
        yield service


@pytest.fixture(scope="module")
def ann(service: Service, state: State) -> Iterator[httpx2.Client]:
    headers = {"Authorization": f"token {state.tokens.create('ann')[1]}"}
    with httpx2.Client(base_url=service.url, headers=headers, timeout=30, trust_env=False, verify=TLS) as client:
        yield client


def ask(client: httpx2.Client, text: str, /, **variables: Any) -> dict[str, Any]:
    answer = client.post("/.api/graphql", json={"query": text, "variables": variables})
    assert answer.status_code == 200, answer.text
    value: dict[str, Any] = answer.json()
    return value


def data(client: httpx2.Client, text: str, /, **variables: Any) -> Any:
    value = ask(client, text, **variables)
    assert "errors" not in value, value["errors"]
    return value["data"]


def test_a_command_line_client_learns_who_it_is(service: Service, ann: httpx2.Client) -> None:
    assert data(ann, "query CurrentUser { currentUser { username siteAdmin } }") == {
        "currentUser": {"username": "ann", "siteAdmin": False}
    }
    assert data(service.client, "{ currentUser { username } }")["currentUser"]["username"] == "owner"
    wrong = ann.post("/.api/graphql", json={"query": "{ site { id } }"}, headers={"Authorization": "token wrong"})
    assert wrong.status_code == 401
    assert "WWW-Authenticate" in wrong.headers


REPOSITORIES = """
query List($first: Int, $query: String, $orderBy: RepositoryOrderBy, $descending: Boolean, $notIndexed: Boolean) {
  repositories(first: $first, query: $query, orderBy: $orderBy, descending: $descending, notIndexed: $notIndexed) {
    nodes { id name url description createdAt updatedAt externalRepository { id serviceType serviceID }
      defaultBranch { name displayName } viewerCanAdminister keyValuePairs { key value } }
    totalCount pageInfo { hasNextPage endCursor }
  }
}
"""


def test_repositories_are_those_that_the_caller_may_see(service: Service, ann: httpx2.Client) -> None:
    mine = data(ann, REPOSITORIES, first=1000, orderBy="REPOSITORY_NAME")["repositories"]
    assert [node["name"] for node in mine["nodes"]] == [PUBLIC]
    assert mine["nodes"][0]["defaultBranch"] == {"name": "refs/heads/main", "displayName": "main"}
    owners = data(service.client, REPOSITORIES, first=1, descending=True)["repositories"]
    assert [node["name"] for node in owners["nodes"]] == [SECRET]
    assert owners["totalCount"] == 2
    page = (
        "query Page($after: String) { repositories(first: 1, after: $after) { nodes { name } pageInfo { endCursor } } }"
    )
    first = data(service.client, page)["repositories"]
    second = data(service.client, page, after=first["pageInfo"]["endCursor"])["repositories"]
    assert [first["nodes"][0]["name"], second["nodes"][0]["name"]] == [PUBLIC, SECRET]
    assert second["pageInfo"]["endCursor"] is None


def test_a_descending_list_continues_after_its_cursor(service: Service) -> None:
    page = (
        "query Page($after: String) { repositories(first: 1, after: $after, descending: true) "
        "{ nodes { name } pageInfo { hasNextPage endCursor } } }"
    )
    first = data(service.client, page)["repositories"]
    second = data(service.client, page, after=first["pageInfo"]["endCursor"])["repositories"]
    assert [first["nodes"][0]["name"], second["nodes"][0]["name"]] == [SECRET, PUBLIC]
    assert second["pageInfo"] == {"hasNextPage": False, "endCursor": None}


def test_what_is_private_does_not_exist_for_others(ann: httpx2.Client) -> None:
    hidden = data(ann, "query($name: String!) { repository(name: $name) { id } }", name=SECRET)
    absent = data(ann, "query($name: String!) { repository(name: $name) { id } }", name="example.org/a/nothing")
    assert hidden == absent == {"repository": None}
    assert data(ann, '{ repository(cloneURL: "git@example.org:a/secret.git") { id } }') == {"repository": None}
    results = data(ann, SEARCH, query="needle count:all")["search"]["results"]
    assert {match["repository"]["name"] for match in results["results"]} == {PUBLIC}
    assert "secret" not in json.dumps(results)


SEARCH = """
fragment File on FileMatch {
  repository { name url } limitHit
  file { name path url content commit { oid } }
  lineMatches { preview lineNumber offsetAndLengths limitHit }
  symbols { name kind location { resource { path } range { start { line } } } }
}
query($query: String!) {
  site { buildVersion productVersion }
  search(query: $query) {
    results {
      results { __typename ... on FileMatch { ...File } ... on Repository { name }
        ... on CommitSearchResult { url label { html text }
          messagePreview { value highlights { line character length } }
          diffPreview { value } matches { body { text html } highlights { line character length } }
          commit { oid subject author { date person { displayName } } } } }
      matchCount limitHit elapsedMilliseconds cloning { name } missing { name } timedout { name } resultCount
      approximateResultCount repositoriesCount dynamicFilters { value kind count }
      alert { title description proposedQueries { description query } }
    }
  }
}
"""


def test_a_search_gives_the_rows_of_the_stream(service: Service, root: Path) -> None:
    results = data(service.client, SEARCH, query="needle type:file file:text")["search"]["results"]
    (match,) = results["results"]
    assert match["file"]["path"] == "src/text.txt"
    assert match["file"]["content"] == TEXT
    assert match["file"]["commit"]["oid"] == git(root / "public", "rev-parse", "HEAD").strip()
    assert [(line["lineNumber"], line["offsetAndLengths"]) for line in match["lineMatches"]] == [
        (0, [[6, 6]]),
        (2, [[6, 6]]),
    ]
    assert (results["matchCount"], results["limitHit"], results["alert"]) == (2, False, None)
    assert results["approximateResultCount"] == "2"
    limited_results = data(service.client, SEARCH, query="needle count:1")["search"]["results"]
    assert limited_results["limitHit"] is True
    assert limited_results["approximateResultCount"].endswith("+")


def test_a_search_of_commits_shows_message_and_changes(service: Service, root: Path) -> None:
    (commit,) = data(service.client, SEARCH, query=f"repo:{PUBLIC} type:commit paragraphs")["search"]["results"][
        "results"
    ]
    assert commit["messagePreview"]["value"] == git(root / "public", "log", "-1", "--format=%B").strip()
    (mark,) = commit["messagePreview"]["highlights"]
    line = commit["messagePreview"]["value"].split("\n")[mark["line"] - 1]
    assert line[mark["character"] :][: mark["length"]] == "paragraphs"
    assert commit["commit"]["subject"] == git(root / "public", "log", "-1", "--format=%s").strip()
    assert commit["commit"]["author"]["date"] == git(root / "public", "log", "-1", "--format=%aI").strip().replace(
        "Z", "+00:00"
    )
    (change,) = data(service.client, SEARCH, query=f"repo:{PUBLIC} type:diff return")["search"]["results"]["results"]
    assert "+    return 1" in change["diffPreview"]["value"]
    assert change["messagePreview"] is None


def test_a_query_that_can_not_run_is_an_alert(service: Service) -> None:
    results = data(service.client, SEARCH, query="/(/")["search"]["results"]
    assert results["results"] == []
    assert "missing closing )" in results["alert"]["description"]


def test_files_and_directories_are_read_at_a_commit(service: Service, root: Path) -> None:
    query = """
    query($rev: String!, $path: String!, $first: Int, $last: Int) { repository(name: "example.org/a/public") {
      commit(rev: $rev) { oid abbreviatedOID body parents { oid }
        file(path: $path) { content(startLine: $first, endLine: $last) totalLines byteSize binary languages }
        tree(path: "") { isRoot entries(recursive: true) { path isDirectory ... on GitBlob { byteSize } } } } } }
    """
    commit = data(service.client, query, rev="main", path="src/text.txt", first=2, last=3)["repository"]["commit"]
    assert commit["file"] == {
        "content": "second\nthird needle\n",
        "totalLines": 4,
        "byteSize": len(TEXT),
        "binary": False,
        "languages": ["Text"],
    }
    assert [parent["oid"] for parent in commit["parents"]] == [git(root / "public", "rev-parse", "HEAD~1").strip()]
    assert commit["body"] == git(root / "public", "log", "-1", "--format=%b").strip()
    files = {entry["path"]: entry["byteSize"] for entry in commit["tree"]["entries"] if not entry["isDirectory"]}
    listing = git(root / "public", "ls-tree", "-rl", "HEAD").splitlines()
    assert files == {line.split("\t")[1]: int(line.split("\t")[0].split()[3]) for line in listing}
    older = data(service.client, query, rev="HEAD~1", path="binary.bin")["repository"]["commit"]
    assert (older["file"]["binary"], older["file"]["content"]) == (True, "")
    assert data(service.client, query, rev="nothing", path="x")["repository"] == {"commit": None}
    assert data(service.client, query, rev="main", path="../../etc/passwd")["repository"]["commit"]["file"] is None


def test_bodies_may_be_compressed(service: Service) -> None:
    body = gzip.compress(json.dumps({"query": "{ site { productVersion } }"}).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    assert service.client.post("/.api/graphql", content=body, headers=headers).json()["data"]["site"]["productVersion"]


def test_nothing_can_be_changed(service: Service) -> None:
    (error,) = ask(service.client, 'mutation { deleteRepository(repository: "x") { alwaysNil } }')["errors"]
    assert error["message"].startswith("This GraphQL endpoint changes nothing.")
    errors = ask(service.client, "{ users { nodes { username } } }")["errors"]
    assert "/.api/search/stream" in errors[-1]["message"]


BOMBS = {
    "deep": '{ repository(name: "r") { commit(rev: "HEAD") { ' + "parents { " * 40 + "oid" + " }" * 40 + " } } }",
    "aliases": "{ " + " ".join(f"a{n}: site {{ id }}" for n in range(limits.MAX_FIELDS)) + " }",
    "fragments": "{ ...f0 } "
    + " ".join(f"fragment f{n} on Query {{ ...f{n + 1} ...f{n + 1} }}" for n in range(12))
    + " fragment f12 on Query { site { id } }",
    "cycle": "{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }",
    "long": "{ site { id } } #" + "x" * limits.MAX_QUERY_CHARS,
    "braces": "{ a" * 6_000,
    "searches": "{ " + " ".join(f's{n}: search(query: "x") {{ results {{ matchCount }} }}' for n in range(9)) + " }",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_query_that_multiplies_work_is_refused(service: Service, name: str) -> None:
    answer = service.client.post("/.api/graphql", json={"query": BOMBS[name]})
    assert answer.status_code in {200, 400}
    messages = [error["message"] for error in answer.json()["errors"]]
    assert messages
    assert all("internal error" not in message for message in messages)


def test_bodies_that_unfold_are_refused(service: Service) -> None:
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    bomb = gzip.compress(b" " * (200 << 20))
    assert service.client.post("/.api/graphql", content=bomb, headers=headers).status_code == 413
    assert service.client.post("/.api/graphql", content=b"no gzip", headers=headers).status_code == 400
    assert service.client.post("/.api/graphql", content=b"[" * 100_000).status_code == 400
    assert service.client.post("/.api/graphql", json=[{"query": "{ site { id } }"}]).status_code == 400


def test_a_page_of_another_origin_can_not_ask_with_a_simple_request(service: Service) -> None:
    response = service.client.post(
        "/.api/graphql", content=b'{"query": "{ site { id } }"}', headers={"Content-Type": "text/plain"}
    )
    assert response.status_code == 400
    assert service.client.get("/.api/graphql", params={"query": "{ site { id } }"}).status_code == 405


def test_contents_read_by_one_request_are_bounded(service: Service, engine: LocalEngine, root: Path) -> None:
    builder = RepositoryBuilder(root / "large", origin="https://example.org/a/large.git")
    builder.commit({f"{n}.txt": f"{n}\n" + "x" * (3 << 20) for n in range(8)}, "start")
    query = '{ repository(name: "example.org/a/large") { commit(rev: "HEAD") { tree { files { path content } } } } }'
    engine.catalog.refresh(thorough=True)
    answer = ask(service.client, query)
    (error,) = answer["errors"][:1]
    assert "16 MiB" in error["message"]


def test_without_the_extra_the_service_names_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sourcelight.server.http.app.find_spec", lambda _: None)
    engine = open_engine([root], index=root.parent / f"{root.name}-index")
    with running(engine) as service:
        answer = service.client.post("/.api/graphql", json={"query": "{ site { id } }"})
    engine.close()
    assert answer.status_code == 501
    assert "sourcelight[graphql]" in answer.json()["errors"][0]["message"]


def test_who_loses_access_during_a_request_gets_no_answer(engine: LocalEngine, state: State) -> None:
    state.accounts.create("eve")
    headers = {"Authorization": f"token {state.tokens.create('eve')[1]}"}

    def revoke(*_: object) -> None:
        state.accounts.delete("eve")

    endpoint = GraphQLEndpoint(engine, Authenticator(state), timeout_s=20.0, version="7", on_principal=revoke)
    app = Starlette(routes=[Route("/.api/graphql", endpoint.__call__, methods=["POST"])])
    with served(app) as url:
        query = {"query": "{ site { id } repositories(first: 5) { nodes { name } } }"}
        answer = httpx2.post(f"{url}/.api/graphql", json=query, headers=headers, trust_env=False)
    assert (answer.status_code, "data" in answer.json()) == (403, False)


def test_ids_name_their_kind(service: Service) -> None:
    identifier = data(service.client, "query($n: String) { repository(name: $n) { id } }", n=PUBLIC)["repository"]["id"]
    assert base64.b64decode(identifier).decode().startswith("Repository:")


def test_the_service_starts_without_loading_graphql() -> None:
    code = "import sys, sourcelight.server.http.app; sys.exit('graphql' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
