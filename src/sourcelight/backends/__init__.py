"""Backends of a client: `embedded` engines, a `remote` service by URL, a `cluster` of workers.

None of them imports another, and none draws or makes DataFrames. Start reading in `embedded.backend`, the shortest one.
"""
