"""Engines on the workers of a Dask cluster: shards in shared storage, placed on workers, searched side by side.

A shard is all that is kept of one repository: its git objects, its index and its history. `storage` holds shards below
the generation that names them; `build` makes them; `placement` says which workers have which; `worker` runs there;
`coordinator` asks them, and `engine` brings their answers together. Only `transport` knows Dask's own servers and
sockets.
"""
