"""What was recorded is said again without the service: streams, calls, faults; and no credential is in the file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from backends.remote.scripted_tools import ScriptedTools, schema, text, typed
from equal_frames import assert_frame_equal
from sourcelight.backends.remote.recording import LIVE, route
from sourcelight.core.batches import MatchBatch
from sourcelight.core.wire.events import Done
from sourcelight.testing import RESET, SILENCE, ScriptedReply, ScriptedService

TOKEN = "sgp_0123456789abcdef"
QUICK: dict[str, Any] = {"backoff_s": 0.001, "connect_timeout_s": 2.0, "retries": 1}


def event(name: str, data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def file_match(path: str, line: str) -> dict[str, Any]:
    spans = [[line.index("foo"), 3]]
    return {
        "type": "content", "path": path, "repositoryID": 1, "repository": "host/r", "commit": "c" * 40,
        "hunks": None, "language": "Go",
        "lineMatches": [{"line": line, "lineNumber": 4, "offsetAndLengths": spans}],
    }  # fmt: skip


FIRST, SECOND = event("matches", [file_match("a.go", "é🐍 foo")]), event("matches", [file_match("b.go", "foo")])
END = event("progress", {"done": True, "matchCount": 2, "durationMs": 7, "skipped": [], "repositoriesCount": 1})
END += event("done", {})
SEARCH = ScriptedReply([FIRST[:30], FIRST[30:], SECOND, END])


@pytest.fixture(autouse=True)
def _shut(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [n for n in os.environ if n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    yield
    assert route() is LIVE, "a test left its tape running"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_a_search_is_the_same_without_its_service(file: Path) -> None:
    with ScriptedService(SEARCH) as service, sl.record(file) as recording:
        with sl.connect(service.url, TOKEN) as code:
            recorded, events = code.search("foo"), list(code.stream("foo count:all"))
        assert recording.requests == ("search 'foo' (t=standard)", "search 'foo count:all' (t=standard)")
        url = service.url
    assert route() is LIVE
    with sl.replay(file) as played, sl.connect(url) as code:
        result = code.search("foo")
        assert_frame_equal(result.matches, recorded.matches)
        assert_frame_equal(result.progress, recorded.progress)
        assert repr(result) == repr(recorded)
        replay = list(code.stream("foo count:all"))
        assert [type(item) for item in replay] == [type(item) for item in events]
        for item, other in zip(replay, events, strict=True):
            if isinstance(item, MatchBatch) and isinstance(other, MatchBatch):
                assert item.batch.equals(other.batch)
            else:
                assert item == other
        assert repr(played).endswith(": 2 requests>")
    assert repr(played).endswith(": 2 requests, stopped>")


def test_a_replay_needs_no_address_where_there_was_one_service(file: Path) -> None:
    with ScriptedService(SEARCH) as service, sl.record(file), sl.connect(service.url, TOKEN) as code:
        code.search("foo")
    with sl.replay(file), sl.connect() as code:
        assert len(code.search("foo")) == 2
    with sl.replay(file), sl.connect(sign_in=True, sign_in_timeout_s=1.0) as code:
        assert len(code.search("foo")) == 2
    with pytest.raises(sl.ConfigurationError):
        sl.connect()


FAULTS = {
    "401": (ScriptedReply([b"bad token"], status=401), sl.Unauthorized),
    "429": (ScriptedReply([b"slow"], status=429, headers={"Retry-After": "900"}), sl.RateLimited),
    "503": (ScriptedReply([b"busy"], status=503), sl.ServiceError),
    "no stream": (ScriptedReply([b"<html>"], headers={"Content-Type": "text/html"}), sl.ProtocolError),
    "broken": (ScriptedReply([FIRST, RESET]), sl.StreamBroken),
    "cut": (ScriptedReply([FIRST, b"event: matc"]), sl.StreamBroken),
    "refused": (ScriptedReply([event("alert", {"title": "no", "description": "bad", "kind": "error"}),
                               event("done", {})]),
                sl.QueryError),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_the_same(file: Path, name: str) -> None:
    answer, kind = FAULTS[name]
    caught = []
    with ScriptedService(answer) as service:
        url = service.url
        with sl.record(file), sl.connect(url, TOKEN, **QUICK) as code, pytest.raises(kind) as error:
            code.search("foo")
        caught.append(error.value)
    with sl.replay(file), sl.connect(url, **QUICK) as code, pytest.raises(kind) as error:
        code.search("foo")
    caught.append(error.value)
    assert type(caught[0]) is type(caught[1])
    assert str(caught[0]) == str(caught[1])
    assert getattr(caught[0], "retry_after_s", None) == getattr(caught[1], "retry_after_s", None)
    results = [vars(problem)["result"].matches for problem in caught]
    assert_frame_equal(*results)


def test_the_same_question_gets_its_answers_in_turn(file: Path) -> None:
    answers = (ScriptedReply([FIRST, END]), ScriptedReply([FIRST, SECOND, END]))
    with ScriptedService(*answers) as service, sl.record(file), sl.connect(service.url) as code:
        assert [len(code.search("foo")), len(code.search("foo"))] == [1, 2]
    with sl.replay(file), sl.connect() as code:
        assert [len(code.search("foo")) for _ in range(4)] == [1, 2, 2, 2]
    with sl.replay(file), sl.connect() as code:
        assert len(code.search("foo")) == 1
        repeated = sl.replay(file)  # as a cell that is run again
        assert repeated.running
        assert len(code.search("foo")) == 1
    repeated.stop()


def test_what_was_not_recorded_is_named_with_what_was(file: Path) -> None:
    with ScriptedService(SEARCH) as service, sl.record(file), sl.connect(service.url) as code:
        url = service.url
        code.search("foo")
    with sl.replay(file), sl.connect() as code:
        with pytest.raises(sl.NotRecorded, match=r"no reply to search 'bar'.*; it has search 'foo'") as error:
            code.search("bar")
        assert error.value.recorded == ("search 'foo' (t=standard)",)
        with pytest.raises(sl.NotRecorded, match=r"the list of tools.*it has no request of this kind"):
            code.list_repos()
    required = pytest.raises(sl.NotRecorded, match=f"recorded from {url}, not from https://elsewhere.example")
    with sl.replay(file), sl.connect("https://elsewhere.example") as code, required:
        code.search("foo")


def test_a_search_that_was_stopped_is_replayed_as_far_as_it_came(file: Path) -> None:
    with ScriptedService(ScriptedReply([FIRST, SILENCE])) as service, sl.record(file), sl.connect(service.url) as code:
        for item in code.stream("foo"):
            assert isinstance(item, MatchBatch)
            break
    with sl.replay(file), sl.connect() as code:
        events = code.stream("foo")
        assert isinstance(next(events), MatchBatch)
        with pytest.raises(sl.NotRecorded, match="only the start"):
            next(events)


READ = schema("repo", "path", repo="string", path="string", startLine="integer", endLine="integer", revision="string")
FILE = typed({"content": "1: x\n2: y\n", "url": "https://host/r/-/blob/f", "totalLines": 2, "path": "f"})


def test_tools_are_the_same_without_their_service(file: Path) -> None:
    def reply(arguments: dict[str, Any]) -> Any:
        return FILE if arguments["path"] == "f" else text("path not found in r: g", error=True)

    tools = ScriptedTools({"read_file": (READ, reply)})
    with tools.running() as url, sl.connect(url, TOKEN, **QUICK) as code:
        before = code.read_file("r", "f")  # opened and listed before the recording: it has to be whole nevertheless
        with sl.record(file):
            recorded = code.read_file("r", "f", progress=None)
            with pytest.raises(sl.PathNotFound):
                code.read_file("r", "g")
            with pytest.raises(sl.UnsupportedTool):
                code.list_files("r")
    assert len(tools.calls) == 3
    with sl.replay(file), sl.connect(url) as code:
        assert_frame_equal(code.read_file("r", "f"), recorded)
        assert_frame_equal(before, recorded)
        with pytest.raises(sl.PathNotFound, match="path not found in r: g"):
            code.read_file("r", "g")
        with pytest.raises(sl.UnsupportedTool, match="has no tool 'list_files'"):
            code.list_files("r")
        with pytest.raises(sl.NotRecorded, match=r"no reply to read_file\(repo='r', path='h'\)"):
            code.read_file("r", "h")
    assert len(tools.calls) == 3
    assert '"note":["halfway",1,4]' in file.read_text("utf-8")


def test_no_credential_is_in_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SRC_HEADER_X_SECRET", "very-secret-header")
    quoting = event("alert", {"title": f"your token {TOKEN}", "description": "very-secret-header", "kind": "info"})
    index = quoting.index(TOKEN.encode()) + 7  # a credential may stand across two portions
    answers = [
        ScriptedReply([FIRST, quoting[:index], quoting[index:], END], headers={"Set-Cookie": "session=c00kie"}),
        ScriptedReply([f"no: {TOKEN}".encode()], status=403),
    ]
    with ScriptedService(*answers) as service:
        monkeypatch.setenv("SRC_ENDPOINT", service.url)
        with sl.record(file), sl.connect(token=TOKEN, **QUICK) as code:
            recorded = code.search("foo")
            with pytest.raises(sl.Forbidden):
                code.search("bar")
        assert "x-secret" in service.received[0].headers
    text = file.read_text("utf-8")
    for secret in (TOKEN, "very-secret-header", "c00kie", "uthorization", "ookie"):
        assert secret not in text
    with sl.replay(file), sl.connect() as code:
        result = code.search("foo")
    assert result.alerts["title"].tolist() == ["your token ***"]
    assert_frame_equal(result.matches, recorded.matches)


def test_a_killed_recording_can_be_replayed(file: Path) -> None:
    program = (
        "import sys, sourcelight as sl\n"
        "sl.record(sys.argv[2])\n"
        "code = sl.connect(sys.argv[1])\n"
        "code.search('foo')\n"
        "for one in code.stream('bar'): print('ready', flush=True)\n"
    )
    with ScriptedService(SEARCH, ScriptedReply([FIRST, FIRST, SILENCE])) as service:
        command = [sys.executable, "-c", program, service.url, str(file)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGKILL)
    with file.open("ab") as torn:
        torn.write(b'{"of":2,"ms":3,"te')
    with sl.replay(file), sl.connect() as code:
        assert len(code.search("foo")) == 2
        with pytest.raises(sl.NotRecorded, match="only the start"):
            list(code.stream("bar"))
    with ScriptedService(SEARCH) as service, sl.record(file, append=True) as recording, sl.connect(service.url) as code:
        code.search("more")
    assert len(recording.requests) == 1
    with sl.replay(file) as played:
        assert [request.split(" (")[0] for request in played.requests] == [
            "search 'foo'",
            "search 'bar'",
            "search 'more'",
        ]


def test_a_recording_is_never_overwritten_unasked(file: Path) -> None:
    with ScriptedService(SEARCH) as service:
        with sl.record(file), sl.connect(service.url) as code:
            code.search("foo")
        with pytest.raises(sl.RecordingInvalid, match="already exists"):
            sl.record(file)
        old = file.read_bytes()
        with sl.record(file, replace=True), sl.connect(service.url) as code:
            code.search("bar")
            assert file.read_bytes() == old
    with sl.replay(file) as played:
        assert [request.split(" (")[0] for request in played.requests] == ["search 'bar'"]
    assert [request.name for request in file.parent.iterdir()] == [file.name]
    (file.parent / "other").write_text("else\n")
    with pytest.raises(sl.RecordingInvalid, match="is not a recording"):
        sl.record(file.parent / "other", append=True)
    with pytest.raises(sl.RecordingInvalid, match="can't be written"):
        sl.record(file.parent / "none" / "x")
    with pytest.raises(sl.RecordingInvalid, match="can't be read"):
        sl.replay(file.parent / "none")


def test_one_tape_runs_at_a_time(file: Path) -> None:
    with sl.record(file):
        with pytest.raises(sl.RecordingError, match="is running; stop"):
            sl.record(file.with_name("b"))
        with pytest.raises(sl.RecordingError, match="is running; stop"):
            sl.replay(file)
    with sl.replay(file), pytest.raises(sl.RecordingError, match="is running; stop"):
        sl.record(file.with_name("b"))
    with pytest.raises(ValueError, match="positive"):
        sl.replay(file, speed=0)


def test_answers_can_take_the_time_that_they_took(file: Path) -> None:
    lines = [
        {"sourcelight": "recording", "form": 1},
        {"ask": 1, "at": 1, "kind": "stream", "where": "https://h", "what": {"q": "foo", "v": "V3", "t": "standard"}},
        {"of": 1, "at": 2, "ms": 1000, "text": FIRST.decode()},
        {"of": 1, "at": 3, "ms": 1400, "text": END.decode()},
        {"of": 1, "at": 4, "ms": 1400, "end": "done"},
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import time

    def lasts(speed: float | None) -> float:
        with sl.replay(file, speed=speed), sl.connect() as code:
            began = time.monotonic()
            assert isinstance(list(code.stream("foo"))[-1], Done)
            return time.monotonic() - began

    assert lasts(2.0) >= 0.2
    assert lasts(None) < 0.2
