"""Shards and generations in storage, and the cache of a worker: whole, or an error that names what is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcelight.backends.cluster.build.generations import build_generation
from sourcelight.backends.cluster.messages import ResultBatch, WorkerRequest
from sourcelight.backends.cluster.storage import ShardStorage, read_current, read_generation
from sourcelight.backends.cluster.storage.generation import current_id, write_generation
from sourcelight.backends.cluster.storage.shard_files import ShardFiles
from sourcelight.backends.cluster.worker.engines import EngineCache
from sourcelight.backends.cluster.worker.search import shard_search
from sourcelight.backends.cluster.worker.shard_cache import ShardCache, key_of_shard
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ClusterError, ConfigurationError, ShardDamaged, StorageError
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Catalog
from sourcelight.testing import RepositoryBuilder


@pytest.fixture
def storage(shards: str) -> ShardStorage:
    """The sample fleet; not to be changed."""
    return ShardStorage(shards)


@pytest.fixture
def cache(storage: ShardStorage, tmp_path: Path) -> Iterator[ShardCache]:
    """A worker's cache over it."""
    cache = ShardCache(storage, tmp_path / "cache")
    yield cache
    cache.close()


def count_matches(engines: EngineCache, generation: str, name: str) -> int:
    """How many rows a search for ``e`` gives in one repository."""
    with engines.over(generation, (name,), Cancellation()) as (engine, failed):
        assert not failed
        order = WorkerRequest(
            generation, (name,), request=SearchRequest("e count:all fork:yes archived:yes"), limit=10**9
        )
        search = shard_search(engine, order, Cancellation())
        rows: int = sum(
            result.batch.num_rows for result in search.results(order.limit) if isinstance(result, ResultBatch)
        )
        assert not search.outcome.failed
        return rows


