"""A search at once sees what changed, although no thread looks at the repositories for it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches import MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.indexes.repositories import FULL_CHECK_S
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

REQUEST = SearchRequest("needle count:all")


def is_at_once(engine: LocalEngine) -> bool:
    return engine.answer_at_once(REQUEST, Viewer.owner()) is not None


def repositories(engine: LocalEngine) -> set[str]:
    events = list(engine.stream(REQUEST, Viewer.owner(), Cancellation()))
    return {info.name for event in events if isinstance(event, MatchBatch) for info in event.repositories}


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    RepositoryBuilder(tmp_path / "fleet" / "web").commit({"a.py": "needle\n"}, "begin")
    engine = open_engine([tmp_path / "fleet"], index=tmp_path / "index", workers=1)
    # Until the files of git are older than a tick of the clock, they are read again.
    bound = time.monotonic() + 10
    while not is_at_once(engine) and time.monotonic() < bound:
        repositories(engine)
        time.sleep(0.02)
    return engine


def pause() -> None:
    time.sleep(FULL_CHECK_S + 0.05)


def test_a_search_after_a_pause_is_answered_at_once(engine: LocalEngine) -> None:
    for _ in range(3):
        pause()
        assert is_at_once(engine)


def test_a_new_repository_is_seen_after_a_pause(engine: LocalEngine, tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "fleet" / "app").commit({"b.py": "needle\n"}, "begin")
    pause()
    assert not is_at_once(engine)
    assert repositories(engine) == {"app", "web"}


def test_a_commit_is_seen_at_once(engine: LocalEngine, tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "fleet" / "web").commit({"b.py": "needle\n"}, "more")
    assert not is_at_once(engine)


def test_a_changed_description_is_seen_after_a_pause(engine: LocalEngine, tmp_path: Path) -> None:
    (tmp_path / "fleet" / "web" / ".git" / "description").write_text("Pages\n", "utf-8")
    pause()
    assert not is_at_once(engine)


def test_an_index_that_another_process_replaced_is_seen_after_a_pause(engine: LocalEngine, tmp_path: Path) -> None:
    manifest = next((tmp_path / "index").rglob("manifest*"))
    replacement = manifest.with_name("replacement")
    replacement.write_bytes(manifest.read_bytes())
    replacement.replace(manifest)
    pause()
    assert not is_at_once(engine)
    assert repositories(engine) == {"web"}


def test_a_deleted_index_is_seen_after_a_pause(engine: LocalEngine, tmp_path: Path) -> None:
    next((tmp_path / "index").rglob("manifest*")).unlink()
    pause()
    assert not is_at_once(engine)
