"""The service over real repositories: what is served is what a strict client reads."""

import importlib
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.wire.strict_decoder import Malformed, read_strictly
from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution import LocalEngine
from sourcelight.server.http.app import search_limits
from sourcelight.server.http.huge_pages import warm_up
from sourcelight.server.http.settings import Settings
from sourcelight.testing.repositories import RepositoryBuilder

HOSTILE = "</script>\u2028\u2029 a&b <needle> \x1b[31m \x7f \u202e \U0001f600\r\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def public(folder: Path) -> RepositoryBuilder:
    repository = RepositoryBuilder(folder / "public", origin="https://example.org/a/public.git")
    repository.commit(
        {
            "src/main.py": "def needle():\n    return 1\n",
            "src/other.go": "package needle\n\nfunc Needle() {}\n",
            "hostile.txt": HOSTILE * 3,
            "latin.txt": b"needle caf\xe9\n",
            "needle/empty.txt": "",
            b"bad-\xff-needle.txt": "x\n",
            "binary.bin": b"needle\0\n",
            "long.txt": "a needle " * 2_000,
        },
        "start",
    )
    return repository


@pytest.fixture(scope="module")
def engine(folder: Path, public: RepositoryBuilder) -> LocalEngine:
    assert public.head
    secret = RepositoryBuilder(folder / "secret", origin="https://example.org/a/secret.git")
    secret.commit({"key.py": "needle = 'private'\n"}, "start")
    (folder / "repos.toml").write_text('[repositories."example.org/a/secret"]\nprivate = true\n', encoding="utf-8")
    engine = open_engine([folder], index=folder.parent / f"{folder.name}-index", limits=search_limits(Settings()))
    warm_up(engine)
    # Searches of commits load pandas, which takes seconds on a busy machine: not within the time limit of a client.
    importlib.import_module("pandas")
    return engine


@pytest.fixture
def service(engine: LocalEngine) -> Iterator[Service]:
    with running(engine, Settings(diff_match_type="commit", auth_public=True)) as service:
        yield service


def _matches(events: list[tuple[str, Any]]) -> list[dict[str, Any]]:
    return [match for name, value in events if name == "matches" for match in value]


@pytest.mark.parametrize(
    "query",
    [
        "needle",
        "needle count:all",
        "needle type:path",
        "type:repo public",
        "repo:public file:main",
        "/n.+dle/ patternType:regexp",
        "needle lang:go",
        "(needle or return) and not package",
        "count:2 needle",
        "repo:nothing-like-this needle",
        "file:empty",
        "needle timeout:1ms",
        "repo:(",
        "lang:klingon x",
        "type:diff needle",
        "x or",
    ],
)
@pytest.mark.parametrize("chunks", ["t", "f"])
def test_a_strict_client_reads_everything(service: Service, query: str, chunks: str) -> None:
    answer = service.search(query, cm=chunks)
    events = read_strictly(answer.content)
    names = [name for name, _ in events]
    assert names[-1] == "done"
    assert names.count("done") == 1
    assert "error" not in names
    if names == ["alert", "done"]:
        return
    finals = [value for name, value in events if name == "progress" and value["done"]]
    assert len(finals) == 1
    assert isinstance(finals[0]["skipped"], list)
    for match in _matches(events):
        assert ("chunkMatches" in match) == (match["type"] == "content" and chunks == "t")
        assert ("lineMatches" in match) == (match["type"] == "content" and chunks == "f")
    for frame in answer.content.split(b"\n\n")[:-1]:
        assert not set(b"<>&") & set(frame)


def test_the_strict_client_is_strict() -> None:
    with pytest.raises(Malformed):
        read_strictly(b"event: progress\r\ndata: {}\r\n\r\n")


def test_positions_lead_to_the_match_in_the_file(service: Service, public: RepositoryBuilder) -> None:
    events = read_strictly(service.search("needle count:all case:yes repo:public", cm="t", cl="2").content)
    seen = set()
    for match in _matches(events):
        if match["type"] != "content":
            continue
        text = public.file(match["path"]).read_bytes()
        for chunk in match["chunkMatches"]:
            assert chunk["context"] == chunk["content"]
            for location in chunk["ranges"]:
                assert text[location["start"]["offset"] : location["end"]["offset"]] == b"needle"
                seen.add(match["path"])
    assert {"src/main.py", "src/other.go", "hostile.txt", "latin.txt", "long.txt"} <= seen


