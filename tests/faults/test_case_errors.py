"""Every error of the case file, as a reader meets it: raised by the library, told by the service."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from core.wire.strict_decoder import read_strictly
from server.running_service import Service
from sourcelight.core.errors import QueryError
from sourcelight.core.query import parse

CASE_FILE = Path(__file__).parent.parent / "core" / "query" / "query-cases.jsonl"
CASES: list[dict[str, Any]] = [
    case
    for case in map(json.loads, CASE_FILE.read_text("utf-8").splitlines())
    if "error" in case and not case.get("quirk")
]
IDS = [f"{number}-{case['query'][:40]}" for number, case in enumerate(CASES)]
OPERAND = "I'm having trouble understanding that query. Putting parentheses around the search pattern may help."


def expected_message(case: dict[str, Any]) -> str:
    """What the service says of a fault: a sentence, and of a missing operand the words its readers know."""
    message: str = case["error"]
    return OPERAND if message.startswith("expected operand at ") else message[:1].upper() + message[1:]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_library_raises_it_with_its_place(embedded: sl.Client, case: dict[str, Any]) -> None:
    query = case["query"]
    with pytest.raises(QueryError) as caught:
        embedded.search(query, pattern_type=case["patternType"])
    error = caught.value
    assert (error.message, error.query, error.stage) == (case["error"], query, case["stage"])
    assert error.position is None or 0 <= error.position <= len(query.encode())
    if case["error"].startswith("expected operand at "):
        assert error.position == int(case["error"].rpartition(" ")[2])
    assert embedded.last is not None
    assert embedded.last.status == "failed"


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_the_service_tells_it_as_alert_and_done(service: Service, case: dict[str, Any]) -> None:
    answer = service.search(case["query"], t=case["patternType"])
    assert answer.status_code == 200
    (_, alert), _ = events = read_strictly(answer.content)
    assert [name for name, _ in events] == ["alert", "done"]
    assert (alert["title"], alert["kind"]) == ("Unable To Process Query", "error")
    assert alert["description"] == expected_message(case)


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_a_client_of_the_service_raises_it(remote: sl.Client, case: dict[str, Any]) -> None:
    with pytest.raises(QueryError) as caught:
        remote.search(case["query"], pattern_type=case["patternType"])
    assert (caught.value.message, caught.value.query) == (expected_message(case), case["query"])


def test_there_are_as_many_errors_as_the_file_is_known_to_have() -> None:
    assert len(CASES) >= 60


def test_most_faults_have_a_place() -> None:
    placed = 0
    for case in CASES:
        with pytest.raises(QueryError) as caught:
            parse(case["query"], case["patternType"])
        placed += caught.value.position is not None
    assert placed > len(CASES) * 0.75
