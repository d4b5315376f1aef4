"""GraphQL over a cluster: commits, directories and files as one machine gives them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from graphql import GraphQLError

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until
from server.running_service import TOKEN, running
from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.core.cancellation import Cancellation
from sourcelight.repos import Catalog
from sourcelight.server.http.graphql import limits
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(240)

NAME = "example.org/team/lamp"
FILES: dict[str | bytes, str | bytes] = {
    "README.md": "lamp\r\nlight\n\nend without newline",
    "empty.txt": "",
    "blank.txt": "\n",
    "latin.txt": b"caf\xe9 lamp\n",
    "light.bin": b"lamp\0\n",
    "src/tower.py": "def lamp():\n    return 1\n",
    "src/deep/er/leaf.py": "leaf = 1\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lamps")
    builder = RepositoryBuilder(root / "lamp", origin=f"https://{NAME}.git")
    builder.commit(FILES, "light the lamp\n\nwith a body\n")
    builder.commit({"src/tower.py": "def lamp():\n    return 2\n"}, "turn\nthe lamp\n\nfirst\n\nsecond")
    return root


@pytest.fixture(scope="module")
def local(root: Path) -> Iterator[httpx2.Client]:
    """A service over the folder."""
    with sl.open(root) as client, running(client.backend.engine) as service:  # type: ignore[attr-defined]
        service.client.timeout = httpx2.Timeout(60)
        yield service.client


@pytest.fixture(scope="module")
def clustered(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """A service over a cluster that holds the same folder."""
    storage = str(tmp_path_factory.mktemp("shards"))
    build_generation(Catalog.open(root), ShardStorage(storage))
    cell = Cell(storage, tmp_path_factory.mktemp("caches"))
    try:
        with sl.open_cluster(cell.address, storage) as client:
            wait_until(lambda: len(client.cluster.workers) == len(cell.workers), "workers join")
            with running(client.backend.engine) as service:  # type: ignore[attr-defined]
                service.client.timeout = httpx2.Timeout(60)
                yield service.client
    finally:
        cell.close()


def ask(client: httpx2.Client, query: str, **variables: Any) -> Any:
    answer = client.post("/.api/graphql", json={"query": query, "variables": variables})
    assert answer.status_code == 200, answer.text
    return answer.json()


COMMIT = "oid abbreviatedOID subject body author { person { name email } date } committer { date } parents { oid }"
BLOB = "path name byteSize totalLines binary languages content"
REPOSITORY_QUERIES = {
    "default branch": "defaultBranch { name displayName target { oid } }",
    "commit": 'commit(rev: "HEAD") { $COMMIT }',
    "older commit": 'commit(rev: "HEAD~1") { $COMMIT }',
    "no commit": 'commit(rev: "nothing") { oid }',
    "all entries": 'commit(rev: "HEAD") { tree { entries(recursive: true) { __typename path name url } } }',
    "directory": 'commit(rev: "HEAD") { tree(path: "src") { files { path } directories { path } } }',
    "file as directory": 'commit(rev: "HEAD") { tree(path: "README.md") { path } }',
    "directory as file": 'commit(rev: "HEAD") { blob(path: "src") { path } }',
    "no file": 'commit(rev: "HEAD") { a: blob(path: "no/such") { path } b: blob(path: "README.md/x") { path } }',
    "older file": 'commit(rev: "HEAD~1") { blob(path: "src/tower.py") { $BLOB } }',
    "lines": 'commit(rev: "HEAD") { blob(path: "README.md") { content(startLine: 2, endLine: 3) } }',
}
SEARCHES = {
    "files": ("lamp count:all", "... on FileMatch { file { path content byteSize } }"),
    "commits": ("type:commit lamp", "... on CommitSearchResult { commit { $COMMIT } }"),
}
QUERIES = {
    **{name: f'{{ repository(name: "{NAME}") {{ {fields} }} }}' for name, fields in REPOSITORY_QUERIES.items()},
    **{
        name: f'{{ search(query: "{query}") {{ results {{ matchCount results {{ {fields} }} }} }} }}'
        for name, (query, fields) in SEARCHES.items()
    },
}


def settled(value: Any) -> Any:
    """An answer without the order of files, which workers send as they find them."""
    results = ((value["data"].get("search") or {}).get("results") or {}).get("results")
    if results is not None:
        results.sort(key=str)
    return value


@pytest.mark.parametrize("name", QUERIES)
def test_a_cluster_answers_what_one_machine_answers(local: httpx2.Client, clustered: httpx2.Client, name: str) -> None:
    query = QUERIES[name].replace("$COMMIT", COMMIT).replace("$BLOB", BLOB)
    expected = settled(ask(local, query))
    assert "errors" not in expected
    assert settled(ask(clustered, query)) == expected


@pytest.mark.parametrize("path", [str(path) for path in FILES])
def test_files_are_read_byte_for_byte(local: httpx2.Client, clustered: httpx2.Client, path: str) -> None:
    fields = "path name byteSize binary content" if path.endswith(".bin") else BLOB
    query = f'{{ repository(name: "{NAME}") {{ commit(rev: "HEAD") {{ blob(path: $path) {{ {fields} }} }} }} }}'
    query = f"query($path: String!) {query}"
    expected = ask(local, query, path=path)
    assert expected["data"]["repository"]["commit"]["blob"]["byteSize"] >= 0
    assert ask(clustered, query, path=path) == expected


def test_calls_of_workers_are_bounded() -> None:
    budget = limits.Budget(Cancellation(), calls=2)
    budget.take_call()
    budget.take_call()
    with pytest.raises(GraphQLError, match="200 files, directories and commits"):
        budget.take_call()


def test_what_the_caller_may_not_see_is_not_read(clustered: httpx2.Client) -> None:
    headers = {"Authorization": f"token {TOKEN}x"}
    query = f'{{ repository(name: "{NAME}") {{ commit(rev: "HEAD") {{ oid }} }} }}'
    assert clustered.post("/.api/graphql", json={"query": query}, headers=headers).status_code == 401
    assert ask(clustered, query.replace(NAME, "example.org/team/other")) == {"data": {"repository": None}}
