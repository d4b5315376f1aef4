"""Putting what a repository's shards give, each in an order of its own, in the order of paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sourcelight.engines.search.index.view import NO_SHARD
from sourcelight.engines.search.scan.evaluate import Found, RepositorySearch
from sourcelight.engines.search.scan.render import Rendered


@dataclass(slots=True)
class PathOrder:
    """Holds batches back until all files before theirs were searched.

    One piece of a batch for each run of neighbours; rows of one file stay together.
    """

    matches: int = 0
    files: int = 0
    _held: list[tuple[int, int, int, int]] = field(default_factory=list)
    _batches: list[Any] = field(default_factory=list)

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
            number = len(self._batches)
            self._batches.append(batch)
            self._held += (
                (file, number, low, high) for file, low, high in zip(files.tolist(), bounds, bounds[1:], strict=False)
            )

    def rendered(self) -> Rendered:
        """Give what is held, neighbouring rows of one batch as one piece; nothing is held afterwards."""
        pieces: list[list[int]] = []
        for _, number, low, high in sorted(self._held):
            if pieces and pieces[-1][0] == number and pieces[-1][2] == low:
                pieces[-1][2] = high
            else:
                pieces.append([number, low, high])
        batches = tuple(self._batches[number].slice(low, high - low) for number, low, high in pieces)
        given = Rendered(batches, self.matches, self.files)
        self.matches = self.files = 0
        self._held, self._batches = [], []
        return given


def in_order(running: RepositorySearch) -> bool:
    """Tell whether one part after another gives the files in the order of paths, so that nothing needs to wait."""
    snapshot = running.snapshot
    nameless = snapshot.view.shard == NO_SHARD
    if nameless.any() and not running.plan.single:
        return False
    if any(hits is not None and hits.held[nameless].any() for hits in running.path_hits):
        return False
    last = -1
    for number in range(len(snapshot.shards)):
        placement = snapshot.placement(number)
        if not placement.one_to_one or (len(placement.files) and int(placement.files[0]) < last):
            return False
        last = int(placement.files[-1]) if len(placement.files) else last
    return True
