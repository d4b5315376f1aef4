"""Streams that send alerts, errors, skipped items, filters or odd matches without end: memory and time are bounded."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

import pytest

from sourcelight.backends.remote import event_reader
from sourcelight.backends.remote.event_reader import EventReader
from sourcelight.backends.remote.stream_limits import MAX_ALERTS, MAX_ITEMS, MAX_KEPT_CHARS
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import ToolProgress
from sourcelight.core.errors import StreamBroken
from sourcelight.core.wire.events import Alert, Progress, Skipped
from sourcelight.display.notebook import SearchState
from sourcelight.display.notebook.call_state import WRITING, AskState

_FINAL = ("progress", {"done": True, "matchCount": 0, "durationMs": 1})


def searched(events: Iterable[tuple[str, Any]], final: tuple[str, Any] = _FINAL) -> SearchState:
    """The state of a search that got these events, the final statistics and `done`."""
    reader, state = EventReader("x"), SearchState("x")
    for name, data in (("progress", {"done": False}), *events, final, ("done", {})):
        for event in reader.feed(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()):
            state.update(event)
    state.finish()
    return state


def test_alerts_without_end_are_counted_and_not_kept() -> None:
    alerts = [("alert", {"title": f"note {number}", "kind": "info"}) for number in range(3 * MAX_ALERTS)]
    state = searched(alerts)
    assert len(state.alerts) == MAX_ALERTS
    assert state.status == "limited"
    assert f"{2 * MAX_ALERTS:,} alerts of the service not kept" in " ".join(state.reasons)


@pytest.mark.parametrize(
    "error", [("error", {"message": "disk lost"}), ("alert", {"title": "disk lost", "kind": "error"})]
)
def test_a_flood_of_alerts_hides_no_error(error: tuple[str, Any]) -> None:
    flood = [("alert", {"title": "note", "kind": "info"})] * (2 * MAX_ALERTS)
    state = searched([*flood, error, *[error] * 10, *flood])
    assert state.status == "failed"
    assert "disk lost" in " ".join(state.reasons)
    assert len(state.alerts) + len(state.errors) == MAX_ALERTS + 1


def test_alerts_before_the_search_are_bounded_too() -> None:
    reader = EventReader("x")
    for _ in range(3 * MAX_ALERTS):
        assert list(reader.feed(b'event: alert\ndata: {"title": "note", "kind": "info"}\n\n')) == []
    assert len(reader.delayed_events()) == MAX_ALERTS


def test_long_texts_of_alerts_are_cut() -> None:
    proposed = [{"query": "q" * 5_000, "annotations": [{"name": "n", "value": "v" * 5_000}] * 30}] * 30
    state = searched([("alert", {"title": "t" * 10**6, "description": "d" * 10**6, "proposedQueries": proposed})] * 9)
    assert sum(len(repr(alert)) for alert in state.alerts) < 2 * MAX_KEPT_CHARS
    assert state.alerts[0].title.endswith("\u2026")


@pytest.mark.parametrize(("count", "chars"), [(20 * MAX_ITEMS, 1), (1_000, 50_000)])
def test_skipped_items_of_an_event_are_bounded(count: int, chars: int) -> None:
    items = [{"reason": "shard-timeout", "title": "late", "message": "m" * chars}] * count
    state = searched([], ("progress", {"done": True, "matchCount": 0, "skipped": items}))
    size = len(state.skipped) - 1
    assert size <= MAX_ITEMS
    assert sum(len(item.message) for item in state.skipped) <= MAX_KEPT_CHARS
    assert state.skipped[-1].title.startswith(f"{count - size:,} more items")
    assert state.status == "limited"


def test_final_statistics_again_and_again_do_not_add_up() -> None:
    def final(number: int) -> tuple[str, Any]:
        return "progress", {
            "done": True,
            "matchCount": 0,
            "skipped": [{"reason": f"r{number}-{n}"} for n in range(900)],
        }

    state = searched(map(final, range(30)))
    assert len(state.skipped) <= MAX_ITEMS + 1


def test_filters_are_bounded_and_the_answer_says_so() -> None:
    state = searched([("filters", [{"value": f"lang:{n}", "count": 1, "kind": "lang"} for n in range(3 * MAX_ITEMS)])])
    assert len(state.filters) == MAX_ITEMS
    assert f"{2 * MAX_ITEMS:,} suggested filters not kept" in " ".join(state.reasons)


def test_statistics_keep_a_bounded_history() -> None:
    state = SearchState("x")
    skipped = tuple(Skipped("shard-timeout", "late", "m" * 20_000) for _ in range(100))
    for number in range(200):
        state.update(Progress(done=False, match_count=number, duration_ms=1, skipped=skipped))
    assert sum(len(item.message) for event in state.progress for item in event.skipped) <= 32 << 20
    assert [event.match_count for event in state.progress][-3:] == [197, 198, 199]
    small = SearchState("x")
    for number in range(10_100):
        small.update(Progress(done=False, match_count=number, duration_ms=1))
    assert (len(small.progress), small.progress[0].match_count) == (10_000, 100)


def test_types_of_matches_that_change_with_each_match_are_counted_together() -> None:
    matches = [{"type": f"type {number}" + "x" * 5_000, "repository": "r"} for number in range(12_000)]
    state = searched(("matches", matches[start : start + 1_000]) for start in range(0, len(matches), 1_000))
    assert len(state.other) <= 10_000
    (item,) = (item for item in state.skipped if item.reason == "unknown-match-type")
    assert item.title.startswith("12,000 matches")
    assert len(item.title) < 20_000


def test_a_million_unreadable_matches_break_the_stream() -> None:
    reader = EventReader("x")
    start = time.process_time()
    with pytest.raises(StreamBroken, match="more than 1,000,000 matches"):
        list(reader.feed(b"event: matches\ndata: [" + b"{}," * 1_500_000 + b"{}]\n\n"))
    assert time.process_time() - start < 10


def test_a_repository_with_each_match_takes_no_quadratic_time() -> None:
    def match(number: int) -> bytes:
        data = [{"type": "repo", "repository": f"host/{number}"}]
        return f"event: matches\ndata: {json.dumps(data)}\n\n".encode()

    reader, state = EventReader("x"), SearchState("x")
    start = time.process_time()
    for number in range(20_000):
        for event in reader.feed(match(number)):
            state.update(event)
    assert state.repository_count == 20_000
    # 45 s with a new set for each of them.
    assert time.process_time() - start < 25


def test_the_draft_and_the_steps_of_a_question_are_bounded() -> None:
    state = AskState("q")
    for number in range(40):
        state.update(ToolProgress(WRITING, 0, 0, "word " * 20_000))
        state.update(ToolProgress(f"step {number}", 0, 0, "d" * 100_000))
    assert len(state.draft_text) <= 1 << 20
    assert all(len(detail) <= 2_000 for _, detail in state.turns)
    assert state.snapshot().notices


@pytest.mark.parametrize(
    ("query", "default_matches", "ends"),
    [
        ("x count:10", None, True),
        ("x", 10, True),
        ("(x or y) count:10", 10, True),
        ("x count:all", 10, False),
        ("x", None, False),
        ("x count:100000", None, False),
    ],
)
def test_matches_beyond_the_count_of_a_query_end(
    monkeypatch: pytest.MonkeyPatch, query: str, default_matches: int | None, *, ends: bool
) -> None:
    """A service that never stops would fill the memory; the rows that arrived stay."""
    monkeypatch.setattr(event_reader, "MAX_UNREQUESTED", 1_000)
    reader = EventReader(query, default_matches=default_matches)
    event = b"event: matches\ndata: " + json.dumps([{"type": "repo", "repository": "a/b"}] * 100).encode() + b"\n\n"
    rows, message = 0, ""
    try:
        for _ in range(20):
            for batch in reader.feed(event):
                rows += len(batch.batch) if isinstance(batch, MatchBatch) else 0
    except StreamBroken as exc:
        message = str(exc)
    assert ("and the query asks for 10" in message, rows) == ((True, 1_100) if ends else (False, 2_000))


def test_an_error_without_a_message_says_so() -> None:
    odd: list[Any] = [None, {}, [], {"message": ""}]
    for data in odd:
        assert "the service gives no reason" in " ".join(searched([("error", data)]).reasons)


def test_ordinary_alerts_stay_as_they_are() -> None:
    state = searched([("alert", {"title": "a", "description": "b", "kind": "info"})])
    assert state.alerts == (Alert("a", "b", "info"),)
    assert state.status == "complete"


@pytest.mark.parametrize("skipped", ["everything", True, 3, {"title": "all"}, ["x"], [None], [{"reason": 3}]])
def test_skipped_work_of_any_form_is_skipped_work(skipped: Any) -> None:
    """A text in place of the list was none, and the search complete."""
    final = ("progress", {"done": True, "matchCount": 0, "durationMs": 1, "skipped": skipped})
    assert searched([], final).status == "limited"


@pytest.mark.parametrize("skipped", [None, [], "", 0, False, {}])
def test_no_skipped_work_has_several_forms(skipped: Any) -> None:
    final = ("progress", {"done": True, "matchCount": 0, "durationMs": 1, "skipped": skipped})
    assert searched([], final).status == "complete"


def test_what_a_service_says_has_no_credentials() -> None:
    """A service that quoted the token in an alert put it into the outputs of notebooks."""
    reader = EventReader("x", hide_secrets=lambda text: text.replace("s3cret", "***"))
    item = {"reason": "timeout", "title": "s3cret", "message": "for s3cret"}
    events = [
        ("progress", {"done": False, "skipped": [item]}),
        ("alert", {"title": "s3cret", "description": "x" * 1_996 + " s3cret", "kind": "info"}),
        ("error", {"message": "bad s3cret"}),
        ("progress", {"done": True, "skipped": [item]}),
        ("done", {}),
    ]
    events_read = [
        event for name, data in events for event in reader.feed(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
    ]
    assert len(events_read) == len(events)
    assert "s3c" not in str(events_read)
    assert str(events_read).count("***") == 7
