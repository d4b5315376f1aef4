"""Build term tables: split documents into chunks, count the terms of each, and mark names of definitions.

Every document of a repository is read here once, so no step of Python is taken for each token of a text: tokens are
counted by C code, get a number each, and become terms when there are enough of them for numpy.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, count, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, runs
from sourcelight.core.cells.json_lines import source_lines
from sourcelight.engines.search.ranking.terms import chunker, tokenizer
from sourcelight.engines.search.ranking.terms.term_table import FORMAT, Entries, TermTable, rules
from sourcelight.engines.symbols import KINDS, PARSED_LANGUAGES, FileDefinitions

OWN_WEIGHT = 2
"""Weight of a definition for the chunk in which it begins, in halves."""

ENCLOSING_WEIGHT = 1
"""Weight of a definition for a chunk that only continues it, in halves."""

PROSE = frozenset({"Markdown", "reStructuredText", "AsciiDoc", "Jupyter Notebook"})
"""Languages whose files are cut at headings, and at cells."""

_MAX_COUNT = 255
"""Maximum occurrences of a term in a chunk: BM25 saturates long before, so a byte is enough."""

_FLUSH_ENTRIES = 1 << 22
"""Tokens of chunks that are kept before they become entries: they take 16 bytes each."""

_NAME_MARK = "\0"
"""Stands before a definition's name where it is a token: no token of a text has a NUL byte."""

_FUNCTIONS = frozenset(map(KINDS.index, ("function", "method", "constructor")))
_CUTS = _FUNCTIONS | frozenset(map(KINDS.index, ("class", "interface", "struct", "enum")))
_IGNORED_KINDS = frozenset(map(KINDS.index, ("field", "property", "key", "file", "enummember", "variable")))


