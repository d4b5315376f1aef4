"""Builds that are killed: searches go on over the former generation, and what was finished is not built again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cluster.processes import CLI, close_pipes, start, wait_until
from sourcelight.backends.cluster.building.generations import build_generation
from sourcelight.backends.cluster.building.shards import build_shard
from sourcelight.backends.cluster.storage import Storage, read_current
from sourcelight.engines.search.model import DEFAULT_MAX_FILE_SIZE
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(120)


def test_a_shard_that_was_built_of_the_same_state_is_not_built_again(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src").commit({"a.py": "def one(): pass\n"})
    (repository,) = Catalog.open(tmp_path / "src").repositories
    storage = Storage(str(tmp_path / "storage"))
    first = build_shard(repository, storage, tmp_path / "work", max_file_size=DEFAULT_MAX_FILE_SIZE)
    again = build_shard(repository, storage, tmp_path / "unused", max_file_size=DEFAULT_MAX_FILE_SIZE)
    assert again == first
    assert not (tmp_path / "unused").exists()
    other = build_shard(repository, storage, tmp_path / "other", max_file_size=10)
    assert other.source != first.source
    (note,) = {path for path in (tmp_path / "storage" / "built").iterdir() if first.source in path.read_text()}
    note.write_text("{")
    assert build_shard(repository, storage, tmp_path / "work", max_file_size=DEFAULT_MAX_FILE_SIZE) == first


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="holds a build up by a pipe")
def test_a_killed_build_changes_nothing_and_the_next_one_goes_on_where_it_was(tmp_path: Path) -> None:
    names = ("a", "b", "z")
    builders = {name: RepositoryBuilder(tmp_path / "src" / name) for name in names}
    for builder in builders.values():
        builder.commit({"a.txt": "tide\n"})
    storage = Storage(str(tmp_path / "storage"))
    former = build_generation(Catalog.open(tmp_path / "src"), storage).generation
    for builder in builders.values():
        builder.commit({"b.txt": "tide\n"})
    pipe = tmp_path / "src" / "z" / ".git" / "objects" / "pack" / "pack-held.pack"
    pipe.parent.mkdir(exist_ok=True)
    os.mkfifo(pipe)  # whoever reads it waits
    notes = tmp_path / "storage" / "built"
    process = start(["-c", CLI, "index", str(tmp_path / "src"), "--storage", str(tmp_path / "storage")])
    try:
        wait_until(lambda: len(list(notes.glob("*.json"))) == len(names) + 2, "all but one are built")
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait(20)
        close_pipes(process)
    current = read_current(storage)
    assert current is not None
    assert current.id == former.id
    kept = {path: path.stat().st_mtime_ns for path in notes.glob("*.json")}
    pipe.unlink()
    report = build_generation(Catalog.open(tmp_path / "src"), storage)
    assert len(report.built) == len(names)
    assert not report.failures
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(notes.glob("*.json"))) == 2 * len(names)
