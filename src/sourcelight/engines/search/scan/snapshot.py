"""A repository at one commit, opened: its view, its shards, and what was worked out about its paths."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.caching import Remembering
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.index.view import MISSING, NO_SHARD, REASONS, Placement, View
from sourcelight.engines.search.model import FileFilter, LanguageFilter
from sourcelight.engines.search.scan.paths import Mask, Paths

_MISSING = REASONS.index("missing")


class Snapshot(Remembering):
    """A view and its shards. Everything is read-only; what is remembered is shared between threads."""

    def __init__(self, view: View, shards: list[Shard]) -> None:
        super().__init__()
        self.view = view
        self.shards = shards

    def is_unchanged(self) -> bool:
        """Tell whether its files on disk are still those that were opened, as they were."""
        return self.view.file.is_unchanged() and all(shard.is_unchanged() for shard in self.shards)

    @functools.cached_property
    def paths(self) -> Paths:
        """Its paths."""
        raw = None if self.view.path_text_is_raw else self.view.file.bytes_of("paths")
        return Paths(self.view.path_text, self.view.path_start.astype(np.int64), raw)

    def text_of(self, path: str) -> bytes | None:
        """Read a file by its path; None when there is none or it is matched by name only."""
        view, number = self.view, self._number_of(path)
        if number is None or view.shard[number] == NO_SHARD:
            return None
        return self.shards[int(view.shard[number])].text(int(view.document[number]))

    def reason_of(self, path: str) -> str:
        """Tell why a file is matched by name only; empty when it is not, or there is none."""
        number = self._number_of(path)
        return "" if number is None else REASONS[int(self.view.reason[number])]

    def lacking(self, mask: Mask | None = None) -> int:
        """Count the (chosen) files whose content is not there."""
        missing = self.view.reason == _MISSING
        return int(np.count_nonzero(missing if mask is None else missing & mask))

    def _number_of(self, path: str) -> int | None:
        view = self.view
        wanted = path.encode()
        text = bytes(view.file.bytes_of("paths"))
        at = text.find(b"\n" + wanted + b"\n")
        number = int(np.searchsorted(view.path_start, at + 1)) if at >= 0 else view.files
        return None if number >= view.files or int(view.path_start[number]) != at + 1 else number

    @functools.cached_property
    def missing(self) -> tuple[str, ...]:
        """The files whose content the clone does not have, each by path and blob id."""
        numbers = np.flatnonzero(self.view.reason == MISSING).tolist()
        return tuple(f"{self.view.path(number)} (blob {self.view.blob_id(number)})" for number in numbers)

    def placement(self, shard: int) -> Placement:
        """Tell which files have their content in that shard."""
        return self.remember(("placement", shard), lambda: self.view.placement(shard, self.shards[shard].documents))

    def filtered(self, files: tuple[FileFilter, ...], languages: tuple[LanguageFilter, ...]) -> Mask | None:
        """Tell which files pass all filters; None when there is none."""
        mask: Mask | None = None
        for chosen in files:
            held = self.remember(("file", chosen.pattern), lambda p=chosen.pattern: self.paths.match(p))  # type: ignore[misc]
            mask = narrowed(mask, held, negated=chosen.negated)
        for language in languages:
            held = of_language(self.view.languages, language)[self.view.language]
            mask = narrowed(mask, held, negated=language.negated)
        return mask


def of_language(languages: list[tuple[str, list[str]]], chosen: LanguageFilter) -> Mask:
    """Tell which of the languages, each with all its names, bear the name that a filter asks for."""
    wanted = chosen.name.casefold()
    return np.array([wanted in [name.casefold() for name in names] for _, names in languages] or [False])


def narrowed(mask: Mask | None, held: Mask, *, negated: bool) -> Mask:
    """Take from a mask (None: everything) what a filter lets through."""
    held = ~held if negated else held
    return held if mask is None else mask & held


def by_reason(reasons: NDArray[Any]) -> dict[str, int]:
    """Count files that are matched by name only, by reason."""
    counts = np.bincount(reasons, minlength=len(REASONS)).tolist()
    return {name: count for name, count in zip(REASONS[1:], counts[1:], strict=True) if count}
