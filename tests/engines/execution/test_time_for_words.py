"""A question with a time limit is answered within it, though the words of its repositories are not read yet."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.execution.natural_language import RankedSearch, rank
from sourcelight.engines.search import IndexStore
from sourcelight.repos import Catalog, Viewer
from sourcelight.testing import RepositoryBuilder


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[LocalEngine]:
    for name in ("lamp", "tower"):
        RepositoryBuilder(tmp_path / "src" / name).commit({f"{name}.py": f"def light_{name}():\n    pass\n"})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    rank(engine, RankedSearch("repo:tower light"), Viewer.owner(), Cancellation())
    yield engine
    engine.close()


def hold(tmp_path: Path, name: str) -> ExitStack:
    """Hold the lock of an index, as another process that writes it does."""
    store, stack = IndexStore(os.fspath(tmp_path / "index")), ExitStack()
    (repository,) = [item for item in Catalog.open([tmp_path / "src"]).repositories if item.name == name]
    stack.enter_context(store.repository_folder(repository.key).lock(lambda: None))
    return stack


@pytest.mark.clock
def test_the_limit_holds_while_words_are_read(engine: LocalEngine, tmp_path: Path) -> None:
    with hold(tmp_path, "lamp"):
        began = time.monotonic()
        ranking = rank(engine, RankedSearch("light"), Viewer.owner(), Cancellation(0.3))
        assert time.monotonic() - began < 1.5
        assert list(ranking.failed) == ["lamp"]
        assert "the time limit passed while its words were read" in ranking.failed["lamp"]
        # What was ready before is in the answer.
        assert {chunk.path for chunk in ranking.chunks} == {"tower.py"}
    # The engine went on in the background.
    for _ in range(200):
        if engine.terms.is_current(engine.target_of(engine.catalog.get("lamp", Viewer.owner()))):
            break
        time.sleep(0.05)
    ranking = rank(engine, RankedSearch("light"), Viewer.owner(), Cancellation(5.0))
    assert not ranking.failed
    assert {chunk.path for chunk in ranking.chunks} == {"lamp.py", "tower.py"}


@pytest.mark.clock
def test_a_reader_who_leaves_stops_the_reading(engine: LocalEngine, tmp_path: Path) -> None:

    cancellation = Cancellation(30.0)
    with hold(tmp_path, "lamp"):
        threading.Timer(0.2, cancellation.cancel).start()
        began = time.monotonic()
        with pytest.raises(Cancelled):
            rank(engine, RankedSearch("light"), Viewer.owner(), cancellation)
        assert time.monotonic() - began < 2.0
