"""A repository at one commit, opened: its view, its shards, and what was worked out about its paths."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.patterns import FOLD_HAZARDS
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.halting import Stopped, never
from sourcelight.core.patterns.ranges import find_texts
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.index.view import NO_SHARD, REASONS, Placement, View
from sourcelight.engines.search.model import FileFilter, LanguageFilter

_MOST_REMEMBERED = 48
_MOST_SPANS = 20_000

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PathHits:
    """Where a pattern stands in paths: files that match, and spans in bytes, sorted by file, then start."""

    held: Mask
    file: Places
    start: Places
    end: Places
    any: bool


class Snapshot:
    """A view and its shards. Everything is read-only; what is remembered is shared between threads."""

    def __init__(self, view: View, shards: list[Shard]) -> None:
        self.view = view
        self.shards = shards
        self._remembered: OrderedDict[Any, Any] = OrderedDict()
        self._guard = threading.Lock()

    def remember(self, key: Any, make: Callable[[], _T], worth_it: Callable[[_T], bool] | None = None) -> _T:
        """Give what was made for `key` before, or make it now; kept if `worth_it` says so of it."""
        with self._guard:
            if key in self._remembered:
                self._remembered.move_to_end(key)
                found: _T = self._remembered[key]
                return found
        made = make()
        if worth_it is not None and not worth_it(made):
            return made
        with self._guard:
            self._remembered[key] = made
            if len(self._remembered) > _MOST_REMEMBERED:
                self._remembered.popitem(last=False)
        return made

    def text_of(self, path: str) -> bytes | None:
        """Read a file by its path; None when there is none or it is matched by name only."""
        view = self.view
        wanted = path.encode()
        text = bytes(view.file.bytes_of("paths"))
        at = text.find(b"\n" + wanted + b"\n")
        number = int(np.searchsorted(view.path_start, at + 1)) if at >= 0 else view.files
        if number >= view.files or int(view.path_start[number]) != at + 1 or view.shard[number] == NO_SHARD:
            return None
        return self.shards[int(view.shard[number])].text(int(view.document[number]))

    def placement(self, shard: int) -> Placement:
        """Tell which files have their content in that shard."""
        return self.remember(("placement", shard), lambda: self.view.placement(shard, self.shards[shard].documents))

    def path_hits(self, pattern: CompiledPattern, stopped: Stopped = never) -> PathHits:
        """Find a pattern in all paths; raises `Halted` once `stopped` says so."""
        return self.remember(
            ("path", pattern),
            lambda: self._find_in_paths(pattern, stopped),
            worth_it=lambda hits: len(hits.file) <= _MOST_SPANS,
        )

    def filtered(self, files: tuple[FileFilter, ...], languages: tuple[LanguageFilter, ...]) -> Mask | None:
        """Tell which files pass all filters; None when there is none."""
        mask: Mask | None = None
        for chosen in files:
            held = self.remember(("file", chosen.pattern), lambda p=chosen.pattern: self._match_paths(p))  # type: ignore[misc]
            mask = _narrow(mask, held, negated=chosen.negated)
        for language in languages:
            wanted = language.name.casefold()
            table = np.array(
                [wanted in [name.casefold() for name in names] for _, names in self.view.languages] or [False]
            )
            mask = _narrow(mask, table[self.view.language], negated=language.negated)
        return mask

    def skipped(self, mask: Mask | None) -> dict[str, int]:
        """Count the files that are matched by name only, by reason, among those that pass the filters."""
        if mask is None:
            return dict(self.remember("skipped", lambda: _by_reason(self.view.reason)))
        return _by_reason(self.view.reason[mask])

    def _bounds(self) -> tuple[Places, Places]:
        starts = self.view.path_start.astype(np.int64)
        return starts[:-1], starts[1:] - 1

    def _match_paths(self, pattern: CompiledPattern) -> Mask:
        starts, ends = self._bounds()
        return np.asarray(pattern.match_many(self.view.path_text, starts, ends), dtype=np.bool_)

    def _folded_paths(self) -> bytes | None:
        """All paths in lower case; None where a letter in them may be spelled beyond ASCII."""

        def fold() -> tuple[bytes | None]:
            text = bytes(self.view.path_text)
            return (None if any(hazard in text for hazard in FOLD_HAZARDS) else text.lower(),)

        return self.remember("folded paths", fold)[0]

    def _find_in_paths(self, pattern: CompiledPattern, stopped: Stopped) -> PathHits:
        view = self.view
        starts, ends = self._bounds()
        held = np.zeros(view.files, dtype=np.bool_)
        none = np.zeros(0, dtype=np.int64)
        if not view.files:
            return PathHits(held, none, none, none, any=False)
        if pattern.multi_line or pattern.whole_text:
            file, start, end = pattern.spans(view.path_text, starts, ends, stopped)
        else:
            whole = np.array([[1, len(view.path_text)]], dtype=np.int64)
            folded = self._folded_paths() if pattern.folded else None
            if folded is None:
                offsets = pattern.lines(view.path_text, whole, stopped)
            else:
                offsets = find_texts(memoryview(folded), pattern.folded, whole)
                if not len(offsets):
                    return PathHits(held, none, none, none, any=False)
            file = np.searchsorted(view.path_start, offsets.astype(np.uint32), side="right").astype(np.int64) - 1
            if pattern.exact and pattern.literal is not None:
                start = offsets - starts[file]
                end = start + len(pattern.literal)
            elif folded is not None:
                start = offsets - starts[file]
                end = start + len(pattern.folded)
            else:
                rows = unique_sorted(file)
                row, start, end = pattern.spans(view.path_text, starts[rows], ends[rows], stopped)
                file = rows[row]
        held[file] = True
        return PathHits(held, file, start, end, bool(held.any()))


def unique_sorted(values: Places) -> Places:
    """Drop repetitions from sorted values."""
    if len(values) < 2:
        return values
    kept = np.empty(len(values), dtype=np.bool_)
    kept[0] = True
    np.not_equal(values[1:], values[:-1], out=kept[1:])
    return values[kept]


def _narrow(mask: Mask | None, held: Mask, *, negated: bool) -> Mask:
    held = ~held if negated else held
    return held if mask is None else mask & held


def _by_reason(reasons: NDArray[Any]) -> dict[str, int]:
    counts = np.bincount(reasons, minlength=len(REASONS)).tolist()
    return {name: count for name, count in zip(REASONS[1:], counts[1:], strict=True) if count}
