"""Storage for indexes of any kind: files of named sections, manifests and locks, and worker processes.

What an index contains lives in `search/index` and `history/store`. Start with `sections`, the file format.
"""
