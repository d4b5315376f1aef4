"""Resolve the lines of files from their lineage: the commit of each line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.blame.hunks import Hunks, Pair, existing_blobs, read_hunks
from sourcelight.engines.history.blame.lineage import EDITED, MIXED, MOVED, NEW, Lineage, OwnedFile
from sourcelight.engines.history.history import History
from sourcelight.repos import ObjectReader

ResolvedLines: TypeAlias = tuple[NDArray[np.int32] | None, bool]

_CHECK_EVERY = 100

MAX_FILE_BYTES = 16 << 20
"""Bytes above which a file counts as none that has lines."""

_DIFF_BLOCK_BYTES = 1024
"""Bytes: what two contents end with is cut off in blocks of this size by git's diff without context lines."""


class LineResolver:
    """Computes the lines of requested states, and of the states that these need; each once.

    Parameters
    ----------
    lineage
        States.
    history
        Its hunks.
    reader
        Reads sizes of contents.
    previous_files
        Files of another commit of the same history, from which unchanged lines are taken.
    exact
        Whether to compare all contents again, as git blame does. Stored hunks come from diffs with a
        context line, and differ in a few of a thousand changes.
    """

    def __init__(
        self,
        lineage: Lineage,
        history: History,
        reader: ObjectReader,
        previous_files: Iterable[OwnedFile] = (),
        *,
        exact: bool = False,
    ) -> None:
        self._previous = {
            (file.blob, file.step): file
            for file in previous_files
            if file.step is not None and (file.exact or not exact)
        }
        self._lineage = lineage
        self._history = history
        self._reader = reader
        self._exact = exact
        self._hunks: Mapping[Pair, Hunks] = {}

    def run(
        self,
        requested: Iterable[int],
        cancellation: Cancellation | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[int, ResolvedLines]:
        """Return for each requested state its lines (commit numbers; None if unknown) and whether they are proven."""
        sources = self._lineage.sources
        requested_set = set(requested)
        remaining_uses: dict[int, int] = {}
        stack = list(requested_set)
        pending = set(requested_set)
        reusable: dict[int, OwnedFile] = {}
        while stack:
            state = stack.pop()
            # Content and last step together determine the lines (see `Lineage.step`), so an earlier result stays valid.
            file = self._previous.get((self._lineage.blob[state], self._lineage.step(state)))
            if file is not None:
                reusable[state] = file
                continue

            for source in sources[state]:
                remaining_uses[source] = remaining_uses.get(source, 0) + 1
                if source not in pending:
                    pending.add(source)
                    stack.append(source)

        # A state has a higher number than its sources, so this order resolves sources first.
        order = sorted(pending)
        self._hunks = self._compare([state for state in order if state not in reusable], cancellation)
        resolved: dict[int, ResolvedLines] = {}
        for done, state in enumerate(order):
            if done % _CHECK_EVERY == 0:
                if cancellation is not None:
                    cancellation.check()
                if progress is not None:
                    progress(done, len(pending))

            if state in reusable:
                resolved[state] = reusable[state].lines, reusable[state].exact
                continue

            resolved[state] = self._lines_of_state(state, [resolved[source] for source in sources[state]])
            # Lines are freed after their last use, so memory has only lines that a later state still needs.
            for source in sources[state]:
                remaining_uses[source] -= 1
                if not remaining_uses[source] and source not in requested_set:
                    del resolved[source]

        return resolved

    def _compare(self, states: Sequence[int], cancellation: Cancellation | None) -> Mapping[Pair, Hunks]:
        """Compare contents of states with their sources by git, where stored hunks are not enough."""
        # Contents made of several sources have no stored hunks; edited ones have hunks with one line of context.
        kinds = {MIXED, EDITED} if self._exact else {MIXED}
        pairs = [pair for state in states if self._lineage.kind[state] in kinds for pair in self._pairs(state)]
        repository = self._reader.repository
        try:
            return read_hunks(repository, pairs, cancellation=cancellation)
        except GitFailed:  # objects are missing, and git ends at the first one
            pass

        try:
            existing = existing_blobs(repository, {blob for pair in pairs for blob in pair}, cancellation)
            comparable = [pair for pair in pairs if existing.issuperset(pair)]
            return read_hunks(repository, comparable, cancellation=cancellation)
        except GitFailed:
            return {}

    def _pairs(self, state: int) -> list[Pair]:
        blobs = self._lineage.blob
        return [(blobs[source], blobs[state]) for source in self._lineage.sources[state]]

    def _lines_of_state(self, state: int, sources: list[ResolvedLines]) -> ResolvedLines:
        lineage = self._lineage
        kind, proven = lineage.kind[state], lineage.proven[state] and all(exact for _, exact in sources)
        if kind == NEW:
            return np.full(lineage.change[state], lineage.commit[state], np.int32), proven
        if kind == MIXED:
            return self._merge_sources(state, sources, proven=proven)
        if kind not in {EDITED, MOVED} or sources[0][0] is None:
            return None, False

        lines = sources[0][0]
        if kind == MOVED:
            return lines, proven

        hunks = self._hunks.get(self._pairs(state)[0])
        if hunks is None:
            return self._apply_edit(lines, self._stored_hunks(state), state), proven and self._is_small(state)

        return self._apply_edit(lines, hunks[:, [0, 1, 3]], state), proven

    def _is_small(self, state: int) -> bool:
        """Return whether diffs with and without context lines must be equal, as neither cuts off a common end."""
        return any(
            (size := self._reader.size(blob)) is not None and size < _DIFF_BLOCK_BYTES for blob in self._pairs(state)[0]
        )

    def _stored_hunks(self, state: int) -> Int64Array:
        """Return the stored hunks of an edited state, n x 3: first old line from 0, lines removed, lines added."""
        starts, blocks = self._history.changes.block_starts, self._history.blocks
        change = self._lineage.change[state]
        blocks_of_change = slice(int(starts[change]), int(starts[change + 1]))
        return np.stack(
            (blocks.old[blocks_of_change] - 1, blocks.removed[blocks_of_change], blocks.added[blocks_of_change]), axis=1
        )

    def _apply_edit(self, lines: NDArray[np.int32], hunks: Int64Array, state: int) -> NDArray[np.int32]:
        if not len(hunks):
            return lines

        new_lines = np.full(int(hunks[:, 2].sum()), self._lineage.commit[state], np.int32)
        runs: list[NDArray[np.int32]] = []

        # Hunks are sorted by old line and don't overlap, so one pass over the old lines is enough.
        position = used_new = 0
        for old, removed, added in hunks.tolist():
            # Unchanged lines are slices of the old array; one concatenation at the end copies each line once.
            runs += [lines[position:old], new_lines[used_new : used_new + added]]
            used_new += added
            position = old + removed

        runs.append(lines[position:])
        return np.concatenate(runs)

    def _merge_sources(self, state: int, sources: list[ResolvedLines], *, proven: bool) -> ResolvedLines:
        """Assign each line to the first source whose diff keeps it, else to the commit."""
        lineage = self._lineage
        lines: NDArray[np.int32] | None = None
        pending = np.zeros(0, np.bool_)
        seen: set[Pair] = set()
        for pair, (source_lines, _) in zip(self._pairs(state), sources, strict=True):
            # Two parents with the same content give the same diff; the first one has taken its lines already.
            if pair in seen:
                continue

            seen.add(pair)
            hunks = self._hunks.get(pair)
            if source_lines is None or hunks is None:
                proven = False
                continue

            old_positions = unchanged_lines(hunks, len(source_lines))
            if lines is None:
                lines = np.full(len(old_positions), lineage.commit[state], np.int32)
                pending = np.ones(len(old_positions), np.bool_)

            inherited = np.flatnonzero(pending & (old_positions >= 0))
            lines[inherited] = source_lines[old_positions[inherited]]
            pending[inherited] = False

            # Parents are visited in order, as in blame: later parents get only the remaining lines.
            if not pending.any():
                break

        if lines is None:
            data = self._reader.read(lineage.blob[state], MAX_FILE_BYTES)
            if data is None or is_binary_text(data):
                return None, False
            return np.full(line_count(data), lineage.commit[state], np.int32), False

        return lines, proven


def is_binary_text(data: bytes) -> bool:
    """Return whether git treats a content as binary: a NUL in its first 8000 bytes."""
    # FIRST_FEW_BYTES in git's xdiff-interface.c; another limit would call files binary that git blames.
    return b"\0" in data[:8000]


def line_count(data: bytes) -> int:
    """Count the lines of a content, a last one without a newline included."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def unchanged_lines(hunks: Hunks, old_count: int) -> Int64Array:
    """Return for each line of a new content its index in the old one, or -1 where the diff does not keep it."""
    runs: list[Int64Array] = []
    position = 0
    for old, removed, _, added in hunks.tolist():
        # The unchanged lines before a hunk keep their index; the hunk's added lines have none. Removed lines are
        # skipped.
        runs += [np.arange(position, old), np.full(added, -1)]
        position = old + removed

    runs.append(np.arange(position, old_count))
    return np.concatenate(runs)
