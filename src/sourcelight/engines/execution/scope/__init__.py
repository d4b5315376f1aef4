"""Where a query searches: contexts, repositories and revisions resolved to targets of the index."""
