import itertools
import json

import pytest

from sourcelight.core.wire.events import Alert, Done, ErrorEvent, Event, Filters, Progress, SuggestedFilter
from sourcelight.server.http.pacing import Cadence, EncodedMatches, Pacer, frames_at_once

CADENCE = Cadence(tick_s=0.1, flush_bytes=1000, heartbeat_s=5.0)
FILTERS = Filters((SuggestedFilter("lang:go", "Go", 1, exhaustive=False, kind="lang"),))


def _matches(*names: str) -> EncodedMatches:
    return EncodedMatches(json.dumps([{"type": "path", "path": name} for name in names]).encode())


def _names(frames: list[bytes]) -> list[str]:
    return [frame.split(b"\n")[0].removeprefix(b"event: ").decode() for frame in frames]


def _data(frame: bytes) -> list[dict[str, object]]:
    value = json.loads(frame.split(b"\ndata: ")[1])
    assert isinstance(value, list)
    return value


def _pacer(**options: str) -> Pacer:
    return Pacer(CADENCE, start_s=0.0, **options)


def test_first_matches_go_out_at_once_with_filters_before_and_progress_after() -> None:
    pacer = _pacer()
    pacer.add(Progress(done=False, match_count=1, duration_ms=1))
    pacer.add(_matches("a"))
    pacer.add(FILTERS)
    assert pacer.wait_s(0.0) == 0
    assert _names(pacer.take(0.0)) == ["filters", "matches", "progress"]


def test_later_matches_wait_for_the_tick_and_go_out_joined() -> None:
    pacer = _pacer()
    pacer.add(_matches("a"))
    pacer.take(0.0)
    pacer.add(_matches("b"))
    pacer.add(_matches("c", "d"))
    assert pacer.wait_s(0.04) == pytest.approx(0.06)
    assert pacer.take(0.04) == []
    (frame,) = pacer.take(0.1)
    assert [match["path"] for match in _data(frame)] == ["b", "c", "d"]


def test_a_full_buffer_does_not_wait_for_the_tick() -> None:
    pacer = _pacer()
    pacer.add(_matches("a"))
    pacer.take(0.0)
    pacer.add(_matches("x" * 1000))
    assert pacer.wait_s(0.001) == 0
    assert _names(pacer.take(0.001)) == ["matches"]


def test_a_newer_progress_and_newer_filters_replace_what_has_not_gone_out() -> None:
    pacer = _pacer()
    pacer.add(_matches("a"))
    pacer.take(0.0)
    for count in (2, 3):
        pacer.add(Progress(done=False, match_count=count, duration_ms=count))
        pacer.add(FILTERS)
    frames = pacer.take(0.2)
    assert _names(frames) == ["filters", "progress"]
    assert b'"matchCount":3' in frames[1]


def test_silence_is_broken_by_the_last_progress_with_its_duration_brought_up_to_date() -> None:
    pacer = _pacer()
    assert pacer.wait_s(0.0) == 5.0
    (first,) = pacer.take(5.0)
    assert b'"done":false,"matchCount":0,"durationMs":5000' in first.replace(b" ", b"")
    pacer.add(Progress(done=False, match_count=7, duration_ms=6000))
    pacer.take(6.0)
    assert pacer.wait_s(6.0) == 5.0
    (second,) = pacer.take(11.0)
    assert b'"matchCount":7' in second
    assert b'"durationMs":11000' in second


def test_a_matches_event_does_not_put_off_the_heartbeat() -> None:
    pacer = _pacer()
    for number in range(40):
        pacer.add(_matches("a"))
        assert _names(pacer.take(number * 0.12)) == ["matches"]
    assert pacer.wait_s(4.95) == pytest.approx(0.05)
    assert _names(pacer.take(5.0)) == ["progress"]


def test_the_end_sends_what_waits_before_it_at_once_and_takes_nothing_more() -> None:
    pacer = _pacer()
    pacer.add(_matches("a"))
    pacer.take(0.0)
    pacer.add(_matches("b"))
    pacer.add(FILTERS)
    pacer.add(Progress(done=True, match_count=2, duration_ms=9))
    pacer.add(Alert("t", kind="warning"))
    pacer.add(ErrorEvent("m"))
    pacer.add(Done())
    pacer.add(_matches("late"))
    assert pacer.has_done
    assert _names(pacer.take(0.01)) == ["filters", "matches", "progress", "alert", "error", "done"]
    assert pacer.take(0.02) == []


def test_an_empty_array_of_matches_is_no_event() -> None:
    pacer = _pacer()
    pacer.add(EncodedMatches(b"[]"))
    assert pacer.wait_s(0.0) == 5.0


def test_each_progress_bears_the_address_of_the_trace() -> None:
    pacer = _pacer(trace_url="http://h/-/debug/trace/1")
    pacer.add(Progress(done=False, match_count=0, duration_ms=0))
    pacer.add(Progress(done=True, match_count=0, duration_ms=0))
    for frame in pacer.take(0.0):
        assert b'"trace":"http://h/-/debug/trace/1"' in frame


def test_joined_matches_stay_far_below_the_limit_of_an_event() -> None:
    pacer = _pacer()
    for _ in range(30):
        pacer.add(_matches("x" * 100_000))
    frames = pacer.take(0.0)
    assert len(frames) == 3
    assert sum(len(_data(frame)) for frame in frames) == 30


def test_what_is_larger_than_an_event_may_be_is_told_instead_of_lost() -> None:
    pacer = _pacer()
    pacer.add(_matches("x" * (10 * 1024 * 1024)))
    pacer.add(_matches("small"))
    pacer.add(Done())
    frames = pacer.take(0.0)
    assert _names(frames) == ["matches", "alert", "done"]
    assert b'"kind":"warning"' in frames[1]
    assert b"10 MiB" in frames[1]


def test_a_short_answer_has_the_frames_of_a_pacer() -> None:
    matches, more_matches = EncodedMatches(b'[{"a":1}]'), EncodedMatches(b'[{"b":2}]')
    filters = Filters((SuggestedFilter("lang:go", "Go", 1, exhaustive=True, kind="lang"),))
    progress = [Progress(done=done, match_count=1, duration_ms=2) for done in (True, False)]
    items: list[EncodedMatches | Event] = [matches, more_matches, EncodedMatches(b"[]"), filters, *progress]
    items += [Alert("a"), ErrorEvent("b"), Done()]
    short = 0
    for size in range(6):
        for selected in itertools.product(items, repeat=size):
            frames = frames_at_once(selected)
            if frames is None:
                continue
            pacer = Pacer(Cadence(), start_s=0.0)
            for item in selected:
                pacer.add(item)
            assert frames == pacer.take(0.0), selected
            short += 1
    assert short > 20
    usual: list[EncodedMatches | Event] = [matches, filters, progress[0], Done()]
    assert frames_at_once(usual) is not None
