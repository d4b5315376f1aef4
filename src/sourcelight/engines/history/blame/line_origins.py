"""Resolve the lines of files from their lineage: the commit of each line.

A lineage has a *state* for each content that a file had, with the states that it came from, its *sources* (see
`lineage`). Lines are computed from the oldest state on: those of a source, changed by the hunks of the diff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.engines.history.blame.hunks import Hunks, Pair, existing_blobs, read_hunks
from sourcelight.engines.history.blame.lineage import EDITED, MIXED, MOVED, NEW, Lineage, OwnedFile
from sourcelight.engines.history.history import History
from sourcelight.repos import ObjectReader

_CHECK_EVERY = 100
"""States between two looks at whether the caller was cancelled."""

MAX_FILE_BYTES = 16 << 20
"""Bytes above which a file counts as none that has lines."""

_DIFF_BLOCK_BYTES = 1024
"""Bytes: what two contents end with is cut off in blocks of this size by git's diff without context lines."""


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedLines:
    """The lines of a state.

    Attributes
    ----------
    commits
        Number of the commit that brought each line; None if the lines are unknown.
    is_proven
        Whether these are the lines of ``git blame``.
    """

    commits: NDArray[np.int32] | None
    is_proven: bool


UNRESOLVED = ResolvedLines(None, is_proven=False)


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
        """Return the lines of each requested state."""
        sources = self._lineage.sources
        requested_set = set(requested)
        states = self._needed_states(requested_set)

        # A state has a higher number than its sources, so this order resolves sources first.
        order = sorted(states)
        # The lines of earlier results are taken as they are, and nothing behind them is replayed.
        reusable = {state: file for state in order if (file := self._previous_file(state)) is not None}
        replayed = [state for state in order if state not in reusable]
        # How many states still need the lines of each.
        remaining_uses = Counter(chain.from_iterable(sources[state] for state in replayed))
        self._hunks = self._compare(replayed, cancellation)
        resolved: dict[int, ResolvedLines] = {}
        for done, state in enumerate(order):
            if done % _CHECK_EVERY == 0:
                if cancellation is not None:
                    cancellation.check()
                if progress is not None:
                    progress(done, len(order))

            if state in reusable:
                resolved[state] = ResolvedLines(reusable[state].lines, reusable[state].exact)
                continue

            resolved[state] = self._lines_of_state(state, [resolved[source] for source in sources[state]])
            # Lines are freed after their last use, so memory has only lines that a later state still needs.
            for source in sources[state]:
                remaining_uses[source] -= 1
                if not remaining_uses[source] and source not in requested_set:
                    del resolved[source]

        return resolved

    def _needed_states(self, requested: set[int]) -> set[int]:
        """Return requested states and those that they come from, as far back as lines must be replayed."""
        states = set(requested)
        stack = list(requested)
        while stack:
            state = stack.pop()
            if self._previous_file(state) is not None:
                continue

            for source in self._lineage.sources[state]:
                if source not in states:
                    states.add(source)
                    stack.append(source)

        return states

    def _previous_file(self, state: int) -> OwnedFile | None:
        """Return the file of an earlier result with the same lines."""
        if not self._previous:
            return None

        # Content and last step together determine the lines (see `Lineage.step`), so an earlier result stays valid.
        return self._previous.get((self._lineage.blob[state], self._lineage.step(state)))

    def _compare(self, states: Sequence[int], cancellation: Cancellation | None) -> Mapping[Pair, Hunks]:
        """Compare contents of states with their sources by git, where stored hunks are not enough."""
        # Contents made of several sources have no stored hunks; edited ones have hunks with one line of context.
        kinds = {MIXED, EDITED} if self._exact else {MIXED}
        pairs: list[Pair] = []
        for state in states:
            if self._lineage.kind[state] in kinds:
                pairs += self._pairs(state)

        repository = self._reader.repository
        # git ends at the first object that is missing.
        with suppress(GitFailed):
            return read_hunks(repository, pairs, cancellation=cancellation)

        with suppress(GitFailed):
            existing = existing_blobs(repository, set(chain.from_iterable(pairs)), cancellation)
            comparable = [pair for pair in pairs if existing.issuperset(pair)]
            return read_hunks(repository, comparable, cancellation=cancellation)

        return {}

    def _pairs(self, state: int) -> list[Pair]:
        """Return the contents of each source of a state, with its own."""
        blobs = self._lineage.blob
        return [(blobs[source], blobs[state]) for source in self._lineage.sources[state]]

    def _lines_of_state(self, state: int, sources: Sequence[ResolvedLines]) -> ResolvedLines:
        lineage = self._lineage
        kind = lineage.kind[state]
        is_proven = lineage.proven[state] and all(source.is_proven for source in sources)
        if kind == NEW:
            line_total = lineage.change[state]
            return ResolvedLines(np.full(line_total, lineage.commit[state], np.int32), is_proven)
        if kind == MIXED:
            return self._merge_sources(state, sources, is_proven=is_proven)

        lines = sources[0].commits if kind in {EDITED, MOVED} else None
        if lines is None:
            return UNRESOLVED
        if kind == MOVED:
            return ResolvedLines(lines, is_proven)

        hunks = self._hunks.get(self._pairs(state)[0])
        if hunks is not None:
            return ResolvedLines(self._apply_edit(lines, hunks[:, [0, 1, 3]], state), is_proven)

        edited = self._apply_edit(lines, self._stored_hunks(state), state)
        return ResolvedLines(edited, is_proven and self._is_small(state))

    def _is_small(self, state: int) -> bool:
        """Return whether diffs with and without context lines must be equal, as neither cuts off a common end."""
        sizes = [self._reader.size(blob) for blob in self._pairs(state)[0]]
        return any(size is not None and size < _DIFF_BLOCK_BYTES for size in sizes)

    def _stored_hunks(self, state: int) -> Int64Array:
        """Return the stored hunks of an edited state, n x 3: first old line from 0, lines removed, lines added."""
        starts, blocks = self._history.changes.block_starts, self._history.blocks
        change = self._lineage.change[state]
        of_change = slice(int(starts[change]), int(starts[change + 1]))
        return np.stack((blocks.old[of_change] - 1, blocks.removed[of_change], blocks.added[of_change]), axis=1)

    def _apply_edit(self, lines: NDArray[np.int32], hunks: Int64Array, state: int) -> NDArray[np.int32]:
        """Replace removed lines of a source by added ones, which are of the state's commit."""
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

    def _merge_sources(self, state: int, sources: Sequence[ResolvedLines], *, is_proven: bool) -> ResolvedLines:
        """Assign each line to the first source whose diff keeps it, else to the commit."""
        lineage = self._lineage
        lines: NDArray[np.int32] | None = None
        pending = np.zeros(0, np.bool_)
        seen: set[Pair] = set()
        for pair, source in zip(self._pairs(state), sources, strict=True):
            # Two parents with the same content give the same diff; the first one has taken its lines already.
            if pair in seen:
                continue

            seen.add(pair)
            hunks = self._hunks.get(pair)
            if source.commits is None or hunks is None:
                is_proven = False
                continue

            old_positions = unchanged_lines(hunks, len(source.commits))
            if lines is None:
                lines = np.full(len(old_positions), lineage.commit[state], np.int32)
                pending = np.ones(len(old_positions), np.bool_)

            inherited = np.flatnonzero(pending & (old_positions >= 0))
            lines[inherited] = source.commits[old_positions[inherited]]
            pending[inherited] = False

            # Parents are visited in order, as in blame: later parents get only the remaining lines.
            if not pending.any():
                break

        if lines is not None:
            return ResolvedLines(lines, is_proven)

        # No source could be compared: all lines count for the commit, unproven.
        data = self._reader.read(lineage.blob[state], MAX_FILE_BYTES)
        if data is None or is_binary_text(data):
            return UNRESOLVED
        return ResolvedLines(np.full(line_count(data), lineage.commit[state], np.int32), is_proven=False)


def is_binary_text(data: bytes) -> bool:
    """Return whether git treats a content as binary: a NUL in its first 8000 bytes."""
    # FIRST_FEW_BYTES in git's xdiff-interface.c; another limit would call files binary that git blames.
    return b"\0" in data[:8000]


def line_count(data: bytes) -> int:
    """Count the lines of a content, a last one without a newline included."""
    has_open_line = bool(data) and not data.endswith(b"\n")
    return data.count(b"\n") + has_open_line


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
