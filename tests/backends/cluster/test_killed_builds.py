"""Builds that are killed: searches go on over the former generation, and what was finished is not built again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from backends.cluster.processes import CLI, close_pipes, start, wait_until
from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.build.shards import build_shard
from sourcelight.backends.cluster.storage import ShardStorage, read_current
from sourcelight.engines.search.model import DEFAULT_MAX_FILE_SIZE
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder

pytestmark = pytest.mark.timeout(120)


_STOPS_BEFORE_THE_LAST = """
import glob, pathlib, sys, time
def stop(event, arguments):
    if event != "os.rename" or not str(arguments[1]).startswith({notes!r}):
        return
    if len(glob.glob({notes!r} + "/*.json")) == {most}:
        pathlib.Path({waiting!r}).touch()
        time.sleep(600)
sys.addaudithook(stop)
"""
"""A build that waits when it is about to write the note of its last shard."""


def test_a_shard_that_was_built_of_the_same_state_is_not_built_again(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src").commit({"a.py": "def one(): pass\n"})
    (repository,) = Catalog.open(tmp_path / "src").repositories
    storage = ShardStorage(str(tmp_path / "storage"))
    first = build_shard(repository, storage, tmp_path / "work", max_file_size=DEFAULT_MAX_FILE_SIZE)
    repeated = build_shard(repository, storage, tmp_path / "unused", max_file_size=DEFAULT_MAX_FILE_SIZE)
    assert repeated == first
    assert not (tmp_path / "unused").exists()
    other = build_shard(repository, storage, tmp_path / "other", max_file_size=10)
    assert other.source != first.source
    (note,) = {path for path in (tmp_path / "storage" / "built").iterdir() if first.source in path.read_text()}
    note.write_text("{")
    assert build_shard(repository, storage, tmp_path / "work", max_file_size=DEFAULT_MAX_FILE_SIZE) == first


def test_a_killed_build_changes_nothing_and_the_next_one_goes_on_where_it_was(tmp_path: Path) -> None:
    names = ("a", "b", "z")
    builders = {name: RepositoryBuilder(tmp_path / "src" / name) for name in names}
    for builder in builders.values():
        builder.commit({"a.txt": "tide\n"})
    storage = ShardStorage(str(tmp_path / "storage"))
    previous = build_generation(Catalog.open(tmp_path / "src"), storage).generation
    for builder in builders.values():
        builder.commit({"b.txt": "tide\n"})
    notes = tmp_path / "storage" / "built"
    pending = tmp_path / "waiting"
    program = _STOPS_BEFORE_THE_LAST.format(notes=str(notes), most=len(names) + 2, waiting=str(pending)) + CLI
    process = start(program, "index", str(tmp_path / "src"), "--storage", str(tmp_path / "storage"))
    try:
        wait_until(pending.exists, "all but one are built")
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.wait(20)
        close_pipes(process)
    current = read_current(storage)
    assert current is not None
    assert current.id == previous.id
    results = {path: path.stat().st_mtime_ns for path in notes.glob("*.json")}
    report = build_generation(Catalog.open(tmp_path / "src"), storage)
    assert len(report.built) == len(names)
    assert not report.failures
    assert {path: path.stat().st_mtime_ns for path in results} == results
    assert len(list(notes.glob("*.json"))) == 2 * len(names)
