"""What painters are shown of a search and of an index being built."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from display.batches_for_tests import lines, record_batch
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.batches.events import CloneProgress, IndexProgress
from sourcelight.core.completeness import skipped_text
from sourcelight.core.wire.events import (
    Alert,
    Done,
    ErrorEvent,
    Filters,
    Progress,
    QuerySuggestion,
    Skipped,
    UnknownEvent,
)
from sourcelight.display.notebook import IndexState, Painter, ProgressSnapshot, SearchState, make_painter
from sourcelight.display.notebook.painter import LineSurface

LIMIT = Skipped("shard-match-limit", "result limit hit", "", "info", QuerySuggestion("more", "count:all"))


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def search(*events: Event, query: str = "foo", clock: Clock | None = None) -> SearchState:
    """A search that took in some events."""
    state = SearchState(query, clock=clock or Clock())
    for event in events:
        state.update(event)
    return state


HIT = MatchBatch(lines("r1", "a.go", [(1, "foo foo", [(0, 3), (4, 7)])]), (RepositoryInfo("r1"),))


@pytest.mark.parametrize(
    ("query", "total"),
    [("foo", None), ("count:all foo", None), ("count:50 foo", 50), ("(a count:7)", 7), ("discount:5", None)],
)
def test_only_a_count_gives_a_total(query: str, total: int | None) -> None:
    state = search(HIT, query=query)
    assert state.snapshot().total == total
    assert state.snapshot().fraction == (None if total is None else 2 / total)


def test_an_ended_search_has_no_total() -> None:
    """Its status says whether there are more: "20 of 20 matches" of a ``count:20`` would deny them."""
    state = search(HIT, Progress(True, 2, 1, 9), Done(), query="foo count:2")
    assert state.snapshot().text.startswith("running: 2 of 2 matches, ")
    state.finish()
    assert state.snapshot().total is None
    assert " of " not in state.snapshot().text


def test_events_add_up() -> None:
    clock = Clock()
    state = search(HIT, HIT, Filters(()), UnknownEvent("x"), clock=clock)
    state.update(MatchBatch(record_batch({"type": ["repo"], "repository": ["r1"]})))
    clock.now += 2
    shot = state.snapshot()
    assert shot.done == 5
    assert shot.fields == (("repository", "1"), ("s", "2.0"), ("matches/s", "2"))
    assert shot.text == "running: 5 matches, 1 repository, 2.0 s, 2 matches/s"
    assert state.status == "interrupted"
    assert state.reasons == ("still running",)


def test_a_service_may_know_of_more_repositories_than_it_sent() -> None:
    assert search(Progress(False, 1, 1, 9)).snapshot().fields[0] == ("repositories", "9")


def test_an_alert_with_a_list_is_one_line() -> None:
    state = search(HIT, Alert("Not all", "Not searched:\n- `a`: gone\n- `b`: gone", "warning"), Done())
    assert ("warning", "Not all: Not searched: `a`: gone, `b`: gone") in state.snapshot().notices


def test_skipped_work_alerts_and_errors_become_notes() -> None:
    alerts = (Alert("a", "b", "warning"), Alert("c"))
    state = search(HIT, Progress(True, 1, 1, 1, (LIMIT, Skipped("x", severity="warn", title=""))), *alerts, Done())
    state.finish()
    assert state.snapshot().notices == (
        ("info", "result limit hit (count:all)"),
        ("warn", "skipped x"),
        ("warning", "a: b"),
        ("info", "c"),
    )
    failed = search(ErrorEvent("boom"))
    failed.finish()
    assert failed.snapshot().notices == (("error", "boom"),)


@pytest.mark.parametrize(
    ("reason", "title", "text"),
    [
        ("document-binary", "61 binary files", "skipped 61 binary files"),
        ("repository-fork", "1 forked", "skipped 1 forked repository"),
        ("excluded-archive", "2,000 archived", "skipped 2,000 archived repositories"),
        ("shard-match-limit", "result limit hit", "result limit hit"),
        ("symbols-incomplete", "2 files parsed in part", "2 files parsed in part"),
        ("shard-timeout", "", "skipped shard-timeout"),
    ],
)
def test_skipped_work_is_shown_in_words(reason: str, title: str, text: str) -> None:
    assert skipped_text(Skipped(reason, title)) == text


def test_the_first_end_counts_and_stops_the_clock() -> None:
    clock = Clock()
    state = search(HIT, clock=clock)
    clock.now += 1
    state.interrupt()
    clock.now += 5
    state.fail("late")
    state.finish()
    assert (state.phase, state.reasons, state.elapsed_s) == ("interrupted", ("interrupted",), 1.0)


def test_an_index_shows_how_far_clones_and_repositories_are() -> None:
    clock = Clock()
    state = IndexState("~/src", clock=clock)
    assert state.snapshot().done == 0
    state.update(IndexProgress(2, 4, files=1234, text_bytes=5_000_000, repository="reading"))
    clock.now += 3
    shot = state.snapshot()
    assert (shot.title, shot.done, shot.total, shot.unit) == ("~/src: reading", 2, 4, "repositories")
    assert shot.fields == (("files", "1,234"), ("MB", "5.0"), ("s", "3.0"))
    state.update(CloneProgress("https://host/one", "Receiving objects", done=5, total=10))
    assert state.snapshot().title == "~/src: Receiving objects 5 of 10"
    state.finish()
    assert (state.snapshot().phase, state.snapshot().title) == ("complete", "~/src")


@pytest.mark.parametrize("end", ["interrupt", "fail"])
def test_an_index_can_stop_early(end: str) -> None:
    state = IndexState("x")
    state.interrupt() if end == "interrupt" else state.fail("disk full")
    state.finish()
    assert state.snapshot().phase == {"interrupt": "interrupted", "fail": "failed"}[end]
    assert state.snapshot().notices == ((("error", "disk full"),) if end == "fail" else ())


def test_a_painter_paints_ten_times_a_second_and_at_the_end() -> None:
    clock = Clock()
    displayed: list[ProgressSnapshot] = []
    painter = Painter(search(HIT), lambda: SimpleNamespace(draw=displayed.append), clock)
    assert displayed == []
    for _ in range(100):  # one second
        painter.paint()
        clock.now += 0.01
    assert 9 <= len(displayed) <= 11
    painter.finish()
    painter.finish()
    assert len(displayed) <= 13


@pytest.mark.parametrize(("progress", "environment"), [(False, ""), (None, "off"), (True, "off"), (None, "")])
def test_a_silent_painter_draws_nothing(
    progress: bool | None,  # noqa: FBT001 - a parameter of the test
    environment: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SOURCELIGHT_PROGRESS", environment)
    painter = make_painter(search(HIT), progress)
    painter.paint()
    painter.finish()
    assert capsys.readouterr() == ("", "")


def test_true_prints_lines_where_there_is_no_notebook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SOURCELIGHT_PROGRESS", raising=False)
    state = search(HIT, Progress(True, 1, 1, 1, (LIMIT,)))
    painter = make_painter(state, True)
    painter.paint()
    assert capsys.readouterr().err == ""
    state.finish()
    painter.finish()
    line = capsys.readouterr().err
    assert line.startswith("limited: 2 matches, 1 repository, ")
    assert line.endswith("; result limit hit (count:all)\n")


def test_lines_come_once_per_second_with_controls_visible(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines_ = LineSurface(clock)
    state = search(HIT, Alert("\x1b[2J\u202e"))
    for _ in range(35):
        lines_.draw(state.snapshot())
        clock.now += 0.1
    text = capsys.readouterr().err
    assert text.count("\n") == 3
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_without_standard_error_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCELIGHT_PROGRESS", raising=False)
    monkeypatch.setattr(sys, "stderr", None)
    make_painter(search(HIT), None).paint()


def test_a_callable_gets_every_paint_even_when_silenced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCELIGHT_PROGRESS", "off")
    displayed: list[ProgressSnapshot] = []
    make_painter(search(HIT), displayed.append).paint()
    assert displayed[0].done == 2


def test_an_index_that_was_current_says_so() -> None:
    state = IndexState("~/src", clock=Clock())
    state.finish(7)
    shot = state.snapshot()
    assert (shot.phase, shot.done, shot.total, shot.fields[0]) == ("complete", 7, 7, ("index", "current"))
