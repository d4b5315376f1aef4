"""Blame: the commit of each line, of one file by `git blame`, of a whole repository by replaying stored hunks.

Tables and rankings of owners live in `engines/tools/history`. Start with `ownership`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcelight.engines.history.blame.git_blame import FileBlame, blame_file

if TYPE_CHECKING:
    from sourcelight.engines.history.blame.lineage import OwnedFile, Ownership
    from sourcelight.engines.history.blame.ownership import line_ownership

__all__ = ["FileBlame", "OwnedFile", "Ownership", "blame_file", "line_ownership"]


def __getattr__(name: str) -> object:
    if name in {"OwnedFile", "Ownership"}:
        from sourcelight.engines.history.blame import lineage

        return getattr(lineage, name)
    if name == "line_ownership":
        from sourcelight.engines.history.blame import ownership

        return getattr(ownership, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
