r"""Term tables: the chunks of documents that have a term, how often, and whether a definition there has it as its name.

Terms are one sorted text with a newline after each; the entries of a term are adjacent, by chunk. Documents have the
numbers of the shard beside the table. With two documents, of two chunks and of one:

    terms         drift\n gaug\n remov\n
    term_first    0, 2, 3, 5            entries 0 and 1 are those of "drift", 2 that of "gaug", 3 and 4 of "remov"
    chunk         0, 2, 1, 0, 2         the chunk of each entry, ascending within a term
    times         3, 1, 1, 2, 1         how often it has the term
    weight        2, 0, 0, 1, 0         a definition named "drift" begins in chunk 0: two halves
    doc_chunk     0, 2, 3               the first chunk of each document, and the end
"""

from __future__ import annotations

import bisect
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, Int64Array, UInt8Array
from sourcelight.engines.search.ranking.terms import tokenizer
from sourcelight.engines.symbols.table import KEY_BYTES, SectionSource

FORMAT = 1
"""Raised by one whenever older tables can't be read by this code."""

_BLOCK_TERMS = 64
"""Terms of a block: every 64th is in memory for the binary search, and a block is searched as text."""


def rules() -> str:
    """Return the name of the current rules; a table made by other rules is built again."""
    return f"{FORMAT}.{tokenizer.RULES}"


class Entries(NamedTuple):
    """Terms in chunks, by row: the numbers of both, how often the term occurs, and its weight as a defined name."""

    terms: Int64Array
    chunks: Int64Array
    times: Int64Array
    weights: Int64Array

    def take(self, order: Int64Array) -> Entries:
        """Return the rows at some positions, in their order."""
        return Entries(self.terms[order], self.chunks[order], self.times[order], self.weights[order])


class TermEntries(NamedTuple):
    """The entries of one term.

    Attributes
    ----------
    chunks
        The chunks that have the term, ascending.
    counts
        How often each of them has it.
    half_weights
        The weight of each as the home of a definition whose name has the term, in halves; 0 for no definition.
    """

    chunks: AnyArray
    counts: AnyArray
    half_weights: UInt8Array


class TermTable:
    """A table of terms, read in place. Safe to share between threads; raises ValueError for another format."""

    def __init__(self, source: SectionSource) -> None:
        metadata = source.metadata
        if metadata.get("table_format") != FORMAT:
            raise ValueError(f"a table of format {metadata.get('table_format')}, this version reads {FORMAT}")

        self.source = source
        self.rules: str = metadata["rules"]
        self.documents: int = metadata["documents"]
        self.chunks: int = metadata["chunks"]
        self._terms = source.bytes_of("terms")
        self._start = source.array("term_start")
        self._first = source.array("term_first")
        self._chunk = source.array("chunk")
        self._times = source.array("times")
        self._weight = source.array("weight")
        self.doc_chunk = source.array("doc_chunk")
        self.begin_line = source.array("begin_line")
        self.end_line = source.array("end_line")
        self.length = source.array("length")
        self.doc_language = source.array("doc_language")

    @functools.cached_property
    def by_key(self) -> dict[bytes, int]:
        """The document of each key."""
        data = bytes(self.source.bytes_of("keys"))
        return {data[offset : offset + KEY_BYTES]: offset // KEY_BYTES for offset in range(0, len(data), KEY_BYTES)}

    @functools.cached_property
    def chunk_doc(self) -> NDArray[np.intp]:
        """The document of each chunk."""
        bounds = self.doc_chunk.astype(np.int64)
        counts = bounds[1:] - bounds[:-1]
        return np.repeat(np.arange(self.documents), counts)

    def texts(self, numbers: AnyArray) -> list[str]:
        """Return terms by their numbers."""
        bounds = zip(self._start[numbers].tolist(), self._start[numbers + 1].tolist(), strict=True)
        return [str(self._terms[start : end - 1], "utf-8") for start, end in bounds]

    def all_entries(self) -> Entries:
        """Return the entries of all terms."""
        first = self._first.astype(np.int64)
        counts = first[1:] - first[:-1]
        return Entries(
            terms=np.repeat(np.arange(len(counts)), counts),
            chunks=self._chunk.astype(np.int64),
            times=self._times.astype(np.int64),
            weights=self._weight.astype(np.int64),
        )

    @functools.cached_property
    def _blocks(self) -> tuple[list[bytes], list[int]]:
        """The first term of each block of terms, and where each block begins in the text of all, with the end."""
        starts = self._start[:-1:_BLOCK_TERMS].tolist()
        ends = self._start[1::_BLOCK_TERMS].tolist()
        first_terms = [bytes(self._terms[start : end - 1]) for start, end in zip(starts, ends, strict=True)]
        return first_terms, [*starts, int(self._start[-1])]

    def bounds(self, term: bytes) -> tuple[int, int]:
        """Return start and end of the entries of a term; 0 and 0 when no chunk has it."""
        first_terms, starts = self._blocks
        block = bisect.bisect_right(first_terms, term) - 1
        if block < 0:
            return 0, 0

        number = block * _BLOCK_TERMS
        if first_terms[block] != term:
            # The number of a term within its block is the number of newlines before it.
            text = bytes(self._terms[starts[block] : starts[block + 1]])
            offset = text.find(b"\n" + term + b"\n")
            if offset < 0:
                return 0, 0
            number += text.count(b"\n", 0, offset) + 1

        return int(self._first[number]), int(self._first[number + 1])

    def entries(self, start: int, end: int) -> TermEntries:
        """Return the entries of the term that has these `bounds`."""
        return TermEntries(self._chunk[start:end], self._times[start:end], self._weight[start:end])
