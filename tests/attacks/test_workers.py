"""Worker processes have limits, and are not started again for what they died of."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sourcelight.engines.storage import worker_pool


def run(tmp_path: Path, identity: str, **order: Any) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    line = json.dumps({"log": str(tmp_path / "log"), **order}).encode() + b"\n"
    job = worker_pool.WorkerJob("key", line, identity)
    assert worker_pool.run("attacks.dying_worker", [job], 1, lambda _, event: events.append(event), lambda: False)
    return events


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a started process is limited on Linux alone")
def test_a_worker_that_takes_too_much_memory_dies_and_is_not_started_again(tmp_path: Path) -> None:
    (failed,) = run(tmp_path, "memory", do="grow", bytes=worker_pool.MAX_DATA_BYTES)
    assert failed["event"] == "failed"
    (refusal,) = run(tmp_path, "memory", do="grow", bytes=worker_pool.MAX_DATA_BYTES)
    assert "not tried again" in refusal["reason"]
    assert (tmp_path / "log").read_text() == "started\n"
    (other,) = run(tmp_path, "another commit", do="grow", bytes=1000)
    assert other == {"event": "done", "bytes": 1000}


def test_a_worker_that_says_nothing_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_pool, "MAX_SILENCE_S", 0.5)
    (failed,) = run(tmp_path, "silence", do="sleep")
    assert "sent nothing for 0.5 s and was killed" in failed["reason"]
    (refusal,) = run(tmp_path, "silence", do="sleep")
    assert "not tried again" in refusal["reason"]
