"""Repositories on this machine: finding, naming, reading and mirroring them, and who may see which.

pygit2 reads; git is spawned for mirrors alone. Nothing here knows of queries, indexes or the wire. Whatever a
repository's own configuration asks to run is never run: repositories are data here, and may be hostile.
"""

from sourcelight.repos.ancestry import has_commit_after, is_ancestor, newest_before
from sourcelight.repos.catalog import Catalog
from sourcelight.repos.disk import worktree_tree
from sourcelight.repos.enclosing import place_at
from sourcelight.repos.folders import Entry, find_entry, list_folder
from sourcelight.repos.mirrors import CloneProgress, clone, update_mirror
from sourcelight.repos.objects import ObjectReader, Tree
from sourcelight.repos.packs import packed_objects
from sourcelight.repos.permissions import Viewer
from sourcelight.repos.policy import ServicePolicy
from sourcelight.repos.refs import matching_refs
from sourcelight.repos.repository import Repository, SkippedRepository
from sourcelight.repos.revisions import WORKTREE, is_revision, resolve
from sourcelight.repos.worktrees import WorktreeStatus, worktree_status

__all__ = [
    "WORKTREE",
    "Catalog",
    "CloneProgress",
    "Entry",
    "ObjectReader",
    "Repository",
    "ServicePolicy",
    "SkippedRepository",
    "Tree",
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
