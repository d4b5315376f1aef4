"""Index files of one repository: their format, how they are built, and how the folder of them stays consistent.

Nothing here knows a query. Start with `shard` (text and its units), `postings` (what is known of a unit) and `view`
(which files a commit has), then `build`.
"""
