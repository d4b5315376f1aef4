"""A shard: up to 64 MB of distinct documents in one file, with newlines, units and posting lists.

The content is a newline, then each document, each followed by a newline where it does not end in one. Documents are
numbered from 0 in the order in which they were added, lines from 0 through the whole shard: line *i* is what stands
after newline *i*, newline *i + 1* included. A unit is some whole lines of one document, about 16 KiB, more only where
one line is longer.

Documents that no file of the index holds, since git keeps them well enough: the changed files of a nearby revision.

A revision differs from the default one by a few files, each of which would be kept whole. They are read from the
repository when the revision is opened, and scanned without posting lists: some megabytes, some milliseconds.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.index.postings import (
    WINDOW_BITS,
    KeyExtractor,
    Keys,
    PairList,
    Postings,
    trigram_sections,
    window_bits,
    window_sections,
)
from sourcelight.engines.storage.sections import TAIL, Array, SectionFile, write_sections

UNIT_BYTES = 16 * 1024
SHARD_BYTES = 64 * 1024 * 1024
SHARD_UNITS = (1 << 16) - 1
BLOB_ID_BYTES = 20
LONG_LINE = 8 * UNIT_BYTES
LARGEST_DOCUMENT = 1 << 29
"""Bytes above which no setting makes a file searchable: a shard's units are numbered with 16 bits."""


def cut_units(text: bytes) -> list[int]:
    """Give the ends of the units of a document, ascending; none for an empty one."""
    ends: list[int] = []
    at, size = 0, len(text)
    while size - at > UNIT_BYTES + UNIT_BYTES // 2:
        newline = text.find(b"\n", at + UNIT_BYTES - 1)
        if newline < 0 or newline + 1 >= size:
            break
        at = newline + 1
        ends.append(at)
    return [*ends, size] if size else []


class ShardBuilder:
    """Gathers documents in memory until they are written as one shard; without a finder only `layout` is of use."""

    def __init__(self, finder: KeyExtractor | None) -> None:
        self._finder = finder
        self._parts: list[bytes] = [b"\n"]
        self._size = 1
        self._blobs: list[bytes] = []
        self._starts: list[int] = []
        self._sizes: list[int] = []
        self._first_units: list[int] = []
        self._unit_starts: list[int] = []
        self._trigrams = PairList()
        self._windows = PairList()

    @property
    def documents(self) -> int:
        """Documents gathered so far."""
        return len(self._blobs)

    @property
    def text_bytes(self) -> int:
        """Bytes gathered so far."""
        return self._size

    def has_room(self, size: int) -> bool:
        """Tell whether a document of `size` bytes still fits; an empty shard takes any."""
        if not self._blobs:
            return True
        return self._size + size <= SHARD_BYTES and len(self._unit_starts) + size // UNIT_BYTES + 2 < SHARD_UNITS

    def add(self, blob_id: bytes, text: bytes) -> int:
        """Add a document and give its number."""
        self._blobs.append(blob_id)
        self._starts.append(self._size)
        self._sizes.append(len(text))
        self._first_units.append(len(self._unit_starts))
        at = 0
        for end in cut_units(text):
            unit = len(self._unit_starts)
            self._unit_starts.append(self._size + at)
            if self._finder is not None:
                trigrams, windows = self._finder.keys(text[at:end])
                self._trigrams.add(unit, trigrams)
                self._windows.add(unit, windows)
            at = end
        self._parts.append(text)
        self._size += len(text)
        if text and not text.endswith(b"\n"):
            self._parts.append(b"\n")
            self._size += 1
        return len(self._blobs) - 1

    def layout(self) -> dict[str, Array]:
        """Give the sections of content and places, without posting lists; the builder must not be added to again."""
        content = np.frombuffer(b"".join(self._parts), np.uint8)
        self._parts.clear()
        newlines = np.flatnonzero(content == 10).astype(np.uint32)
        units = len(self._unit_starts)
        starts = np.array(self._starts, dtype=np.uint32)
        return {
            "content": content,
            "newlines": newlines,
            "blobs": np.frombuffer(b"".join(self._blobs), np.uint8),
            "doc_start": starts,
            "doc_size": np.array(self._sizes, dtype=np.uint32),
            "doc_line": np.searchsorted(newlines, starts).astype(np.uint32) - np.uint32(1),
            "doc_unit": np.array([*self._first_units, units], dtype=np.uint32),
            "unit_start": np.array([*self._unit_starts, self._size], dtype=np.uint32),
        }

    def write(self, folder: Path) -> str:
        """Write the shard into `folder` and give its file's name; the builder must not be used again."""
        sections = self.layout()
        units = len(self._unit_starts)
        sections |= trigram_sections(self._trigrams.take(), units)
        bits = window_bits(self._size)
        sections |= window_sections(self._windows.take(WINDOW_BITS - bits), bits)
        facts = {"documents": len(self._blobs), "units": units, "text_bytes": sum(self._sizes)}
        return write_sections(folder, "shard", facts, sections)


