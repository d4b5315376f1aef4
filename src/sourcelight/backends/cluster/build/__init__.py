"""Build shards: on one machine for one repository, and on the workers of a cluster for many.

Searches and placement are elsewhere; nothing here changes a shard that exists. Start with `generations`, then `shards`.
"""