class DefinitionSpan(NamedTuple):
    """The first and the last line of a definition, from 1, and its name."""

    first_line: int
    last_line: int
    name: bytes


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Tokens of chunks: numbers of tokens and their counts, one chunk after another, and the tokens of each chunk."""

    numbers: array[int] = field(default_factory=lambda: array("q"))
    times: array[int] = field(default_factory=lambda: array("q"))
    sizes: array[int] = field(default_factory=lambda: array("q"))


class _DefinedNames(NamedTuple):
    """Names of definitions in chunks, by row: the number of the token, the chunk, and the weight there."""

    tokens: Int64Array
    chunks: Int64Array
    weights: Int64Array


class _CopiedTable(NamedTuple):
    """A table from which documents are copied, and the new number of each of its chunks, -1 for none."""

    table: TermTable
    new_chunks: Int64Array


class _DocumentLines(NamedTuple):
    """A document as it is cut into chunks.

    Attributes
    ----------
    text
        The document.
    lines
        Its lines.
    cuts
        Lines, from 0, at which it should be cut.
    language
        The name of its language; empty for an unknown one.
    is_prose
        Whether it is a text with headings.
    """

    text: bytes
    lines: list[bytes]
    cuts: list[int]
    language: str
    is_prose: bool


class TermTableBuilder:
    """Collects the terms of documents, one after another."""

    def __init__(self) -> None:
        # A token that is looked up for the first time gets the next number.
        self._names: defaultdict[bytes, int] = defaultdict(count().__next__)
        # Numbers of terms, and the terms of each token by its number.
        self._terms: dict[str, int] = {}
        self._name_terms: list[tuple[int, ...]] = []

        self._keys: list[bytes] = []
        self._languages: list[int] = []
        self._doc_chunk: list[int] = [0]
        self._start_lines: list[int] = []
        self._end_lines: list[int] = []

        # Tokens and names of chunks from `_flushed_chunks` on, which are no entries yet.
        self._tokens = _Tokens()
        self._definitions: list[_DefinedNames] = []
        self._entries: list[Entries] = []
        self._lengths: list[Int64Array] = []
        self._flushed_chunks = 0

        # By the id of the table.
        self._copied: dict[int, _CopiedTable] = {}

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
            cuts, spans = definition_spans(definitions)
            name = PARSED_LANGUAGES[language - 1] if language else ""
            document = _DocumentLines(text, text.split(b"\n"), cuts, name, is_prose=prose and not spans)
            self._add_text(_replace_cells(document), spans)

        self._doc_chunk.append(len(self._start_lines))
        if len(self._tokens.numbers) >= _FLUSH_ENTRIES:
            self._flush()

    def _add_text(self, document: _DocumentLines, spans: Sequence[DefinitionSpan]) -> None:
        """Add the chunks of a document, their tokens and the names that are defined in them."""
        lines = document.lines
        chunks = chunker.cut_chunks(lines, document.cuts, prose=document.is_prose, language=document.language)
        if spans and chunks:
            self._define(chunks, spans)

        self._start_lines += [start + 1 for start, _ in chunks]
        self._end_lines += [end for _, end in chunks]

        # Chunks are whole lines, so no token lies in two of them.
        words = document.text.translate(tokenizer.ONLY_WORDS)
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        for start, end in chunks:
            self._count(words[starts[start] : starts[end]])

    def _count(self, words: bytes) -> None:
        """Count the tokens of the next chunk, in which spaces have replaced all other bytes."""
        # No step of Python for each token: there are a hundred thousand of them in a megabyte. Each gets a number here,
        # and its terms in `_learn`.
        counts = Counter(words.split())
        tokens = self._tokens
        tokens.numbers.extend(map(self._names.__getitem__, counts))
        tokens.times.extend(counts.values())
        tokens.sizes.append(len(counts))

    def _define(self, chunks: Sequence[tuple[int, int]], spans: Sequence[DefinitionSpan]) -> None:
        """Record the names of definitions for the next document's chunks that contain their lines."""
        numbers = np.array([self._names[_NAME_MARK.encode() + span.name] for span in spans], dtype=np.int64)
        first_lines = np.array([span.first_line for span in spans], dtype=np.int64)
        last_lines = np.array([span.last_line for span in spans], dtype=np.int64)

        # First and last lines of chunks, both from 1 and inside; the chunks of a document adjoin.
        chunk_starts = np.array([start + 1 for start, _ in chunks], dtype=np.int64)
        chunk_ends = np.array([end for _, end in chunks], dtype=np.int64)
        first_chunk = chunk_ends.searchsorted(first_lines)
        end_chunk = chunk_starts.searchsorted(last_lines, side="right")
        counts = np.maximum(end_chunk - first_chunk, 0)
        rows = np.arange(len(spans)).repeat(counts)
        chunk = runs(first_chunk, counts)

        # The chunk in which a definition begins counts more than chunks that only continue it.
        weights = np.where(chunk_starts[chunk] <= first_lines[rows], OWN_WEIGHT, ENCLOSING_WEIGHT)
        self._definitions.append(_DefinedNames(numbers[rows], chunk + len(self._start_lines), weights.astype(np.int64)))

    def take_over(self, key: bytes, language: int, table: TermTable, document: int) -> None:
        """Copy the next document from another table."""
        self._flush()
        self._keys.append(key)
        self._languages.append(language)
        if id(table) not in self._copied:
            self._copied[id(table)] = _CopiedTable(table, np.full(table.chunks, -1, dtype=np.int64))

        # The entries of all documents of a table are translated at once, in `_add_copied`.
        new_chunks = self._copied[id(table)].new_chunks
        start, end = table.doc_chunk[document : document + 2].tolist()
        new_chunks[start:end] = np.arange(len(self._start_lines), len(self._start_lines) + end - start)
        self._start_lines += table.begin_line[start:end].tolist()
        self._end_lines += table.end_line[start:end].tolist()
        self._lengths.append(table.length[start:end].astype(np.int64))
        self._flushed_chunks = len(self._start_lines)
        self._doc_chunk.append(len(self._start_lines))

    def _add_copied(self) -> None:
        """Add the entries of the chunks copied from other tables."""
        for table, new_chunks in self._copied.values():
            entries = table.all_entries()
            entries = entries._replace(chunks=new_chunks[entries.chunks])
            entries = entries.take(np.flatnonzero(entries.chunks >= 0))
            distinct, term_index = np.unique(entries.terms, return_inverse=True)
            numbers = np.array([self._number_of(text) for text in table.texts(distinct)], dtype=np.int64)
            self._entries.append(entries._replace(terms=numbers[term_index]))

    def _number_of(self, term: str) -> int:
        return self._terms.setdefault(term, len(self._terms))

    def _learn(self) -> None:
        """Read the terms of the tokens that are new since the last time."""
        new_tokens = islice(self._names, len(self._name_terms), None)
        for terms in _read_terms(list(new_tokens)):
            self._name_terms.append(tuple([self._number_of(term) for term in terms]))

    def _flush(self) -> None:
        """Convert the collected tokens to entries."""
        if len(self._start_lines) == self._flushed_chunks:
            return

        self._learn()
        names = np.frombuffer(self._tokens.numbers, np.int64)
        times = np.frombuffer(self._tokens.times, np.int64)
        sizes = np.frombuffer(self._tokens.sizes, np.int64)
        chunk_numbers = np.arange(self._flushed_chunks, len(self._start_lines)).repeat(sizes)
        weights = np.zeros(len(names), dtype=np.int64)
        if self._definitions:
            # A name of a definition is a further row that doesn't count as an occurrence.
            defined = np.concatenate([document.tokens for document in self._definitions])
            names = np.concatenate([names, defined])
            times = np.concatenate([times, np.zeros(len(defined), dtype=np.int64)])
            chunk_numbers = np.concatenate([chunk_numbers, *[document.chunks for document in self._definitions]])
            weights = np.concatenate([weights, *[document.weights for document in self._definitions]])

        self._tokens = _Tokens()
        self._definitions = []

        # `flat` has the terms of all tokens one after another; the terms of a token begin at `first`.
        flat = np.fromiter(chain.from_iterable(self._name_terms), np.int64)
        counts = np.array([len(terms) for terms in self._name_terms], dtype=np.int64)
        first = np.cumsum(counts) - counts

        # Each row of tokens becomes a row for each of its terms.
        size = counts.take(names)
        rows = np.arange(len(names)).repeat(size)
        term = flat.take(runs(first.take(names), size))
        chunk = chunk_numbers[rows]

        # The length of a chunk is the number of its terms, as BM25 needs it.
        is_counted = self._counted_terms()[term]
        lengths = np.bincount(
            chunk[is_counted] - self._flushed_chunks,
            weights=times[rows][is_counted].astype(np.float64),
            minlength=len(self._start_lines) - self._flushed_chunks,
        )
        self._lengths.append(lengths.astype(np.int64))
        self._flushed_chunks = len(self._start_lines)
        self._entries.append(_merge(Entries(term, chunk, times[rows], weights[rows])))

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
        self._add_copied()
        entries = _concatenate(self._entries)

        # Sorted terms are found by binary search in the mapped file, without reading all of them.
        ordered = sorted(self._terms)
        renumbered = np.zeros(len(ordered), dtype=np.int64)
        renumbered[[self._terms[term] for term in ordered]] = np.arange(len(ordered))
        entries = entries._replace(terms=renumbered[entries.terms])

        # Term and chunk as one integer: one sort gives posting lists with ascending chunks.
        entries = entries.take(np.argsort(entries.terms * max(len(self._start_lines), 1) + entries.chunks))
        encoded = [text.encode() + b"\n" for text in ordered]
        return {
            "terms": np.frombuffer(b"".join(encoded), np.uint8),
            "term_start": _offsets([len(text) for text in encoded]),
            "term_first": _offsets(np.bincount(entries.terms, minlength=len(ordered))),
            "chunk": entries.chunks.astype(np.uint32),
            "times": np.minimum(entries.times, _MAX_COUNT).astype(np.uint8),
            "weight": np.minimum(entries.weights, _MAX_COUNT).astype(np.uint8),
            "doc_chunk": np.array(self._doc_chunk, dtype=np.uint32),
            "begin_line": np.array(self._start_lines, dtype=np.uint32),
            "end_line": np.array(self._end_lines, dtype=np.uint32),
            "length": np.concatenate([*self._lengths, np.zeros(0, dtype=np.int64)]).astype(np.uint32),
            "doc_language": np.array(self._languages, dtype=np.uint8),
            "keys": np.frombuffer(b"".join(self._keys), np.uint8),
        }


