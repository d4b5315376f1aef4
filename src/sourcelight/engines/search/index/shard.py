"""A shard: up to 64 MB of distinct documents in one file, with newlines, units and posting lists.

The content is a newline, then each document, followed by a newline where it does not end in one. Documents are numbered
in the order of `add`, lines through the whole shard: line *i* is the text after newline *i*, newline *i + 1* included.
A unit is a run of whole lines of one document, about 16 KiB, more only where one line is longer.

A *loose* shard has no file. A revision differs from HEAD by a few files, which git stores well enough: they are read
when the revision is opened, and scanned without posting lists (some megabytes, a few milliseconds).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray
from sourcelight.engines.search.index.document_buffer import UNIT_BYTES, DocumentBuffer, cut_units
from sourcelight.engines.search.index.posting_builder import PostingBuilder
from sourcelight.engines.search.index.postings import Postings
from sourcelight.engines.search.index.quads import QuadBits
from sourcelight.engines.storage.section_blocks import SectionBlocks
from sourcelight.engines.storage.sections import SectionFile, write_sections

SHARD_BYTES = 64 * 1024 * 1024
SHARD_UNITS = (1 << 16) - 1  # posting lists are uint16
BLOB_ID_BYTES = 20

LONG_UNIT_BYTES = 8 * UNIT_BYTES
"""Bytes of a unit above which it holds one long line, over which a regular expression may take seconds."""

MAX_DOCUMENT_BYTES = 1 << 29
"""Bytes above which no setting makes a file searchable, because a shard numbers its units with 16 bits."""

MAX_LOOSE_BYTES = 16 * 1024 * 1024
"""Bytes of text up to which the documents of a revision stay loose; beyond it they are indexed."""

_LOOSE_PREFIX = "loose-"

BY_BLOCK = ("content", "newlines", "tri_lists", "dense_bits", "key_starts", "key_lists", "gram_lists", "quad_bits")
"""Sections of which most searches read little."""


class ShardBuilder:
    """Collects documents in memory and writes them as one shard."""

    def __init__(self) -> None:
        # With a newline first, every line is between two newlines, and look-ups need no special case.
        self._blocks: list[bytes] = [b"\n"]
        self._size = 1
        self._blobs: list[bytes] = []
        self._starts: list[int] = []
        self._sizes: list[int] = []
        self._first_units: list[int] = []
        self._unit_starts: list[int] = []
        self._postings = PostingBuilder()

    @property
    def documents(self) -> int:
        """Documents added so far."""
        return len(self._blobs)

    @property
    def text_bytes(self) -> int:
        """Bytes added so far."""
        return self._size

    def has_room(self, size: int) -> bool:
        """Return whether a document of `size` bytes still fits; an empty shard takes any."""
        if not self._blobs:
            return True
        # A document has at most size // UNIT_BYTES + 1 units, since each but the last has UNIT_BYTES or more.
        return self._size + size <= SHARD_BYTES and len(self._unit_starts) + size // UNIT_BYTES + 2 < SHARD_UNITS

    def add(self, blob_id: bytes, text: bytes) -> int:
        """Add a document and return its number."""
        self._blobs.append(blob_id)
        self._starts.append(self._size)
        self._sizes.append(len(text))
        self._first_units.append(len(self._unit_starts))
        start = 0
        for end in cut_units(0, len(text), functools.partial(text.find, b"\n")):
            self._unit_starts.append(self._size + start)
            self._postings.add(text[start:end])
            start = end

        self._blocks.append(text)
        self._size += len(text)

        # Every document ends with a newline here, so no line, and no match of `$`, runs over into the next document.
        # `_sizes` keeps the true size.
        if text and not text.endswith(b"\n"):
            self._blocks.append(b"\n")
            self._size += 1

        return len(self._blobs) - 1

    def write(self, folder: Path) -> str:
        """Write the shard into `folder` and return the name of its file; nothing can be added afterwards."""
        content = np.frombuffer(b"".join(self._blocks), np.uint8)
        self._blocks.clear()
        units = len(self._unit_starts)
        newlines, doc_start = _newlines_of(content), np.array(self._starts, dtype=np.uint32)
        sections: dict[str, AnyArray | list[AnyArray]] = {
            "content": content,
            "newlines": newlines,
            "blobs": np.frombuffer(b"".join(self._blobs), np.uint8),
            "doc_start": doc_start,
            "doc_size": np.array(self._sizes, dtype=np.uint32),
            "doc_line": _line_before(newlines, doc_start),
            "doc_unit": np.array([*self._first_units, units], dtype=np.uint32),
            # A unit ends where the next begins, so a newline that was added after a document is in its last unit.
            "unit_start": np.array([*self._unit_starts, self._size], dtype=np.uint32),
            **self._postings.sections(self._size),
        }
        metadata = {"documents": len(self._blobs), "units": units, "text_bytes": sum(self._sizes)}
        by_block = [name for name in BY_BLOCK if name in sections]
        return write_sections(folder, "shard", metadata, sections, by_block=by_block)


def _newlines_of(content: AnyArray) -> AnyArray:
    return np.flatnonzero(content == 10).astype(np.uint32)


def _line_before(newlines: AnyArray, starts: AnyArray) -> AnyArray:
    """Return the number of the newline before each offset: a document begins right after one."""
    return np.searchsorted(newlines, starts).astype(np.uint32) - np.uint32(1)


class Shard:
    """A memory-mapped shard. Safe to share between threads.

    Small tables are checked against their checksums on opening; content, newlines and posting lists by block, on first
    use, which may raise `IndexDamaged`.
    """

    def __init__(self, path: Path) -> None:
        self.file = SectionFile(path, "shard")
        self.name = path.name
        self.documents: int = self.file.metadata["documents"]
        self.units: int = self.file.metadata["units"]
        self.text_bytes: int = self.file.metadata["text_bytes"]
        self.content_bytes = self.file.length("content")
        self.doc_start = self.file.array("doc_start")
        self.doc_size = self.file.array("doc_size")
        _ = self.doc_line  # a small table
        self.doc_unit = self.file.array("doc_unit")
        self.unit_start = self.file.array("unit_start")

    @functools.cached_property
    def content(self) -> SectionBlocks:
        """The text of all documents."""
        return self.file.blocks("content")

    @functools.cached_property
    def newlines(self) -> SectionBlocks:
        """Offset of each newline of the content."""
        return self.file.blocks("newlines")

    @functools.cached_property
    def line_ends(self) -> int:
        """The number of newlines."""
        return self.file.items("newlines")

    @functools.cached_property
    def doc_line(self) -> AnyArray:
        """Number of the newline before each document."""
        return self.file.array("doc_line")

    @functools.cached_property
    def postings(self) -> Postings:
        """The posting lists."""
        return Postings(self.file, self.units)

    @functools.cached_property
    def quads(self) -> QuadBits | None:
        """Bitmaps of quads; None in shards of earlier versions, and where they would take too much of the text."""
        return QuadBits(self.file, self.units) if "quad_bits" in self.file else None

    def is_unchanged(self) -> bool:
        """Return whether the file on disk is still the opened file, unchanged."""
        return self.file.is_unchanged()

    def check_size(self) -> None:
        """Raise `IndexDamaged` when the file has been truncated."""
        self.file.check_size()

    @functools.cached_property
    def unit_doc(self) -> NDArray[np.intp]:
        """The document of each unit."""
        return np.repeat(np.arange(self.documents), self.doc_unit[1:] - self.doc_unit[:-1])

    @functools.cached_property
    def arrow_content(self) -> Any:
        """The content as an Arrow buffer, not copied; its reader must check what it reads."""
        import pyarrow as pa

        return pa.py_buffer(self.content.unchecked)

    def blob_ids(self) -> list[bytes]:
        """Return the blob id of each document."""
        data = bytes(self.file.bytes_of("blobs"))
        return [data[offset : offset + BLOB_ID_BYTES] for offset in range(0, len(data), BLOB_ID_BYTES)]

    def text(self, document: int) -> bytes:
        """Return the bytes of a document."""
        start = int(self.doc_start[document])
        return self.content.slice(start, start + int(self.doc_size[document])).tobytes()

    def lines(self, document: int, first: int, last: int) -> memoryview:
        """Return some lines of a document, the last one included; both count from 1."""
        # `doc_line` is the newline before the first line of the document.
        line = int(self.doc_line[document])
        start, end = self.newlines.take(np.array([line + first - 1, line + last])).tolist()
        return self.content.slice(start + 1, end).data


def loose_name(blob_ids: Iterable[bytes]) -> str:
    """Return a name for the loose documents of a view, made from their blob ids."""
    return _LOOSE_PREFIX + hashlib.sha256(b"".join(blob_ids)).hexdigest()[:32]


def is_loose(name: str) -> bool:
    """Return whether a shard of this name has no file."""
    return name.startswith(_LOOSE_PREFIX)


class _NoPostings(Postings):
    def __init__(self) -> None:
        pass

    def units_with(self, trigrams: NDArray[np.uint32]) -> None:  # noqa: ARG002 - the signature of the base
        return None


class LooseShard(Shard):
    """A shard in memory without posting lists: all of its units are candidates.

    Parameters
    ----------
    name
        From `loose_name`.
    documents
        What it holds; nothing can be added to them afterwards.
    """

    def __init__(self, name: str, documents: DocumentBuffer) -> None:
        sections: dict[str, Any] = documents.sections()
        self.name = name
        self.documents = len(documents.blob_ids)
        self.units = len(sections["unit_start"]) - 1
        self.text_bytes = documents.text_bytes
        self.content = SectionBlocks(sections["content"])
        self.content_bytes = len(self.content)
        self.doc_start = sections["doc_start"]
        self.doc_size = sections["doc_size"]
        self.doc_unit = sections["doc_unit"]
        self.unit_start = sections["unit_start"]
        self.postings = _NoPostings()
        self.quads = None
        self._blob_ids = documents.blob_ids

    # Made on first use: a search without a match needs no lines, and finding them takes longer than the scan.
    @functools.cached_property
    def newlines(self) -> SectionBlocks:
        """Offset of each newline of the content."""
        return SectionBlocks(_newlines_of(self.content.unchecked))

    @functools.cached_property
    def line_ends(self) -> int:
        """The number of newlines."""
        return len(self.newlines)

    @functools.cached_property
    def doc_line(self) -> AnyArray:
        """Number of the newline before each document."""
        return _line_before(self.newlines.unchecked, self.doc_start)

    def is_unchanged(self) -> bool:
        """Return True: there is no file."""
        return True

    def check_size(self) -> None:
        """Do nothing: this shard has no file."""

    def blob_ids(self) -> list[bytes]:
        """Return the blob id of each document."""
        return list(self._blob_ids)
