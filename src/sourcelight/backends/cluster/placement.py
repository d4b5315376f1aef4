"""Which workers hold which shards: computed from names alone, by everyone alike, with no table to keep.

Each pair of a shard and a worker has a weight, a hash of both names; the workers of highest weight hold the shard
(rendezvous hashing). A worker that joins or leaves moves no shard but its own. The replicas of a shard stand in
different zones where there are several, and no worker takes more than `LOAD_CAP` of its fair share of the bytes while
another has room.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

REPLICAS = 2
LOAD_CAP = 1.1


def place(
    shards: Mapping[str, int], workers: Sequence[str], *, replicas: int = REPLICAS, cap: float = LOAD_CAP
) -> dict[str, tuple[str, ...]]:
    """Give the workers of each shard, the preferred one first.

    Parameters
    ----------
    shards
        Ids, and the bytes of each.
    workers
        Names that stay the same when a worker starts again; what stands before the first ``/`` is its zone.
    replicas
        Workers for each shard, as far as there are so many.
    cap
        A worker's bytes in times of the mean, above which the next in rank is taken; shards are placed from the
        largest to the smallest.
    """
    names = sorted(set(workers))
    wanted = min(replicas, len(names))
    if not wanted:
        return dict.fromkeys(shards, ())
    most = cap * wanted * sum(shards.values()) / len(names)
    load = dict.fromkeys(names, 0)
    found: dict[str, tuple[str, ...]] = {}
    for shard, size in sorted(shards.items(), key=lambda item: (-item[1], item[0])):
        ranked = ranking(shard, names)
        with_room = [name for name in ranked if load[name] + size <= most]
        full = [name for name in ranked if load[name] + size > most]
        chosen: list[str] = []
        for pool in (with_room, sorted(full, key=lambda name: load[name])):
            # First one of each zone, then the rest: a zone that is lost takes one replica with it.
            for apart in (True, False):
                for name in pool:
                    zones = {zone_of(other) for other in chosen}
                    if len(chosen) < wanted and name not in chosen and not (apart and zone_of(name) in zones):
                        chosen.append(name)
        for name in chosen:
            load[name] += size
        found[shard] = tuple(sorted(chosen, key=ranked.index))
    return found


def ranking(shard: str, workers: Sequence[str]) -> list[str]:
    """The workers by their weight for a shard, the highest first."""
    return sorted(
        workers, key=lambda name: hashlib.blake2b(f"{shard}\0{name}".encode(), digest_size=8).digest(), reverse=True
    )


def zone_of(worker: str) -> str:
    """The zone of a worker, which its name begins with; empty for a name without a ``/``."""
    return worker.partition("/")[0] if "/" in worker else ""
