"""Repositories on this machine: they are found, named, read and mirrored here, and shown to those who may see them.

pygit2 reads; git is started for mirrors alone, and nothing that a repository's configuration names ever runs, since
repositories may be hostile. Queries, indexes and the wire live elsewhere. Start with `repository`, then `catalog`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.repos.catalog import Catalog, ServicePolicy
    from sourcelight.repos.discovery import canonical_path_at
    from sourcelight.repos.mirrors.update import clone, update_mirror
    from sourcelight.repos.objects import CommitFiles, CommitTree, TreeEntry, find_entry, list_folder, packed_objects
    from sourcelight.repos.repository import Repository, RepositoryKey, SkippedRepository
    from sourcelight.repos.revisions import (
        WORKTREE,
        has_commit_after,
        is_ancestor,
        is_revision,
        matching_refs,
        newest_before,
        resolve,
    )
    from sourcelight.repos.viewer import Viewer
    from sourcelight.repos.worktree_changes import WorktreeStatus, worktree_status
    from sourcelight.repos.worktrees import ObjectReader, worktree_tree

__all__ = [
    "WORKTREE",
    "Catalog",
    "CommitFiles",
    "CommitTree",
    "ObjectReader",
    "Repository",
    "RepositoryKey",
    "ServicePolicy",
    "SkippedRepository",
    "TreeEntry",
    "Viewer",
    "WorktreeStatus",
    "canonical_path_at",
    "clone",
    "find_entry",
    "has_commit_after",
    "is_ancestor",
    "is_revision",
    "list_folder",
    "matching_refs",
    "newest_before",
    "packed_objects",
    "resolve",
    "update_mirror",
    "worktree_status",
    "worktree_tree",
]

_MODULES = {
    "catalog": ("Catalog", "ServicePolicy"),
    "discovery": ("canonical_path_at",),
    "mirrors.update": ("clone", "update_mirror"),
    "objects": ("CommitFiles", "CommitTree", "TreeEntry", "find_entry", "list_folder", "packed_objects"),
    "repository": ("Repository", "RepositoryKey", "SkippedRepository"),
    "revisions": (
        "WORKTREE",
        "has_commit_after",
        "is_ancestor",
        "is_revision",
        "matching_refs",
        "newest_before",
        "resolve",
    ),
    "viewer": ("Viewer",),
    "worktree_changes": ("WorktreeStatus", "worktree_status"),
    "worktrees": ("ObjectReader", "worktree_tree"),
}
"""The public names of each module."""


def __getattr__(name: str) -> object:
    # Loaded on first use: a service that has just started needs only viewers and the state, to recognize its callers.
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
