"""The page of a commit: every file with its counts, and patches as far as a page has room for them."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import table_of
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import ToolContext, call
from sourcelight.repos import Viewer
from sourcelight.server.http.pages.code.changes import commit_page
from sourcelight.testing import RepositoryBuilder

CPU_S = 2.0
LINE = "line {} {} of some text that goes on for a while\n"


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> RepositoryBuilder:
    """One commit that changes 24 MB in twenty files, a file of one line of 4 MB, and small files."""
    builder = RepositoryBuilder(tmp_path_factory.mktemp("pages") / "src" / "one")
    builder.commit({"small.txt": "before\n"})
    texts = {f"d/f{index}.txt": "".join(LINE.format(index, row) for row in range(25_000)) for index in range(20)}
    builder.commit(texts | {"long.txt": "x" * 4_000_000, "small.txt": "after\n", "z.txt": "last\n"})
    return builder


@pytest.fixture(scope="module")
def engine(builder: RepositoryBuilder, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return open_engine([builder.path], index=tmp_path_factory.mktemp("index"))


@pytest.mark.attack
def test_the_page_of_a_large_commit_takes_two_seconds_at_most(builder: RepositoryBuilder, engine: LocalEngine) -> None:
    head = builder.git("rev-parse", "HEAD").strip()
    context = ToolContext(engine, Viewer.owner(), served=True)
    call("commit_details", {"repo": "one", "revision": "HEAD~1"}, context)  # its history is read once, by workers
    began = time.thread_time()
    answer = call("commit_details", {"repo": "one", "revision": head}, context)
    body = bytes(commit_page(answer, {}, prefix="").body).decode()
    assert time.thread_time() - began <= CPU_S
    counts = {row["path"]: (row["additions"], row["deletions"]) for row in answer.table.to_pylist()}
    assert counts == numstat(builder.path, head)
    assert "+after" in body
    assert "+last" in body
    assert "21 patches are left out" in body
    assert len(body) < 2_000_000
    assert not answer.complete


def test_a_patch_of_many_short_lines_makes_no_large_page() -> None:
    patch = "@@ -0,0 +1,2000 @@\n" + "+x\n" * 2_000
    paths = [f"{number}.txt" for number in range(300)]
    values = {"path": paths, "status": ["added"] * 300, "additions": [2_000] * 300, "deletions": [0] * 300}
    table = table_of("file_diffs", 300, repository="one", binary=False, patch=[patch] * 300, **values)
    attributes = {
        "repository": "one",
        "commit": "a" * 40,
        "message": "m",
        "author": "A",
        "author_date": "",
        "parents": [],
    }
    body = bytes(commit_page(ToolResult("file_diffs", table, attributes), {}, prefix="").body).decode()
    assert len(body) < 2_000_000
    assert "long patches not shown" in body
    assert body.count("<h3 ") == 9


def numstat(path: Path, commit: str) -> dict[str, tuple[int, int]]:
    command = ["git", "-C", str(path), "show", "--numstat", "--format=", commit]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    split = [line.split("\t") for line in lines]
    return {name: (int(added), int(removed)) for added, removed, name in split}
