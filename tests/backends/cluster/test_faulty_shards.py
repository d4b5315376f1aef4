"""Storage that fails, is slow or has lost something, and shards that are harmed: what can't be told is named."""

from __future__ import annotations

import gc
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

from backends.cluster.desks import WORKERS, desk_cluster
from backends.cluster.questions import QUERY, Line, searched
from sourcelight.backends.cluster.messages import WorkerRequest
from sourcelight.backends.cluster.storage import ShardStorage, read_current
from sourcelight.backends.cluster.storage.generation import write_generation
from sourcelight.backends.cluster.storage.shard_files import ShardFiles
from sourcelight.backends.cluster.worker.engines import EngineCache, formats
from sourcelight.backends.cluster.worker.search import shard_search
from sourcelight.backends.cluster.worker.shard_cache import ShardCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest

pytestmark = pytest.mark.timeout(120)


class HarmedFileSystem(LocalFileSystem):  # type: ignore[misc]  # fsspec has no types
    """A folder whose files can be made to fail when they are opened."""

    protocol = "harmed"
    harm: ClassVar[Callable[[str], None]]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(LocalFileSystem._strip_protocol(str(path).removeprefix("harmed://")))

    def _open(self, path: str, *arguments: Any, **options: Any) -> Any:
        type(self).harm(path)
        return super()._open(path, *arguments, **options)


fsspec.register_implementation("harmed", HarmedFileSystem)


@pytest.fixture(autouse=True)
def unharmed() -> Iterator[None]:
    """No file fails before a test says so, nor after it."""
    HarmedFileSystem.harm = staticmethod(lambda _: None)
    yield
    HarmedFileSystem.harm = staticmethod(lambda _: None)


@pytest.fixture
def storage_dir(shards: str, tmp_path: Path) -> Path:
    """A copy of the shards, to be harmed."""
    return Path(shutil.copytree(shards, tmp_path / "storage"))


def test_storage_that_fails_is_named_and_what_is_missing_comes_when_it_is_back(
    shards: str, tmp_path: Path, all_lines: list[Line]
) -> None:
    with desk_cluster(f"harmed://{shards}", tmp_path) as (engine, _):

        def no_route(path: str) -> None:
            raise OSError(f"no route to {path}")

        HarmedFileSystem.harm = staticmethod(no_route)
        lines, search = searched(engine, QUERY)
        assert not lines
        assert search.accounting.skipped is not None
        assert search.accounting.skipped.keys() == search.accounting.planned
        assert all("no route" in item.reason for attempts in search.accounting.skipped.values() for item in attempts)
        HarmedFileSystem.harm = staticmethod(lambda _: None)
        assert searched(engine, QUERY)[0] == all_lines


def test_only_what_storage_lost_is_missing_and_workers_go_on_with_what_they_hold(
    storage_dir: Path, tmp_path: Path
) -> None:
    generation = read_current(ShardStorage(str(storage_dir)))
    assert generation is not None
    missing_entry, changed_entry, *_ = sorted(generation.searchable, key=lambda entry: -entry.size)
    (storage_dir / "shards" / f"{missing_entry.shard}.parquet").unlink()
    file = max(ShardFiles.read(ShardStorage(str(storage_dir)), changed_entry.shard).files, key=lambda item: item.size)
    object_ = storage_dir / "objects" / file.digest[:2] / file.digest
    object_.write_bytes(object_.read_bytes()[:-1] + b"?")
    with desk_cluster(str(storage_dir), tmp_path / "caches") as (engine, _):
        _, search = searched(engine, QUERY)
        assert set(search.accounting.skipped or {}) == {missing_entry.name, changed_entry.name}
        assert search.accounting.skipped is not None
        assert "not in storage" in search.accounting.skipped[missing_entry.name][0].reason
        assert "another hash" in search.accounting.skipped[changed_entry.name][0].reason
        shutil.rmtree(storage_dir / "objects")
        assert set(searched(engine, QUERY)[1].accounting.skipped or {}) == {missing_entry.name, changed_entry.name}


def test_slow_storage_holds_up_nobody_beyond_the_time_that_is_allowed(shards: str, tmp_path: Path) -> None:
    there = threading.Event()

    def slow(path: str) -> None:
        if "/objects/" in path:
            there.wait(30)

    with desk_cluster(f"harmed://{shards}", tmp_path) as (engine, _):
        HarmedFileSystem.harm = staticmethod(slow)
        try:
            _, search = searched(engine, f"{QUERY} timeout:200ms")
            assert not there.is_set()
            assert search.accounting.skipped
        finally:
            there.set()


