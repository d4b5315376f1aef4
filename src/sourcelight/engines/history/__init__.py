"""Commits, diffs, comparisons, blame and contributors: the history engine over its own mapped segments.

Git is spawned here (patch streams, blame, mailmap) and in `repos`, nowhere else. No permissions, no query language,
no frames: callers pass repositories and get Arrow tables.
"""
