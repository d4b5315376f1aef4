"""Evaluate a prepared query over a corpus, in batches of whole documents.

Per batch: candidate units of each term, cheapest term first, each scanned only in documents where the tree can still
hold. Batches grow, so that the first rows arrive after a few milliseconds and a long search pays few fixed costs.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, mask_of, runs, unique_sorted
from sourcelight.core.cancellation import Stopped, check_stopped
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.model import (
    DEFAULT_BATCHES,
    BatchLimits,
    DocumentNumbers,
    FileNumbers,
    PreparedQuery,
    TermPattern,
    UnitNumbers,
)
from sourcelight.engines.search.scan.batches import (
    MAX_CACHED_UNITS,
    BatchSizer,
    DocumentRange,
    PatternSpans,
    SpanRecorder,
    batch_end,
)
from sourcelight.engines.search.scan.candidates import candidate_units, units_as_written
from sourcelight.engines.search.scan.corpus import Corpus, FileSelection
from sourcelight.engines.search.scan.paths import PathSpans
from sourcelight.engines.search.scan.spans import (
    NO_SPANS,
    Spans,
    documents_holding,
    find_spans,
    holds_match,
    merge_spans,
)
from sourcelight.engines.search.scan.structures import StructureScan, split_by_language, unread_counts
from sourcelight.engines.structure.pattern import StructurePattern

_PROBED_RANGES = 16
"""Ranges that are counted first, to estimate how common a literal is."""

_EMPTY: Int64Array = np.zeros(0, dtype=np.int64)
_NO_UNITS, _NO_DOCUMENTS, _NO_FILES = UnitNumbers(_EMPTY), DocumentNumbers(_EMPTY), FileNumbers(_EMPTY)


@dataclass(frozen=True, slots=True)
class FileMatches:
    """Matching files of one batch, in display order.

    `content_files` match in their content: `documents` (same length) names the document of each, `spans` holds the
    matches. `path_files` match by their path, or by a NOT. All files below `finished_up_to` have been searched.
    """

    spans: Spans
    content_files: FileNumbers
    documents: DocumentNumbers
    path_files: FileNumbers
    finished_up_to: int


@dataclass(frozen=True, slots=True)
class _UnitTable:
    """The candidate units of all terms, the document of each, and the bytes up to the end of each."""

    units: UnitNumbers
    documents: DocumentNumbers
    cumulative_bytes: Int64Array

    @property
    def total_bytes(self) -> int:
        """Bytes of all units."""
        return int(self.cumulative_bytes[-1]) if len(self.units) else 0


class CorpusSearch:
    """One query over a corpus; methods and iterators raise `ScanStopped` when `stopped` returns True.

    Where files of several languages share a document and structures are searched for, `twins` search what is left out
    here. With `among`, these files are searched and no others. `limits` are those of its batches.
    """

    def __init__(
        self,
        corpus: Corpus,
        prepared: PreparedQuery,
        stopped: Stopped,
        *,
        among: FileSelection | None = None,
        limits: BatchLimits = DEFAULT_BATCHES,
    ) -> None:
        self.corpus = corpus
        self._max_documents = limits.max_documents
        self.prepared = prepared
        self.stopped = stopped
        # Before any read: a mapped file that became shorter raises SIGBUS, which ends the process.
        corpus.mapped.check_sizes()
        self.selection = corpus.selection(prepared.query.files, prepared.query.languages) if among is None else among
        self.twins: list[CorpusSearch] = []
        self.structures: StructureScan | None = None
        structure = prepared.structure
        if structure is not None:
            if among is None:
                self.selection, *other_selections = split_by_language(corpus, self.selection, structure.language)
                self.twins = [
                    CorpusSearch(corpus, prepared, stopped, among=other, limits=limits) for other in other_selections
                ]
            self.structures = StructureScan(corpus, self.selection, structure.language)
        # Of each term; None for one that isn't searched for in paths.
        self.path_spans: list[PathSpans | None] = []
        for term in prepared.terms:
            if term.path and not isinstance(term.pattern, StructurePattern):
                self.path_spans.append(corpus.path_spans(term.pattern, stopped))
            else:
                self.path_spans.append(None)

        self.has_path_matches = [spans is not None and spans.has_matches for spans in self.path_spans]
        self._path_masks: list[BoolArray] = []
        self._path_positions: Int64Array | None = None
        self._recorder: SpanRecorder | None = None
        self._highest_file: int | None = None

    def unread_counts(self) -> list[dict[str, int]]:
        """Count, for each member, the files in which structures could not be looked for, by reason; empty for none."""
        return unread_counts([search.structures for search in (*self.twins, self) if search.structures is not None])

    def _find(self, term_index: int, units: UnitNumbers) -> Spans:
        """Find a term in units."""
        pattern = self.prepared.terms[term_index].pattern
        if not isinstance(pattern, StructurePattern):
            return find_spans(self.corpus, pattern, units, self.stopped)
        if self.structures is None:
            return NO_SPANS
        return self.structures.find(pattern, units, self.stopped)

    def file_matches(self, sizer: BatchSizer) -> Iterator[FileMatches]:
        """Yield matching files: files without content first, then the others in document order."""
        name_only = self.name_only_matches()
        if len(name_only):
            yield FileMatches(NO_SPANS, _NO_FILES, _NO_DOCUMENTS, name_only, 0)
        for batch in self.batches(sizer):
            matches = self.evaluate(batch)
            if len(matches.content_files) or len(matches.path_files):
                yield matches

    def has_match(self) -> bool | None:
        """Return whether any file matches, or None if it needs the batches of a search.

        It reads text up to a first match, and makes no batches and no parts. A search without a match asks this about
        its text in any case, which would otherwise be a second whole search.
        """
        term = self.prepared.terms[0] if self.prepared.is_single else None
        if term is None or self.has_path_matches[0] or isinstance(term.pattern, StructurePattern):
            return None
        # Its match may span units, so that units alone can't be read.
        if term.pattern.multi_line:
            return None
        if not len(self.selection.files):
            return False
        units = self.candidates_of(0)
        if not self.selection.covers_all:
            units = UnitNumbers(units[self.selection.in_documents[self.corpus.unit_doc[units]]])
        self.corpus.check_content(units)
        return holds_match(self.corpus, term.pattern, units, self.stopped)

    def name_only_matches(self) -> FileNumbers:
        """Return the matching files among those without content, which match by path or by a NOT."""
        files = self.selection.name_only
        if not len(files) or not self.prepared.may_match(self.has_path_matches.__getitem__):
            return _NO_FILES
        values = [self.matches_by_path(term_index, files) for term_index in range(len(self.prepared.terms))]
        return FileNumbers(files[self.prepared.matching_files(values, len(files))])

    def matches_by_path(self, term_index: int, files: FileNumbers) -> BoolArray:
        """Return which of the files a term matches by path."""
        spans = self.path_spans[term_index]
        if spans is None or not spans.has_matches:
            return np.zeros(len(files), dtype=np.bool_)
        return spans.is_match[files]

    def batches(self, sizer: BatchSizer) -> Iterator[DocumentRange]:
        """Yield ranges of documents with about as many candidate units as `sizer` says.

        Ranges are gapless where documents can match without a candidate unit, by their paths or by a NOT.
        """
        if not len(self.selection.files):
            return
        units = self.candidates()
        if units is None:
            return

        corpus = self.corpus
        units = self._selected_units(units)
        table = self._unit_table(units)
        corpus.check_content(table.units)
        highest_file = self._highest_file
        position = first_document = 0
        sizer.start(len(table.units))
        while first_document < corpus.documents:
            check_stopped(self.stopped)
            end_document = self._end_of_batch(table, position, first_document, sizer)
            # A batch ends between documents, so it takes the rest of its last document's units too.
            next_position = int(table.documents.searchsorted(end_document))
            # The time of a small last batch is ignored: it doesn't predict the cost of a full one.
            is_timed = end_document < corpus.documents or next_position - position > sizer.units // 2
            started_s = self._used_s() if is_timed else 0.0
            batch_units = [_units_of_documents(corpus, of_term, first_document, end_document) for of_term in units]
            yield DocumentRange(first_document, end_document, batch_units)
            if is_timed:
                sizer.adapt(self._used_s() - started_s)

            first_document = end_document
            position = next_position
            # The consumer called `skip_above` since the last batch: it knows by now which file completes its matches.
            if self._highest_file != highest_file and self._highest_file is not None:
                highest_file = self._highest_file
                units = self._units_up_to(units, highest_file, first_document)
                table = self._unit_table(units)
                position = 0

            # Every file that is still wanted has been searched.
            if highest_file is not None and self.selection.lowest_file_from(first_document) > highest_file:
                return

    def _end_of_batch(self, table: _UnitTable, position: int, first_document: int, sizer: BatchSizer) -> int:
        """Return the document after the last one of the batch that begins with a unit and a document."""
        end_position = batch_end(position, table.cumulative_bytes, table.total_bytes, sizer.units)
        # The last batch reaches to the end of the corpus. That finishes the documents behind the last unit, so that
        # files which wait for them in path order are released.
        end_document = self.corpus.documents
        if end_position < len(table.units):
            end_document = int(table.documents[end_position - 1]) + 1

        # Documents that match without a unit become rows too, so their number limits a batch as well.
        if self._has_rows_without_units:
            end_document = min(end_document, first_document + self._max_documents)
        return end_document

    def _selected_units(self, units: list[UnitNumbers]) -> list[UnitNumbers]:
        """Return the candidate units of each term in documents that are selected and may match."""
        if self.prepared.is_single:
            # No other term can rule out a document: only the selection does.
            if self.selection.covers_all:
                return units
            in_documents, unit_doc = self.selection.in_documents, self.corpus.unit_doc
            return [UnitNumbers(term_units[in_documents[unit_doc[term_units]]]) for term_units in units]
        # Shared by all terms without a match in a path: nothing writes to these masks.
        no_files = np.zeros(len(self.selection.files), dtype=np.bool_)
        self._path_masks = [
            self.matches_by_path(term_index, self.selection.files) if has_path_matches else no_files
            for term_index, has_path_matches in enumerate(self.has_path_matches)
        ]
        return self._drop_impossible(units)

    def _used_s(self) -> float:
        # CPU time of this thread, not wall time: a busy machine must not shrink the batches.
        return time.thread_time() + (0.0 if self.structures is None else self.structures.waited_s)

    def _unit_table(self, units: list[UnitNumbers]) -> _UnitTable:
        """Unite the units of all terms."""
        corpus = self.corpus
        all_units = units[0] if len(units) == 1 else _union(units, corpus.units)
        # The scan cuts its work by bytes, not by units: units of minified files are much larger than 16 KiB.
        cumulative_bytes = np.cumsum(corpus.unit_end[all_units] - corpus.unit_start[all_units])
        return _UnitTable(all_units, DocumentNumbers(corpus.unit_doc[all_units]), cumulative_bytes)

    def skip_above(self, file: int) -> None:
        """Read no more content of files above `file`; `batches` leaves them out from its next batch on."""
        self._highest_file = file

    def _units_up_to(self, units: list[UnitNumbers], highest_file: int, first_document: int) -> list[UnitNumbers]:
        """Return the units from a document on that hold content of a file up to `highest_file`."""
        if self._recorder is not None and self._recorder.cache.spans is None:
            # It would record skipped documents as documents without a match.
            self._recorder = None

        lowest_file = self.selection.lowest_file_of_document
        remaining: list[UnitNumbers] = []
        for term_units in units:
            documents = self.corpus.unit_doc[term_units]
            is_wanted = (documents >= first_document) & (lowest_file[documents] <= highest_file)
            remaining.append(UnitNumbers(term_units[is_wanted]))
        return remaining

    @functools.cached_property
    def _has_rows_without_units(self) -> bool:
        """Whether documents without a candidate unit become rows, by their paths or by a NOT."""
        if self.prepared.is_single:
            # Few paths need no smaller batches: their rows come with the batch of their documents.
            spans = self.path_spans[0]
            return spans is not None and len(spans.file) > self._max_documents
        # A tree that needs the content of some term, such as `A AND NOT B`, has no rows without a unit.
        return self.prepared.may_match(self.has_path_matches.__getitem__)

    def candidates(self) -> list[UnitNumbers] | None:
        """Return the candidate units of each term, or None when the tree can't hold for any file."""
        units_by_term: dict[int, UnitNumbers] = {}

        def units(term_index: int) -> UnitNumbers:
            if term_index not in units_by_term:
                check_stopped(self.stopped)
                units_by_term[term_index] = self.candidates_of(term_index)
            return units_by_term[term_index]

        # `may_match` stops at the first AND that can't hold, so posting lists of the other terms are not even read.
        if not self.prepared.may_match(lambda index: self.has_path_matches[index] or len(units(index)) > 0):
            return None
        return [units(term_index) for term_index in range(len(self.prepared.terms))]

    def candidates_of(self, term_index: int, selection: FileSelection | None = None) -> UnitNumbers:
        """Return the candidate units of one term in the selected files; None: the files that pass the filters."""
        term = self.prepared.terms[term_index]
        if not term.content:
            return _NO_UNITS
        if selection is not None or isinstance(term.pattern, StructurePattern):
            # The key of the cache names the filters of the query, so it can't serve another selection, nor twins.
            return self._find_candidates(term.pattern, selection or self.selection)
        query = self.prepared.query
        cached = self.corpus.pattern_cache.remember((term.pattern, query.files, query.languages), PatternSpans)
        # A match that crosses lines may span units, so its spans can't stand for the units that hold it.
        if self.prepared.is_single and not term.pattern.multi_line:
            self._recorder = SpanRecorder(cached)
        units = cached.units
        if units is None:
            units = self._required_candidates(term.pattern)
            cached.units = units if len(units) <= MAX_CACHED_UNITS else None
        # Cached without regard to case: a small search without a match asks whether there is one in another case.
        return units if cached.spans is not None else units_as_written(self.corpus, term.pattern, units)

    def _required_candidates(self, pattern: CompiledPattern) -> UnitNumbers:
        """Return the candidates of a pattern in the selected files; those of the last few required texts are cached."""
        # The key is the required text, which has the same candidates with and without case.
        query = self.prepared.query
        return self.corpus.pattern_cache.remember(
            (pattern.required, pattern.multi_line, query.files, query.languages),
            lambda: self._find_candidates(pattern, self.selection),
            keep=lambda units: len(units) <= MAX_CACHED_UNITS,
        )

    def _find_candidates(self, pattern: TermPattern, selection: FileSelection) -> UnitNumbers:
        candidates = candidate_units(self.corpus, pattern, selection)
        return UnitNumbers(np.arange(self.corpus.units)) if candidates is None else candidates

    def units_to_read(self, units: list[UnitNumbers]) -> UnitNumbers:
        """Return the units of all terms that a search would read."""
        if not units or not len(self.selection.files):
            return _NO_UNITS
        self._path_masks = [
            self.matches_by_path(term_index, self.selection.files) for term_index in range(len(self.prepared.terms))
        ]
        return _union(self._drop_impossible(units), self.corpus.units)

    def _drop_impossible(self, units: list[UnitNumbers]) -> list[UnitNumbers]:
        """Leave out units of documents that no file can match, regardless of the scan.

        The bounds of a term over files: it surely holds where the path matches (`_path_masks`), and possibly also where
        the document has a candidate unit (`upper`). NOT swaps the two bounds, see `PreparedQuery.possible_files`.
        """
        corpus, selection = self.corpus, self.selection
        upper: list[BoolArray] = []
        for term_index, term_units in enumerate(units):
            if not len(term_units):
                upper.append(self._path_masks[term_index])
                continue
            # Units to documents to files: a file possibly holds where its document has a candidate.
            has_candidate = mask_of(corpus.unit_doc[term_units], corpus.documents)
            upper.append(self._path_masks[term_index] | has_candidate[selection.documents])
        possible_files = self.prepared.possible_files(self._path_masks, upper, len(selection.files))
        is_possible = mask_of(selection.documents[possible_files], corpus.documents)
        return [UnitNumbers(term_units[is_possible[corpus.unit_doc[term_units]]]) for term_units in units]

    def evaluate(self, batch: DocumentRange) -> FileMatches:
        """Evaluate the files of a batch."""
        return self._evaluate_term(batch) if self.prepared.is_single else self._evaluate_tree(batch)

    def _evaluate_term(self, batch: DocumentRange) -> FileMatches:
        """Evaluate a query of one term: a document with a span matches, no masks are needed."""
        selection, finished_up_to = self.selection, self.selection.lowest_file_from(batch.end)
        spans = self._spans_in(batch)
        if not len(spans) and not self.has_path_matches[0]:
            return FileMatches(NO_SPANS, _NO_FILES, _NO_DOCUMENTS, _NO_FILES, finished_up_to)
        # One document may be the content of several files: each becomes a separate match.
        matching_documents = DocumentNumbers(unique_sorted(self.corpus.documents_of(spans.start)))
        first_positions = selection.first_position[matching_documents]
        positions = runs(first_positions, selection.first_position[matching_documents + 1] - first_positions)
        files, documents = FileNumbers(selection.files[positions]), DocumentNumbers(selection.documents[positions])
        path_files = _NO_FILES
        if self.has_path_matches[0]:
            # A file that matches by content and by path is a content match, so it is left out here.
            path_positions = self._path_positions_in(batch)
            if len(positions):
                path_positions = path_positions[~np.isin(path_positions, positions, assume_unique=True)]
            path_files = FileNumbers(selection.files[path_positions])
        if 0 not in self.prepared.visible:
            files = FileNumbers(np.concatenate((files, path_files)))
            return self._visible_matches(NO_SPANS, files, _NO_DOCUMENTS, finished_up_to)
        # Documents are numbered in the order in which blobs were written; rows are shown in file order.
        if not selection.is_ordered:
            order = np.argsort(files, kind="stable")
            files, documents = FileNumbers(files[order]), DocumentNumbers(documents[order])
            path_files = FileNumbers(np.sort(path_files))
        return FileMatches(spans, files, documents, path_files, finished_up_to)

    def _spans_in(self, batch: DocumentRange) -> Spans:
        """Return the spans of the only term in a batch, from the cache or from the text."""
        corpus, recorder = self.corpus, self._recorder
        spans = None if recorder is None else recorder.cache.in_batch(corpus, batch)
        if spans is None:
            spans = self._find(0, batch.units[0])
            if recorder is not None:
                recorder.add(corpus, batch, spans)
        return spans

    def counts(self, sizer: BatchSizer) -> Iterator[tuple[FileNumbers, Int64Array, FileNumbers]]:
        """Yield files that match by content, how many matches each has, and files that match by path."""
        text = self._plain_text
        if text is not None:
            name_only = self.name_only_matches()
            if len(name_only):
                yield _NO_FILES, _EMPTY, name_only
            for batch in self.batches(sizer):
                yield self._count(batch, text)
            return
        for matches in self.file_matches(sizer):
            # Spans ascend by byte: two binary searches per document count its matches.
            starts = self.corpus.doc_start[matches.documents]
            ends = starts + self.corpus.doc_size[matches.documents]
            span_counts = matches.spans.start.searchsorted(ends) - matches.spans.start.searchsorted(starts)
            yield matches.content_files, span_counts, matches.path_files

    @property
    def _plain_text(self) -> CompiledPattern | None:
        """The only term if each occurrence of its text is a match, and none lies in two units."""
        if not self.prepared.is_single or 0 not in self.prepared.visible:
            return None
        pattern = self.prepared.terms[0].pattern
        if not isinstance(pattern, CompiledPattern) or not pattern.exact or pattern.multi_line:
            return None
        return pattern

    def _count(self, batch: DocumentRange, pattern: CompiledPattern) -> tuple[FileNumbers, Int64Array, FileNumbers]:
        """Count a literal in a batch; a count needs no offsets, so a common literal takes a fraction of the time."""
        selection, units = self.selection, batch.units[0]
        matching_documents = counts = _EMPTY
        if len(units):
            document_counts = self._counts_in(batch, pattern)
            matching_documents = np.flatnonzero(document_counts) + batch.start
            counts = document_counts[matching_documents - batch.start]
        # A document may be the content of several files, each with the same count.
        first_positions = selection.first_position[matching_documents]
        lengths = selection.first_position[matching_documents + 1] - first_positions
        positions = runs(first_positions, lengths)
        path_positions = self._path_positions_in(batch) if self.has_path_matches[0] else _EMPTY
        path_files = selection.files[path_positions[~np.isin(path_positions, positions, assume_unique=True)]]
        return FileNumbers(selection.files[positions]), np.repeat(counts, lengths), FileNumbers(path_files)

    def _counts_in(self, batch: DocumentRange, pattern: CompiledPattern) -> Int64Array:
        """Count the matches of a literal in each document of a batch.

        A common literal is counted range by range in C. A rare one is found: one call over all ranges is faster than a
        call per range. A sample of ranges decides.
        """
        corpus, units = self.corpus, batch.units[0]
        starts, ends, unit_documents = corpus.unit_start[units], corpus.unit_end[units], corpus.unit_doc[units]
        # A range ends with its document, so that a count belongs to one document.
        is_gap = (starts[1:] != ends[:-1]) | (unit_documents[1:] != unit_documents[:-1])
        is_first, is_last = np.concatenate(([True], is_gap)), np.concatenate((is_gap, [True]))
        ranges = np.stack((starts[is_first], ends[is_last]), axis=1)
        range_documents = unit_documents[is_first] - batch.start
        sample = slice(0, len(ranges), len(ranges) // _PROBED_RANGES + 1)
        if int(pattern.counts(corpus.buffers, ranges[sample]).sum()) > 2 * len(ranges[sample]):
            counts = np.bincount(range_documents, pattern.counts(corpus.buffers, ranges), batch.end - batch.start)
            return counts.astype(np.int64)
        documents = corpus.documents_of(pattern.lines(corpus.buffers, ranges, self.stopped))
        return np.bincount(documents - batch.start, minlength=batch.end - batch.start)

    def _path_positions_in(self, batch: DocumentRange) -> Int64Array:
        """Return the positions in the selection of the files of a batch that match by path."""
        if self._path_positions is None:
            spans = self.path_spans[0]
            self._path_positions = _EMPTY if spans is None else self.selection.positions_with_path_match(spans)
        position_range = self.selection.first_position[[batch.start, batch.end]]
        start, end = self._path_positions.searchsorted(position_range).tolist()
        return self._path_positions[start:end]

    def _evaluate_tree(self, batch: DocumentRange) -> FileMatches:
        """Evaluate a tree of terms with bounds: `lower` surely holds for a file, `upper` possibly holds.

        Each scan makes the bounds of its term equal. Terms with few candidates come first: they rule out documents,
        whose units the other terms then do not scan.
        """
        corpus, prepared, selection = self.corpus, self.prepared, self.selection
        first_document, end_document = batch.start, batch.end
        positions = self._positions_in(batch)
        files = FileNumbers(selection.files[positions])
        documents = DocumentNumbers(selection.documents[positions])
        # A path match holds for any content.
        lower = [path_mask[positions] for path_mask in self._path_masks]
        upper = [
            path_mask | self._has_unit(units, batch)[documents - first_document] if len(units) else path_mask
            for path_mask, units in zip(lower, batch.units, strict=True)
        ]
        visible_spans: dict[int, Spans] = {}
        for term_index in sorted(range(len(prepared.terms)), key=lambda index: len(batch.units[index])):
            term_units = batch.units[term_index]
            if not len(term_units):
                continue
            # Worked out again for each term, with the bounds that the scans before it have tightened.
            possible_documents = documents[prepared.possible_files(lower, upper, len(files))]
            is_possible = mask_of(possible_documents - first_document, end_document - first_document)
            possible_units = UnitNumbers(term_units[is_possible[corpus.unit_doc[term_units] - first_document]])
            pattern = prepared.terms[term_index].pattern
            if term_index in prepared.visible or isinstance(pattern, StructurePattern):
                spans = self._find(term_index, possible_units)
                with_match = corpus.documents_of(spans.start)
                if term_index in prepared.visible:
                    visible_spans[term_index] = spans
            else:
                # A NOT shows nothing, so its first match in a document is enough.
                with_match = documents_holding(corpus, pattern, possible_units, self.stopped)
            matches = lower[term_index]
            if len(with_match):
                has_match = mask_of(with_match - first_document, end_document - first_document)
                matches = matches | has_match[documents - first_document]
            lower[term_index] = upper[term_index] = matches
        matching = prepared.matching_files(lower, len(files))
        finished_up_to = selection.lowest_file_from(end_document)
        return self._visible_matches(
            merge_spans(list(visible_spans.values()), nested=prepared.structure is not None),
            FileNumbers(files[matching]),
            DocumentNumbers(documents[matching]),
            finished_up_to,
        )

    def _has_unit(self, units: UnitNumbers, batch: DocumentRange) -> BoolArray:
        return mask_of(self.corpus.unit_doc[units] - batch.start, batch.end - batch.start)

    def _positions_in(self, batch: DocumentRange) -> slice | Int64Array:
        """Return the positions of the files of a batch that may match: files with a unit, if others can't."""
        first_position = self.selection.first_position
        if self._has_rows_without_units:
            return slice(int(first_position[batch.start]), int(first_position[batch.end]))
        unit_doc = self.corpus.unit_doc
        has_unit = np.zeros(batch.end - batch.start, dtype=np.bool_)
        for term_units in batch.units:
            has_unit[unit_doc[term_units] - batch.start] = True
        documents = np.flatnonzero(has_unit) + batch.start
        starts = first_position[documents]
        return runs(starts, first_position[documents + 1] - starts)

    def _visible_matches(
        self, spans: Spans, files: FileNumbers, documents: DocumentNumbers, finished_up_to: int
    ) -> FileMatches:
        """Keep the spans of matching files; matching files without a visible span match by path.

        A tree may fail for a document in which one of its terms was found: those spans are dropped here.
        """
        if not len(spans) or not len(files):
            return FileMatches(NO_SPANS, _NO_FILES, _NO_DOCUMENTS, FileNumbers(np.sort(files)), finished_up_to)
        span_documents = self.corpus.documents_of(spans.start)
        # `documents` ascends, so its ends bound the masks below.
        first_document, end_document = int(documents[0]), int(documents[-1]) + 1
        in_range = (span_documents >= first_document) & (span_documents < end_document)
        if not in_range.all():
            spans, span_documents = spans.filter(in_range), DocumentNumbers(span_documents[in_range])
        # Masks over the documents of the batch take the place of `np.isin`, which would sort.
        size = end_document - first_document
        has_spans = mask_of(span_documents - first_document, size)[documents - first_document]
        content_files, path_files = FileNumbers(files[has_spans]), FileNumbers(files[~has_spans])
        content_documents = DocumentNumbers(documents[has_spans])
        spans = spans.filter(mask_of(content_documents - first_document, size)[span_documents - first_document])
        if not self.selection.is_ordered:
            order = np.argsort(content_files, kind="stable")
            content_files = FileNumbers(content_files[order])
            content_documents = DocumentNumbers(content_documents[order])
            path_files = FileNumbers(np.sort(path_files))
        return FileMatches(spans, content_files, content_documents, path_files, finished_up_to)


def _units_of_documents(corpus: Corpus, units: UnitNumbers, first_document: int, end_document: int) -> UnitNumbers:
    start, end = corpus.unit_doc[units].searchsorted((first_document, end_document)).tolist()
    return UnitNumbers(units[start:end])


def _union(unit_lists: Sequence[UnitNumbers], size: int) -> UnitNumbers:
    # A mask gives the union in ascending order without a sort.
    is_member = np.zeros(size, dtype=np.bool_)
    for units in unit_lists:
        is_member[units] = True
    return UnitNumbers(np.flatnonzero(is_member))
