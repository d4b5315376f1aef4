"""Paths and their folders."""

from __future__ import annotations

from collections.abc import Sequence


def directories(paths: Sequence[str], depth: int) -> list[str]:
    """The folder of each path down to `depth` names, ending with /; / for files at the top."""
    found = []
    for path in paths:
        names = path.split("/", depth)
        inside = names[:depth] if len(names) > depth else names[:-1]
        found.append("/".join(inside) + "/")
    return found