def definition_spans(definitions: FileDefinitions | None) -> tuple[list[int], list[DefinitionSpan]]:
    """Return the lines, from 0, at which to cut, and the definitions that count: none within a function."""
    if definitions is None or not definitions.names:
        return [], []

    starts: list[int] = []
    spans: list[DefinitionSpan] = []
    is_inside: list[bool] = []
    for name, row in zip(definitions.names, definitions.rows.tolist(), strict=True):
        _, line, start, end, parent, kind, _ = row
        in_function = parent > 0 and is_inside[parent - 1]
        is_inside.append(in_function or kind in _FUNCTIONS)
        if in_function or kind in _IGNORED_KINDS:
            continue
        spans.append(DefinitionSpan(line, end, name))
        if kind in _CUTS:
            starts.append(start - 1)

    return starts, spans


def _read_terms(tokens: Sequence[bytes]) -> Iterator[Sequence[str]]:
    """Yield the terms of each token; none for one that is too short or too long."""
    texts: list[str | None] = []
    for token in tokens:
        # The mark of a definition's name doesn't count.
        max_bytes = tokenizer.MAX_TOKEN_BYTES + token.startswith(_NAME_MARK.encode())
        is_read = tokenizer.MIN_TOKEN_BYTES <= len(token) <= max_bytes
        texts.append(token.decode("utf-8", "replace") if is_read else None)

    # Words of texts are read together, which is much faster than one by one.
    words = [text for text in texts if text is not None and not text.startswith(_NAME_MARK)]
    terms_of_words = tokenizer.terms_of_names(words)
    for text in texts:
        if text is None:
            yield ()
        elif text.startswith(_NAME_MARK):
            yield tokenizer.definition_terms(text.removeprefix(_NAME_MARK))
        else:
            yield next(terms_of_words)


