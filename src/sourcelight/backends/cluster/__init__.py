"""An engine over the workers of a Dask cluster: shards in shared storage, placed on workers, searched in parallel.

A shard holds one repository: its git objects, its index and its history. Nothing here parses queries or reads an index:
workers run the engines of `sourcelight.engines`, and the service merges their answers. Start with `engine`; `storage`
has shards and generations, `build` makes them, `placement` assigns them to workers, `worker` runs there, `coordinator`
asks them.
"""
