"""Index files: their format, how they are built, and how a repository's folder of them is kept whole.

No query is known here.
"""