def _replace_cells(document: _DocumentLines) -> _DocumentLines:
    """Return a notebook with the lines of its cells, cut where cells begin; other documents stay as they are."""
    if document.language != "Jupyter Notebook":
        return document

    sources = source_lines("a.ipynb", document.text)
    if sources is None:
        return document

    # JSON and base64 aren't words.
    return _DocumentLines(
        text=b"\n".join(sources.lines),
        lines=sources.lines,
        cuts=[line - 1 for line, (_, cell_line) in sources.cells.items() if cell_line == 1],
        language="",
        is_prose=False,
    )


def _concatenate(entries: Sequence[Entries]) -> Entries:
    if not entries:
        nothing = np.zeros(0, dtype=np.int64)
        return Entries(nothing, nothing, nothing, nothing)
    return Entries(*map(np.concatenate, zip(*entries, strict=True)))


def _merge(entries: Entries) -> Entries:
    """Sum times and weights of the entries of the same term and chunk."""
    if not len(entries.terms):
        return entries

    # One number sorts by term, then chunk; both are below 2^32.
    keys = (entries.terms << np.int64(32)) | entries.chunks
    order = np.argsort(keys)
    keys = keys[order]
    first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    keys = keys[first]
    return Entries(
        terms=keys >> np.int64(32),
        chunks=keys & np.int64(0xFFFFFFFF),
        times=np.add.reduceat(entries.times[order], first),
        weights=np.add.reduceat(entries.weights[order], first),
    )


def _offsets(lengths: Iterable[int] | AnyArray) -> NDArray[np.uint32]:
    return np.concatenate(([0], np.cumsum(np.asarray(lengths, dtype=np.int64)))).astype(np.uint32)
