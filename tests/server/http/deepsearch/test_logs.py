"""The logs of the service know that something was asked and read, and not what, nor by which link."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx2
import pytest

import sourcelight as sl
from server.http.deepsearch.conftest import API, OPEN, WAIT_S, World
from server.loopback_tls import TLS
from server.running_service import TOKEN, running
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import ToolContext
from sourcelight.repos.state import State

QUESTION = f"repo:^{OPEN}$ how is the checkout total of zebrawood carts computed"


def lines(caplog: pytest.LogCaptureFixture, path: str, least: int) -> list[dict[str, Any]]:
    """The lines of the access log whose path begins with `path`; a line is written behind its answer's last byte."""
    pause, log_lines = threading.Event(), list[dict[str, Any]]()
    for _ in range(100):
        all_lines = [
            json.loads(record.getMessage()) for record in caplog.records if record.name == "sourcelight.access"
        ]
        log_lines = [line for line in all_lines if line["path"].startswith(path)]
        if len(log_lines) >= least or pause.wait(0.05):
            break
    return log_lines


def test_questions_are_lengths_and_hashes(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    world.ask_question("ann", QUESTION)
    world.ask_question("ann", QUESTION)
    requests = [line for line in lines(caplog, API, 6) if line["method"] == "POST"]
    assert [line["query_length"] for line in requests] == [len(QUESTION)] * 2
    assert len({line["query_hash"] for line in requests}) == 1
    assert "zebrawood" not in caplog.text
    assert "checkout" not in caplog.text


def test_links_that_open_conversations_are_hashes(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    token = world.ask_question("ann", QUESTION)["read_token"]
    with world.client("ann") as client:
        for path in (f"/deepsearch/{token}", f"/deepsearch/{token.upper()}.md", f"/deepsearch/shared/{token}"):
            assert client.get(path).status_code == 200
    read = [line["path"] for line in lines(caplog, "/deepsearch/", 3)]
    ours = [record.getMessage().lower() for record in caplog.records if record.name.startswith("sourcelight")]
    assert not [line for line in ours if token in line]
    assert len(read) == 3
    name = read[0].removeprefix("/deepsearch/")
    assert read == [f"/deepsearch/{name}", f"/deepsearch/{name}.md", f"/deepsearch/shared/{name}"]


class Careless(ConversationService):
    """Fails with the question in its message."""

    def open(self, question: str, context: ToolContext) -> int:
        del context
        raise ValueError(question)


def test_faults_are_logged_without_the_question(asked_engine: LocalEngine, caplog: pytest.LogCaptureFixture) -> None:
    """Both where clients of the service ask and over MCP: an id in the answer, kind and place in the log."""
    with State() as state, running(asked_engine, state=state, conversations=Careless(state)) as service:
        headers = {"Authorization": f"token {TOKEN}", "X-Requested-With": "tests 1"}
        response = httpx2.post(
            service.url + API, json={"question": QUESTION}, headers=headers, timeout=WAIT_S, trust_env=False, verify=TLS
        )
        assert response.status_code == 500
        with pytest.raises(sl.SourcelightError, match="internal error, id") as error:
            sl.connect(service.url, token=TOKEN).deepsearch(QUESTION, cache=False)
    for text in (response.text, str(error.value)):
        assert text.partition("id ")[2][:12] in caplog.text
        assert "zebrawood" not in text
    assert caplog.text.count("builtins.ValueError (") == 2
    assert "test_logs.py:" in caplog.text
    assert "zebrawood" not in caplog.text
