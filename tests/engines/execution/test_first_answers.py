"""A client over a directory never seen answers while the index is built."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

import sourcelight as sl
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches.events import CommitId
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search import IndexStore, Target
from sourcelight.repos import Catalog
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
