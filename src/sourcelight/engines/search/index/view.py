"""A view: the files of one commit, sorted by path, and the shard and document of each."""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sourcelight.core.arrays import AnyArray, Int64Array
from sourcelight.engines.search.index.shard import BLOB_ID_BYTES
from sourcelight.engines.storage.sections import MemorySections, SectionFile, write_sections

REASONS = ("", "binary", "too-large", "missing")
"""Reasons why a file matches only by name; the first is for files with content. Stored as numbers: append only."""

MISSING = REASONS.index("missing")
NO_SHARD = (1 << 16) - 1
_REPLACEMENT = "\ufffd".encode()


@dataclass(slots=True)
class ViewContent:
    """The content of a view: one entry per file, in path order.

    `shard` is an index into `shards` or `NO_SHARD`, `reason` an index into `REASONS`, `language` one into `languages`,
    whose entries are (name to show, all names a filter may use).
    """

    commit: str
    paths: Sequence[bytes]
    blob_ids: bytes
    shards: Sequence[str]
    shard: AnyArray
    document: AnyArray
    reason: AnyArray
    size: AnyArray
    language: AnyArray
    languages: Sequence[tuple[str, Sequence[str]]]
    metadata: Mapping[str, Any] = field(default_factory=dict)


def write_view(folder: Path, content: ViewContent) -> str:
    """Write a view into `folder` and return the name of its file."""
    return write_sections(folder, "view", *_sections_of(content))


