"""Saved answers: what was found then, for whom, how long, and how much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import httpx2
import pytest

from server.http.pages.test_search_page import acting_parts, text_of
from server.loopback_tls import TLS
from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.repos import ServicePolicy
from sourcelight.repos.state import LIFETIME_S, State, TooManyAnswers, saved_answers
from sourcelight.testing import RepositoryBuilder

OPEN, SECRET = "example.org/acme/web", "example.org/acme/payments"
ACT = "<img src=x onerror=alert(1)>"


class Clock:
    """A time that a test moves."""

    now_s = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def state(clock: Clock) -> Iterator[State]:
    with State(clock=clock) as state:
        for name in ("ann", "bob"):
            state.accounts.create(name)
        yield state


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    web = RepositoryBuilder(folder / "web", origin=f"https://{OPEN}.git")
    web.commit({"a.py": f"def needle():\n    return '{ACT}'\n"}, f"add {ACT}")
    RepositoryBuilder(folder / "pay", origin=f"https://{SECRET}.git").commit({"b.py": "secret needle\n"}, "pay")
    (folder / "repos.toml").write_text(
        f'[repositories."{SECRET}"]\nprivate = true\n[repositories."{OPEN}"]\nprivate = false\n'
    )
    return folder


@pytest.fixture(scope="module")
def service(folder: Path, state: State) -> Iterator[Service]:
    engine = open_engine([folder], index=folder / "index", policy=ServicePolicy(state.repositories, "", ()), workers=1)
    with running(engine, state=state) as service:
        state.grants.add(SECRET, account="ann")
        yield service
    engine.close()


def client_of(service: Service, state: State, name: str) -> httpx2.Client:
    headers = {"Authorization": f"token {state.tokens.create(name)[1]}"}
    return httpx2.Client(base_url=service.url, headers=headers, timeout=30, trust_env=False, verify=TLS)


@pytest.fixture
def ann(service: Service, state: State) -> Iterator[httpx2.Client]:
    with client_of(service, state, "ann") as client:
        yield client


@pytest.fixture
def bob(service: Service, state: State) -> Iterator[httpx2.Client]:
    with client_of(service, state, "bob") as client:
        yield client


def save(client: httpx2.Client, query: str, **fields: str) -> str:
    answer = client.post("/search/saved", data={"q": query, **fields})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def test_a_saved_answer_shows_what_was_found_then(ann: httpx2.Client, folder: Path) -> None:
    page = ann.get("/search", params={"q": 'patterntype:keyword "needle"', "wait": "1"}).text
    field = re.search(r'<form [^>]*action="/search/saved"><input type="hidden" name="q" value="([^"]+)"', page)
    assert field is not None
    address = save(ann, unescape(field[1]))
    before = ann.get(address).text
    web = RepositoryBuilder(folder / "web")
    commit = web.git("rev-parse", "HEAD")
    web.commit({"a.py": "nothing\n"}, "change")
    after = ann.get(address).text
    assert after == before
    text = text_of(after)
    assert "2 matches then" in text
    assert "status then: complete" in text
    assert "Saved by ann on 2027-01-15, expires on 2027-04-15" in text
    assert commit in text
    assert f'href="/{OPEN}@{commit}/-/blob/a.py' in after
    assert 'href="/search?q=patterntype%3Akeyword%20%22needle%22">Search again' in after
    assert acting_parts(after) == ["script"]
    web.commit({"a.py": f"def needle():\n    return '{ACT}'\n"}, "back")


def test_each_reader_sees_what_they_may_see_now(
    service: Service, state: State, ann: httpx2.Client, bob: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = save(ann, "needle")
    assert "secret " in text_of(ann.get(address).text)
    page = bob.get(address)
    assert page.status_code == 200
    for word in ("payments", "secret ", "b.py", "2 matches"):
        assert word not in text_of(page.text)
    assert "left out" in page.text
    assert f"/{OPEN}@" in page.text
    with httpx2.Client(base_url=service.url, timeout=30, trust_env=False, verify=TLS) as nobody:
        assert nobody.get(address).status_code == 401
    state.grants.remove(SECRET, account="ann")
    try:
        assert "payments" not in ann.get(address).text
    finally:
        state.grants.add(SECRET, account="ann")
    # A page has room for one repository alone: the count is still of both, and not for who sees one.
    monkeypatch.setattr("sourcelight.server.http.pages.saved.MAX_ROWS", 0)
    link = save(ann, "needle")
    assert "2 matches then" in text_of(ann.get(link).text)
    assert "matches then" not in text_of(bob.get(link).text)
    monkeypatch.undo()
    only_secret = save(ann, "secret")
    assert "payments" not in bob.get(only_secret).text


def test_answers_are_listed_and_deleted_by_their_owner_alone(ann: httpx2.Client, bob: httpx2.Client) -> None:
    address = save(ann, f'type:commit "{ACT}"')
    assert f'href="{address}"' in ann.get("/search/saved").text
    assert address not in bob.get("/search/saved").text
    assert bob.post(address).status_code == 404
    assert ann.post(address, headers={"Origin": "https://evil.example"}).status_code == 403
    assert ann.post("/search/saved", data={"q": "x"}, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert acting_parts(ann.get("/search/saved").text) == ["script"]
    assert ann.post(address).headers["location"] == "/search/saved"
    absent = ann.get(address)
    assert absent.status_code == 404
    assert absent.text == ann.get("/search/saved/nothing").text


def test_an_answer_expires(ann: httpx2.Client, clock: Clock) -> None:
    address = save(ann, "needle")
    clock.now_s += LIFETIME_S - 1
    assert ann.get(address).status_code == 200
    clock.now_s += 1
    assert ann.get(address).status_code == 404
    assert address not in ann.get("/search/saved").text


def test_what_cannot_be_saved_says_why(ann: httpx2.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "missing closing )" in ann.post("/search/saved", data={"q": "/(/"}).text
    monkeypatch.setattr(saved_answers, "MAX_ANSWERS", 2)
    first = save(ann, "needle")
    save(ann, "needle")
    refused = ann.post("/search/saved", data={"q": "needle"})
    assert refused.status_code == 400
    assert "at most 2" in refused.text
    ann.post(first)
    save(ann, "needle")


def test_bytes_are_bounded_per_account(state: State) -> None:
    answers = state.saved_answers
    with pytest.raises(TooManyAnswers):
        answers.save("bob", "x", "", {}, b"x" * (saved_answers.MAX_ANSWER_BYTES + 1))
    for _ in range(saved_answers.MAX_BYTES // saved_answers.MAX_ANSWER_BYTES):
        assert answers.save("bob", "x", "", {}, b"x" * saved_answers.MAX_ANSWER_BYTES)
    with pytest.raises(TooManyAnswers):
        answers.save("bob", "x", "", {}, b"x")
    assert answers.save("nobody", "x", "", {}, b"") is None
    state.accounts.delete("bob")
    assert state.database.all("SELECT count(*) FROM saved_answers AS s WHERE s.query = 'x'") == [(0,)]
