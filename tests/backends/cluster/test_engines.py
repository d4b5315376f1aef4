"""A worker keeps its engines from request to request, as long as their shards are there."""

from __future__ import annotations

from pathlib import Path

from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.backends.cluster.storage.generation import current_id, read_current
from sourcelight.backends.cluster.worker.engines import EngineCache
from sourcelight.backends.cluster.worker.shard_cache import ShardCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.execution import LocalEngine


def test_an_engine_stays_until_one_of_its_shards_goes(shards: str, tmp_path: Path) -> None:
    storage = ShardStorage(shards)
    generation, read = current_id(storage), read_current(storage)
    assert read is not None
    names = [entry.name for entry in read.searchable][:3]
    cache = ShardCache(storage, tmp_path)
    engines = EngineCache(storage, cache)

    def over(*names: str) -> LocalEngine:
        with engines.over(generation, names, Cancellation()) as (engine, missing):
            assert not missing
            return engine

    try:
        first, single = over(*names), over(names[2])
        assert over(*names) is first
        assert over(names[2]) is single
        cache.distrust(names[0])
        assert over(*names) is not first
        assert over(names[2]) is single
    finally:
        cache.close()


def test_only_so_many_engines_are_kept(shards: str, tmp_path: Path) -> None:
    storage = ShardStorage(shards)
    generation, read = current_id(storage), read_current(storage)
    assert read is not None
    names = [entry.name for entry in read.searchable]
    cache = ShardCache(storage, tmp_path)
    engines = EngineCache(storage, cache)
    try:
        with engines.over(generation, names[:1], Cancellation()) as (first, _):
            pass
        sets = [(name, other) for name in names for other in names if name < other]
        for pair in sets[:9]:
            with engines.over(generation, pair, Cancellation()):
                pass
        with engines.over(generation, names[:1], Cancellation()) as (later, _):
            assert later is not first
    finally:
        cache.close()
