"""Paths and their folders."""

from __future__ import annotations

from collections.abc import Sequence


def directories(paths: Sequence[str], depth: int) -> list[str]:
    """The directory of each path down to `depth` names: ``src/`` with all that is below it.

    Of a directory less deep than that, ``src/*`` is its own files without those of directories in it, and ``/*`` is the
    files at the top: ``/`` is the whole repository.
    """
    found = []
    for path in paths:
        names = path.split("/", depth)
        inside, is_deep = names[:depth], len(names) > depth
        found.append("/".join(inside) + "/" if is_deep else f"{path.rpartition('/')[0]}/*")
    return found
