"""Metrics and the log of requests: what they count and name, and what nobody can put into them."""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Iterator

import anyio
import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.requests import Request

from server.loopback_tls import TLS
from server.running_service import Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.repos import Catalog
from sourcelight.repos.state import State
from sourcelight.server.http.middleware.access_log import RequestLog, RequestNotes, new_request_id
from sourcelight.server.http.middleware.metrics import Metrics
from sourcelight.server.http.requests import ACCESS_LOGGER, JsonFormatter, caller_id, request_id
from sourcelight.server.http.settings import Settings
from sourcelight.server.identity import Authenticator
from sourcelight.testing import RepositoryBuilder


@pytest.fixture(scope="module")
def state() -> Iterator[State]:
    with State() as state:
        state.accounts.create("ann")
        yield state


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, state: State) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("metrics")
    RepositoryBuilder(folder / "web", origin="https://example.org/acme/web.git").commit({"a.py": "needle\n"}, "begin")
    engine = open_engine([folder], index=folder / "index", workers=1)
    with running(engine, Settings(auth_public=True, log_queries=True), state=state) as service:
        yield service
    engine.close()


def values(service: Service) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(sample.labels.get(name, "") for name in ("route", "method", "status"))): sample.value
        for family in text_string_to_metric_families(service.client.get("/metrics").text)
        for sample in family.samples
    }


def test_requests_are_counted_by_part_of_the_service_and_status(service: Service) -> None:
    before = values(service)
    for _ in range(3):
        assert service.search("needle").status_code == 200
    assert service.client.get("/example.org/acme/nothing/-/blob/x").status_code == 404
    after = values(service)

    def increase(*key: str) -> float:
        name = (f"sourcelight_{key[0]}", *key[1:])
        return after[name] - before.get(name, 0)

    assert increase("requests_total", "stream", "GET", "200") == 3
    assert increase("requests_total", "code pages", "GET", "404") == 1
    assert increase("request_seconds_count", "stream", "", "") == 3
    assert after["sourcelight_repositories", "", "", ""] == 1
    assert after["sourcelight_running_searches", "", "", ""] == 0


def test_metrics_are_for_administrators_and_name_nobody(service: Service, state: State) -> None:
    token = state.tokens.create("ann")[1]
    with httpx2.Client(base_url=service.url, timeout=20, trust_env=False, verify=TLS) as client:
        assert client.get("/metrics").status_code == 403
        assert client.get("/metrics", headers={"Authorization": f"token {token}"}).status_code == 403
        assert client.get("/metrics", headers={"Authorization": "token wrong"}).status_code == 401
    for number in range(30):
        service.client.request(f"ODD{number}", f"/odd/{number}/-/{'x' * number}", params={"q": "secret-query"})
    text = service.client.get("/metrics").text
    for word in ("ODD", "odd", "secret-query", "acme", "ann"):
        assert word not in text
    assert len({line for line in text.splitlines() if line.startswith("sourcelight_requests_total")}) < 20


def test_a_request_has_an_identifier_in_its_answer_and_its_line(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    def records() -> list[logging.LogRecord]:
        # The line of the last request of another test may come late.
        return [r for r in caplog.records if r.name == ACCESS_LOGGER and "/metrics" not in r.getMessage()]

    hostile = 'x"\r\n{"status":200}'.encode("unicode_escape").decode()
    with caplog.at_level(logging.INFO, ACCESS_LOGGER):
        for sent in ("trace-7", hostile, "y" * 65):
            answer = service.client.get("/healthz", headers={"X-Request-ID": sent})
            assert re.fullmatch("[0-9a-f]{16}", answer.headers["x-request-id"])
            assert sent != answer.headers["x-request-id"]
        service.search("needle \u2028 \x1b[31m")
        # The line of a stream is written after its last byte, which the client has by then.
        deadline = time.monotonic() + 20
        while len(records()) < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
    lines = [json.loads(record.getMessage()) for record in records()]
    assert [line.get("caller_request_id") for line in lines[:3]] == ["trace-7", None, None]
    assert len({line["request_id"] for line in lines}) == len(lines)
    assert lines[3]["query"] == "needle \u2028 \x1b[31m"
    assert all("\x1b" not in record.getMessage() for record in caplog.records)


def test_all_requests_are_counted_however_many_came_since_the_last_look() -> None:
    async def count_of(requests: int) -> float:
        metrics = Metrics()
        # Some came before the library was loaded.
        for number in range(requests):
            if number == 5:
                metrics.connect(lambda: 0, Catalog.from_repositories([]))
            metrics.count("stream", "GET", 200, 0.001)
        read = metrics.endpoint(Authenticator(State(), public=True), public=True)
        response = await read(Request({"type": "http", "headers": []}))
        return sum(
            sample.value
            for family in text_string_to_metric_families(bytes(response.body).decode())
            for sample in family.samples
            if sample.name == "sourcelight_requests_total"
        )

    for requests in (6, 63, 64, 65, 200):
        assert anyio.run(count_of, requests) == requests


def test_a_line_is_a_record_like_others(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, ACCESS_LOGGER)
    log = RequestLog()
    scope = {"method": "GET", "path": "/healthz", "headers": []}
    for _ in range(2):
        log.write(log.parts_of(scope, None), RequestNotes(), new_request_id(), 200, 3, 0.001)
    first, second = (record for record in caplog.records if record.name == ACCESS_LOGGER)
    other = logging.LogRecord(ACCESS_LOGGER, logging.INFO, second.pathname, 0, second.msg, None, None)
    times = {"created", "msecs", "relativeCreated"}
    assert {name: value for name, value in vars(second).items() if name not in {*times, "message"}} == {
        name: value for name, value in vars(other).items() if name not in times
    }
    assert 0 <= other.created - second.created < 60
    assert second.relativeCreated == pytest.approx(other.relativeCreated, abs=60_000)
    assert second.msecs == int(second.created % 1 * 1000)
    assert json.loads(first.getMessage())["request_id"] != json.loads(second.getMessage())["request_id"]


def test_other_lines_are_json_with_their_request() -> None:
    formatter = JsonFormatter()
    record = logging.makeLogRecord({"name": "sourcelight.service", "levelname": "WARNING", "msg": 'a\n{"forged":1}'})
    token = request_id.set("0123456789abcdef")
    try:
        line = formatter.format(record)
    finally:
        request_id.reset(token)
    assert "\n" not in line
    assert json.loads(line)["message"] == 'a\n{"forged":1}'
    assert json.loads(line)["request_id"] == "0123456789abcdef"
    assert "request_id" not in json.loads(formatter.format(record))
    assert caller_id("a b") == caller_id("") == caller_id("a\n") == ""