def test_a_content_is_kept_once_and_comes_back_the_same(tmp_path: Path) -> None:
    storage = ShardStorage(str(tmp_path / "storage"))
    file = tmp_path / "file"
    file.write_bytes(b"content")
    digest, size = storage.put(file)
    assert storage.put(file) == (digest, size)
    assert len([path for path in (tmp_path / "storage").rglob("*") if path.is_file()]) == 1
    storage.fetch(digest, size, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b"content"


def test_other_content_than_was_kept_never_reaches_a_cache(tmp_path: Path) -> None:
    storage = ShardStorage(str(tmp_path / "storage"))
    file = tmp_path / "file"
    file.write_bytes(b"content")
    digest, size = storage.put(file)
    (tmp_path / "storage" / "objects" / digest[:2] / digest).write_bytes(b"hostile")
    with pytest.raises(ShardDamaged):
        storage.fetch(digest, size, tmp_path / "back")
    with pytest.raises(ShardDamaged):
        storage.fetch("0" * 64, 1, tmp_path / "back")
    assert [path.name for path in tmp_path.iterdir()] == ["storage", "file"] or not (tmp_path / "back").exists()


def test_a_list_that_names_files_outside_of_a_shard_is_refused(tmp_path: Path) -> None:
    from sourcelight.backends.cluster.storage.shard_files import StoredFile

    storage = ShardStorage(str(tmp_path))
    for path in ("../../etc/passwd", "/etc/passwd", "git/../../x", "other/x"):
        shard = ShardFiles((StoredFile(path, "0" * 64, 1),)).keep(storage)
        with pytest.raises(ShardDamaged, match="outside"):
            ShardFiles.read(storage, shard)


def test_only_the_newest_of_two_builders_that_began_together_is_refused(tmp_path: Path) -> None:
    from sourcelight.backends.cluster.storage import Generation

    storage = ShardStorage(str(tmp_path))
    first = write_generation(storage, Generation(), "")
    second = write_generation(storage, Generation(contexts={"a": {"repositories": []}}), first.id)
    with pytest.raises(ClusterError, match="meanwhile"):
        write_generation(storage, Generation(contexts={"b": {"repositories": []}}), first.id)
    current = read_current(storage)
    assert current is not None
    assert (current.id, current.number) == (second.id, 2)
    assert read_generation(storage, first.id).number == 1


def test_a_generation_that_was_changed_is_refused(tmp_path: Path) -> None:
    from sourcelight.backends.cluster.storage import Generation

    storage = ShardStorage(str(tmp_path))
    created = write_generation(storage, Generation(), "")
    file = tmp_path / "generations" / f"{created.id}.parquet"
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(StorageError, match="was changed"):
        read_current(storage)
    file.unlink()
    with pytest.raises(StorageError, match="is missing"):
        read_current(storage)
    (tmp_path / "current.json").write_text("{")
    with pytest.raises(StorageError, match=r"current\.json"):
        current_id(storage)


def test_a_build_of_what_did_not_change_builds_nothing_and_a_change_builds_one(tmp_path: Path) -> None:
    builder, other_builder = (RepositoryBuilder(tmp_path / "src" / name) for name in ("one", "two"))
    builder.commit({"a.py": "def one(): pass\n"})
    other_builder.commit({"a.py": "def two(): pass\n"})
    storage = ShardStorage(str(tmp_path / "storage"))
    first = build_generation(Catalog.open(tmp_path / "src"), storage)
    assert len(first.built) == 2
    repeated = build_generation(Catalog.open(tmp_path / "src"), storage)
    assert (repeated.built, len(repeated.current), repeated.generation.id) == ((), 2, first.generation.id)
    builder.commit({"b.py": "def more(): pass\n"})
    third = build_generation(Catalog.open(tmp_path / "src"), storage)
    assert len(third.built) == 1
    assert third.generation.number == first.generation.number + 1


def test_a_repository_that_fails_keeps_its_former_shard_and_is_named(tmp_path: Path) -> None:
    RepositoryBuilder(tmp_path / "src" / "one").commit({"a.py": "def one(): pass\n"})
    (tmp_path / "src" / "plain").mkdir()
    (tmp_path / "src" / "plain" / "a.txt").write_text("no git\n")
    storage = ShardStorage(str(tmp_path / "storage"))
    report = build_generation(Catalog.open([tmp_path / "src" / "one", tmp_path / "src" / "plain"]), storage)
    assert len(report.built) == 1
    assert len(report.failures) == 1
    assert "without git" in next(iter(report.failures.values()))
    assert len(report.generation.searchable) == 1


def test_a_harmed_cache_is_fetched_again(storage: ShardStorage, cache: ShardCache, tmp_path: Path) -> None:
    generation = read_current(storage)
    assert generation is not None
    entry = generation.searchable[0]
    engines = EngineCache(storage, cache)
    everything = count_matches(engines, generation.id, entry.name)
    assert everything
    cache.close()
    # What a killed worker left: a shard without the word that it is whole, and one that is cut off.
    key = key_of_shard(entry)
    marker = tmp_path / "cache" / "ready" / key
    value = json.loads(marker.read_text())
    assert value["shard"] == entry.shard
    marker.unlink()
    with ShardCacheAgain(storage, tmp_path / "cache") as other:
        assert other.shard_sizes() == {}
        assert not (tmp_path / "cache" / "index" / key).exists()
        assert count_matches(EngineCache(storage, other), generation.id, entry.name) == everything
        assert set(other.shard_sizes()) == {entry.shard}


class ShardCacheAgain(ShardCache):
    """A cache that is closed at the end of ``with``."""

    def __enter__(self) -> ShardCacheAgain:  # noqa: PYI034 - there is no other subclass
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def test_two_workers_never_share_a_cache(storage: ShardStorage, cache: ShardCache) -> None:
    with pytest.raises(ConfigurationError, match="another worker"):
        ShardCache(storage, cache.folder)


def test_a_bounded_cache_lets_go_of_what_was_used_longest_ago(storage: ShardStorage, tmp_path: Path) -> None:
    generation = read_current(storage)
    assert generation is not None
    entries = sorted(generation.searchable, key=lambda entry: entry.size)
    room = entries[0].size + entries[1].size + entries[2].size
    with ShardCacheAgain(storage, tmp_path / "small", room) as cache:
        for entry in entries[:3]:
            with cache.pin([entry]):
                pass
        assert len(cache.shard_sizes()) == 3
        with cache.pin([entries[0]]):
            pass
        with cache.pin([entries[3]]) as (repositories, failed):
            assert not failed or entries[3].size > room
            assert len(repositories) == (not failed)
        assert sum(cache.shard_sizes().values()) <= room
        with cache.pin([entries[-1]]) as (repositories, failed):
            if entries[-1].size > room:
                assert "doesn't fit" in failed[entries[-1].name]
        retained = {path.name for path in (tmp_path / "small" / "ready").iterdir()}
        assert len(retained) == len(cache.shard_sizes())


def test_a_shard_of_other_formats_is_refused_by_name(storage: ShardStorage, cache: ShardCache, tmp_path: Path) -> None:
    from dataclasses import replace

    generation = read_current(storage)
    assert generation is not None
    shard_storage = ShardStorage(str(tmp_path / "other"))
    old = replace(generation.searchable[0], formats="index 0")
    created = write_generation(shard_storage, replace(generation, entries=(old,)), "")
    with EngineCache(shard_storage, cache).over(created.id, (old.name,), Cancellation()) as (_, failed):
        assert "index 0" in failed[old.name]


def test_a_worker_that_is_told_to_stop_never_says_that_it_told_all(storage: ShardStorage, cache: ShardCache) -> None:
    generation = read_current(storage)
    assert generation is not None
    names = tuple(entry.name for entry in generation.searchable)
    cancellation = Cancellation()
    with EngineCache(storage, cache).over(generation.id, names, cancellation) as (engine, _):
        order = WorkerRequest(generation.id, names, request=SearchRequest("e count:all"), limit=10**9)
        blocks = shard_search(engine, order, cancellation).results(order.limit)
        next(blocks)
        cancellation.cancel()
        with pytest.raises(Cancelled):
            list(blocks)
