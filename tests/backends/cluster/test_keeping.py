"""Workers fetch the shards that are placed on them before anybody asks, as far as they have room."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from backends.cluster.desks import desk_cluster
from backends.cluster.processes import wait_until
from backends.cluster.questions import QUERY, searched
from sourcelight.backends.cluster.engine import ClusterEngine

pytestmark = pytest.mark.timeout(120)


def placed(engine: ClusterEngine) -> dict[str, set[str]]:
    """By worker the shards that it is to hold."""
    shards = {entry.name: entry.shard for entry in engine.generation.searchable}
    results: dict[str, set[str]] = {}
    for name, members in engine.snapshot().holders().items():
        for member in members:
            results.setdefault(member.name, set()).add(shards[name])
    return results


def test_both_replicas_are_there_after_the_first_search_and_storage_may_go(shards: str, tmp_path: Path) -> None:
    storage_dir = shutil.copytree(shards, tmp_path / "storage")
    with desk_cluster(str(storage_dir), tmp_path / "caches", keeps=True) as (engine, cell):
        all_lines, _ = searched(engine, QUERY)
        required = placed(engine)
        assert sum(map(len, required.values())) == 2 * len(engine.generation.searchable)

        def has_replicas() -> bool:
            return all(cell.desks[name].desk.cache.shard_sizes().keys() >= shards for name, shards in required.items())

        wait_until(has_replicas, "replicas are fetched")
        shutil.rmtree(storage_dir / "objects")
        cell.vanish("w2")
        assert searched(engine, QUERY)[0] == all_lines


def test_what_has_no_room_is_left_until_it_is_asked_for(shards: str, tmp_path: Path) -> None:
    with desk_cluster(shards, tmp_path / "unbound", keeps=True) as (engine, _):
        largest = max(entry.size for entry in engine.generation.searchable)
    with desk_cluster(shards, tmp_path / "bound", keeps=True, max_bytes=largest) as (engine, cell):
        engine.snapshot().holders()
        for name in placed(engine):
            cache = cell.desks[name].desk.cache
            wait_until(lambda cache=cache: bool(cache.shard_sizes()), "a shard is fetched")  # type: ignore[misc]  # bound now
            assert sum(cache.shard_sizes().values()) <= largest
