"""The same client over a real connection: what a service says, and what it fails to say."""

from __future__ import annotations

import inspect
import json
import os
import signal
import sys
import threading
from dataclasses import fields
from typing import Any

import pytest

import sourcelight as sl
from sourcelight.backends.remote.endpoint import RetryPolicy
from sourcelight.backends.remote.sign_in import SignInOptions
from sourcelight.testing.scripted_service import RESET, SILENCE, ScriptedReply, ScriptedService


def event(name: str, data: Any) -> bytes:
    """One event as the wire has it."""
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def file_match(path: str, line: str, offset: int) -> dict[str, Any]:
    """A content match with one span."""
    return {
        "type": "content",
        "path": path,
        "repositoryID": 1,
        "repository": "host/r",
        "repoStars": 2,
        "commit": "c" * 40,
        "hunks": None,
        "lineMatches": [{"line": line, "lineNumber": 4, "offsetAndLengths": [[offset, 3]]}],
        "language": "Go",
    }


MATCHES = event("matches", [file_match("a.go", "é🐍 foo", 3), file_match("b.go", "foo", 0)])
PROGRESS = {"done": True, "matchCount": 2, "durationMs": 7, "skipped": [], "repositoriesCount": 1}
END = event("progress", PROGRESS) + event("done", {})


@pytest.fixture(autouse=True)
def _no_service_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith("SRC_") or n.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


def test_a_service_gives_the_rows_that_it_sends() -> None:
    with ScriptedService(ScriptedReply([MATCHES, END])) as service, sl.connect(service.url, token="t0ken") as client:
        result = client.search("foo")
        assert (result.status, result.match_count) == ("complete", 2)
        spans = result.spans()
        assert spans["match"].tolist() == ["foo", "foo"]
        assert spans["line_number"].tolist() == [5, 5]
        assert result.repositories["stars"].tolist() == [2]
        request = service.received[0]
        assert request.params["q"] == "foo"
        assert request.params["v"] == "V3"
        assert request.headers["authorization"] == "token t0ken"
        assert "t0ken" not in repr(client) + repr(result) + str(result.attrs)


def test_the_environment_names_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(sl.ConfigurationError, match="SRC_ENDPOINT"):
        sl.connect()
    with ScriptedService(ScriptedReply([MATCHES, END])) as service:
        monkeypatch.setenv("SRC_ENDPOINT", service.url)
        monkeypatch.setenv("SRC_ACCESS_TOKEN", "o4uth")
        with sl.connect(bearer=True) as client:
            assert client.count_by("foo", by="path")["path"].tolist() == ["a.go", "b.go"]
        assert service.received[0].headers["authorization"] == "Bearer o4uth"
        assert service.received[0].params["q"] == "count:all foo"


@pytest.mark.parametrize("end", [[], [RESET], [b"event: matc"]], ids=["closed", "reset", "cut"])
def test_a_broken_stream_keeps_what_arrived(end: list[Any]) -> None:
    with ScriptedService(ScriptedReply([MATCHES, *end])) as service, sl.connect(service.url) as client:
        with pytest.raises(sl.StreamBroken) as caught:
            client.search("foo")
        assert (caught.value.result.status, len(caught.value.result)) == ("failed", 2)
        assert client.last is not None
        assert client.last.match_count == 2


def test_a_fault_that_the_service_reports_keeps_what_arrived() -> None:
    error = event("alert", {"title": "broke", "description": "d", "kind": "error"}) + event(
        "error", {"message": "broke"}
    )
    with ScriptedService(ScriptedReply([MATCHES, error, END])) as service, sl.connect(service.url) as client:
        with pytest.raises(sl.SearchFailed, match="broke") as caught:
            client.search("foo")
        assert len(caught.value.result) == 2


def test_a_limit_makes_the_answer_limited() -> None:
    item = {"reason": "shard-match-limit", "title": "result limit hit", "message": "", "severity": "info"}
    end = event("progress", PROGRESS | {"skipped": [item]}) + event("done", {})
    with ScriptedService(ScriptedReply([MATCHES, end])) as service, sl.connect(service.url) as client:
        assert client.search("foo").status == "limited"


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a thread are POSIX")
def test_an_interrupt_hangs_up_and_keeps_rows() -> None:
    main = threading.get_ident()
    pressed = threading.Event()

    def press(snapshot: Any) -> None:
        if snapshot.done == 2 and not pressed.is_set():
            pressed.set()
            signal.pthread_kill(main, signal.SIGINT)

    with ScriptedService(ScriptedReply([MATCHES, SILENCE])) as service, sl.connect(service.url) as client:
        with pytest.raises(KeyboardInterrupt):
            client.search("foo", progress=press)
        assert service.hung_up.wait(5)
        result = client.last
        assert result is not None
        assert (result.status, len(result)) == ("interrupted", 2)


def test_a_break_hangs_up() -> None:
    with ScriptedService(ScriptedReply([MATCHES, SILENCE])) as service, sl.connect(service.url) as client:
        for _ in client.stream("foo"):
            break
        assert service.hung_up.wait(5)


@pytest.mark.parametrize(("status", "error"), [(401, sl.Unauthorized), (403, sl.Forbidden), (404, sl.NotFound)])
def test_a_refusal_has_its_own_error(status: int, error: type[Exception]) -> None:
    with ScriptedService(ScriptedReply([b"no"], status=status)) as service, sl.connect(service.url) as client:
        with pytest.raises(error):
            client.search("foo")
        assert client.last is not None
        assert client.last.status == "failed"


def test_connect_names_each_option_with_its_default() -> None:
    defaults = {name: parameter.default for name, parameter in inspect.signature(sl.connect).parameters.items()}
    policy = {field.name: field.default for field in fields(RetryPolicy)}
    assert {name: defaults[name] for name in policy} == policy
    sign_in = {field.name: field.default for field in fields(SignInOptions)}
    assert defaults["sign_in_timeout_s"] == sign_in["timeout_s"]
    assert defaults["redirect_uri"] == sign_in["redirect_uri"]
    assert inspect.signature(sl.connect).parameters == inspect.signature(sl.aconnect).parameters
    assert "**" not in str(inspect.signature(sl.connect))
