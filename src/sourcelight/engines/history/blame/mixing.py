"""From the lineage of files to the lines of those that are wanted."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches import Cancellation
from sourcelight.engines.history.blame.lineage import EDITED, MIXED, MOVED, NEW, Lineage
from sourcelight.engines.history.blame.model import OwnedFile
from sourcelight.engines.history.snapshot import History
from sourcelight.repos import ObjectReader

Lines: TypeAlias = NDArray[np.int32]
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_CHECK_EVERY = 100
MAX_FILE_BYTES = 16 << 20
"""Bytes above which a file counts as none that has lines."""

_MOST_CONTENTS = 64
_MOST_CONTENT_BYTES = 64 << 20
_BLOCK = 1024  # git's, when it leaves out what two contents end with
_CONTEXT_BLOCKS = 4


class Evaluation:
    """Makes the lines of wanted states, and of nothing that these don't need; each state once.

    Parameters
    ----------
    lineage
        States.
    history
        Its hunks.
    reader
        Reads contents, which only merges need.
    former
        Files of another commit of the same history: what they have in common with this one is taken from them.
    """

    def __init__(
        self, lineage: Lineage, history: History, reader: ObjectReader, former: Iterable[OwnedFile] = ()
    ) -> None:
        self._former = {(file.blob, file.step): file for file in former if file.step is not None}
        self._lineage = lineage
        self._history = history
        self._reader = reader
        self._contents: OrderedDict[bytes, bytes | None] = OrderedDict()
        self._content_bytes = 0

    def run(
        self,
        wanted: Iterable[int],
        cancellation: Cancellation | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> dict[int, tuple[Lines | None, bool]]:
        """For each wanted state its lines (numbers of commits), None when they can't be known, and whether proven."""
        sources = self._lineage.sources
        ends = set(wanted)
        uses: dict[int, int] = {}
        stack = list(ends)
        needed = set(ends)
        at_hand: dict[int, OwnedFile] = {}
        while stack:
            state = stack.pop()
            file = self._former.get((self._lineage.blob[state], self._lineage.step(state)))
            if file is not None:
                at_hand[state] = file
                continue
            for source in sources[state]:
                uses[source] = uses.get(source, 0) + 1
                if source not in needed:
                    needed.add(source)
                    stack.append(source)
        made: dict[int, tuple[Lines | None, bool]] = {}
        for done, state in enumerate(sorted(needed)):
            if done % _CHECK_EVERY == 0:
                if cancellation is not None:
                    cancellation.check()
                if progress is not None:
                    progress(done, len(needed))
            if state in at_hand:
                made[state] = at_hand[state].lines, at_hand[state].exact
                continue
            made[state] = self._lines(state, [made[source] for source in sources[state]])
            for source in sources[state]:
                uses[source] -= 1
                if not uses[source] and source not in ends:
                    del made[source]
        return made

    def _lines(self, state: int, of: list[tuple[Lines | None, bool]]) -> tuple[Lines | None, bool]:
        lineage = self._lineage
        kind, proven = lineage.kind[state], lineage.proven[state] and all(exact for _, exact in of)
        if kind == NEW:
            return np.full(lineage.change[state], lineage.commit[state], np.int32), proven
        if kind == MIXED:
            return self._mixed(state, of, proven=proven)
        if kind in {EDITED, MOVED} and of[0][0] is not None:
            lines = of[0][0]
            return (self._edited(lines, state) if kind == EDITED else lines), proven
        return None, False

    def _edited(self, lines: Lines, state: int) -> Lines:
        starts = self._history.changes.block_starts
        change, commit = self._lineage.change[state], self._lineage.commit[state]
        low, high = int(starts[change]), int(starts[change + 1])
        if low == high:
            return lines
        blocks = self._history.blocks
        columns = (column[low:high].tolist() for column in (blocks.old, blocks.removed, blocks.added))
        added_lines = int(blocks.added[low:high].sum())
        fresh = np.full(added_lines, commit, np.int32)
        pieces: list[Lines] = []
        at = used = 0
        for old, removed, added in zip(*columns, strict=True):
            pieces += [lines[at : old - 1], fresh[used : used + added]]
            used += added
            at = old - 1 + removed
        pieces.append(lines[at:])
        return np.concatenate(pieces)

    def _mixed(self, state: int, of: list[tuple[Lines | None, bool]], *, proven: bool) -> tuple[Lines | None, bool]:
        """Each line goes to the first source whose diff keeps it, else to the merge."""
        lineage = self._lineage
        data = self._content(lineage.blob[state])
        if data is None or is_binary(data):
            return None, False
        count = line_count(data)
        lines = np.full(count, lineage.commit[state], np.int32)
        pending = np.ones(count, np.bool_)
        seen: set[bytes] = set()
        for source, (source_lines, _) in zip(lineage.sources[state], of, strict=True):
            blob = lineage.blob[source]
            if blob in seen:
                continue
            seen.add(blob)
            old = self._content(blob)
            if source_lines is None or old is None:
                proven = False
                continue
            kept = same_lines(old, data, count)
            take = np.flatnonzero(pending & (kept >= 0) & (kept < len(source_lines)))
            lines[take] = source_lines[kept[take]]
            pending[take] = False
            if not pending.any():
                break
        return lines, proven

    def _content(self, blob: bytes) -> bytes | None:
        if blob in self._contents:
            self._contents.move_to_end(blob)
            return self._contents[blob]
        data = self._contents[blob] = self._reader.read(blob, MAX_FILE_BYTES)
        self._content_bytes += len(data or b"")
        while len(self._contents) > 2 and (
            len(self._contents) > _MOST_CONTENTS or self._content_bytes > _MOST_CONTENT_BYTES
        ):
            _, oldest = self._contents.popitem(last=False)
            self._content_bytes -= len(oldest or b"")
        return data


