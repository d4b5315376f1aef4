"""Catalogs of a single repository."""

from __future__ import annotations

from pathlib import Path

from sourcelight.repos import Catalog, Repository


def only(path: Path) -> Repository:
    """The only repository below a path."""
    (repository,) = Catalog.open([path]).repositories
    return repository
