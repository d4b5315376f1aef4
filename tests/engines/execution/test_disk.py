"""What indexes take on disk is told by kind, and each kind can be deleted under a process that reads it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sourcelight as sl
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution.indexes import background
from sourcelight.engines.execution.indexes.disk import KINDS, disk_usage, prune
from sourcelight.engines.search import IndexStore
from sourcelight.testing import make_repo

QUERIES = {"text": "needle count:all", "definitions": "type:symbol needle", "history": "type:diff needle"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two repositories."""
    make_repo(tmp_path / "src" / "one", {"a.py": "def needle():\n    return 1\n" * 50})
    make_repo(tmp_path / "src" / "two", {"b.py": "class Needle:\n    pass\n"})
    return tmp_path


def _open(home: Path) -> sl.Client:
    return sl.open(home / "src", index_dir=home / "index", progress=False, background_index=False)


def _rows(client: sl.Client) -> dict[str, int]:
    return {kind: len(client.search(query, progress=False)) for kind, query in QUERIES.items()}


def test_the_kinds_add_up_to_what_the_disk_says(home: Path) -> None:
    with _open(home) as client:
        _rows(client)
        client.nls_search("where is the needle", progress=False)
    usages = disk_usage(IndexStore(str(home / "index")))
    assert [Path(usage.repository).name for usage in usages] == ["one", "two"]
    for usage in usages:
        assert all(usage.kind_bytes[kind] > 0 for kind in KINDS if kind != "scip"), usage
    measured = sum(
        path.stat().st_size
        for folder in ("index", "index-history")
        for path in (home / folder).rglob("*")
        if path.is_file()
    )
    assert sum(usage.total_bytes for usage in usages) == measured


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "scip"])
def test_a_kind_is_deleted_alone_and_answers_stay_the_same(home: Path, kind: str) -> None:
    with _open(home) as client:
        client.nls_search("where is the needle", progress=False)
        before = _rows(client)
        store = IndexStore(str(home / "index"))
        sizes = {usage.key: dict(usage.kind_bytes) for usage in disk_usage(store)}
        freed = prune(store, [], [kind])
        assert freed == {kind: sum(size[kind] for size in sizes.values())}
        for usage in disk_usage(store):
            assert usage.kind_bytes == sizes[usage.key] | {kind: 0}
        assert _rows(client) == before, "a client that is open reads on"
        assert len(client.nls_search("where is the needle", progress=False))
    with _open(home) as reopened_client:
        assert _rows(reopened_client) == before


def test_repositories_that_are_named_are_kept(home: Path) -> None:
    with _open(home) as client:
        _rows(client)
        keys = {repository.name: repository.key for repository in client.backend.engine.catalog.repositories}  # type: ignore[attr-defined]
    store = IndexStore(str(home / "index"))
    remaining_key = next(key for name, key in keys.items() if name.endswith("one"))
    assert sum(prune(store, [remaining_key]).values()) > 0
    assert [usage.key for usage in disk_usage(store)] == [remaining_key]
    assert prune(store, [remaining_key])["text"] == 0


def test_pruning_in_another_process_costs_a_running_reader_no_row(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty searches while all kinds are deleted over and over: each has all rows or says that it has not."""
    script = (
        "import sys\n"
        "from sourcelight.engines.execution.indexes.disk import prune\n"
        "from sourcelight.engines.search import IndexStore\n"
        "print('ready', flush=True)\n"
        "for _ in range(10_000):\n"
        "    prune(IndexStore(sys.argv[1]), [])\n"
    )
    monkeypatch.setattr(background, "RETRY_S", 0.2)
    with _open(home) as client:
        before = _rows(client)
        command = [sys.executable, "-c", script, str(home / "index")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == "ready\n"
            try:
                for _ in range(15):
                    for kind in ("text", "definitions"):
                        result = client.search(QUERIES[kind], progress=False)
                        assert len(result) == before[kind] or result.status == "limited", (result, other.poll())
                assert other.poll() is None
            finally:
                other.kill()
        bound = Cancellation(20)
        while _rows(client) != before:  # definitions that failed meanwhile are looked for again
            assert not bound.expired
