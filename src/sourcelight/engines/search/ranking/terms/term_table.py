"""Term tables: the chunks of documents that have a term, how often, and whether a definition there has it as its name.

Terms are one sorted text with a newline after each; the entries of a term are adjacent, by chunk. Documents have the
numbers of the shard beside the table.
"""

from __future__ import annotations

import bisect
import functools
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate, compress, count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, runs
from sourcelight.core.cells.json_lines import source_lines
from sourcelight.engines.search.ranking.terms import chunker, tokenizer
from sourcelight.engines.symbols import KINDS, PARSED_LANGUAGES, FileDefinitions
from sourcelight.engines.symbols.table import KEY_BYTES, SectionSource

FORMAT = 1
"""Raised by one whenever older tables can't be read by this code."""

OWN_WEIGHT, ENCLOSING_WEIGHT = 2, 1
"""Weights of a definition for the chunk in which it begins, and for a chunk inside it, in halves."""

PROSE = frozenset({"Markdown", "reStructuredText", "AsciiDoc", "Jupyter Notebook"})
"""Languages whose files are cut at headings, and at cells."""

_MAX_COUNT = 255
_FLUSH_ENTRIES = 1 << 22

_NAME_MARK = "\0"
"""Stands before a definition's name where it is a token: no token of a text has a NUL byte."""

_BLOCK_TERMS = 64

_FUNCTIONS = frozenset(map(KINDS.index, ("function", "method", "constructor")))
_CUTS = _FUNCTIONS | frozenset(map(KINDS.index, ("class", "interface", "struct", "enum")))
_IGNORED_KINDS = frozenset(map(KINDS.index, ("field", "property", "key", "file", "enummember", "variable")))


def rules() -> str:
    """Return the name of the current rules; a table made by other rules is built again."""
    return f"{FORMAT}.{tokenizer.RULES}"


