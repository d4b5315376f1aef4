"""A repository at one commit, opened for searches, and the filters of its files."""

from __future__ import annotations

import functools

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.caching import Memo
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.index.view import MISSING, NO_SHARD, REASONS, CommitView, DocumentPlacement
from sourcelight.engines.search.model import FileFilter, LanguageTest, ShownLanguage
from sourcelight.engines.search.scan.paths import PathTable


class OpenedCommit(Memo):
    """A repository at one commit: its view, its shards, and a cache about its paths. Safe to share between threads."""

    def __init__(self, view: CommitView, shards: list[Shard]) -> None:
        super().__init__()
        self.view = view
        self.shards = shards

    def is_unchanged(self) -> bool:
        """Return whether the files on disk are still the opened files, unchanged."""
        return self.view.file.is_unchanged() and all(shard.is_unchanged() for shard in self.shards)

    @functools.cached_property
    def paths(self) -> PathTable:
        """All paths of the view."""
        raw = None if self.view.path_text_is_raw else self.view.file.bytes_of("paths")
        return PathTable(self.view.path_text, self.view.path_start.astype(np.int64), raw)

    def text_of(self, path: str) -> bytes | None:
        """Return the content of a file, or None when there is none or it is matched by name only."""
        number = self._file_number(path)
        return None if number is None else self.text_at(number)

    def text_at(self, number: int) -> bytes | None:
        """Return the content of a file by its number in the view, or None when it is matched by name only."""
        view = self.view
        if view.shard[number] == NO_SHARD:
            return None
        return self.shards[int(view.shard[number])].text(int(view.document[number]))

    def reason_of(self, path: str) -> str:
        """Return why a file is matched by name only; empty when its content is indexed, or it does not exist."""
        number = self._file_number(path)
        return "" if number is None else REASONS[int(self.view.reason[number])]

    def missing_count(self, mask: BoolArray | None = None) -> int:
        """Count the files under the mask (None: all) whose content the clone lacks."""
        missing = self.view.reason == MISSING
        return int(np.count_nonzero(missing if mask is None else missing & mask))

    def _file_number(self, path: str) -> int | None:
        return self.view.file_number(path.encode())

    @functools.cached_property
    def missing_files(self) -> tuple[str, ...]:
        """The files whose content the clone lacks, each as path and blob id."""
        numbers = np.flatnonzero(self.view.reason == MISSING).tolist()
        return tuple(f"{self.view.path(number)} (blob {self.view.blob_id(number)})" for number in numbers)

    def placement(self, shard: int) -> DocumentPlacement:
        """Return which files have their content in a shard."""
        return self.remember(("placement", shard), lambda: self.view.placement(shard, self.shards[shard].documents))

    def passing_files(self, files: tuple[FileFilter, ...], languages: tuple[LanguageTest, ...]) -> BoolArray | None:
        """Return the files that pass all filters, or None without a filter."""
        mask: BoolArray | None = None
        for file_filter in files:
            passing = self.remember(("file", file_filter.pattern), lambda p=file_filter.pattern: self.paths.match(p))  # type: ignore[misc]
            mask = apply_filter(mask, passing, negated=file_filter.negated)

        for language in languages:
            passing = languages_matching(self.view.languages, language)[self.view.language]
            mask = apply_filter(mask, passing, negated=language.negated)

        return mask


def languages_matching(languages: list[tuple[str, list[str]]], language_filter: LanguageTest) -> BoolArray:
    """Return which of the languages, each with all its names, pass a filter."""
    if isinstance(language_filter, ShownLanguage):
        return np.array([display_name in language_filter.names for display_name, _ in languages] or [False])
    language_name = language_filter.name.casefold()
    return np.array([language_name in [name.casefold() for name in names] for _, names in languages] or [False])


def apply_filter(mask: BoolArray | None, passing: BoolArray, *, negated: bool) -> BoolArray:
    """Narrow a mask (None: everything) to the files that pass a filter."""
    passing = ~passing if negated else passing
    return passing if mask is None else mask & passing