class Shard:
    """A shard, mapped; every array is read in place. Safe to share between threads.

    The small tables are checked on opening; content, newlines and posting lists when they are first used. Each raises
    `IndexDamaged` then.
    """

    def __init__(self, path: Path) -> None:
        self.file = SectionFile(path, "shard")
        self.name = path.name
        self.documents: int = self.file.facts["documents"]
        self.units: int = self.file.facts["units"]
        self.text_bytes: int = self.file.facts["text_bytes"]
        self.content_bytes = self.file.length("content")
        self.line_ends = self.file.items("newlines")
        self.doc_start = self.file.array("doc_start")
        self.doc_size = self.file.array("doc_size")
        self.doc_line = self.file.array("doc_line")
        self.doc_unit = self.file.array("doc_unit")
        self.unit_start = self.file.array("unit_start")

    @functools.cached_property
    def content(self) -> memoryview:
        """The text of all documents."""
        return self.file.bytes_of("content")

    @functools.cached_property
    def newlines(self) -> Array:
        """Where each newline of the content stands."""
        return self.file.array("newlines")

    @functools.cached_property
    def postings(self) -> Postings:
        """Which units hold a trigram or a window."""
        return Postings(self.file, self.units)

    @property
    def unchecked_bytes(self) -> int:
        """Bytes of content that were not compared with their checksum yet."""
        return 0 if self.file.is_checked("content") else self.content_bytes

    def is_unchanged(self) -> bool:
        """Tell whether its file is still the one that was opened, as it was."""
        return self.file.is_unchanged()

    def check_size(self) -> None:
        """Raise `IndexDamaged` where the file lost bytes since it was opened."""
        self.file.check_size()

    @functools.cached_property
    def unit_doc(self) -> NDArray[np.intp]:
        """The document of each unit."""
        return np.repeat(np.arange(self.documents), self.doc_unit[1:] - self.doc_unit[:-1])

    @functools.cached_property
    def has_long_lines(self) -> bool:
        """Whether a line is so long that a regular expression may take seconds over it."""
        return bool(self.units) and int(np.diff(self.unit_start).max()) > LONG_LINE

    @functools.cached_property
    def arrow_content(self) -> Any:
        """The content as an Arrow buffer, not copied."""
        import pyarrow as pa

        return pa.py_buffer(self.content)

    def blob_ids(self) -> list[bytes]:
        """Give the blob id of each document."""
        data = bytes(self.file.bytes_of("blobs"))
        return [data[at : at + BLOB_ID_BYTES] for at in range(0, len(data), BLOB_ID_BYTES)]

    def text(self, document: int) -> bytes:
        """Give a document's bytes."""
        start = int(self.doc_start[document])
        return bytes(self.content[start : start + int(self.doc_size[document])])

    def lines_of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the line of each offset; a newline belongs to the line it ends."""
        return np.searchsorted(self.newlines, offsets.astype(np.uint32)).astype(np.int64) - 1

    def docs_of(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the document of each offset."""
        return np.searchsorted(self.doc_start, offsets.astype(np.uint32), side="right").astype(np.int64) - 1


LOOSE_BYTES = 16 * 1024 * 1024
"""Bytes of text up to which the documents of a revision stay loose; more are indexed like any others."""

_PREFIX = "loose-"


def loose_name(blob_ids: Iterable[bytes]) -> str:
    """Name the loose documents of a view, by what they are."""
    return _PREFIX + hashlib.sha256(b"".join(blob_ids)).hexdigest()[:32]


def is_loose(name: str) -> bool:
    """Tell whether a shard of this name has no file."""
    return name.startswith(_PREFIX)


class _NoPostings(Postings):
    def __init__(self) -> None:
        pass

    def units_with(self, trigrams: Keys) -> None:  # noqa: ARG002 - the signature of the base
        return None


class LooseShard(Shard):
    """A shard in memory, every unit of which is a candidate.

    Parameters
    ----------
    name
        As `loose_name` gives it.
    documents
        Blob ids and texts, in the order of their numbers.
    """

    def __init__(self, name: str, documents: Sequence[tuple[bytes, bytes]]) -> None:
        builder = ShardBuilder(None)
        for blob_id, text in documents:
            builder.add(blob_id, text)
        sections: dict[str, Any] = builder.layout()
        self.name = name
        self.documents = len(documents)
        self.units = len(sections["unit_start"]) - 1
        self.text_bytes = sum(len(text) for _, text in documents)
        padded = sections["content"].tobytes() + b"\0" * TAIL
        self.content = memoryview(padded)[:-TAIL]
        self.content_bytes = len(self.content)
        self.newlines = sections["newlines"]
        self.line_ends = len(self.newlines)
        self.doc_start = sections["doc_start"]
        self.doc_size = sections["doc_size"]
        self.doc_line = sections["doc_line"]
        self.doc_unit = sections["doc_unit"]
        self.unit_start = sections["unit_start"]
        self.postings = _NoPostings()
        self._blob_ids = [blob_id for blob_id, _ in documents]

    @property
    def unchecked_bytes(self) -> int:
        """None: no file can be damaged."""
        return 0

    def is_unchanged(self) -> bool:
        """Say yes: there is no file."""
        return True

    def check_size(self) -> None:
        """Do nothing: there is no file."""

    def blob_ids(self) -> list[bytes]:
        """Give the blob id of each document."""
        return list(self._blob_ids)
