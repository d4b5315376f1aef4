"""A commit without an index: its files in file ranges of some megabytes, and the texts that were read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.batches import CommitId
from sourcelight.engines.search.index.build import document_limit, languages_of_paths
from sourcelight.engines.search.index.document_buffer import DocumentBuffer
from sourcelight.engines.search.index.shard import LooseShard, loose_name
from sourcelight.engines.search.index.view import NO_SHARD, REASONS, LooseView, ViewContent
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.repos import ObjectReader, Repository, packed_objects
from sourcelight.repos.processes.file_list import LACKED, FileList, list_files

_MIN_BUDGET_BYTES, _MAX_BUDGET_BYTES = 128 << 20, 2 << 30
_MEMORY_FRACTION = 8
"""Fraction of the memory of this machine that contents may take, within these bounds."""

_BINARY, _TOO_LARGE, _MISSING = (REASONS.index(reason) for reason in ("binary", "too-large", "missing"))

_NO_TEXT, _UNREADABLE = -1, -2
"""Entries of `RangeTexts.numbers` for contents that aren't documents."""

_NOT_READ = -3
"""Number of a document that was not read."""

ReadSizes = Callable[[bytes], int | None]


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Sizes of what is read at once, and from which git reads it.

    Parameters
    ----------
    first_bytes, max_bytes
        Bytes of the first file range, so that its rows come soon, and of the largest; each is twice the one before.
    max_files
        Files of a range.
    min_git_objects
        Objects of a repository below which reading its directories in this process takes less time than starting git.
    min_git_bytes
        Bytes below which reading contents in this process takes less time than starting git.
    """

    first_bytes: int = 512 << 10
    max_bytes: int = 16 << 20
    max_files: int = 4096
    min_git_objects: int = 10_000
    min_git_bytes: int = 1 << 20


DEFAULT_READS = ReadLimits()


class RangeTexts:
    """Contents of a file range that were read: documents, and binary or unreadable contents.

    Parameters
    ----------
    sizes
        Bytes of each content that will be read, by blob id.
    """

    def __init__(self, sizes: Mapping[bytes, int]) -> None:
        self.sizes = sizes
        self.documents = DocumentBuffer(sum(sizes.values()), len(sizes))
        self.numbers: dict[bytes, int] = {}
        """The document of each content by blob id, or why there is none."""

    def add(self, blob_id: bytes, content: bytes | memoryview | None) -> None:
        """Add a content of `sizes`, each once; None for unreadable content."""
        if content is None or len(content) != self.sizes[blob_id]:
            self.numbers[blob_id] = _UNREADABLE
        elif self.documents.add(blob_id, content):
            self.numbers[blob_id] = len(self.documents.blob_ids) - 1
        else:
            self.numbers[blob_id] = _NO_TEXT


@dataclass(slots=True)
class FileRange:
    """Files of a commit, ``first:end`` in path order, and the size of each (`LACKED`: the repository lacks it).

    `snapshot` are all of these files with their texts, once they were read.
    """

    first: int
    end: int
    sizes: list[int]
    snapshot: OpenedCommit | None = None

    @property
    def text_bytes(self) -> int:
        """Bytes of all files."""
        return sum(size for size in self.sizes if size > 0)


class UnindexedCommit:
    """The files of one commit that has no index. Safe to share between threads.

    Parameters
    ----------
    target
        The repository and the commit.
    commit
        The commit, 40 hex digits.
    max_file_size
        Bytes above which a file is matched by its name only.
    limits
        Sizes of its file ranges.

    Raises
    ------
    RepositoryError
        If the commit can't be read, or its tree exceeds the limits.
    """

    def __init__(
        self, target: Target, commit: CommitId, max_file_size: int, limits: ReadLimits = DEFAULT_READS
    ) -> None:
        self.limits = limits
        self.repository = target.repository
        self.commit = commit
        self.limit = document_limit(max_file_size)
        files = _list_files(target.repository, commit, limits.min_git_objects)
        self._paths, self._ids = files.paths, files.blob_ids
        self._sizes = files.sizes
        self.text_bytes = sum(size for size in files.sizes if size is not None and LACKED < size <= self.limit)
        """Bytes of all files that can be searched, if git listed them; else 0."""
        self._language, self._languages = languages_of_paths(self._paths)
        self._file_ranges: list[FileRange] = []
        self._guard = threading.Lock()
        self.names = self._open(FileRange(0, len(self._ids), [0] * len(self._ids)), RangeTexts({}))
        """All files without their contents, for filters by path and language."""

    def file_ranges(self) -> Iterator[FileRange]:
        """Yield the file ranges in path order; each is cut on first use, because reading sizes takes time."""
        number = 0
        with ObjectReader(self.repository) as reader:
            while True:
                with self._guard:
                    if number == len(self._file_ranges):
                        file_range = self._measure_range(reader.size)
                        if file_range is None:
                            return
                        self._file_ranges.append(file_range)
                    file_range = self._file_ranges[number]
                yield file_range
                number += 1

    def sizes(self, file_range: FileRange, mask: BoolArray | None) -> dict[bytes, int]:
        """Return the contents of a file range that can be searched, with their sizes; `mask`: of these files alone."""
        files = range(file_range.first, file_range.end)
        limit, ids = self.limit, self._ids
        return {
            ids[file]: size
            for index, (file, size) in enumerate(zip(files, file_range.sizes, strict=True))
            if 0 <= size <= limit and (mask is None or mask[index])
        }

    def files(self, file_range: FileRange) -> Iterator[tuple[bytes, bytes]]:
        """Return path and blob id of each file of a file range, in path order."""
        files = slice(file_range.first, file_range.end)
        return zip(self._paths[files], self._ids[files], strict=True)

    def open(self, file_range: FileRange, texts: RangeTexts | None = None) -> OpenedCommit:
        """Return a file range with these texts; files whose contents aren't there must not be searched."""
        return self._open(file_range, RangeTexts({}) if texts is None else texts)

    def open_file(self, path: bytes) -> OpenedCommit | None:
        """Return one file with its text, as file 0, or None when there is none at the path."""
        number = self.names.view.file_number(path)
        if number is None:
            return None

        blob_id = self._ids[number]
        with ObjectReader(self.repository) as reader:
            size = reader.size(blob_id)
            content = reader.read(blob_id, self.limit)

        file_range = FileRange(number, number + 1, [LACKED if size is None else size])
        texts = RangeTexts(self.sizes(file_range, None))
        if blob_id in texts.sizes:
            texts.add(blob_id, content)

        return self.open(file_range, texts)

    def _measure_range(self, read_size: ReadSizes) -> FileRange | None:
        first = self._file_ranges[-1].end if self._file_ranges else 0
        allowed = min(self.limits.first_bytes << min(len(self._file_ranges), 16), self.limits.max_bytes)
        sizes: list[int] = []
        remaining = allowed

        # Large files are not read, so they fill no file range.
        files = slice(first, first + self.limits.max_files)
        for blob_id, listed_size in zip(self._ids[files], self._sizes[files], strict=True):
            size = read_size(blob_id) if listed_size is None else listed_size
            sizes.append(LACKED if size is None else size)
            if size is not None and LACKED < size <= self.limit:
                remaining -= size
                if remaining <= 0:
                    break

        return FileRange(first, first + len(sizes), sizes) if sizes else None

    def _open(self, file_range: FileRange, texts: RangeTexts) -> OpenedCommit:
        ids = self._ids[file_range.first : file_range.end]
        size = np.array(file_range.sizes, dtype=np.int64)

        # A content that several files of a file range have is one document, as in an index.
        number_of, is_read = texts.numbers.get, bool(texts.numbers)
        document = np.array([number_of(blob_id, _NOT_READ) for blob_id in ids] if is_read else [_NOT_READ] * len(ids))
        reason = np.zeros(len(ids), dtype=np.uint8)
        reason[document == _NO_TEXT] = _BINARY
        reason[size > self.limit] = _TOO_LARGE
        reason[(size < 0) | (document == _UNREADABLE)] = _MISSING
        has_text = document >= 0
        blob_ids = texts.documents.blob_ids
        name = loose_name(blob_ids)
        view = LooseView(
            ViewContent(
                commit=self.commit,
                paths=self._paths[file_range.first : file_range.end],
                blob_ids=b"".join(ids),
                shards=[name] if blob_ids else [],
                shard=np.where(has_text, 0, NO_SHARD),
                document=np.where(has_text, document, 0),
                reason=reason,
                size=size,
                language=self._language[file_range.first : file_range.end],
                languages=self._languages,
            )
        )
        return OpenedCommit(view, [LooseShard(name, texts.documents)] if blob_ids else [])


