"""Repositories on this machine: finding, naming, reading and mirroring them, and who may see which.

pygit2 reads; git is spawned for mirrors alone. Nothing here knows of queries, indexes or the wire. Whatever a
repository's own configuration asks to run is never run: repositories are data here, and may be hostile.
"""

from sourcelight.repos.catalog import Catalog
from sourcelight.repos.discovery import place_at
from sourcelight.repos.mirrors import CloneProgress, clone, update_mirror
from sourcelight.repos.objects import CommitTree, ObjectReader, TreeEntry, find_entry, list_folder, packed_objects
from sourcelight.repos.repository import Repository, SkippedRepository, Viewer
from sourcelight.repos.revisions import (
    WORKTREE,
    has_commit_after,
    is_ancestor,
    is_revision,
    matching_refs,
    newest_before,
    resolve,
)
from sourcelight.repos.visibility import ServicePolicy
from sourcelight.repos.worktrees import WorktreeStatus, worktree_status, worktree_tree

__all__ = [
    "WORKTREE",
    "Catalog",
    "CloneProgress",
    "CommitTree",
    "ObjectReader",
    "Repository",
    "ServicePolicy",
    "SkippedRepository",
    "TreeEntry",
    "Viewer",
    "WorktreeStatus",
    "clone",
    "find_entry",
    "has_commit_after",
    "is_ancestor",
    "is_revision",
    "list_folder",
    "matching_refs",
    "newest_before",
    "packed_objects",
    "place_at",
    "resolve",
    "update_mirror",
    "worktree_status",
    "worktree_tree",
]
