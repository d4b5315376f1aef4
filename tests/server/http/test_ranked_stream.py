"""Ranked search as a stream: rows of the best files, whatever their paths."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.completeness import status_of
from sourcelight.core.wire.decode import decode_event
from sourcelight.core.wire.events import Progress
from sourcelight.core.wire.sse import RawEvent
from sourcelight.engines.execution import LocalEngine
from sourcelight.testing import RepositoryBuilder

NAME = "example.org/team/lamp"
CODE = "# naïve\n\n\ndef light_the_lamp(tower):\n    return tower.lamp\n"
PATHS: tuple[str | bytes, ...] = (
    "plain.py", "two words.py", "'single' \"double\".py", "back\\slash.py", "new\nline.py", "(a OR b) [c]{2}$.py",
    "file:x repo:y.py", "-dash.py", "ünï/灯.py", "/regexp/ .py".strip("/"),
)  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    folder = tmp_path_factory.mktemp("ranked")
    builder = RepositoryBuilder(folder / "lamp", origin=f"https://{NAME}.git")
    builder.commit({path: CODE + f"# {number}\n" for number, path in enumerate(PATHS)} | {b"caf\xe9.py": CODE})
    many = RepositoryBuilder(folder / "many")
    many.commit({f"beacon{number}.txt": f"beacon {number}\n" for number in range(60)})
    return open_engine([folder], index=folder.parent / f"{folder.name}-index")


@pytest.fixture(scope="module")
def service(engine: LocalEngine) -> Iterator[Service]:
    with running(engine) as service:
        yield service


def ask(service: Service, query: str, **params: str) -> tuple[list[dict[str, Any]], Progress, list[str]]:
    answer = service.client.get("/.api/search/stream", params={"q": query, "t": "nls"} | params)
    events = [event.split("\n", 1) for event in answer.text.split("\n\n") if event]
    matches, names = [], []
    for name, data in ((name.removeprefix("event: "), data.removeprefix("data: ")) for name, data in events):
        names.append(name)
        if name == "matches":
            matches += json.loads(data)
        elif name == "progress":
            progress = decode_event(RawEvent(name, data.encode()))
    assert isinstance(progress, Progress)
    assert progress.done
    assert names[-1] == "done"
    return matches, progress, names


def status(query: str, progress: Progress) -> str:
    return status_of(query, "standard", progress.match_count, progress.skipped, ())[0]


def test_files_with_any_path_have_their_lines(service: Service) -> None:
    matches, progress, names = ask(service, f"repo:^{NAME}$ light the lamp in the tower", cm="true", cl="1")
    expected = {path for path in PATHS if isinstance(path, str)} | {"caf\ufffd.py"}
    assert {match["path"] for match in matches} == expected
    assert status("light the lamp in the tower", progress) == "complete"
    assert "filters" in names
    for match in matches:
        assert (match["type"], match["repository"], match["language"]) == ("content", NAME, "Python")
        for chunk in match["chunkMatches"]:
            raw = CODE.encode()
            first = chunk["contentStart"]
            if "\ufffd" not in match["path"]:
                assert raw[first["offset"] :].decode().startswith(CODE.split("\n")[first["line"]])
            for item in chunk["ranges"]:
                offset = item["start"]["offset"] - first["offset"]
                size = item["end"]["offset"] - item["start"]["offset"]
                word = chunk["content"].encode()[offset : offset + size].decode()
                assert word.lower() in {"light", "lamp", "tower", "the"}
    assert progress.match_count == sum(len(c["ranges"]) for match in matches for c in match["chunkMatches"])


def test_lines_are_sent_where_chunks_were_not_asked_for(service: Service) -> None:
    matches, _, _ = ask(service, f"repo:^{NAME}$ file:plain light lamp")
    (match,) = matches
    assert match["lineMatches"][0] == {
        "line": "def light_the_lamp(tower):", "lineNumber": 3, "offsetAndLengths": [[4, 5], [14, 4]],
    }  # fmt: skip


def test_limits_are_those_of_the_query_and_say_so(service: Service) -> None:
    _, everything, _ = ask(service, f"repo:^{NAME}$ light lamp")
    matches, progress, _ = ask(service, f"repo:^{NAME}$ light lamp count:3")
    assert (progress.match_count, status("light count:3", progress)) == (3, "partial")
    assert 0 < len(matches) <= 3
    matches, progress, _ = ask(service, f"repo:^{NAME}$ light lamp", display="2")
    assert progress.match_count == everything.match_count > 2
    assert sum(len(line["offsetAndLengths"]) for match in matches for line in match["lineMatches"]) == 2
    assert [item.reason for item in progress.skipped] == ["display"]
    matches, progress, _ = ask(service, "repo:^many$ beacon")
    assert len(matches) == 50
    assert status("beacon", progress) == "limited"


def test_words_that_no_file_has_are_told_and_lack_nothing(service: Service) -> None:
    matches, progress, names = ask(service, f"repo:^{NAME}$ light the zeppelin")
    assert matches
    assert status("light the zeppelin", progress) == "complete"
    assert "alert" in names


@pytest.mark.parametrize("query", ["repo:^nothing$ lamp", "zeppelin quixotic"])
def test_nothing_is_an_answer(service: Service, query: str) -> None:
    matches, progress, _ = ask(service, query)
    assert (matches, progress.match_count) == ([], 0)


@pytest.mark.parametrize("date", ["2020", "nonsense"])
def test_a_date_that_cannot_be_read_is_an_error_of_the_query(service: Service, date: str) -> None:
    query = {"q": f"lamp repo:has.commit.after({date})", "t": "nls"}
    answer = service.client.get("/.api/search/stream", params=query).text
    assert "Invalid date format" in answer
    assert "internal error" not in answer
    analysis = service.client.post("/.api/analyses/nls_search", json={"query": query["q"]}).text
    assert "invalid date format" in analysis


@pytest.mark.parametrize("query", ["count:2", "patternType:nls timeout:5s", "repo:^nothing$"])
def test_a_query_without_words_is_an_error_of_the_query(service: Service, query: str) -> None:
    answer = service.client.get("/.api/search/stream", params={"q": query, "t": "nls"}).text
    assert "The query has no words" in answer
    assert "internal error" not in answer


def test_a_count_of_any_length_is_a_number(service: Service) -> None:
    few, many = (ask(service, f"lamp count:{digits}") for digits in ("1", "9" * 5_000))
    assert few[1].match_count == 1
    assert many[1].match_count >= 1
    assert many[1].skipped == ()
