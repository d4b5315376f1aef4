"""The first HTTP API of deep search, as its clients know it."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx2
import pytest

from engines.deepsearch.asking import OPEN, SECRET
from engines.deepsearch.test_conversations import HeldResearcher
from server.http.deepsearch.conftest import API, WAIT_S, World
from server.loopback_tls import TLS
from server.running_service import TOKEN, Service, running
from sourcelight.engines.deepsearch.conversations import ConversationService
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos.state import State

QUESTION = "how is the checkout total computed"
ABSENT = {"error": "conversation not found: it does not exist, or it is not shared with you"}


def test_a_conversation_has_the_known_shape(world: World) -> None:
    result = world.ask_question("ann", QUESTION)
    assert {"id", "questions", "created_at", "updated_at", "user_id", "read_token", "share_url", "viewer"} <= set(
        result
    )
    assert result["share_url"] == f"{world.service.url}/deepsearch/{result['read_token']}"
    assert result["viewer"] == {"is_owner": True}
    assert result["quota_usage"] == {"total_quota": 0, "quota_limit": -1, "reset_time": None}
    (question,) = result["questions"]
    assert question["conversation_id"] == result["id"]
    assert (question["status"], question["question"]) == ("completed", QUESTION)
    assert "`checkout_total`" in question["answer"]
    assert question["turns"] is None
    assert question["suggested_followups"]
    assert question["stats"]["tool_calls"] >= 1
    assert {source["type"] for source in question["sources"]} == {"Search", "Repository", "File"}
    assert "error" not in question


def test_events_come_in_order_and_can_be_read_again(world: World) -> None:
    result = world.ask_question("ann", QUESTION)
    path = f"{API}/{result['id']}/questions/{result['questions'][0]['id']}/events"
    with world.client("ann") as client:
        answer = client.get(path)
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [dict(line.split(": ", 1) for line in part.split("\n")) for part in answer.text.split("\n\n") if part]
        assert [event["id"] for event in events] == [str(number) for number in range(1, len(events) + 1)]
        kinds = [event["event"] for event in events]
        assert (kinds[0], kinds[-1]) == ("question", "completed")
        assert {"turn", "evidence"} <= set(kinds)
        remaining = client.get(path, headers={"Last-Event-ID": str(len(events) - 1)})
        assert remaining.text.count("event: ") == 1
        assert json.loads(events[0]["data"])["text"] == QUESTION


def test_follow_ups_changes_lists_and_deletion(world: World) -> None:
    result = world.ask_question("bob", QUESTION)
    url = f"{API}/{result['id']}"
    with world.client("bob") as client:
        added = client.post(f"{url}/questions", json={"conversation_id": result["id"], "question": "who wrote it?"})
        assert (added.status_code, added.json()["question"]) == (202, "who wrote it?")
        client.get(f"{url}/questions/{added.json()['id']}/events")
        assert client.get(f"{url}/questions/{added.json()['id']}").json()["status"] == "completed"
        changed = client.patch(url, json={"title": "Carts", "is_starred": True}).json()
        assert (changed["title"], changed["is_starred"]) == ("Carts", True)
        second = world.ask_question("bob", "where are prices rounded")

        def ids(**params: str | int) -> list[int]:
            return [item["id"] for item in client.get(API, params=params).json()["conversations"]]

        assert ids(sort="id") == [result["id"], second["id"]]
        assert ids(filter_is_starred="true") == [result["id"]]
        assert ids(filter_id=second["id"]) == [second["id"]]
        assert ids(filter_read_token=result["read_token"]) == [result["id"]]
        assert ids(filter_user_id=99999) == []
        page = client.get(API, params={"page_first": 1, "sort": "-id"}).json()
        assert page["page_info"]["has_next_page"] is True
        assert ids(page_first=1, sort="-id", page_after=page["page_info"]["end_cursor"]) == [result["id"]]
        assert client.delete(url).status_code == 204
        response = client.get(url)
        assert (response.status_code, response.json()) == (404, ABSENT)


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", API, {"question": " "}, 400),
        ("POST", API, {}, 400),
        ("POST", API, [1], 400),
        ("POST", API, {"question": "x" * 30_000}, 400),
        ("GET", f"{API}?sort=secret", None, 400),
        ("GET", f"{API}?page_first=1000", None, 400),
        ("GET", f"{API}?filter_is_starred=perhaps", None, 400),
        ("GET", f"{API}/999", None, 404),
        ("GET", f"{API}/x", None, 404),
        ("DELETE", f"{API}/999", None, 404),
        ("POST", f"{API}/999/questions", {"question": "x"}, 404),
        ("POST", f"{API}/999/questions/1/cancel", {}, 404),
        ("PUT", API, {}, 405),
    ],
)
def test_faults_have_their_status(world: World, method: str, path: str, body: object, status: int) -> None:
    with world.client("ann") as client:
        answer = client.request(method, path, json=body)
        assert answer.status_code == status
        if status != 405:
            assert isinstance(answer.json()["error"], str)


def test_a_request_names_its_client_and_its_user(world: World) -> None:
    with world.client("ann") as client:
        assert client.get(API, headers={"X-Requested-With": ""}).status_code == 400
    with world.client() as client:
        assert client.get(API).status_code == 401
        assert client.get(API, headers={"Authorization": "token wrong"}).status_code == 401


def test_others_learn_nothing(world: World) -> None:
    """Neither of a conversation that is not shared, nor of what a shared one says of an invisible repository."""
    result = world.ask_question("ann", QUESTION)
    url, question = f"{API}/{result['id']}", result["questions"][0]["id"]
    with world.client("bob") as client, world.client("ann") as owner:
        for method, path in (("GET", url), ("DELETE", url), ("GET", f"{url}/questions/{question}/events")):
            assert client.request(method, path).json() == ABSENT
        assert client.patch(url, json={"is_starred": True}).json() == ABSENT
        assert client.get(API, params={"filter_read_token": result["read_token"]}).json()["conversations"] == []
        assert owner.patch(url, json={"is_shared": True}).status_code == 200
        (conversation,) = client.get(API, params={"filter_read_token": result["read_token"]}).json()["conversations"]
        assert conversation["viewer"] == {"is_owner": False}
        assert conversation["user_id"] is None
        text = json.dumps(conversation)
        assert OPEN in text
        assert SECRET not in text
        assert "ledger" not in text.casefold()
        assert "withheld" in text
        assert client.delete(url).json() == ABSENT
        assert owner.patch(url, json={"reset_link": True}).json()["read_token"] != result["read_token"]
        assert client.get(API, params={"filter_read_token": result["read_token"]}).json()["conversations"] == []


@contextmanager
def served(engine: LocalEngine, desk: ConversationService) -> Iterator[tuple[Service, httpx2.Client]]:
    """A service over a desk, and a client of its owner."""
    headers = {"X-Requested-With": "tests 1", "Authorization": f"token {TOKEN}"}
    with (
        running(engine, state=desk.state, conversations=desk) as service,
        httpx2.Client(base_url=service.url, headers=headers, timeout=WAIT_S, trust_env=False, verify=TLS) as client,
    ):
        yield service, client


def test_one_question_runs_at_a_time_and_can_be_canceled(asked_engine: LocalEngine) -> None:
    researcher = HeldResearcher()
    with (
        State() as state,
        closing(ConversationService(state, researcher)) as desk,
        served(asked_engine, desk) as (_, client),
    ):
        body = client.post(API, json={"question": "wait"}).json()
        assert researcher.begun.wait(WAIT_S)
        under_way = client.get(f"{API}/{body['id']}").json()["questions"][0]
        assert (under_way["status"], under_way["suggested_followups"]) == ("processing", None)
        assert under_way["turns"][0]["reasoning"] == "nls_search: x: 3 files"
        page = client.get(f"/deepsearch/{body['read_token']}")
        assert 'http-equiv="refresh"' in page.text
        assert "nls_search: x: 3 files" in page.text
        busy = client.post(f"{API}/{body['id']}/questions", json={"question": "and?"})
        assert busy.status_code == 409
        number = body["questions"][0]["id"]
        reply = client.post(f"{API}/{body['id']}/questions/{number}/cancel").json()
        assert (reply["status"], reply["error"]["kind"]) == ("completed", "Canceled")
        events = client.get(f"{API}/{body['id']}/questions/{number}/events").text
        assert events.count("event: turn") == 1
        assert "event: canceled" in events
        assert 'http-equiv="refresh"' not in client.get(f"/deepsearch/{body['read_token']}").text


def test_streams_of_events_leave_room_for_other_requests(asked_engine: LocalEngine) -> None:
    """Each waits in a thread: 40 of one account once stopped all other requests that need one."""
    researcher = HeldResearcher()
    with (
        State() as state,
        closing(ConversationService(state, researcher)) as desk,
        served(asked_engine, desk) as (service, client),
        ExitStack() as streams,
    ):
        body = client.post(API, json={"question": "wait"}).json()
        assert researcher.begun.wait(WAIT_S)
        path = f"{API}/{body['id']}/questions/{body['questions'][0]['id']}/events"
        statuses = []
        for _ in range(50):
            other = streams.enter_context(httpx2.Client(base_url=service.url, headers=client.headers, verify=TLS))
            statuses.append(streams.enter_context(other.stream("GET", path, timeout=WAIT_S)).status_code)
        assert statuses == [200] * 8 + [429] * 42
        assert client.get(f"{API}/{body['id']}").status_code == 200
        streams.close()
        deadline = time.monotonic() + WAIT_S
        while True:
            with client.stream("GET", path) as events:
                if events.status_code == 200:
                    break
            assert time.monotonic() < deadline
            time.sleep(0.05)
        service.stop()


@pytest.mark.parametrize("name", ["page_first", "page_after"])
def test_numbers_of_thousands_of_digits_are_refused(world: World, name: str) -> None:
    with world.client("ann") as client:
        assert client.get(API, params={name: "9" * 5_000}).status_code == 400


def test_a_stopped_service_ends_streams_and_the_next_tells_what_was_interrupted(
    asked_engine: LocalEngine, tmp_path: Path
) -> None:
    """What a process that is no more left running is an error, and is not begun again."""
    researcher = HeldResearcher()
    with State(str(tmp_path / "state.sqlite")) as state:
        dead = ConversationService(state, researcher, process_id=f"{socket.gethostname()}/4194305/ab")
        with served(asked_engine, dead) as (service, client):
            body = client.post(API, json={"question": "wait"}).json()
            assert researcher.begun.wait(WAIT_S)
            with client.stream("GET", f"{API}/{body['id']}/questions/{body['questions'][0]['id']}/events") as events:
                lines = events.iter_lines()
                assert next(lines) == "id: 1"
                service.stop()
                assert "event: completed" not in list(lines)
        with closing(ConversationService(state)) as desk, served(asked_engine, desk) as (_, client):
            (question,) = client.get(f"{API}/{body['id']}").json()["questions"]
            assert (question["status"], question["error"]["kind"]) == ("completed", "Interrupted")
        dead.close()
