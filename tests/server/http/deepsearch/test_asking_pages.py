"""Asking on the pages of deep search: forms, who may send them, live states, and what others see."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator

import httpx2
import pytest

from engines.deepsearch.asking import OPEN, SECRET
from server.http.deepsearch.conftest import PASSWORD, World
from sourcelight.core.wire.sse import SseDecoder

QUESTION = "how is the checkout total computed"


@pytest.fixture
def ann(world: World) -> Iterator[httpx2.Client]:
    with world.client("ann") as client:
        yield client


@pytest.fixture
def bob(world: World) -> Iterator[httpx2.Client]:
    with world.client("bob") as client:
        yield client


def ask(client: httpx2.Client, question: str = QUESTION) -> str:
    answer = client.post("/deepsearch", data={"question": question})
    assert answer.status_code == 303
    return answer.headers["location"]


def states_of(client: httpx2.Client, address: str) -> list[dict[str, object]]:
    answer = client.get(f"{address}/live")
    assert answer.headers["content-type"].startswith("text/event-stream")
    return [json.loads(event.data) for event in SseDecoder().feed(answer.content)]


def test_a_question_becomes_a_page_that_ends_with_its_answer(ann: httpx2.Client) -> None:
    address = ask(ann)
    states = states_of(ann, address)
    assert [state["done"] for state in states] == [False] * (len(states) - 1) + [True]
    page = ann.get(address).text
    assert str(states[-1]["html"]) in page
    assert "data-follow" not in page
    assert "http-equiv" not in page
    assert f"/{OPEN}@" in page
    assert f'href="{address}"' in ann.get("/deepsearch").text
    assert address not in ann.get("/deepsearch", params={"text": "no such text"}).text


def test_a_follow_up_is_asked_and_a_conversation_deleted(ann: httpx2.Client) -> None:
    address = ask(ann)
    states_of(ann, address)
    assert ann.post(address, data={"do": "ask", "question": "who wrote it"}).headers["location"] == address
    assert str(states_of(ann, address)[-1]["html"]).count("<article>") == 2
    assert ann.post(address, data={"do": "paint"}).status_code == 400
    assert ann.post(address, data={"do": "delete"}).headers["location"] == "/deepsearch"
    assert ann.get(address).status_code == 404


def test_a_shared_conversation_has_no_forms_and_no_private_code_for_others(
    ann: httpx2.Client, bob: httpx2.Client
) -> None:
    address = ask(ann)
    states_of(ann, address)
    token = address.rpartition("/")[2]
    for path in (address, f"/deepsearch/shared/{token}"):
        assert bob.get(path).status_code == bob.get(f"{path}/live").status_code == 404
        assert bob.post(address, data={"do": "delete"}).status_code == 404
    assert ann.post(address, data={"do": "share"}).status_code == 303
    page = bob.get(f"/deepsearch/shared/{token}").text
    live = states_of(bob, f"/deepsearch/shared/{token}")
    for html in (page, str(live[-1]["html"])):
        assert SECRET not in html
        assert f"/{OPEN}@" in html
        assert 'method="post"' not in html
    assert bob.post(address, data={"do": "unshare"}).status_code == 404
    assert ann.post(address, data={"do": "unshare"}).status_code == 303
    assert bob.get(f"/deepsearch/shared/{token}").status_code == 404


def test_a_stream_ends_when_its_reader_may_read_no_more(world: World, ann: httpx2.Client, bob: httpx2.Client) -> None:
    address = ask(ann)
    token = address.rpartition("/")[2]
    ann.post(address, data={"do": "share"})
    states_of(ann, address)
    number = world.desk.store.by_token(token)
    assert number is not None
    # A question that nobody works on: the stream waits for it.
    world.desk.store.ask(number.id, "held up", "", world.desk.process_id)
    got = threading.Event()
    endings: list[str] = []

    def listen() -> None:
        with bob.stream("GET", f"/deepsearch/shared/{token}/live") as answer:
            for line in answer.iter_lines():
                if line:
                    got.set()
        endings.append("")

    thread = threading.Thread(target=listen)
    thread.start()
    assert got.wait(20)
    assert not endings
    ann.post(address, data={"do": "unshare"})
    thread.join(20)
    assert endings
    assert ann.post(address, data={"do": "cancel"}).status_code == 303
    assert "was canceled" in ann.get(address).text


def test_forms_of_other_sites_are_refused(world: World, ann: httpx2.Client) -> None:
    before = ann.get("/deepsearch").text
    for headers in (
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ):
        answer = ann.post("/deepsearch", data={"question": QUESTION}, headers=headers)
        assert answer.status_code == 403, headers
    assert ann.get("/deepsearch").text == before
    with world.client() as nobody:
        assert nobody.get("/deepsearch").status_code == 401
        assert nobody.post("/deepsearch", data={"question": QUESTION}).status_code == 401


def test_the_cookie_of_a_signed_in_browser_sends_forms(world: World) -> None:
    with world.client() as client:
        del client.headers["X-Requested-With"]
        form = client.get("/.auth/sign-in").text
        mark = re.search(r'name="mark" value="([^"]+)"', form)
        assert mark is not None
        fields = {"name": "bob", "password": PASSWORD, "mark": mark[1]}
        assert client.post("/.auth/sign-in", data=fields).status_code == 303
        form_headers = {"Origin": world.service.url, "Sec-Fetch-Site": "same-origin"}
        answer = client.post("/deepsearch", data={"question": QUESTION}, headers=form_headers)
        assert answer.status_code == 303
        states_of(client, answer.headers["location"])
        assert client.post("/.api/deepsearch/v1", json={"question": QUESTION}).status_code == 401


def test_questions_that_cannot_be_asked_say_why(ann: httpx2.Client) -> None:
    for question, text in (("", "empty"), ("x" * 20_001, "20,000"), ("repo:acme", "empty")):
        answer = ann.post("/deepsearch", data={"question": question})
        assert answer.status_code == 400
        assert text in answer.text


def test_hostile_questions_stay_text(ann: httpx2.Client) -> None:
    act = "<img src=x onerror=alert(1)></textarea><script>alert(1)</script>"
    address = ask(ann, f"what is {act}")
    live = str(states_of(ann, address)[-1]["html"])
    for html in (live, ann.get(address).text, ann.get("/deepsearch", params={"question": act, "text": act}).text):
        assert "<img" not in html
        assert "<script>" not in html


def test_a_conversation_is_read_and_asked_again_in_python(ann: httpx2.Client, bob: httpx2.Client) -> None:
    address = ask(ann, f"repo:{OPEN} {QUESTION}")
    states_of(ann, address)
    page = ann.get(address).text
    assert f"code.deepsearch_read(&#x27;{address}&#x27;)" in page
    assert f"code.deepsearch(&#x27;repo:{OPEN} {QUESTION}&#x27;)" in page
    assert '<details class="sources"><summary><h3>Sources</h3>' in page
    for query, call in (("", "deepsearch_read"), ("?question=0", "deepsearch"), ("?question=7", "deepsearch_read")):
        file = ann.get(f"{address}.ipynb{query}")
        assert file.headers["content-type"] == "application/x-ipynb+json"
        assert f"code.{call}(" in "".join(file.json()["cells"][0]["source"])
    assert bob.get(f"{address}.ipynb").status_code == 404
    shared_url = ann.post(address, data={"do": "share"}).headers["location"]
    assert "code.deepsearch_read(" in bob.get(shared_url).text
    assert "code.deepsearch(" not in bob.get(shared_url).text, "a scope may name what a reader may not see"
