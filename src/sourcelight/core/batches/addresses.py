"""Addresses of repositories and files at a service."""

from __future__ import annotations

from urllib.parse import quote


def repository_url(base_url: str, repository: str, commit: str = "") -> str:
    """Address of a repository, at a commit if one is given; relative to the service where `base_url` is empty."""
    return f"{base_url}/{quote(repository, safe='/ ()@').replace(' ', '%20')}{'@' + commit if commit else ''}"


def file_url(base_url: str, repository: str, commit: str, path: str, lines: tuple[int, int] | None = None) -> str:
    """Address of a file at a commit, with the lines `lines` (first and last, 1-based) if given."""
    where = f"{repository_url(base_url, repository, commit)}/-/blob/{quote(path)}"
    return where if lines is None else f"{where}?L{lines[0]}-{lines[1]}"
