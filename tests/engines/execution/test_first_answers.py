"""A client over a directory never seen answers while the index is built."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from pathlib import Path

import sourcelight as sl
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches.events import CommitId, MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.indexes.first_indexing import FirstIndexing
from sourcelight.engines.search import IndexStore, Target
from sourcelight.repos import Catalog, Viewer
from sourcelight.testing.repositories import RepositoryBuilder

FILES: dict[str, str | bytes] = {
    "lamp.py": "def light():\n    return 'lamp'\n",
    "notes.md": "a lamp\n",
    "lamp.bin": b"\0lamp",
    "large.bin": os.urandom(5 << 20),  # above 4 MiB, an index takes more than a moment
}


def test_text_is_read_from_the_repository_and_the_rest_waits(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "src" / "lamp")
    builder.commit(FILES, "a lamp")
    repository = Catalog.open([tmp_path / "src"]).repositories[0]
    index = IndexStore(str(tmp_path / "index")).repository_folder(repository.key)
    with index.lock(lambda: None):
        # Another process holds the lock, as one that writes the index does.
        code = sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, progress=False)
        before = code.search("lamp count:all", progress=False)
        in_python = code.search("lamp lang:python", progress=False)
        commits = code.search("type:commit lamp", progress=False)
    with code:
        engine = code.backend.engine  # type: ignore[attr-defined]
        deque(engine.indexing.wait(Cancellation()), maxlen=0)
        after = code.search("lamp count:all", progress=False)
        assert (before.status, in_python.status, commits.status) == ("complete",) * 3
        assert before.matches.equals(after.matches)
        assert before.skipped.equals(after.skipped)
        assert in_python.matches["path"].unique().tolist() == ["lamp.py"]
        assert commits.match_count == 1
        assert code.search("type:symbol light", progress=False).status == "complete"


def test_a_file_is_read_before_its_repository_is_indexed(tmp_path: Path) -> None:
    """A question about a repository never seen failed, and named the folder of the index."""
    builder = RepositoryBuilder(tmp_path / "src" / "lamp")
    builder.commit(FILES, "a lamp")
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index", index_now=False)
    (repository,) = engine.catalog.repositories
    target = Target(repository, "", CommitId(builder.git("rev-parse", "HEAD").strip()))
    assert engine.read_file(target, "notes.md") == b"a lamp\n"
    assert engine.read_file(target, "none.md") is None


class Steps:
    """A first indexing whose only step is noted, and whatever a test notes beside it."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.is_indexed = threading.Event()
        self.indexing = FirstIndexing()
        self.indexing.start(lambda *_: self.names.append("index"), self.is_indexed.set)


def test_a_search_that_begins_at_once_has_the_machine_before_the_index() -> None:
    steps = Steps()
    with steps.indexing.searching():
        time.sleep(1.0)  # twice as long as an index waits for a search to begin
        steps.names.append("search")
    assert steps.is_indexed.wait(30)
    assert steps.names == ["search", "index"]


def test_an_index_that_is_waited_for_begins_during_a_search() -> None:
    steps = Steps()
    with steps.indexing.searching():
        deque(steps.indexing.wait(Cancellation(30)), maxlen=0)
        steps.names.append("search")
    assert steps.names == ["index", "search"]


def test_without_a_search_an_index_begins_soon() -> None:
    assert Steps().is_indexed.wait(30)


def test_a_search_of_a_directory_never_seen_ends_before_its_index_begins(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src" / "lamp").commit(FILES, "a lamp")
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index", index_now=False, workers=1)
    target = engine.target_of(engine.catalog.repositories[0])
    engine.start_indexing()
    batches = 0
    for event in engine.stream(SearchRequest("lamp count:all"), Viewer.owner(), Cancellation()):
        if isinstance(event, MatchBatch):
            batches += 1
            time.sleep(1.0)  # twice as long as an index waits for a search to begin
            assert not engine.store.is_current(target)

    assert batches
    deque(engine.indexing.wait(Cancellation(60)), maxlen=0)
    assert engine.store.is_current(target)
    engine.close()
