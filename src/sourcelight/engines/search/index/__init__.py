"""Index files of one repository: their format, how they are built, and how the folder of them stays consistent.

Nothing here depends on queries. Start with `shard` (text and its units), `postings` (the contents of a unit) and `view`
(which files a commit has), then `build`.
"""
