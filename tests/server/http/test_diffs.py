"""Diffs of the stream for clients of others: as git writes them, a few lines each, in the type that a client knows."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.server.http.settings import Settings
from sourcelight.testing.repositories import RepositoryBuilder

NAME = "example.org/team/lamp"
HUNK = re.compile(r"@@ -\d+,(\d+) \+\d+,(\d+) @@(.*)")
CODE = "def first():\n    a = 1\n    b = 2\n    return a\n\n\ndef second():\n    c = 3\n    d = 4\n    return c\n"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("diffs")
    builder = RepositoryBuilder(folder / "lamp", origin=f"https://{NAME}.git")
    builder.commit(
        {"code.py": CODE, "gone.txt": "old lamp\n", "my notes.txt": "one\ntwo\nthree\nfour\nfive\n"}, "start"
    )
    builder.file("gone.txt").unlink()
    builder.git("mv", "my notes.txt", "your notes.txt")
    renamed = {"your notes.txt": "one\ntwo\nthree\nfour\nlamp five\n", "new.txt": "new lamp\n"}
    builder.commit({"code.py": CODE.replace("d = 4", "d = 5  # lamp"), **renamed}, "change")
    many = {f"file{number}.txt": "".join(f"lamp {line}\n" for line in range(30)) for number in range(7)}
    builder.commit(many, "many")
    spread = "".join(f"{'lamp' if line % 10 == 0 else 'dark'} {line}\n" for line in range(60))
    builder.commit({"spread.txt": spread.replace("lamp", "dim")}, "before")
    builder.commit({"spread.txt": spread}, "spread")
    return open_engine([folder], index=folder.parent / f"{folder.name}-index")


@pytest.fixture(scope="module")
def service(engine: LocalEngine) -> Iterator[Service]:
    with running(engine) as service:
        yield service


def events_of(stream: bytes) -> list[tuple[str, Any]]:
    """Events by name; the strict decoder of other tests refuses matches of type ``diff``, as one client does."""
    parts = [event.split("\n") for event in stream.decode().split("\n\n") if event]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


def previews(service: Service, query: str, **headers: str) -> dict[str, dict[str, Any]]:
    answer = service.client.get(
        "/.api/search/stream", params={"q": query}, headers={"User-Agent": "someone/1"} | headers
    )
    events = events_of(answer.content)
    return {match["message"].strip(): match for name, payload in events if name == "matches" for match in payload}


def lines_of(match: dict[str, Any]) -> list[str]:
    lines: list[str] = match["content"].split("\n")
    assert (lines[0], lines[-2:]) == ("```diff", ["", "```"])
    return lines[:-2]


def test_a_diff_is_as_git_writes_it(service: Service, engine: LocalEngine) -> None:
    result = previews(service, "lamp type:diff")
    lines = lines_of(result["change"])
    assert lines[1:7] == [
        "code.py code.py",
        "@@ -8,3 +8,3 @@ def second():",
        "     c = 3",
        "-    d = 4",
        "+    d = 5  # lamp",
        "     return c",
    ]
    assert "gone.txt /dev/null" in lines
    assert "/dev/null new.txt" in lines
    assert r"my\ notes.txt your\ notes.txt" in lines
    _check_hunks(lines)
    marked_text = {lines[line][start : start + length] for line, start, length in result["change"]["ranges"]}
    assert marked_text == {"lamp"}
    assert len(result["change"]["ranges"]) == 4
    git = subprocess.run(
        ["git", "-C", engine.catalog.repositories[0].git_dir, "show", "-U1", "--format=", result["change"]["oid"]],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    headers = [line.replace("@@ -1 +0,0 @@", "@@ -1,1 +0,0 @@").replace("@@ -0,0 +1 @@", "@@ -0,0 +1,1 @@")
               for line in git.split("\n") if line.startswith("@@")]  # fmt: skip
    assert sorted(line for line in lines if line.startswith("@@")) == sorted(headers)


def test_a_diff_is_cut_to_five_files_three_hunks_and_a_few_lines(service: Service) -> None:
    result = previews(service, "lamp type:diff")
    many = lines_of(result["many"])
    assert many.count("/dev/null file0.txt") == 1
    assert len([line for line in many if line.startswith("/dev/null ")]) == 5
    heads = [match for line in many if (match := HUNK.fullmatch(line))]
    assert [head[3] for head in heads] == [" ... +23"] * 5
    assert [(head[1], head[2]) for head in heads] == [("0", "7")] * 5
    spread = lines_of(result["spread"])
    assert len([line for line in spread if HUNK.fullmatch(line)]) == 3
    for diff in result.values():
        _check_hunks(lines_of(diff))


def test_a_diff_without_pattern_has_a_preview_too(service: Service) -> None:
    result = previews(service, "type:diff author:ada")
    assert {name for name, match in result.items() if len(lines_of(match)) > 2} == {
        "start", "change", "many", "before", "spread",
    }  # fmt: skip
    assert all(match["ranges"] == [] for match in result.values())


def test_our_own_client_gets_every_line(service: Service) -> None:
    result = previews(service, "lamp type:diff", **{"User-Agent": "sourcelight"})
    assert len(result["many"]["ranges"]) == 7 * 30


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"User-Agent": "curl/8"}, "diff"),
        ({"User-Agent": "sourcelight"}, "diff"),
        ({"User-Agent": "src-cli/6.1.0 linux amd64"}, "commit"),
        ({"X-Requested-With": "Raycast-Sourcegraph"}, "commit"),
        ({"X-Requested-With": "vscode 1.2"}, "commit"),
        ({"User-Agent": "Cody-JetBrains/7"}, "commit"),
    ],
)
def test_clients_that_do_not_know_diffs_get_commits(service: Service, headers: dict[str, str], kind: str) -> None:
    assert {match["type"] for match in previews(service, "lamp type:diff", **headers).values()} == {kind}


@pytest.mark.parametrize("kind", ["diff", "commit"])
def test_the_setting_forces_one_type(engine: LocalEngine, kind: Any) -> None:
    with running(engine, Settings(diff_match_type=kind)) as service:
        for agent in ("curl/8", "src-cli/6"):
            result = previews(service, "lamp type:diff", **{"User-Agent": agent})
            assert {match["type"] for match in result.values()} == {kind}


def test_ranked_search_by_parameter_and_by_query(service: Service) -> None:
    for params in ({"q": "the second of two functions", "t": "nls"}, {"q": "patterntype:nls second function"}):
        events = events_of(service.client.get("/.api/search/stream", params=params | {"cm": "t"}).content)
        names = [name for name, _ in events]
        assert names[-1] == "done"
        results = [match for name, value in events if name == "matches" for match in value]
        assert results[0]["path"] == "code.py"
        assert results[0]["chunkMatches"][0]["ranges"]
        assert [value["done"] for name, value in events if name == "progress"] == [True]
    (_, alert), _ = events_of(service.search("repo:lamp", t="nls").content)
    assert alert["kind"] == "error"


def _check_hunks(lines: list[str]) -> None:
    """Every hunk has as many lines of each side as its header says."""
    for index, line in enumerate(lines):
        if (head := HUNK.fullmatch(line)) is not None:
            body = []
            for following in lines[index + 1 :]:
                if following[:1] not in {" ", "+", "-"} or HUNK.fullmatch(following):
                    break
                body.append(following[0])
            assert (body.count(" ") + body.count("-"), body.count(" ") + body.count("+")) == (
                int(head[1]),
                int(head[2]),
            )
