"""Federations of real services: one that can't be reached, one that refuses the token, and calls of tools over both."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import sourcelight as sl
from server.running_service import TOKEN, Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.repos.state import ScryptCost, State
from sourcelight.testing.repositories import RepositoryBuilder

ONE, BOTH, OTHER = (f"example.org/needle/{name}" for name in ("one", "both", "other"))
WRONG = "slo_a-token-that-opens-nothing"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Repositories of two services; `both` is the same at both."""
    local, remote = (tmp_path_factory.mktemp(name) for name in ("here", "there"))
    for folder, names in ((local, ("one", "both")), (remote, ("both", "other"))):
        for name in names:
            builder = RepositoryBuilder(folder / name, origin=f"https://example.org/needle/{name}.git")
            builder.commit({"a.py": f"needle = 1  # {name}\n"}, f"add a needle to {name}")
            builder.commit({"b.py": "def needle(): ...\n"}, "and another")
    return local, remote


@pytest.fixture(scope="module")
def service(folders: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    engine = open_engine([folders[1]], index=tmp_path_factory.mktemp("there-index"), workers=1)
    with State(cost=ScryptCost(2, 1, 1)) as state, running(engine, state=state) as served:
        yield served


@pytest.fixture(scope="module")
def local(folders: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    with sl.open(folders[0], index_dir=tmp_path_factory.mktemp("here-index")) as client:
        yield client


@pytest.fixture(scope="module")
def code(local: sl.Client, service: Service) -> Iterator[sl.Client]:
    """What is here and what the service has."""
    with sl.connect(service.url, TOKEN) as there, sl.federate({"here": local, "there": there}) as client:
        yield client


def unreachable() -> str:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_search_goes_to_all_and_a_shared_repository_counts_once(code: sl.Client, service: Service) -> None:
    result = code.search("type:file needle count:all")
    assert result.status == "complete"
    assert sorted(result.services["duplicates"]) == [0, 2]
    rows = result.matches
    assert list(rows["repository"]) == sorted([ONE, BOTH, OTHER] * 2)
    assert set(rows["service"][rows["repository"] == BOTH]) == {"here"}
    assert list(result.services["endpoint"]) == ["embedded", service.url]
    assert code.count("type:file needle") == 6


@pytest.mark.parametrize("kind", ["refused", "unreachable"])
def test_a_service_that_does_not_let_in_costs_its_rows(local: sl.Client, service: Service, kind: str) -> None:
    url = service.url if kind == "refused" else unreachable()
    with sl.connect(url, WRONG, check=False, retries=0) as there, sl.federate({"here": local, "there": there}) as code:
        result = code.search("type:file needle")
        assert (result.status, len(result)) == ("limited", 4)
        assert list(result.services["status"]) == ["complete", "failed"]
        assert "service-failed" in set(result.skipped["reason"])
        with pytest.warns(sl.IncompleteResultWarning, match="there did not answer"):
            commits = code.commit_search(message_terms=["needle"])
        assert sorted(commits["repository"]) == [BOTH, ONE]
        assert [item["status"] for item in commits.attrs["services"]] == ["complete", "failed"]
        with pytest.warns(sl.IncompleteResultWarning, match="there did not answer"):
            assert sorted(code.list_repos()["repository"]) == [BOTH, ONE]
        assert len(code.read_file(BOTH, "a.py")) == 1
        with pytest.raises((sl.ServiceError, sl.TransportError)):
            code.read_file(OTHER, "a.py")
        displayed = " ".join(map(repr, (code, result, result.services.to_dict(), commits.attrs, code.services)))
        assert WRONG not in displayed
        assert TOKEN not in displayed
    with (
        sl.connect(url, WRONG, check=False, retries=0) as there,
        sl.federate([there]) as federation,
        pytest.raises(sl.SourcelightError),
    ):
        federation.search("needle")


def test_the_token_of_the_environment_goes_to_its_own_service_only(
    local: sl.Client, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SRC_ACCESS_TOKEN", TOKEN)
    with sl.federate([local, service.url]) as code:
        assert list(code.search("needle").services["status"]) == ["complete", "failed"]
    monkeypatch.setenv("SRC_ENDPOINT", service.url)
    with sl.federate([local, service.url]) as code:
        assert list(code.search("needle").services["status"]) == ["complete", "complete"]


def test_tools_go_where_they_can_be_answered(code: sl.Client) -> None:
    assert code.read_file(OTHER, "a.py").attrs["service"] == "there"
    assert code.read_file(BOTH, "a.py").attrs["service"] == "here"
    assert sorted(code.commit_search([ONE, OTHER])["repository"]) == [ONE, ONE, OTHER, OTHER]
    commits = code.commit_search()
    assert len(commits) == 6
    assert [item["duplicates"] for item in commits.attrs["services"]] == [0, 2]
    newest = code.commit_search(limit=2)
    assert list(newest["commit"]) == list(commits["commit"][:2])
    assert newest.attrs["status"] == "partial"
    assert set(code.diff_search("needle")["repository"]) == {ONE, BOTH, OTHER}
    assert sorted(code.list_repos()["repository"]) == sorted([ONE, BOTH, OTHER])
    who = code.contributors(by=["repository"])
    assert sorted(who["repository"]) == sorted([ONE, BOTH, OTHER])
    everyone = code.contributors()
    assert everyone["commits"].sum() == 6
    assert set(everyone["service"]) == {"here, there"}
    assert len(code.drill_down(everyone, 0)) == 6
    chunks = code.keyword_search("needle")
    assert sorted(set(chunks["repository"])) == sorted([ONE, BOTH, OTHER])


def test_each_service_is_asked_about_its_own_files(code: sl.Client) -> None:
    assert set(code.symbols(BOTH)["symbol"]) >= {"needle"}
    rows = code.search(f"type:file repo:^{OTHER}$ needle").matches
    assert rows.code.blame(client=code)["blame_commit"].notna().all()
    assert code.search(f"type:file repo:^{ONE}$ needle").matches.code.blame(client=code)["blame_commit"].notna().all()
