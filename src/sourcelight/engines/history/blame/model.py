"""Whose lines a commit's files are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Step: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file: its content (20 bytes), for each line the number of the commit that brought it, and whether proven.

    `step` names what last happened to the file (see `lineage.Lineage.step`), so that a later replay can go on from
    there; None where its lines are not known that way.
    """

    blob: bytes
    lines: NDArray[np.int32]
    exact: bool
    step: Step | None = None


@dataclass(frozen=True, slots=True)
class Ownership:
    """Every text file of a commit, and where its lines come from.

    Attributes
    ----------
    commit
        40 hex digits.
    files
        By path. Binary files, links and submodules are not among them.
    left_out
        How many files are not, because they are binary or their content is missing.
    thorough
        Whether git compared all contents anew, so that another replay would prove no more files.
    origins
        What git told of new names, see `renames.ask_origins`: a later replay need not ask again.
    """

    commit: str
    files: Mapping[bytes, OwnedFile]
    left_out: int
    thorough: bool = False
    origins: Mapping[int, int | None] = field(default_factory=dict)

    @property
    def inexact(self) -> list[bytes]:
        """Files of which it is not proven that git blame says the same."""
        return [path for path, file in self.files.items() if not file.exact]
