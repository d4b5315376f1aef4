"""A repository at one commit, opened for searches, and the filters of its files.

The view numbers the files of a commit, and tells shard and document of each. Filters are masks over these numbers. They
are computed once and remembered with the commit, since the next query often has the same ones.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.caching import Memo
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.index.view import MISSING, NO_SHARD, REASONS, CommitView, DocumentPlacement, LooseView
from sourcelight.engines.search.model import FileFilter, LanguageTest, ShownLanguage
from sourcelight.engines.search.scan.paths import PathLists, PathTable

LFS_POINTER = "lfs"
"""Reason in `SearchPart.skipped` for files whose content is in Git LFS."""

_POINTER_START = b"version https://git-lfs.github.com/spec/v1\n"
_POINTER_BYTES = range(len(_POINTER_START) + 80, 200)
"""Bytes of a pointer of Git LFS: its version, the SHA-256 of the content, the size of the content."""

_ATTRIBUTES = re.compile(rb"\.gitattributes\n")


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
        # A few repositories have such paths, which would else shift the numbers of all files behind them.
        # Paths with newlines are searched in a text that has other characters there, and shown as they are.
        raw = None if self.view.path_text_is_raw else self.view.file.bytes_of("paths")
        return PathTable(self.view.path_text, self.view.path_start.astype(np.int64), raw)

    @functools.cached_property
    def path_lists(self) -> PathLists:
        """All paths as objects, shared by all corpora with this commit."""
        return PathLists.of(self.view.file.bytes_of("paths"), self.paths.starts, self.paths.ends)

    def text_of(self, path: str) -> bytes | None:
        """Return the content of a file, or None when there is none or it is matched by name only."""
        number = self._file_number(path)
        if number is None:
            return None
        return self.text_at(number)

    def text_at(self, number: int) -> bytes | None:
        """Return the content of a file by its number in the view, or None when it is matched by name only."""
        view = self.view
        if view.shard[number] == NO_SHARD:
            return None
        return self.shards[int(view.shard[number])].text(int(view.document[number]))

    def reason_of(self, path: str) -> str:
        """Return why a file is matched by name only; empty when its content is indexed, or it does not exist."""
        number = self._file_number(path)
        if number is None:
            return ""
        return REASONS[int(self.view.reason[number])]

    def missing_count(self, mask: BoolArray | None = None) -> int:
        """Count the files under the mask (None: all) whose content the clone lacks."""
        missing = self.view.reason == MISSING
        if mask is not None:
            missing &= mask
        return int(np.count_nonzero(missing))

    def _file_number(self, path: str) -> int | None:
        return self.view.file_number(path.encode())

    @functools.cached_property
    def missing_files(self) -> tuple[str, ...]:
        """The files whose content the clone lacks, each as path and blob id."""
        numbers = np.flatnonzero(self.view.reason == MISSING).tolist()
        return tuple(f"{self.view.path(number)} (blob {self.view.blob_id(number)})" for number in numbers)

    @functools.cached_property
    def lfs_pointers(self) -> Int64Array:
        """The numbers of files that stand for content in Git LFS: their text is the pointer, which is searched."""
        # Of an index, the attributes are read first: few repositories use LFS, and sizes alone make many candidates.
        if not isinstance(self.view, LooseView) and not self._uses_lfs():
            return np.array([], dtype=np.int64)

        sizes = self.view.file.array("size")
        fits = (sizes >= _POINTER_BYTES.start) & (sizes < _POINTER_BYTES.stop) & (self.view.shard != NO_SHARD)
        numbers = [n for n in np.flatnonzero(fits).tolist() if (self.text_at(n) or b"").startswith(_POINTER_START)]
        return np.array(numbers, dtype=np.int64)

    def _uses_lfs(self) -> bool:
        text, starts = self.view.path_text, self.view.path_start
        for match in _ATTRIBUTES.finditer(text):
            number = int(starts.searchsorted(match.start(), side="right")) - 1
            if text[match.start() - 1] in b"\n/" and b"filter=lfs" in (self.text_at(number) or b""):
                return True
        return False

    @functools.cached_property
    def shard_order(self) -> list[int]:
        """The shards that hold files, those first whose files lie between the files of another shard.

        In this order `FileSelection.lowest_file_from` rises early: the shards of the first build, which hold files in
        path order, come last, and a search in path order has little to hold back.
        """
        interleaved: list[int] = []
        ordered: list[int] = []
        last_file = -1
        for shard in range(len(self.shards)):
            placement = self.placement(shard)
            if not len(placement.files):
                continue

            # The first file of each document alone: blobs are written at their first path, and copies of a file may
            # lie anywhere after it.
            used_documents = placement.first_file[:-1][np.diff(placement.first_file) > 0]
            if int(placement.files.min()) > last_file:
                ordered.append(shard)
                last_file = int(placement.files[used_documents].max())
            else:
                interleaved.append(shard)

        return interleaved + ordered

    def placement(self, shard: int) -> DocumentPlacement:
        """Return which files have their content in a shard."""
        return self.remember(("placement", shard), lambda: self.view.placement(shard, self.shards[shard].documents))

    def passing_files(self, files: tuple[FileFilter, ...], languages: tuple[LanguageTest, ...]) -> BoolArray | None:
        """Return the files that pass all filters, or None without a filter."""
        mask: BoolArray | None = None
        for file_filter in files:
            mask = apply_filter(mask, self._matching_files(file_filter.pattern), negated=file_filter.negated)

        for language in languages:
            passing = languages_matching(self.view.languages, language)[self.view.language]
            mask = apply_filter(mask, passing, negated=language.negated)

        return mask

    def _matching_files(self, pattern: CompiledPattern) -> BoolArray:
        # The next query mostly has the same filters, and to match all paths takes as long as the rest of a small
        # search.
        return self.remember(("file", pattern), lambda: self.paths.match(pattern))


def languages_matching(languages: list[tuple[str, list[str]]], language_filter: LanguageTest) -> BoolArray:
    """Return which of the languages, each with all its names, pass a filter; one False for no languages."""
    if isinstance(language_filter, ShownLanguage):
        passing = [display_name in language_filter.names for display_name, _ in languages]
    else:
        passing = [_is_named(names, language_filter.name.casefold()) for _, names in languages]
    return np.array(passing or [False])


def _is_named(names: Sequence[str], folded_name: str) -> bool:
    return any(name.casefold() == folded_name for name in names)


def join_languages(members: Sequence[OpenedCommit]) -> tuple[list[tuple[str, list[str]]], Int64Array]:
    """Return one table of the languages of all members, and the language of each file as an index into it."""
    index_of: dict[tuple[str, tuple[str, ...]], int] = {}
    languages_of_files = []
    for member in members:
        # A commit without files has no languages, and its files none to look up.
        table = member.view.languages or [("", [])]
        indexes = [index_of.setdefault((name, tuple(names)), len(index_of)) for name, names in table]
        languages_of_files.append(np.array(indexes, dtype=np.int64)[member.view.language])

    languages = [(name, list(names)) for name, names in index_of]
    return languages, np.concatenate(languages_of_files)


def apply_filter(mask: BoolArray | None, passing: BoolArray, *, negated: bool) -> BoolArray:
    """Narrow a mask (None: everything) to the files that pass a filter."""
    if negated:
        passing = ~passing
    if mask is None:
        return passing
    return mask & passing
