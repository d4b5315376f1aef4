"""Where shards are put."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sourcelight.backends.cluster.placement import LOAD_CAP, place, ranking, zone_of
from sourcelight.backends.cluster.storage.objects import ShardId

IDS = st.text("0123456789abcdef", min_size=4, max_size=8).map(ShardId)
SHARDS = st.dictionaries(IDS, st.integers(1, 10**9), max_size=60)
WORKERS = st.lists(st.text("abc/", min_size=1, max_size=6), min_size=1, max_size=8, unique=True)


@given(SHARDS, WORKERS)
def test_every_shard_has_as_many_different_workers_as_there_can_be(
    shards: dict[ShardId, int], workers: list[str]
) -> None:
    result = place(shards, workers)
    assert result.keys() == shards.keys()
    for holders in result.values():
        assert len(holders) == len(set(holders)) == min(2, len(workers))
        assert set(holders) <= set(workers)


@given(SHARDS, WORKERS)
def test_placement_does_not_depend_on_the_order_of_workers(shards: dict[ShardId, int], workers: list[str]) -> None:
    assert place(shards, workers) == place(shards, workers[::-1])


def test_a_worker_that_joins_moves_about_its_share_of_the_shards() -> None:
    shards = {ShardId(f"{number:08x}"): 1 for number in range(4_000)}
    before = {shard: ranking(shard, ["a", "b", "c", "d"])[0] for shard in shards}
    after = {shard: ranking(shard, ["a", "b", "c", "d", "e"])[0] for shard in shards}
    moved = [shard for shard in shards if before[shard] != after[shard]]
    assert all(after[shard] == "e" for shard in moved)
    assert 0.15 < len(moved) / len(shards) < 0.25


def test_replicas_stand_in_different_zones() -> None:
    workers = ["north/1", "north/2", "south/1", "south/2"]
    for holders in place({ShardId(f"{number:04x}"): 5 for number in range(200)}, workers).values():
        assert {zone_of(name) for name in holders} == {"north", "south"}


def test_no_worker_takes_much_more_than_its_share() -> None:
    workers = [f"w{number}" for number in range(20)]
    shards = {ShardId(f"{number:06x}"): 1 + number % 97 for number in range(2_000)}
    load = dict.fromkeys(workers, 0)
    for shard, holders in place(shards, workers).items():
        for name in holders:
            load[name] += shards[shard]
    mean = 2 * sum(shards.values()) / len(workers)
    assert max(load.values()) <= LOAD_CAP * mean


def test_without_workers_nothing_is_placed() -> None:
    assert place({ShardId("a"): 1}, []) == {"a": ()}
