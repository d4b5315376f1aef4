"""A report under way shows each of its stages, and an interrupt ends it soon."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.display.notebook import ProgressSnapshot
from sourcelight.lab.reports import changes, contributors
from sourcelight.testing import RepositoryBuilder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = RepositoryBuilder(tmp_path_factory.mktemp("stages") / "demo")
    repo.commit({"a.py": "one\n"}, "begin")
    repo.tag("v1")
    repo.commit({"a.py": "two\n"}, "go on")
    return repo.path


def test_each_stage_is_shown_and_the_last_state_is_complete(code: sl.Client) -> None:
    seen: list[ProgressSnapshot] = []
    contributors(code, progress=seen.append)
    assert (seen[-1].phase, seen[-1].done, seen[-1].total) == ("complete", 7, 7)
    displayed = " ".join(text for _, text in seen[-1].notices)
    for stage in ("commits", "people", "folders", "files", "ownership"):
        assert stage in displayed
    assert [moment.done for moment in seen] == sorted(moment.done for moment in seen)


@pytest.mark.clock
def test_an_interrupt_ends_a_report_at_once_and_is_shown(code: sl.Client) -> None:
    seen: list[ProgressSnapshot] = []
    pressed: list[float] = []

    def press(moment: ProgressSnapshot) -> None:
        seen.append(moment)
        if moment.phase == "running" and not pressed:
            pressed.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        changes(code, "demo", "v1", "HEAD", progress=press)
    assert time.monotonic() - pressed[0] < 1  # 0.3 s on a machine that has nothing else to do
    assert seen[-1].phase == "interrupted"


def test_a_report_that_fails_says_why(code: sl.Client) -> None:
    seen: list[ProgressSnapshot] = []
    with pytest.raises(sl.RevisionNotFound):
        changes(code, "demo", "v1", "v9", progress=seen.append)
    assert seen[-1].phase == "failed"
    assert "v9" in seen[-1].notices[-1][1]