class TermTableBuilder:
    """Collects the terms of documents, one after another."""

    def __init__(self) -> None:
        self._names: defaultdict[bytes, int] = defaultdict(count().__next__)
        self._terms: dict[str, int] = {}
        self._name_terms: list[tuple[int, ...]] = []
        self._keys: list[bytes] = []
        self._languages: list[int] = []
        self._doc_chunk: list[int] = [0]
        self._start_lines: list[int] = []
        self._end: list[int] = []
        self._tokens: tuple[array[int], array[int], array[int]] = array("q"), array("q"), array("q")
        self._definitions: list[tuple[Int64Array, Int64Array, Int64Array]] = []
        self._packed: list[Int64Array] = []
        self._lengths: list[Int64Array] = []
        self._flushed_chunks = 0
        self._tables: dict[int, tuple[TermTable, Int64Array]] = {}

    def add(
        self, key: bytes, language: int, text: bytes, definitions: FileDefinitions | None, *, prose: bool = False
    ) -> None:
        """Add the next document.

        Parameters
        ----------
        key
            20 bytes that identify the text (its blob id).
        language
            Code of the language in which its definitions were found, 0 for none.
        text
            The document.
        definitions
            Its definitions.
        prose
            Whether it is a text with headings.
        """
        self._keys.append(key)
        self._languages.append(language)
        if text:
            lines = text.split(b"\n")
            span_starts, spans = definition_spans(definitions)
            name = PARSED_LANGUAGES[language - 1] if language else ""
            sources = source_lines("a.ipynb", text) if name == "Jupyter Notebook" else None
            if sources is not None:
                # JSON and base64 aren't words; a notebook is cut at its cells.
                lines, text, name, prose = sources.lines, b"\n".join(sources.lines), "", False
                span_starts = [line - 1 for line, (_, cell_line) in sources.cells.items() if cell_line == 1]

            starts = [0, *accumulate(len(line) + 1 for line in lines)]
            chunks = chunker.cut_chunks(lines, span_starts, prose=prose and not spans, language=name)
            if spans and chunks:
                self._define(chunks, spans)

            self._start_lines += [start + 1 for start, _ in chunks]
            self._end += [end for _, end in chunks]

            # Chunks are whole lines, so no token lies in two of them.
            words = text.translate(tokenizer.ONLY_WORDS)
            for start, end in chunks:
                self._count(words[starts[start] : starts[end]])

        self._doc_chunk.append(len(self._start_lines))
        if len(self._tokens[0]) >= _FLUSH_ENTRIES:
            self._flush()

    def _count(self, words: bytes) -> None:
        """Count the tokens of the next chunk, in which spaces have replaced all other bytes."""
        # No step of Python for each token: there are a hundred thousand of them in a megabyte. Each gets a number here,
        # and its terms in `_learn`.
        counts = Counter(words.split())
        numbers, sizes, times = self._tokens
        numbers.extend(map(self._names.__getitem__, counts))
        times.extend(counts.values())
        sizes.append(len(counts))

    def _define(self, chunks: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int, bytes]]) -> None:
        """Record the names of definitions for the next document's chunks that contain their lines."""
        numbers = np.array([self._names[_NAME_MARK.encode() + name] for _, _, name in spans], dtype=np.int64)
        heads = np.array([first for first, _, _ in spans], dtype=np.int64)
        ends = np.array([last for _, last, _ in spans], dtype=np.int64)

        # First and last lines of chunks, both from 1 and inside; the chunks of a document adjoin.
        chunk_starts = np.array([start + 1 for start, _ in chunks], dtype=np.int64)
        last_lines = np.array([end for _, end in chunks], dtype=np.int64)
        first_chunk, end_chunk = last_lines.searchsorted(heads), chunk_starts.searchsorted(ends, side="right")
        counts = np.maximum(end_chunk - first_chunk, 0)
        rows = np.arange(len(spans)).repeat(counts)
        chunk = first_chunk.repeat(counts) + np.arange(len(rows)) - (counts.cumsum() - counts).repeat(counts)

        # The chunk with the head of a definition counts more than chunks that only continue it.
        weights = np.where(chunk_starts[chunk] <= heads[rows], OWN_WEIGHT, ENCLOSING_WEIGHT)
        self._definitions.append((numbers[rows], chunk + len(self._start_lines), weights.astype(np.int64)))

    def take_over(self, key: bytes, language: int, table: TermTable, document: int) -> None:
        """Copy the next document from another table."""
        self._flush()
        self._keys.append(key)
        self._languages.append(language)
        start, end = (int(offset) for offset in table.doc_chunk[document : document + 2])
        new_chunks = self._tables.setdefault(id(table), (table, np.full(table.chunks, -1, dtype=np.int64)))[1]

        # Old chunk number to new one; the entries of all documents of a table are translated at once in
        # `_entries_taken`.
        new_chunks[start:end] = np.arange(len(self._start_lines), len(self._start_lines) + end - start)
        self._start_lines += table.begin_line[start:end].tolist()
        self._end += table.end_line[start:end].tolist()
        self._lengths.append(table.length[start:end].astype(np.int64))
        self._flushed_chunks = len(self._start_lines)
        self._doc_chunk.append(len(self._start_lines))

    def _entries_taken(self) -> None:
        """Add the entries of the chunks copied from other tables."""
        ids = self._terms
        for table, new_chunks in self._tables.values():
            term, entries = table.all_entries()
            chunk = new_chunks[entries[:, 0]]
            # -1: chunks of documents that were not taken over.
            is_taken = chunk >= 0
            term, chunk, entries = term[is_taken], chunk[is_taken], entries[is_taken]
            distinct, term_index = np.unique(term, return_inverse=True)
            numbers = np.array([ids.setdefault(text, len(ids)) for text in table.texts(distinct)], dtype=np.int64)
            self._packed.append(np.stack([numbers[term_index], chunk, entries[:, 1], entries[:, 2]], axis=1))

    def _learn(self) -> None:
        """Read the terms of the tokens that are new since the last time."""
        ids = self._terms
        new_tokens = list(islice(self._names, len(self._name_terms), None))
        fits = [
            tokenizer.MIN_TOKEN_BYTES <= len(token) <= tokenizer.MAX_TOKEN_BYTES + (token[0] == 0)
            for token in new_tokens
        ]
        texts = [token.decode("utf-8", "replace") for token in compress(new_tokens, fits)]
        name_terms = tokenizer.terms_of_names([text for text in texts if text[0] != _NAME_MARK])
        read = iter(
            tokenizer.definition_terms(text[1:]) if text[0] == _NAME_MARK else next(name_terms) for text in texts
        )
        for is_read in fits:
            terms = next(read) if is_read else ()
            self._name_terms.append(tuple([ids.setdefault(term, len(ids)) for term in terms]))

    def _flush(self) -> None:
        """Convert the collected texts to packed rows: term, chunk, times and weight."""
        if len(self._start_lines) == self._flushed_chunks:
            return

        self._learn()
        names, sizes, times = (np.frombuffer(column, np.int64) for column in self._tokens)
        chunk_numbers = np.arange(self._flushed_chunks, len(self._start_lines)).repeat(sizes)
        weights = np.zeros(len(names), dtype=np.int64)
        if self._definitions:
            defined, positions, weight = (np.concatenate(column) for column in zip(*self._definitions, strict=True))
            names, chunk_numbers = np.concatenate([names, defined]), np.concatenate([chunk_numbers, positions])
            times = np.concatenate([times, np.zeros(len(defined), dtype=np.int64)])
            weights = np.concatenate([weights, weight])

        self._tokens, self._definitions = (array("q"), array("q"), array("q")), []
        counts = np.array([len(terms) for terms in self._name_terms], dtype=np.int64)
        flat = np.array([term for terms in self._name_terms for term in terms], dtype=np.int64)

        # `flat` has the terms of all tokens one after another; the terms of a token begin at `first`.
        first = np.cumsum(counts) - counts
        size = counts[names] if len(names) else names
        total = int(size.sum())
        rows = np.repeat(np.arange(len(names)), size)
        position = runs(first[names], size)
        term, chunk = flat[position] if total else position, chunk_numbers[rows]
        is_plain = self._counted_terms()[term] if total else term.astype(bool)
        new_chunk_count = len(self._start_lines) - self._flushed_chunks
        lengths = np.bincount(
            chunk[is_plain] - self._flushed_chunks,
            weights=times[rows][is_plain].astype(np.float64),
            minlength=new_chunk_count,
        )
        self._lengths.append(lengths.astype(np.int64))
        self._flushed_chunks = len(self._start_lines)
        self._packed.append(_merge_entries(term, chunk, times[rows], weights[rows]))

    def _counted_terms(self) -> BoolArray:
        """Return which terms count for the length of a chunk: all but joined ones."""
        return np.array([not tokenizer.is_joined_form(term) for term in self._terms], dtype=np.bool_)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata of `sections`."""
        return {
            "table_format": FORMAT,
            "rules": rules(),
            "documents": len(self._keys),
            "chunks": len(self._start_lines),
            "terms": len(self._terms),
            "languages": list(PARSED_LANGUAGES),
        }

    def sections(self) -> dict[str, AnyArray]:
        """Return the table as arrays by name."""
        self._flush()
        self._entries_taken()
        entries = np.concatenate(self._packed) if self._packed else np.zeros((0, 4), dtype=np.int64)

        # Sorted terms are found by binary search in the mapped file, without reading all of them.
        ordered = sorted(self._terms)
        renumbered = np.zeros(len(ordered), dtype=np.int64)
        renumbered[[self._terms[term] for term in ordered]] = np.arange(len(ordered))
        term = renumbered[entries[:, 0]]

        # Term and chunk as one integer: one sort gives posting lists with ascending chunks.
        order = np.argsort(term * max(len(self._start_lines), 1) + entries[:, 1])
        term, entries = term[order], entries[order]
        encoded = [text.encode() for text in ordered]
        return {
            "terms": np.frombuffer(b"".join(part for text in encoded for part in (text, b"\n")), np.uint8),
            "term_start": _offsets([len(text) + 1 for text in encoded]),
            "term_first": _offsets(np.bincount(term, minlength=len(ordered))),
            "chunk": entries[:, 1].astype(np.uint32),
            # BM25 saturates long before this maximum, so a byte is enough.
            "times": np.minimum(entries[:, 2], _MAX_COUNT).astype(np.uint8),
            "weight": np.minimum(entries[:, 3], _MAX_COUNT).astype(np.uint8),
            "doc_chunk": np.array(self._doc_chunk, dtype=np.uint32),
            "begin_line": np.array(self._start_lines, dtype=np.uint32),
            "end_line": np.array(self._end, dtype=np.uint32),
            "length": np.concatenate([*self._lengths, np.zeros(0, dtype=np.int64)]).astype(np.uint32),
            "doc_language": np.array(self._languages, dtype=np.uint8),
            "keys": np.frombuffer(b"".join(self._keys), np.uint8),
        }


def definition_spans(definitions: FileDefinitions | None) -> tuple[list[int], list[tuple[int, int, bytes]]]:
    """Return the lines, from 0, at which to cut, and (first line, last line, name) of each definition that counts."""
    if definitions is None or not definitions.names:
        return [], []

    starts: list[int] = []
    spans: list[tuple[int, int, bytes]] = []
    is_inside: list[bool] = []
    for name, row in zip(definitions.names, definitions.rows.tolist(), strict=True):
        _, line, start, end, parent, kind, _ = row
        in_function = parent > 0 and is_inside[parent - 1]
        is_inside.append(in_function or kind in _FUNCTIONS)
        if in_function or kind in _IGNORED_KINDS:
            continue
        spans.append((line, end, name))
        if kind in _CUTS:
            starts.append(start - 1)

    return starts, spans


def _merge_entries(term: Int64Array, chunk: Int64Array, times: Int64Array, weights: Int64Array) -> Int64Array:
    """Sum times and weights of the entries of the same term and chunk."""
    if not len(term):
        return np.zeros((0, 4), dtype=np.int64)

    # One number sorts by term, then chunk; both are below 2^32.
    key = (term << np.int64(32)) | chunk
    order = np.argsort(key)
    key = key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    key = key[first]
    return np.stack(
        [
            key >> np.int64(32),
            key & np.int64(0xFFFFFFFF),
            np.add.reduceat(times[order], first),
            np.add.reduceat(weights[order], first),
        ],
        axis=1,
    )


def _offsets(lengths: Iterable[int] | AnyArray) -> NDArray[np.uint32]:
    return np.concatenate(([0], np.cumsum(np.asarray(lengths, dtype=np.int64)))).astype(np.uint32)


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
        pairs = zip(self._start[numbers].tolist(), self._start[numbers + 1].tolist(), strict=True)
        return [str(self._terms[start : end - 1], "utf-8") for start, end in pairs]

    def all_entries(self) -> tuple[Int64Array, Int64Array]:
        """Return the term of every entry, and its chunk, times and weight as columns."""
        first = self._first.astype(np.int64)
        counts = first[1:] - first[:-1]
        columns = [column.astype(np.int64) for column in (self._chunk, self._times, self._weight)]
        return np.repeat(np.arange(len(counts)), counts), np.stack(columns, axis=1)

    @functools.cached_property
    def _blocks(self) -> tuple[list[bytes], list[int]]:
        """The first term of each block of terms, and where each block begins in the text of all, with the end."""
        starts = self._start[:-1:_BLOCK_TERMS].tolist()
        pairs = zip(starts, self._start[1::_BLOCK_TERMS].tolist(), strict=True)
        return [bytes(self._terms[start : end - 1]) for start, end in pairs], [*starts, int(self._start[-1])]

    def bounds(self, term: bytes) -> tuple[int, int]:
        """Return start and end of the entries of a term; 0 and 0 when no chunk has it."""
        firsts, starts = self._blocks
        # Only every 64th term becomes a Python object; within its block, a term is found by its newlines.
        block = bisect.bisect_right(firsts, term) - 1
        if block < 0:
            return 0, 0

        text = bytes(self._terms[starts[block] : starts[block + 1]])
        if firsts[block] != term:
            offset = text.find(b"\n" + term + b"\n")
            if offset < 0:
                return 0, 0
            block = block * _BLOCK_TERMS + text.count(b"\n", 0, offset) + 1
        else:
            block *= _BLOCK_TERMS

        return int(self._first[block]), int(self._first[block + 1])

    def entries(self, start: int, end: int) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Return the chunks of some entries, the occurrences in each, and the weight of definitions (in halves).

        Chunks of one term ascend.
        """
        return self._chunk[start:end], self._times[start:end], self._weight[start:end]
