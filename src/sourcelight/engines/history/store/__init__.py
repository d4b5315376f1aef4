"""Store histories: git's patch streams become segments, and a manifest names the segments of a repository.

Nothing here searches, and no other room writes these files. Start with `update`, then `patch_parser`.
"""
