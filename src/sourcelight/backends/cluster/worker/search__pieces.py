"""Part of a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of some repositories in one phase, in the order of their names; `ends` says where those of each end."""

    phase: int
    repositories: tuple[str, ...]
    ends: tuple[int, ...]
    batch: Any


@dataclass(frozen=True, slots=True)
class Passed:
    """The files of these repositories are all told."""

    repositories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """These repositories can't be told by this worker, and why: said before what comes after them in the order.

    `unfit`: it has no shard of them that it can read, and another may have; else its engine failed at them.
    """

    reasons: dict[str, str]
    unfit: bool = False
