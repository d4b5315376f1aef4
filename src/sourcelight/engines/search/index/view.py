"""A view: the files of one commit, sorted by path, and where each one's content stands."""

from __future__ import annotations

import bisect
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.index.shard import BLOB_ID_BYTES
from sourcelight.engines.storage.sections import Array, SectionFile, write_sections

REASONS = ("", "binary", "too-large", "missing")
"""Why a file is matched by name only; the first stands for files with content."""

MISSING = REASONS.index("missing")
NO_SHARD = (1 << 16) - 1

Places = NDArray[np.intp]


@dataclass(slots=True)
class ViewContent:
    """What a view is made from: one entry for each file, in order of paths.

    `shard` is an index into `shards` or `NO_SHARD`, `reason` an index into `REASONS`, `language` one into `languages`,
    whose entries are (name to show, all names a filter may use).
    """

    commit: str
    paths: Sequence[bytes]
    blob_ids: bytes
    shards: Sequence[str]
    shard: Array
    document: Array
    reason: Array
    size: Array
    language: Array
    languages: Sequence[tuple[str, Sequence[str]]]
    facts: Mapping[str, Any] = field(default_factory=dict)


def write_view(folder: Path, content: ViewContent) -> str:
    """Write a view into `folder` and give its file's name."""
    lengths = np.array([len(path) + 1 for path in content.paths], dtype=np.int64)
    starts = np.concatenate(([1], 1 + np.cumsum(lengths))).astype(np.uint32)
    text = b"".join([b"\n", *(part for path in content.paths for part in (path, b"\n"))])
    text_bytes = int(content.size[content.reason == 0].sum())
    facts = {
        **content.facts,
        "commit": content.commit,
        "files": len(content.paths),
        "languages": [[name, list(names)] for name, names in content.languages],
        "shards": list(content.shards),
        "text_bytes": text_bytes,
    }
    sections: dict[str, Array] = {
        "paths": np.frombuffer(text, np.uint8),
        "path_start": starts,
        "blobs": np.frombuffer(content.blob_ids, np.uint8),
        "shard": content.shard.astype(np.uint16),
        "document": content.document.astype(np.uint32),
        "reason": content.reason.astype(np.uint8),
        "size": content.size.astype(np.int64),
        "language": content.language.astype(np.uint16),
    }
    return write_sections(folder, "view", facts, sections)


@dataclass(frozen=True, slots=True)
class DocumentPlacement:
    """Which files of a view have their content in one shard.

    `files` are sorted by document; those of document *d* are ``files[first[d]:first[d + 1]]``. `one_to_one` says that
    file order is document order, so that nothing needs sorting.
    """

    files: Places
    documents: Places
    first: Places
    one_to_one: bool


class CommitView:
    """A view, mapped."""

    def __init__(self, path: Path) -> None:
        self.file = SectionFile(path, "view")
        self.name = path.name
        facts = self.file.facts
        self.commit: str = facts["commit"]
        self.files: int = facts["files"]
        self.text_bytes: int = facts["text_bytes"]
        self.shards: list[str] = facts["shards"]
        self.languages: list[tuple[str, list[str]]] = [(name, names) for name, names in facts["languages"]]
        self.path_start = self.file.array("path_start")
        self.shard = self.file.array("shard")
        self.document = self.file.array("document")
        self.reason = self.file.array("reason")
        self.language = self.file.array("language")

    @functools.cached_property
    def path_text_is_raw(self) -> bool:
        """Whether no path has a newline in it."""
        data = np.frombuffer(self.file.bytes_of("paths"), np.uint8)
        return int(np.count_nonzero(data == 10)) == self.files + 1

    @functools.cached_property
    def path_text(self) -> memoryview | bytes:
        """All paths, each after a newline; a newline within a path is shown as another control character."""
        text = self.file.bytes_of("paths")
        if self.path_text_is_raw:
            return text
        data = np.frombuffer(text, np.uint8)
        changed = data.copy()
        changed[data == 10] = 1
        changed[self.path_start.astype(np.intp) - 1] = 10
        return changed.tobytes()

    def path(self, number: int) -> str:
        """Give a file's path, invalid UTF-8 as U+FFFD."""
        text = self.file.bytes_of("paths")
        return bytes(text[int(self.path_start[number]) : int(self.path_start[number + 1]) - 1]).decode(errors="replace")

    def place_of(self, path: bytes) -> int | None:
        """Give the number of the file at a path, None when there is none."""
        text, starts = self.file.bytes_of("paths"), self.path_start

        def at(number: int) -> bytes:
            return bytes(text[int(starts[number]) : int(starts[number + 1]) - 1])

        found = bisect.bisect_left(range(self.files), path, key=at)
        return found if found < self.files and at(found) == path else None

    def blob_id(self, number: int) -> str:
        """Give the id of a file's blob, in hexadecimal digits."""
        at = number * BLOB_ID_BYTES
        return bytes(self.file.bytes_of("blobs")[at : at + BLOB_ID_BYTES]).hex()

    def blob_ids(self) -> list[bytes]:
        """Give the blob id of each file."""
        data = bytes(self.file.bytes_of("blobs"))
        return [data[at : at + BLOB_ID_BYTES] for at in range(0, len(data), BLOB_ID_BYTES)]

    def placement(self, shard: int, documents: int) -> DocumentPlacement:
        """Tell which files have their content in the shard with that index, which has so many documents."""
        files = np.flatnonzero(self.shard == shard)
        held = self.document[files].astype(np.intp)
        one_to_one = bool(np.all(held[1:] > held[:-1])) if len(held) > 1 else True
        if not one_to_one:
            order = np.argsort(held, kind="stable")
            files, held = files[order], held[order]
        first = np.searchsorted(held, np.arange(documents + 1))
        return DocumentPlacement(files, held, first, one_to_one)
