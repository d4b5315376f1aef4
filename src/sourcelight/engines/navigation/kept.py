"""Answers that are kept: the uses of a name, found once, are given again while no commit has changed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sourcelight.engines.navigation.definitions import Asked
    from sourcelight.engines.navigation.workspace import Workspace

KEPT_BYTES = 16 * 1024 * 1024
"""Bytes of Arrow tables that are kept; 10,000 references take about 1 MB."""

_PASSING = frozenset({"symbols-pending", "not-indexed", "time", "limit", "unlikely", "missing"})
"""Notices of what may be better next time."""

Table = Any


@dataclass(frozen=True, slots=True)
class Kept:
    """A complete answer.

    Parameters
    ----------
    table
        Rows in the order in which they were found.
    order
        Places of the rows in the order in which they are shown.
    definitions, left_out
        As `References` counts them.
    notices
        What the reader has to know, as in `Workspace.notices`.
    """

    table: Table
    order: NDArray[np.int64]
    definitions: int
    left_out: int
    notices: Mapping[str, str]

    def first(self, limit: int | None) -> Table:
        """Give the rows that were found first, in the order in which they are shown."""
        chosen = self.order if limit is None else self.order[self.order < limit]
        return self.table.take(chosen)


class KeptAnswers:
    """Answers by what was asked, of whom, at which commits; the longest unused are dropped beyond so many bytes.

    Safe to share between threads.
    """

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0
        self._held: OrderedDict[Hashable, Kept] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable) -> Kept | None:
        """Give an answer that was kept."""
        with self._guard:
            found = self._held.get(key)
            if found is not None:
                self._held.move_to_end(key)
            return found

    def put(self, key: Hashable, kept: Kept) -> None:
        """Keep an answer, unless it alone would fill the room."""
        size = _size(kept)
        if size > self.most_bytes:
            return
        with self._guard:
            former = self._held.pop(key, None)
            self.held_bytes += size - (_size(former) if former is not None else 0)
            self._held[key] = kept
            while self.held_bytes > self.most_bytes:
                _, dropped = self._held.popitem(last=False)
                self.held_bytes -= _size(dropped)

    def clear(self) -> None:
        """Drop everything, as if nothing had been asked yet."""
        with self._guard:
            self._held.clear()
            self.held_bytes = 0


def _size(kept: Kept) -> int:
    return int(kept.table.nbytes) + int(kept.order.nbytes) + 1024


def question_key(asked: Asked, revision: str, workspace: Workspace) -> Hashable:
    """Give what an answer depends on: the question, and every repository that the viewer sees, with its commit."""
    project = asked.document.project
    seen = tuple((one.name, one.key, workspace.navigator.commit_of(one)) for one in workspace.repositories)
    return (project.name, project.key, project.commit, asked.document.path, asked.name, asked.line_number,
            asked.column, revision, seen)  # fmt: skip


def is_lasting(workspace: Workspace) -> bool:
    """Tell whether asking again would give the same answer."""
    return not workspace.unparsed and not _PASSING & set(workspace.notices)
