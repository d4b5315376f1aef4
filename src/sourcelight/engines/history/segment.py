"""A segment: the history of a run of commits, in one file that never changes.

Arrays (n commits, m changes, r rows, b blocks, d distinct lines):

====================  ======  ====================================================================================
name                  items   meaning
====================  ======  ====================================================================================
oid, tree             20 n    object names; `oid_order` sorts the commits by the first eight bytes of theirs
author, committer     n       numbers in the segment's `identities` (``name NUL address`` by `identity_starts`)
author_time …         n       seconds, at most `signatures.LAST_SECOND`; `author_offset` … minutes
parent_starts         n + 1   into `parents`, which are numbers in the whole history; -1 is unknown
messages              bytes   all messages in valid UTF-8, each followed by a newline; `message_starts` has n + 1
                              offsets
subjects              bytes   git's subjects (``%s``) in the same form, by `subject_starts`
change_starts         n + 1   into the changes
unread                n       1 if the changes couldn't be read
path, old_path …      m       numbers in `paths` (bytes by `path_starts`)
row_starts            m + 1   into `rows`; `block_starts` into the blocks
rows                  r       number of the distinct line; the highest bit is set if it was removed
lines                 bytes   the distinct lines, each followed by a newline; `line_starts` has d + 1 offsets
postings              r       rows sorted by their line; those of a line by `posting_starts` (d + 1)
block_row …           b       first row, number of the old and of the new line
====================  ======  ====================================================================================
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, Int64Array, UInt8Array
from sourcelight.engines.storage.sections import MemorySections, SectionFile

REMOVED = np.uint32(1 << 31)
LINE = np.uint32((1 << 31) - 1)


class Segment:
    """An opened segment; each array of the file is mapped on first use.

    Parameters
    ----------
    file
        Its sections, in a file or in memory.
    """

    def __init__(self, file: SectionFile | MemorySections) -> None:
        self.file = file
        metadata = self.file.metadata
        self.commits: int = metadata["commits"]
        self.changes: int = metadata["changes"]
        self.rows: int = metadata["rows"]
        self.blocks: int = metadata["blocks"]

    def __getitem__(self, name: str) -> AnyArray:
        return self.file.array(name)

    def bytes_of(self, name: str) -> memoryview:
        """Return the bytes of an array without a copy."""
        return self.file.bytes_of(name)

    def texts(self, name: str) -> list[bytes]:
        """Return the items of a byte section, cut by its section of starts."""
        raw = self.bytes_of(name)
        starts = self[f"{name[:-1]}_starts"].tolist()
        return [bytes(raw[start:end]) for start, end in pairwise(starts)]

    @cached_property
    def identities(self) -> list[tuple[bytes, bytes]]:
        """Names and addresses."""
        raw = bytes(self.bytes_of("identities"))
        pairs = [item.partition(b"\0") for item in raw.split(b"\n")[:-1]]
        return [(name, email) for name, _, email in pairs]

    @cached_property
    def line_starts(self) -> Int64Array:
        """Offsets of the distinct lines, one more than there are lines."""
        return self["line_starts"].astype(np.int64)

    @cached_property
    def change_of_row(self) -> NDArray[np.int32]:
        """The change of each row: four bytes per row, built by the first search for a common text."""
        starts = self["row_starts"].astype(np.int64)
        return np.repeat(np.arange(self.changes, dtype=np.int32), starts[1:] - starts[:-1])

    @cached_property
    def change_of_posting(self) -> NDArray[np.uint32]:
        """Twice the change of each posting's row, plus one if the line was removed; built like `change_of_row`."""
        postings = self["postings"]
        signed_changes = self.change_of_row.view(np.uint32)[postings] << 1 | self["rows"][postings] >> 31
        return np.asarray(signed_changes, np.uint32)

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """First eight bytes of the commit ids, in the order of `oid_order`."""
        return oid_keys(self["oid"].reshape(-1, 20))[self["oid_order"]]

    def find(self, oid: bytes) -> int | None:
        """Return the number of a commit in this segment by its 20 bytes, or None if it is not here."""
        key = np.frombuffer(oid[:8], ">u8").astype(np.uint64)[0]
        oids = self["oid"].reshape(-1, 20)
        order = self["oid_order"]
        position = int(np.searchsorted(self.keys, key))

        # Several ids may share eight bytes, so all commits with this key are compared in full.
        while position < len(order) and self.keys[position] == key:
            if oids[order[position]].tobytes() == oid:
                return int(order[position])
            position += 1

        return None


def open_segment(path: Path) -> Segment:
    """Open the file of a segment; raises as `SectionFile` does."""
    return Segment(SectionFile(path, "history"))


def oid_keys(oids: UInt8Array) -> NDArray[np.uint64]:
    """Return the first eight bytes of n x 20 bytes as numbers with the same order."""
    head = np.ascontiguousarray(oids[:, :8])
    return head.view(">u8").reshape(-1).astype(np.uint64)
