"""Where the mailmap of a repository stands."""

from __future__ import annotations

from sourcelight.repos.handles import Unusable, open_handle

MAX_MAILMAP_BYTES = 4 << 20
"""Bytes above which a mailmap is not read: the largest known one has 30 thousand."""

_MAX_FOLDER_BYTES = 16 << 20


def mailmap_blob(git_dir: str) -> str:
    """Blob of HEAD's ``.mailmap``, 40 hex digits; empty when there is none, or it is too large to be one."""
    import pygit2

    try:
        handle = open_handle(git_dir)
        commit = handle.revparse_single("HEAD").peel(pygit2.Commit)
        if handle.odb.read_header(commit.tree_id)[1] > _MAX_FOLDER_BYTES:
            return ""
        blob = commit.tree[".mailmap"].id
        kind, size = handle.odb.read_header(blob)
    except (Unusable, KeyError, ValueError, pygit2.GitError):
        return ""
    return str(blob) if kind == pygit2.enums.ObjectType.BLOB and size <= MAX_MAILMAP_BYTES else ""