def is_binary(data: bytes) -> bool:
    """Whether git takes a content for binary."""
    return b"\0" in data[:8000]


def line_count(data: bytes) -> int:
    """Lines of a content; one without a newline at its end counts."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def same_lines(old: bytes, new: bytes, count: int) -> NDArray[np.int64]:
    """For each of the `count` lines of `new` its place in `old`, from 0, when a diff keeps it; else -1.

    What both end with is cut off before, as git does for a diff without context lines; what both begin with is cut
    off for speed, but for some context.
    """
    import pygit2

    tail = _common_tail(old, new)
    head = _common_head(old, new, min(len(old), len(new)) - tail)
    before = old.count(b"\n", 0, head)
    kept_tail = old.count(b"\n", len(old) - tail) + (tail > 0 and not old.endswith(b"\n"))
    options = pygit2.enums.DiffOption.INDENT_HEURISTIC | pygit2.enums.DiffOption.FORCE_TEXT
    one, other = old[head : len(old) - tail], new[head : len(new) - tail]
    patch = pygit2.Patch.create_from(one, other, flag=options, context_lines=0)
    kept = np.full(count, -1, np.int64)
    kept[:before] = np.arange(before)
    at_old = at_new = before
    for found in _HUNK.finditer(patch.data):
        old_start, old_lines, new_start, new_lines = (1 if part is None else int(part) for part in found.groups())
        # A side without lines names the line before it.
        old_begin = before + (old_start - 1 if old_lines else old_start)
        new_begin = before + (new_start - 1 if new_lines else new_start)
        kept[at_new:new_begin] = np.arange(at_old, at_old + new_begin - at_new)
        at_old, at_new = old_begin + old_lines, new_begin + new_lines
    end = count - kept_tail
    kept[at_new:end] = np.arange(at_old, at_old + end - at_new)
    old_end = line_count(old) - kept_tail
    kept[end:] = np.arange(old_end, old_end + kept_tail)
    return kept


def _common_tail(old: bytes, new: bytes) -> int:
    """Bytes at the end that a diff without context leaves out: whole blocks that are the same, from a line's start."""
    size = min(len(old), len(new))
    differing = np.flatnonzero(_bytes(old)[len(old) - size :] != _bytes(new)[len(new) - size :])
    trimmed = (size if not len(differing) else size - 1 - int(differing[-1])) // _BLOCK * _BLOCK
    newline = new.find(b"\n", len(new) - trimmed)
    return 0 if newline < 0 or not trimmed else len(new) - newline - 1


def _common_head(old: bytes, new: bytes, most: int) -> int:
    """Bytes at the start that are the same, up to a line's start, but for some blocks of context."""
    differing = np.flatnonzero(_bytes(old)[:most] != _bytes(new)[:most])
    blocks = (int(differing[0]) if len(differing) else max(most, 0)) // _BLOCK - _CONTEXT_BLOCKS
    return new.rfind(b"\n", 0, blocks * _BLOCK) + 1 if blocks > 0 else 0


def _bytes(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)