def test_a_shard_that_is_harmed_on_a_disk_costs_no_row_and_is_fetched_again(
    shards: str, tmp_path: Path, all_lines: list[Line]
) -> None:
    with desk_cluster(shards, tmp_path) as (engine, _):
        assert searched(engine, QUERY)[0] == all_lines
    # On a busy machine a slow worker's share is read by others, and any of the three may hold no file.
    files = {name: [path for path in (tmp_path / name / "index").rglob("*") if path.is_file()] for name in WORKERS}
    harmed = max(files, key=lambda name: len(files[name]))
    for path in files[harmed]:
        if path.stat().st_size > 64:
            path.chmod(0o600)
            content = path.read_bytes()
            path.write_bytes(content[: len(content) // 2])
    assert files[harmed]
    with desk_cluster(shards, tmp_path) as (engine, cell):
        lines, search = searched(engine, QUERY)
        assert lines == all_lines
        assert not search.accounting.skipped
        for name in set(WORKERS) - {harmed}:
            cell.vanish(name)
        for _ in range(2):  # what one worker alone finds harmed is named once, and fetched for the next
            lines, search = searched(engine, QUERY)
        assert lines == all_lines
        assert not search.accounting.skipped


def test_a_shard_of_formats_that_no_worker_reads_is_named_and_the_others_are_told(
    storage_dir: Path, tmp_path: Path, all_lines: list[Line]
) -> None:
    storage = ShardStorage(str(storage_dir))
    generation = read_current(storage)
    assert generation is not None
    first = generation.searchable[0]
    old = [replace(entry, formats="index 0") if entry is first else entry for entry in generation.entries]
    write_generation(storage, replace(generation, entries=tuple(old)), generation.id)
    with desk_cluster(str(storage_dir), tmp_path / "caches") as (engine, _):
        lines, search = searched(engine, QUERY)
        assert set(search.accounting.skipped or {}) == {first.name}
        attempts = (search.accounting.skipped or {})[first.name]
        assert {item.worker for item in attempts} == {"w1", "w2", "w3"}
        assert all("index 0" in item.reason and formats() in item.reason for item in attempts)
        assert lines == [line for line in all_lines if line[0] != first.name]


def test_a_bounded_disk_is_free_again_when_shards_are_let_go_of(shards: str, tmp_path: Path) -> None:
    storage = ShardStorage(shards)
    generation = read_current(storage)
    assert generation is not None
    *entries, largest = sorted(generation.searchable, key=lambda entry: entry.size)
    room = entries[-1].size * 3 // 2
    assert room < largest.size
    assert room < sum(entry.size for entry in entries)
    cache = ShardCache(storage, tmp_path / "cache", room)
    engine_cache = EngineCache(storage, cache)
    request = SearchRequest(QUERY)
    try:
        with cache.pin([largest]) as (_, failed):
            assert "doesn't fit" in failed[largest.name]
        for entry in entries:
            with engine_cache.over(generation.id, (entry.name,), Cancellation()) as (engine, failed):
                assert not failed
                order = WorkerRequest(generation.id, (entry.name,), request=request, limit=10**9)
                for _ in shard_search(engine, order, Cancellation()).results(order.limit):
                    pass
            del engine
            on_disk = {path.stat().st_ino: path.stat().st_size for path in cache.folder.rglob("*") if path.is_file()}
            assert sum(on_disk.values()) <= room + 4096 * len(entries)  # a few words on each shard beside
        gc.collect()
        assert not [path for path in mapped(tmp_path) if path.endswith("(deleted)")]
    finally:
        cache.close()


def test_shards_that_are_fetched_at_once_keep_the_bound_together(shards: str, tmp_path: Path) -> None:
    storage = ShardStorage(f"harmed://{shards}")
    generation = read_current(storage)
    assert generation is not None
    largest, second, *_ = sorted(generation.searchable, key=lambda entry: -entry.size)
    cache = ShardCache(storage, tmp_path / "cache", largest.size + second.size - 1)
    coming, go_on = threading.Event(), threading.Event()

    def hold(path: str) -> None:
        if "/objects/" in path and not coming.is_set():
            coming.set()
            go_on.wait(30)

    HarmedFileSystem.harm = staticmethod(hold)
    results: list[dict[str, str]] = []

    def first() -> None:
        with cache.pin([largest]) as (_, failed):
            results.append(failed)

    thread = threading.Thread(target=first)
    thread.start()
    try:
        assert coming.wait(30)
        with cache.pin([second]) as (repositories, failed):
            assert not repositories
            assert "in use" in failed[second.name]
    finally:
        go_on.set()
        thread.join(30)
    assert results == [{}]
    with cache.pin([second]) as (_, failed):
        assert not failed
    assert set(cache.shard_sizes()) == {second.shard}
    cache.close()


def mapped(below: Path) -> list[str]:
    """Files that this process has mapped, where the system tells."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return [line.partition("/")[1] + line.partition("/")[2] for line in lines if str(below) in line]