def _sections_of(content: ViewContent) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the fields and sections of a view."""
    # The text begins with a newline, so the first path is at 1; each path has a newline after it.
    lengths = np.array([len(path) + 1 for path in content.paths], dtype=np.int64)
    starts = np.concatenate(([1], 1 + np.cumsum(lengths))).astype(np.uint32)
    text = b"".join([b"\n", *(part for path in content.paths for part in (path, b"\n"))])
    text_bytes = int(content.size[content.reason == 0].sum())
    metadata = {
        **content.metadata,
        "commit": content.commit,
        "files": len(content.paths),
        "languages": [[name, list(names)] for name, names in content.languages],
        "shards": list(content.shards),
        "text_bytes": text_bytes,
    }
    sections: dict[str, AnyArray] = {
        "paths": np.frombuffer(text, np.uint8),
        "path_start": starts,
        "blobs": np.frombuffer(content.blob_ids, np.uint8),
        # Types are part of the format on disk: a change needs a new FORMAT, or older indexes are misread.
        "shard": content.shard.astype(np.uint16),
        "document": content.document.astype(np.uint32),
        "reason": content.reason.astype(np.uint8),
        "size": content.size.astype(np.int64),
        "language": content.language.astype(np.uint16),
    }
    return metadata, sections


@dataclass(frozen=True, slots=True)
class DocumentPlacement:
    """The files of a view whose content is in one shard.

    `files` are sorted by document; document *d* has ``files[first_file[d]:first_file[d + 1]]``.
    """

    files: Int64Array
    documents: Int64Array
    first_file: Int64Array


class CommitView:
    """A memory-mapped view. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self._read(SectionFile(path, "view"))

    def _read(self, file: SectionFile | MemorySections) -> None:
        self.file = file
        self.name = file.path.name
        metadata = self.file.metadata
        self.commit: str = metadata["commit"]
        self.files: int = metadata["files"]
        self.text_bytes: int = metadata["text_bytes"]
        self.shards: list[str] = metadata["shards"]
        self.languages: list[tuple[str, list[str]]] = [(name, names) for name, names in metadata["languages"]]
        self.path_start = self.file.array("path_start")
        self.shard = self.file.array("shard")
        self.document = self.file.array("document")
        self.reason = self.file.array("reason")
        self.language = self.file.array("language")

    @functools.cached_property
    def path_text_is_raw(self) -> bool:
        """Whether no path contains a newline."""
        data = np.frombuffer(self.file.bytes_of("paths"), np.uint8)
        # One newline before the first path and one after each; any other is within a path.
        return int(np.count_nonzero(data == 10)) == self.files + 1

    @functools.cached_property
    def path_text(self) -> memoryview | bytes:
        """All paths, each after a newline; a newline within a path is replaced by the control character 1."""
        text = self.file.bytes_of("paths")
        if self.path_text_is_raw:
            return text

        data = np.frombuffer(text, np.uint8)
        text_array = data.copy()
        text_array[data == 10] = 1

        # All newlines were replaced: those between paths come back. The length stays, so offsets hold for both texts.
        text_array[self.path_start.astype(np.intp) - 1] = 10
        return text_array.tobytes()

    def path_lines(self) -> list[bytes]:
        """Return the path of each file, a newline within a path as in `path_text`."""
        return bytes(self.path_text).split(b"\n")[1 : self.files + 1]

    def path_texts(self) -> list[str]:
        """Return `path_lines` as texts, invalid UTF-8 as U+FFFD."""
        # One decoding for all paths is far cheaper than one for each.
        return bytes(self.path_text).decode("utf-8", "replace").split("\n")[1 : self.files + 1]

    def path(self, number: int) -> str:
        """Return the path of a file, invalid UTF-8 as U+FFFD."""
        text = self.file.bytes_of("paths")
        return bytes(text[int(self.path_start[number]) : int(self.path_start[number + 1]) - 1]).decode(errors="replace")

    def file_number(self, path: bytes) -> int | None:
        """Return the number of the file at a path, or None when there is none.

        A path returned by `path` also finds its file: the first file with this text as its path.
        """
        text, starts = self.file.bytes_of("paths"), self.path_start

        def path_at(number: int) -> bytes:
            return bytes(text[int(starts[number]) : int(starts[number + 1]) - 1])

        # Paths are sorted bytewise, as in `FileTree`; a binary search reads few of them.
        number = bisect.bisect_left(range(self.files), path, key=path_at)
        if number < self.files and path_at(number) == path:
            return number

        return self._file_number_of_text(path) if _REPLACEMENT in path else None

    def _file_number_of_text(self, path: bytes) -> int | None:
        # One U+FFFD stands for one to three bytes, all of them above 127.
        parts = (re.escape(part.replace(b"\n", b"\1")) for part in path.split(_REPLACEMENT))
        text = path.decode("utf-8", "replace")
        for match in re.finditer(rb"(?<=\n)" + rb"[\x80-\xff]{1,3}".join(parts) + rb"(?=\n)", self.path_text):
            number = int(np.searchsorted(self.path_start, match.start()))
            if self.path(number) == text:
                return number
        return None

    def blob_id(self, number: int) -> str:
        """Return the blob id of a file, as 40 hexadecimal digits."""
        offset = number * BLOB_ID_BYTES
        return bytes(self.file.bytes_of("blobs")[offset : offset + BLOB_ID_BYTES]).hex()

    def blob_ids(self) -> list[bytes]:
        """Return the blob id of each file."""
        data = bytes(self.file.bytes_of("blobs"))
        return [data[offset : offset + BLOB_ID_BYTES] for offset in range(0, len(data), BLOB_ID_BYTES)]

    def placement(self, shard: int, documents: int) -> DocumentPlacement:
        """Return the files whose content is in a shard of `documents` documents."""
        files = np.flatnonzero(self.shard == shard)
        document_of_file = self.document[files].astype(np.intp)
        if not np.all(document_of_file[1:] > document_of_file[:-1]):
            # A blob may have several paths, and a delta shard has any order. Stable: files of one document stay in path
            # order.
            order = np.argsort(document_of_file, kind="stable")
            files, document_of_file = files[order], document_of_file[order]

        first_file = np.searchsorted(document_of_file, np.arange(documents + 1))
        return DocumentPlacement(files=files, documents=document_of_file, first_file=first_file)


class LooseView(CommitView):
    """A view in memory: of a commit, or of some of its files, that no index has.

    Parameters
    ----------
    content
        The entries.
    """

    def __init__(self, content: ViewContent) -> None:
        # The same sections as on disk, so that all readers of views take it.
        self._read(MemorySections(f"view of {content.commit}", *_sections_of(content)))