class UnindexedCommits:
    """Commits that are searched without an index, with texts that were read, until they are indexed.

    Safe to share between threads.

    Parameters
    ----------
    max_bytes
        Bytes of text to keep; each search rereads the rest. None: an eighth of the memory of this
        machine, and at most 2 GiB.
    limits
        Sizes of their file ranges.
    """

    def __init__(self, max_bytes: int | None = None, limits: ReadLimits = DEFAULT_READS) -> None:
        self._limits = limits
        self._max_bytes = _budget_bytes() if max_bytes is None else max_bytes
        self._bytes: dict[tuple[str, str], int] = {}
        self._commits: dict[tuple[str, str], UnindexedCommit] = {}
        self._guard = threading.Lock()

    def get(self, target: Target, commit: CommitId, max_file_size: int) -> UnindexedCommit:
        """Return a commit of a target; raises as `UnindexedCommit`."""
        key = target.repository.key, commit
        cached = self._commits.get(key)
        if cached is None:
            read = UnindexedCommit(target, commit, max_file_size, self._limits)
            with self._guard:
                cached = self._commits.setdefault(key, read)
        return cached

    def keep(self, commit: UnindexedCommit, file_range: FileRange, snapshot: OpenedCommit) -> None:
        """Keep the texts of a whole file range for later searches, if there is room."""
        key = commit.repository.key, commit.commit
        with self._guard:
            if file_range.snapshot is None and self._commits.get(key) is commit:
                size = file_range.text_bytes
                # No eviction: every search reads all file ranges in one order, so the oldest is the next one wanted.
                if sum(self._bytes.values()) + size <= self._max_bytes:
                    self._bytes[key] = self._bytes.get(key, 0) + size
                    file_range.snapshot = snapshot

    def forget(self, target: Target, commit: CommitId) -> None:
        """Drop a commit, which has an index now."""
        if self._commits:
            with self._guard:
                self._commits.pop((target.repository.key, commit), None)
                self._bytes.pop((target.repository.key, commit), None)

    def clear(self) -> None:
        """Drop all commits."""
        with self._guard:
            self._commits.clear()
            self._bytes.clear()


def _list_files(repository: Repository, commit: CommitId, min_git_objects: int) -> FileList:
    """List the files of a commit; raises `RepositoryError`."""
    is_large = repository.kind == "git" and packed_objects(repository) >= min_git_objects
    files = list_files(repository, commit) if is_large else None
    if files is None:
        with ObjectReader(repository) as reader:
            tree = reader.tree(commit)
        files = FileList(tree.paths, [tree.blob_id(index) for index in range(len(tree))], [None] * len(tree))
    return files


def _budget_bytes() -> int:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _MIN_BUDGET_BYTES
    return max(_MIN_BUDGET_BYTES, min(memory // _MEMORY_FRACTION, _MAX_BUDGET_BYTES))
