"""Shared parts of all indexes: files of named sections, manifests and locks, worker processes, background updates.

What an index contains lives in `search/index` and `history/store`. Start with `sections`, the file format, then
`folder` (how files become an index), `index_update` (how an update runs) and `background` (who waits for it).
"""
