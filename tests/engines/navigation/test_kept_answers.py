"""Answers about references that are kept, and what drops them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engines.navigation.sample import call, make_engine, open_engine, rows
from sourcelight.core.batches.results import ToolProgress
from sourcelight.engines import tools
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.navigation.workspace import CachedReferences, ReferenceCache
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder, make_repo

PLANE = "src/shapes/plane.py"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Three repositories that import each other."""
    return make_engine(tmp_path_factory.mktemp("kept"))


def test_a_second_answer_parses_nothing_and_is_the_same(engine: LocalEngine) -> None:
    """Rows, order, facts and notices; a limit cuts the same rows that it cuts without a kept answer."""
    arguments: dict[str, Any] = {"repo": "shapes", "path": PLANE, "symbol": "area"}
    limited = call(engine, "find_references", **arguments, limit=4)
    first = call(engine, "find_references", **arguments)
    engine.navigation.parsed_files.clear()
    second = call(engine, "find_references", **arguments)
    assert rows(first) == rows(second)
    assert (first.attributes, first.notices, first.complete) == (second.attributes, second.notices, second.complete)
    result = call(engine, "find_references", **arguments, limit=4)
    assert len(engine.navigation.parsed_files) == 0
    assert rows(result) == rows(limited)
    assert not result.complete
    assert "The first 4 references are listed; there may be more." in result.notices


def test_another_viewer_has_another_answer(tmp_path: Path) -> None:
    """What only the owner may see is in no answer to others, kept or not."""
    make_repo(tmp_path / "code" / "base", {"base/__init__.py": "def key():\n    return 1\n"})
    make_repo(tmp_path / "code" / "hidden", {"use.py": "from base import key\nkey()\n"})
    (tmp_path / "code" / "repos.toml").write_text("[repositories.hidden]\nprivate = true\n")
    engine = open_engine(tmp_path)
    engine.store.update_symbols([engine.target_of(repository) for repository in engine.catalog.repositories])
    for viewer, seen in [(Viewer.owner(), {"base", "hidden"}), (Viewer.anonymous(), {"base"})] * 2:
        result = call(engine, "find_references", viewer=viewer, repo="base", path="base/__init__.py", symbol="key")
        assert {row["repository"] for row in rows(result)} == seen


def test_a_commit_anywhere_makes_kept_answers_old(tmp_path: Path) -> None:
    """A new use in an importing repository is found at once."""
    make_engine(tmp_path)
    engine = open_engine(tmp_path)
    before = rows(call(engine, "find_references", repo="shapes", path=PLANE, symbol="Circle"))
    builder = RepositoryBuilder(tmp_path / "code" / "drawing")
    builder.commit({"drawing/more.py": "from shapes import Circle\nCircle('new')\n"}, "use it again")
    engine = open_engine(tmp_path)
    after = rows(call(engine, "find_references", repo="shapes", path=PLANE, symbol="Circle"))
    assert len(after) == len(before) + 2


def test_a_name_with_ten_thousand_uses_streams_and_is_quick_when_kept(tmp_path: Path) -> None:
    """Rows are told from the first file on, each once; a kept answer takes a fraction of the time."""
    uses = "".join(f"def f{number}():\n    return target({number})\n" for number in range(500))
    files = {f"pkg/user_{number}.py": "from .home import target\n" + uses for number in range(20)}
    make_repo(
        tmp_path / "code" / "many", {"pkg/__init__.py": "", "pkg/home.py": "def target(n):\n    return n\n", **files}
    )
    engine = open_engine(tmp_path)
    engine.store.update_symbols([engine.target_of(repository) for repository in engine.catalog.repositories])
    events: list[ToolProgress] = []
    context = tools.ToolContext(engine, Viewer.owner(), observer=events.append)
    requests = {"repo": "many", "path": "pkg/home.py", "symbol": "target"}
    began = time.process_time()
    cold = tools.call("find_references", requests, context)
    between = time.process_time()
    warm = tools.call("find_references", requests, context)
    took = time.process_time() - between
    assert events[0].done == 1
    assert 0 < events[0].rows.num_rows < 600
    assert events[0].rows["path"][0].as_py() == "pkg/home.py"
    assert cold.table.num_rows == 10_021
    parts = [progress.rows for progress in events]
    assert sorted(pa.concat_tables(parts[:-1]).to_pylist(), key=str) == sorted(cold.table.to_pylist(), key=str)
    assert parts[-1].equals(cold.table)
    assert warm.table.equals(cold.table)
    assert took < (between - began) / 5


@pytest.mark.parametrize("limit", [1, 3, 5])
def test_a_limit_holds_for_rows_that_are_told_too(engine: LocalEngine, limit: int) -> None:
    """Told is what the answer has, no more."""
    events: list[ToolProgress] = []
    engine.navigation.answers.clear()
    context = tools.ToolContext(engine, Viewer.owner(), observer=events.append)
    requests = {"repo": "shapes", "path": PLANE, "symbol": "area", "limit": limit}
    answer = tools.call("find_references", requests, context)
    parts = pa.concat_tables([progress.rows for progress in events])
    assert parts.num_rows == limit
    assert sorted(parts.to_pylist(), key=str) == sorted(answer.table.to_pylist(), key=str)


def test_answers_beyond_the_room_are_dropped() -> None:
    """The longest unused first; one that is too large is not kept at all."""

    def references_of(size: int) -> CachedReferences:
        return CachedReferences(pa.table({"x": pa.array(range(size), pa.int64())}), np.arange(size), 1, 0, {})

    cache = ReferenceCache(max_bytes=6000)
    cache.put("a", references_of(100))
    cache.put("b", references_of(100))
    assert cache.get("a") is not None
    cache.put("c", references_of(100))
    assert [key for key in "abc" if cache.get(key) is not None] == ["a", "c"]
    cache.put("d", references_of(1000))
    assert cache.get("d") is None
    assert [key for key in "abc" if cache.get(key) is not None] == ["a", "c"]
