"""Placement of shards on workers, computed from names alone: every process gets the same result without a table.

Each pair of a shard and a worker has a weight, a hash of both names; the workers of highest weight hold the shard
(rendezvous hashing). A worker that joins or leaves moves no shard but its own. The replicas of a shard are in
different zones if there are several, and no worker takes more than `LOAD_CAP` of its fair share of the bytes while
another has room.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sourcelight.backends.cluster.storage.objects import ShardId

REPLICAS = 2
"""Workers that hold each shard: one may be lost, or restart, without a search that lacks a part."""

LOAD_CAP = 1.1
"""Multiple of its fair share of the bytes that a worker may hold: shards are too large for exact shares."""

_AT_ONCE = 1024
"""Shards that are ranked together: their weights for a hundred workers take a few megabytes."""


def place(
    shards: Mapping[ShardId, int], workers: Sequence[str], *, replicas: int = REPLICAS, cap: float = LOAD_CAP
) -> dict[ShardId, tuple[str, ...]]:
    """Return the workers of each shard, the preferred one first.

    Parameters
    ----------
    shards
        Ids, and the bytes of each.
    workers
        Names that stay the same when a worker starts again; the part before the first ``/`` is its zone.
    replicas
        Workers for each shard, as far as there are so many.
    cap
        A worker's bytes in times of the mean, above which the next in rank is taken; shards are placed from the
        largest to the smallest.
    """
    names = sorted(set(workers))
    replica_count = min(replicas, len(names))
    if not replica_count:
        return dict.fromkeys(shards, ())

    zones = [zone_of(name) for name in names]
    # Bytes per worker if all were equal, times the allowed excess.
    capacity = cap * replica_count * sum(shards.values()) / len(names)
    load = [0] * len(names)
    placement: dict[ShardId, tuple[str, ...]] = {}

    # Largest first fills capacity evenly; the name breaks ties, so that every process computes the same placement.
    ids = sorted(shards, key=lambda shard: (-shards[shard], shard))
    for shard, ranked in zip(ids, _rank(ids, names), strict=True):
        size = shards[shard]
        selected = _choose(ranked, zones, load=load, remaining=capacity - size, replica_count=replica_count)
        for index in selected:
            load[index] += size
        placement[shard] = tuple(names[index] for index in sorted(selected, key=ranked.index))

    return placement


def ranking(shard: ShardId, workers: Sequence[str]) -> list[str]:
    """Return the workers by their weight for a shard, the highest first."""
    return [workers[position] for position in next(_rank([shard], workers))]


def _rank(shards: Sequence[ShardId], workers: Sequence[str]) -> Iterator[list[int]]:
    """Return the places of the workers for each shard, by their weight, the highest first."""
    of_worker = _hashes(workers)
    for start in range(0, len(shards), _AT_ONCE):
        weights = _mix(_hashes(shards[start : start + _AT_ONCE])[:, None] ^ of_worker[None, :])
        yield from np.argsort(~weights, axis=1, kind="stable").tolist()


def _hashes(names: Sequence[str]) -> Any:
    return np.array(
        [int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little") for name in names], np.uint64
    )


def _mix(values: Any) -> Any:
    """Return numbers in which each bit depends on all bits of the former ones (the finalizer of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _choose(
    ranked: Sequence[int], zones: Sequence[str], *, load: Sequence[int], remaining: float, replica_count: int
) -> list[int]:
    """Return the first workers in rank with capacity, in different zones if possible; then the least loaded."""
    selected: list[int] = []
    # First one of each zone, then the rest: a zone that is lost takes one replica with it.
    passes = (True, False) if len(set(zones)) > 1 else (False,)
    for full in (False, True):
        pool = sorted(ranked, key=load.__getitem__) if full else ranked
        for other_zones in passes:
            for index in pool:
                if (load[index] > remaining) is not full or index in selected:
                    continue
                if other_zones and any(zones[index] == zones[other] for other in selected):
                    continue
                selected.append(index)
                if len(selected) == replica_count:
                    return selected

    return selected


def zone_of(worker: str) -> str:
    """Return the zone of a worker, which its name begins with; empty for a name without a ``/``."""
    return worker.partition("/")[0] if "/" in worker else ""
