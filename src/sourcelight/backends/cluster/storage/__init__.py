"""Shards in storage that all machines reach: files by the hash of their content, and generations that name them.

Nothing that is written ever changes, except one small file that names the current generation. What runs over shards is
in `build` and `worker`. Start with `generation`.
"""

from sourcelight.backends.cluster.storage.generation import Generation, StoredShard, read_current, read_generation
from sourcelight.backends.cluster.storage.objects import ShardStorage

__all__ = ["Generation", "ShardStorage", "StoredShard", "read_current", "read_generation"]
