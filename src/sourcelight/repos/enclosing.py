"""What a given folder means that has no repository below it: part of one, or a snapshot."""

from __future__ import annotations

import os

from sourcelight.repos.discovery import CACHE_FOLDERS, Discovery, Found
from sourcelight.repos.handles import Unusable, open_handle
from sourcelight.repos.repository import place_of


def enclosing_repository(path: str) -> Found | None:
    """The repository around `path`, if its last commit holds this folder; else None.

    A folder that the repository does not track, such as an environment with installed packages, is not part of it.
    """
    import pygit2

    real = os.path.realpath(path)
    above = os.path.dirname(real)
    while above != os.path.dirname(above):
        if os.path.lexists(os.path.join(above, ".git")):
            found = Discovery().work_tree(above)
            if found is None:
                return None
            inside = os.path.relpath(real, above).replace(os.sep, "/")
            try:
                entry = open_handle(found.git_dir).revparse_single("HEAD").peel(pygit2.Tree)[inside]
            except (Unusable, KeyError, ValueError, pygit2.GitError):
                return None
            return found if isinstance(entry, pygit2.Tree) else None
        above = os.path.dirname(above)
    return None


def place_at(path: str) -> str:
    """The place of the repository that stands, or stood, at `path`: a work tree, a git directory or a snapshot."""
    folder = os.path.abspath(os.path.expanduser(path))
    found = Discovery().work_tree(folder) if os.path.lexists(os.path.join(folder, ".git")) else None
    return place_of(folder if found is None else found.shared)


def holds_files(path: str) -> bool:
    """Whether there is any file below a folder, tools' caches left out."""
    for _, folders, files in os.walk(path):
        if files:
            return True
        folders[:] = [folder for folder in folders if folder not in CACHE_FOLDERS]
    return False
