"""Search a few units of one corpus in a single step, without threads, deadlines or parts.

`searcher.search` streams results of any size in parts. Most searches for a word read a few kilobytes, which takes less
time than to set up that stream. `SmallSearch` makes the same matches with fewer calls, and returns None if there is
more to read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sourcelight.core.arrays import Int64Array, distinct, mask_of, runs, unique_sorted
from sourcelight.core.batches.codecs.few_matches import FewMatches
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.cancellation import never
from sourcelight.core.patterns.alternative_texts import AlternativeTexts
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.texts import find_lowered
from sourcelight.engines.search.few_lines import few_matches, few_spans
from sourcelight.engines.search.model import (
    DocumentNumbers,
    FileNumbers,
    FileTerm,
    PreparedQuery,
    SearchOptions,
    UnitNumbers,
)
from sourcelight.engines.search.open_index import OpenedTargets
from sourcelight.engines.search.scan.batches import MAX_CACHED_SPANS, MAX_CACHED_UNITS, BatchSizer, PatternSpans
from sourcelight.engines.search.scan.candidates import candidate_units, units_as_written
from sourcelight.engines.search.scan.collect import MatchCollector
from sourcelight.engines.search.scan.columns import BatchSource, PathSpanTable
from sourcelight.engines.search.scan.conjunctions import Conjunction, ConjunctionSearch, conjunction_of
from sourcelight.engines.search.scan.corpus import Corpus, FileSelection
from sourcelight.engines.search.scan.evaluate import CorpusSearch, FileMatches
from sourcelight.engines.search.scan.paths import PathSpans
from sourcelight.engines.search.scan.spans import NO_SPANS, Spans, find_spans, holds_match, merge_spans, unit_ranges

_OPTIONS = SearchOptions(in_path_order=True, raw_rows=sys.maxsize)
"""Options for all matches, shown as lines without surroundings."""

_MAX_KEPT_UNITS = 64
"""Candidates that stay cached beside the spans in them."""

_EMPTY: Int64Array = np.zeros(0, dtype=np.int64)
_NO_FILES = FileNumbers(_EMPTY)


@dataclass(frozen=True, slots=True)
class SmallSearchLimits:
    """Limits beyond which a search isn't small.

    Attributes
    ----------
    units
        Candidate units to read, usually of 16 KiB each.
    matches
        Matches in paths and in texts; those in a text count once for each file that has it.
    text_bytes
        Bytes of matched lines, once for each file that has them. A line may have megabytes.
    few_spans
        Matches in texts up to which they are collected one by one, for JSON alone; 0 for a record batch.
    """

    units: int
    matches: int
    text_bytes: int
    few_spans: int = 0


@dataclass(frozen=True, slots=True)
class SmallResult:
    """The result of a small search.

    `matches` is None if nothing matches; `absent_in_any_case` is then True if nothing matches in any case either.
    """

    matches: RawMatches | FewMatches | None
    absent_in_any_case: bool = False


_ABSENT, _NOT_SO_SPELLED = SmallResult(None, absent_in_any_case=True), SmallResult(None)


@dataclass(slots=True)
class SmallSearch:
    """A search of the selected files of a corpus; `run` may raise `IndexDamaged` and `OSError`.

    Parameters
    ----------
    group, corpus
        The opened targets, and their corpus.
    selection
        The files that pass the filters of the query.
    prepared
        The query, a tree of plain texts.
    limits
        Limits of the search.
    """

    group: OpenedTargets
    corpus: Corpus
    selection: FileSelection
    prepared: PreparedQuery
    limits: SmallSearchLimits

    def run(self) -> SmallResult | None:
        """Return all matches, or None if a limit is exceeded."""
        self.corpus.mapped.check_sizes()
        term = self.prepared.terms[0]
        pattern = term.pattern
        conjunction = None if self.prepared.is_single else self._conjunction()
        if conjunction is not None:
            return self._search_conjunction(conjunction)

        if not self.prepared.is_single or not isinstance(pattern, CompiledPattern) or pattern.multi_line:
            return self._search_tree()

        in_paths = term.path and self.corpus.paths.may_match(pattern)
        path_spans = self.corpus.path_spans(pattern, never) if in_paths else self.corpus.paths.no_spans
        if len(path_spans.file) > self.limits.matches:
            return None
        mask = self.selection.mask
        if mask is not None and path_spans.has_matches and not mask[path_spans.file].any():
            path_spans = self.corpus.paths.no_spans

        result = self._find(term, pattern)
        if result is None:
            return None

        units, spans = result
        if len(spans) or path_spans.has_matches:
            return self._collect(spans, path_spans)

        # Keys ignore case, and so does the first look at the paths.
        is_absent = not pattern.case_sensitive or (not in_paths and self._is_absent(pattern, units))
        return _ABSENT if is_absent else _NOT_SO_SPELLED

    def has_match(self) -> bool | None:
        """Return whether any file matches, or None if that is much to read."""
        self.corpus.mapped.check_sizes()
        term = self.prepared.terms[0]
        pattern = term.pattern
        conjunction = None if self.prepared.is_single else self._conjunction()
        if conjunction is not None:
            result = self._conjunction_search().run(conjunction)
            return None if result is None else len(result[0]) > 0

        if not self.prepared.is_single or not isinstance(pattern, CompiledPattern) or pattern.multi_line:
            return None
        if term.path:
            path_spans = self.corpus.path_spans(pattern, never)
            if path_spans.has_matches and len(self._files_by_path(path_spans, _NO_FILES)):
                return True

        candidates = self._candidates(term, pattern, self._cache_of(pattern))
        if candidates is None:
            return None

        units = units_as_written(self.corpus, pattern, candidates)
        to_read = UnitNumbers(units[: self.limits.units])
        self.corpus.check_content(to_read)
        if holds_match(self.corpus, pattern, to_read, never):
            return True
        return False if len(to_read) == len(units) else None

    def _conjunction(self) -> Conjunction | None:
        """Return the query as a conjunction of texts in contents, or None if it is another one."""
        conjunction = conjunction_of(self.prepared)
        return conjunction if conjunction is not None and conjunction.is_of_contents(self.corpus) else None

    def _conjunction_search(self) -> ConjunctionSearch:
        return ConjunctionSearch(self.corpus, self.limits.units, self._units_of, self._find)

    def _find(self, term: FileTerm, pattern: CompiledPattern) -> tuple[UnitNumbers, Spans] | None:
        """Return the candidates of a term in any case, and its spans; None if there are too many to read.

        Both are cached: a search that is refused for its size is repeated with larger limits.
        """
        if not term.content:
            return UnitNumbers(_EMPTY), NO_SPANS

        cached = self._cache_of(pattern)
        if cached.spans is not None and len(cached.spans):
            return cached.units if cached.units is not None else UnitNumbers(_EMPTY), cached.spans

        # Each text of an alternation is looked for in its own candidates: those of a common one are many.
        texts = pattern.alternatives if isinstance(pattern, AlternativeTexts) else (pattern,)
        candidates: list[UnitNumbers] = []
        for text in texts:
            # Not cached each by itself: thirty alternations would leave no room for their spans.
            units = self._candidates(term, text, cached) if len(texts) == 1 else self._units_of(term, text)
            if units is None:
                return None
            candidates.append(units)

        units = candidates[0] if len(texts) == 1 else UnitNumbers(distinct(np.concatenate(candidates)))
        if cached.spans is not None or not len(units):
            return units, cached.spans or NO_SPANS  # none, as an earlier search found

        spans = self._spans_of(pattern, texts, candidates)
        if spans is None:
            return None
        if len(spans) <= MAX_CACHED_SPANS:
            # Many candidates are dropped for the units with a span.
            if len(units) > _MAX_KEPT_UNITS:
                cached.store(self.corpus, spans)
            else:
                cached.spans = spans
        return units, spans

    def _spans_of(
        self, pattern: CompiledPattern, texts: Sequence[CompiledPattern], candidates: Sequence[UnitNumbers]
    ) -> Spans | None:
        """Return the spans of a pattern, from the candidates of each of its texts; None if that is much to read."""
        to_read = [units_as_written(self.corpus, *of_text) for of_text in zip(texts, candidates, strict=True)]
        if sum(map(len, to_read)) > self.limits.units:
            return None

        # Checked before it is read, as damage must end the search and not change its result.
        self.corpus.check_content(to_read[0] if len(to_read) == 1 else UnitNumbers(np.concatenate(to_read)))
        parts = [self._spans_in(*of_text) for of_text in zip(texts, to_read, strict=True)]
        spans = merge_spans(parts)
        if isinstance(pattern, AlternativeTexts) and pattern.overlaps_itself and len(spans) < sum(map(len, parts)):
            return None  # RE2 must tell which of two overlapping occurrences is a match, see `hides_matches`
        return spans

    def _spans_in(self, pattern: CompiledPattern, units: UnitNumbers) -> Spans:
        few = few_spans(self.corpus, pattern, units) if self.limits.few_spans else None
        return find_spans(self.corpus, pattern, units, never) if few is None else few

    def _cache_of(self, pattern: CompiledPattern) -> PatternSpans:
        query = self.prepared.query
        return self.corpus.pattern_cache.remember((pattern, query.files, query.languages), PatternSpans)

    def _candidates(self, term: FileTerm, pattern: CompiledPattern, cached: PatternSpans) -> UnitNumbers | None:
        """Return the candidates of `_units_of`, and cache them."""
        # With spans, the units are those with a span alone.
        if cached.spans is None and cached.units is not None:
            return cached.units

        units = self._units_of(term, pattern)
        if units is not None and cached.spans is None and len(units) <= MAX_CACHED_UNITS:
            cached.units = units
        return units

    def _units_of(self, term: FileTerm, pattern: CompiledPattern) -> UnitNumbers | None:
        """Return the candidates of a term in selected documents; None: it may match anywhere."""
        if not term.content:
            return UnitNumbers(_EMPTY)

        units = candidate_units(self.corpus, pattern, self.selection)
        if units is not None and len(units) and not self.selection.covers_all:
            units = UnitNumbers(units[self.selection.in_documents[self.corpus.unit_doc[units]]])
        return units

    def _collect(self, spans: Spans, path_spans: PathSpans) -> SmallResult | None:
        """Return the matches of spans in texts and in paths; None if there are too many."""
        if len(spans) <= self.limits.few_spans:
            few = few_matches(
                self.corpus,
                self.selection,
                spans,
                path_spans,
                self.group.locations,
                lambda: self._raw(spans, path_spans),
            )
            if few is not None and few.total <= self.limits.matches:
                return SmallResult(few)

        return self._collect_arrays(spans, path_spans)

    def _raw(self, spans: Spans, path_spans: PathSpans) -> RawMatches:
        """Return the matches of a few spans as arrays."""
        result = self._collect_arrays(spans, path_spans)
        if result is None or not isinstance(result.matches, RawMatches):
            raise AssertionError("a few matches exceed no limit")
        return result.matches

    def _collect_arrays(self, spans: Spans, path_spans: PathSpans) -> SmallResult | None:
        documents = self.corpus.documents_of(spans.start)
        copies = self._copies(documents)
        matches = self._matches_in_content(spans, documents)
        in_paths = None
        if path_spans.has_matches:
            matches = replace(matches, path_files=self._files_by_path(path_spans, matches.content_files))
            in_paths = PathSpanTable(path_spans.file, path_spans.start, path_spans.end)

        if int(copies.sum()) + len(matches.path_files) > self.limits.matches:
            return None

        targets, commits, locations = self.group.targets, self.group.commits, self.group.locations
        source = BatchSource(self.corpus, None, targets, commits, locations, in_paths)
        collector = MatchCollector(source, _OPTIONS)
        collector.add(matches)
        if collector.has_batch:
            return self._result(collector, int(copies.max(initial=1)))
        return _ABSENT if self._ignores_case else _NOT_SO_SPELLED

    def _files_by_path(self, spans: PathSpans, content_files: FileNumbers) -> FileNumbers:
        """Return the selected files that match by their path and aren't among those with matches in their content."""
        files = unique_sorted(spans.file)
        mask = self.selection.mask
        if mask is not None:
            files = files[mask[files]]
        return FileNumbers(files[~np.isin(files, content_files, assume_unique=True)])

    def _is_absent(self, pattern: CompiledPattern, units: UnitNumbers) -> bool:
        """Return whether units without a match have none in another case either."""
        if not len(units):
            return True
        if pattern.kind == "regexp":
            return False

        insensitive = pattern.in_any_case
        # They may be more than those that were read, and checked, for the text as it is written.
        if not insensitive.lowered or len(units) > self.limits.units:
            return False
        self.corpus.check_content(units)
        few = few_spans(self.corpus, insensitive, units)
        if few is not None:
            return not len(few)
        offsets = find_lowered(
            self.corpus.buffers,
            insensitive.lowered,
            unit_ranges(self.corpus, units),
            hazards=insensitive.needs_fold_check,
        )
        return offsets is not None and not len(offsets)

    def _matches_in_content(self, spans: Spans, documents_of_spans: DocumentNumbers) -> FileMatches:
        """Return the files with spans in their content, in the order of their paths."""
        selection = self.selection
        matching = DocumentNumbers(unique_sorted(documents_of_spans))

        # One document may be the content of several files: each becomes a separate match.
        positions = runs(selection.first_position[matching], self._copies(matching))
        files, documents = selection.files[positions], selection.documents[positions]
        if not selection.is_ordered:
            order = np.argsort(files, kind="stable")
            files, documents = files[order], documents[order]

        return FileMatches(
            spans=spans,
            content_files=FileNumbers(files),
            documents=DocumentNumbers(documents),
            path_files=_NO_FILES,
            finished_up_to=self.corpus.files,
        )

    def _copies(self, documents: DocumentNumbers) -> Int64Array:
        """Return the number of selected files with each document as their content."""
        # A prefix table: the files of a document start at its position and end at the position of the next document.
        first_positions = self.selection.first_position
        return first_positions[documents + 1] - first_positions[documents]

    def _search_conjunction(self, conjunction: Conjunction) -> SmallResult | None:
        search = self._conjunction_search()
        result = search.run(conjunction)
        if result is None:
            return None

        documents, spans = result
        if not len(documents):
            return _ABSENT if self._ignores_case or search.is_absent_in_any_case(conjunction) else _NOT_SO_SPELLED

        is_visible = mask_of(documents, self.corpus.documents)[self.corpus.documents_of(spans.start)]
        return self._collect(spans.filter(is_visible), self.corpus.paths.no_spans)

    @property
    def _ignores_case(self) -> bool:
        patterns = [term.pattern for term in self.prepared.terms]
        return not any(isinstance(pattern, CompiledPattern) and pattern.case_sensitive for pattern in patterns)

    def _search_tree(self) -> SmallResult | None:
        """Search with the machinery of large searches, in one batch."""
        group = self.group
        search = CorpusSearch(self.corpus, self.prepared, never, among=self.selection)
        if any(spans is not None and len(spans.file) > self.limits.matches for spans in search.path_spans):
            return None

        candidates = search.candidates()
        if candidates is not None and len(search.units_to_read(candidates)) > self.limits.units:
            return None

        name_only = search.name_only_matches()
        source = BatchSource(self.corpus, search, group.targets, group.commits, group.locations)
        collector = MatchCollector(source, _OPTIONS)

        # Files without content match by their paths; they wait there for those before them.
        collector.add(
            FileMatches(
                spans=NO_SPANS,
                content_files=_NO_FILES,
                documents=DocumentNumbers(_EMPTY),
                path_files=name_only,
                finished_up_to=0,
            )
        )
        rows, max_copies = len(name_only), 1
        for batch in search.batches(BatchSizer(2 * self.limits.units)):
            matches = search.evaluate(batch)
            copies = self._copies(self.corpus.documents_of(matches.spans.start))
            rows += int(copies.sum())
            if rows > self.limits.matches:
                return None
            max_copies = max(max_copies, int(copies.max(initial=1)))
            collector.add(matches)

        collector.release_all()
        if collector.has_batch:
            return self._result(collector, max_copies)

        return _ABSENT if self._ignores_case else _NOT_SO_SPELLED

    def _result(self, collector: MatchCollector, max_copies: int) -> SmallResult | None:
        """Return the collected matches, or None if their text is too long."""
        # Copies are counted one by one only if that matters: a file with many copies may have one of many lines.
        limit = self.limits.text_bytes
        if collector.text_bytes * max_copies > limit and collector.text_bytes_in_files() > limit:
            return None
        return SmallResult(collector.take_batch().batches[0])
