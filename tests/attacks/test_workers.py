"""Worker processes have limits, and are not started again for what they died of."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sourcelight.engines.search import worker
from sourcelight.engines.storage import worker_pool
from sourcelight.testing import RepositoryBuilder


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


_TRAP = "import os\nopen(os.environ['TRAP'], 'w').close()\nraise SystemExit(3)\n"


@pytest.mark.parametrize("arguments", [("index", "."), ("search", "text", ".")])
def test_modules_in_a_searched_directory_are_not_run(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    names = ("json", "numpy/__init__", "os", "sitecustomize", "sourcelight/__init__")
    files = {f"{name}.py": _TRAP for name in names} | {f"{n}.txt": f"text {n}\n" for n in range(500)}
    builder = RepositoryBuilder(tmp_path / "trap")
    builder.commit(files, "as a worker would import it")
    command = Path(sys.executable).with_name("sourcelight")
    environment = {**os.environ, "SOURCELIGHT_HOME": str(tmp_path / "home"), "TRAP": str(tmp_path / "sprung")}
    done = subprocess.run(
        [command, *arguments], cwd=builder.path, env=environment, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "sprung").exists()


def test_a_worker_has_the_package_of_an_interactive_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # An interactive Python that was started beside the package has imported it from the current directory.
    monkeypatch.setattr(sys, "path", ["", *(path for path in sys.path if not path.endswith("src"))])
    monkeypatch.chdir(tmp_path)
    process = worker_pool.start_process(worker.MODULE)
    _, _ = process.communicate(b"", timeout=60)
    assert process.returncode == 0
