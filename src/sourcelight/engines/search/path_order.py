"""Putting what a repository's shards give, each in an order of its own, in the order of paths."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sourcelight.engines.search.scan.evaluate import Found
from sourcelight.engines.search.scan.render import Rendered


@dataclass(slots=True)
class PathOrder:
    """Holds batches back until all files before theirs were searched.

    One piece of a batch for each run of neighbours; rows of one file stay together.
    """

    matches: int = 0
    files: int = 0
    _held: list[tuple[int, int, int, int]] = field(default_factory=list)
    _batches: dict[int, Any] = field(default_factory=dict)
    _next: int = 0

    def add(self, found: Found, rendered: Rendered) -> None:
        """Take the batches of a `Found`."""
        self.matches += rendered.matches
        self.files += rendered.files
        for batch in rendered.batches:
            content = batch.column("type").dictionary[0].as_py() == "content"
            files = found.content_files if content else found.path_files
            codes = batch.column("path").indices.to_numpy()
            if int(codes[-1]) + 1 != len(files):
                files = np.sort(np.concatenate((found.content_files, found.path_files)))
            bounds = np.searchsorted(codes, np.arange(len(files) + 1)).tolist()
            number, self._next = self._next, self._next + 1
            self._batches[number] = batch
            self._held += (
                (file, number, low, high) for file, low, high in zip(files.tolist(), bounds, bounds[1:], strict=False)
            )

    def rendered(self, below: int | None = None) -> Rendered:
        """Give what is held of files below number `below` (None: all), neighbouring rows of one batch as one piece."""
        self._held.sort()
        end = len(self._held) if below is None else bisect_left(self._held, (below,))
        pieces: list[list[int]] = []
        for _, number, low, high in self._held[:end]:
            if pieces and pieces[-1][0] == number and pieces[-1][2] == low:
                pieces[-1][2] = high
            else:
                pieces.append([number, low, high])
        batches = tuple(self._batches[number].slice(low, high - low) for number, low, high in pieces)
        given = Rendered(batches, self.matches, self.files)
        self.matches = self.files = 0
        self._held = self._held[end:]
        waiting = {number for _, number, _, _ in self._held}
        self._batches = {number: batch for number, batch in self._batches.items() if number in waiting}
        return given