def test_anonymous_readers_learn_nothing_of_private_repositories(service: Service) -> None:
    owners = service.search("needle count:all").content
    del service.client.headers["Authorization"]
    for query in ("needle count:all", "repo:secret needle", "type:repo secret", "repo:secret file:key"):
        answer = service.search(query).content
        body = answer.replace(b"repo:secret", b"").replace(b"type:repo secret", b"")
        assert b"secret" not in body
        assert b"private" not in body
    assert b"example.org/a/secret" in owners


def test_a_line_with_more_matches_than_one_event_holds_is_sent_whole(
    service: Service, public: RepositoryBuilder
) -> None:
    public.commit({"huge.txt": "manyofthese " * 150_000}, "huge")
    matches = _matches(read_strictly(service.search("manyofthese count:all", cm="t").content))
    results = [
        location["start"]["offset"] for m in matches for chunk in m["chunkMatches"] for location in chunk["ranges"]
    ]
    assert results == list(range(0, 12 * 150_000, 12))


def test_a_client_that_goes_away_in_the_middle_frees_the_search(service: Service, public: RepositoryBuilder) -> None:
    public.commit({f"many/{n}.txt": f"wanderer {n}\n" * 500 for n in range(400)}, "many")
    with service.client.stream("GET", "/.api/search/stream", params={"q": "wanderer count:all", "cm": "t"}) as answer:
        portions = answer.iter_raw()  # held: dropped, it would hang up
        assert next(portions).startswith(b"event: filters\n")
        assert service.app.state.search.running == 1
    bound = Cancellation(5.0)  # 0.3 s on an idle machine; one portion may be 10 MiB
    # The thread says that its search is over a moment before it is free.
    while service.app.state.search.running or "sourcelight-search" in {item.name for item in threading.enumerate()}:
        assert not bound.expired
        threading.Event().wait(0.005)


def test_display_cuts_what_is_sent_and_goes_on_counting(service: Service) -> None:
    events = read_strictly(service.search("needle count:all", display="2", cm="t").content)
    sent = sum(len(chunk["ranges"]) for match in _matches(events) for chunk in match.get("chunkMatches", [])) + sum(
        1 for match in _matches(events) if match["type"] == "path"
    )
    final = next(value for name, value in events if name == "progress" and value["done"])
    assert sent == 2
    assert final["matchCount"] > 2
    assert "display" in {item["reason"] for item in final["skipped"]}
    assert _matches(read_strictly(service.search("needle", display="0").content)) == []


def test_a_timeout_above_the_maximum_is_cut_to_it(engine: LocalEngine) -> None:
    assert engine.limits.timeout_s(None, has_count=False) == 20
    assert engine.limits.timeout_s(None, has_count=True) == 60
    assert engine.limits.timeout_s(3600, has_count=False) == 60
    short = search_limits(Settings(max_timeout_s=5))
    assert (short.timeout_s(None, has_count=False), short.timeout_s(9, has_count=True)) == (5, 5)


def test_a_new_commit_is_found_by_the_next_search(service: Service, public: RepositoryBuilder) -> None:
    assert _matches(read_strictly(service.search("brandnewword").content)) == []
    commit = public.commit({"new.py": "brandnewword = 1\n"}, "more")
    (match,) = _matches(read_strictly(service.search("brandnewword").content))
    assert (match["path"], match["commit"]) == ("new.py", commit)


def test_chunk_text_travels_under_the_configured_key(engine: LocalEngine) -> None:
    with running(engine, Settings(chunk_text="content")) as service:
        matches = _matches(read_strictly(service.search("needle file:main.py", cm="t").content))
    chunk = matches[0]["chunkMatches"][0]
    assert "content" in chunk
    assert "context" not in chunk


def test_compressed_and_plain_streams_hold_the_same(service: Service) -> None:
    matches = _matches(read_strictly(service.search("needle count:all").content))
    packed = service.client.get(
        "/.api/search/stream", params={"q": "needle count:all"}, headers={"Accept-Encoding": "gzip"}
    )
    assert packed.headers["content-encoding"] == "gzip"
    assert json.dumps(_matches(read_strictly(packed.content)), sort_keys=True) == json.dumps(matches, sort_keys=True)
