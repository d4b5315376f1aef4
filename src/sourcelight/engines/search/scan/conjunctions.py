"""Search documents for some texts and without others, one text after another: ``A AND B AND NOT C``.

`evaluate` reads the posting lists of all terms first, and keeps masks of all files. Here each text is looked for only
in the documents that the texts before it have left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sourcelight.core.arrays import Int64Array, mask_of, runs, unique_sorted
from sourcelight.core.boolean import And, Not
from sourcelight.core.cancellation import never
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.model import DocumentNumbers, FileTerm, PreparedQuery, UnitNumbers
from sourcelight.engines.search.scan.candidates import units_as_written
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.spans import Spans, documents_holding, find_spans, merge_spans

_MAX_UNPROBED_UNITS = 1024
"""Units of documents up to which a search for an excluded text costs less than reading its posting lists."""

_EMPTY: Int64Array = np.zeros(0, dtype=np.int64)

TermWithPattern: TypeAlias = tuple[FileTerm, CompiledPattern]
"""A term, and its pattern as one of text."""


@dataclass(frozen=True, slots=True)
class Conjunction:
    """Terms that a file must have, and terms that it must not have."""

    required: Sequence[TermWithPattern]
    excluded: Sequence[TermWithPattern]

    def is_of_contents(self, corpus: Corpus) -> bool:
        """Return whether only contents decide: no path matches a term, and no match crosses a line."""
        return all(
            not pattern.multi_line and not (term.path and corpus.path_spans(pattern, never).has_matches)
            for term, pattern in (*self.required, *self.excluded)
        )

    def in_any_case(self) -> Conjunction:
        """Return the same terms without regard to case."""
        return Conjunction(
            [(term, pattern.in_any_case) for term, pattern in self.required],
            [(term, pattern.in_any_case) for term, pattern in self.excluded],
        )


def conjunction_of(prepared: PreparedQuery) -> Conjunction | None:
    """Return the terms of a query of the form ``A AND B AND NOT C``, or None for another one."""
    tree = prepared.tree
    if not isinstance(tree, And):
        return None

    required = [node for node in tree.args if isinstance(node, int)]
    excluded = [node.arg for node in tree.args if isinstance(node, Not) and isinstance(node.arg, int)]
    # Without a required text, every document could match. Terms that aren't shown have no spans to collect.
    if not required or len(required) + len(excluded) < len(tree.args) or not prepared.visible.issuperset(required):
        return None

    # Structures are found by a parser, not in units.
    terms = [(term, term.pattern) for term in prepared.terms if isinstance(term.pattern, CompiledPattern)]
    if len(terms) < len(prepared.terms):
        return None
    return Conjunction([terms[number] for number in required], [terms[number] for number in excluded])


@dataclass(frozen=True, slots=True)
class ConjunctionSearch:
    """A search of a corpus for conjunctions; its methods may raise `IndexDamaged` and `OSError`.

    Parameters
    ----------
    corpus
        What is searched.
    max_units
        Candidate units to read at most, for each step.
    units_of
        Returns the candidates of a term in selected documents; None: it may match anywhere.
    find
        Returns the candidates of a term in any case, and its spans; None if there are too many to read.
    """

    corpus: Corpus
    max_units: int
    units_of: Callable[[FileTerm, CompiledPattern], UnitNumbers | None]
    find: Callable[[FileTerm, CompiledPattern], tuple[UnitNumbers, Spans] | None]

    def is_absent_in_any_case(self, conjunction: Conjunction) -> bool:
        """Return whether no document matches if case is ignored; False also if that takes much reading."""
        # Names of repositories aren't looked at: a query whose words are in one never comes here.
        insensitive = conjunction.in_any_case()
        result = self.run(insensitive) if insensitive.is_of_contents(self.corpus) else None
        return result is not None and not len(result[0])

    def run(self, conjunction: Conjunction) -> tuple[DocumentNumbers, Spans] | None:
        """Return the matching documents, and spans of their terms and of others; None if that takes much reading.

        Each term is looked for only in documents that passed those before.
        """
        corpus = self.corpus
        # The common form, whose spans are cached for a repeated search: those of several terms depend on each other.
        if len(conjunction.required) == 1:
            result = self.find(*conjunction.required[0])
            if result is None:
                return None
            spans = result[1]
            documents = DocumentNumbers(unique_sorted(corpus.documents_of(spans.start)))
        else:
            matching = self._with_all(conjunction.required)
            if matching is None:
                return None
            documents, spans = matching

        # After the required texts: a NOT alone leaves nearly all documents, and its posting lists are the longest.
        for term, pattern in conjunction.excluded:
            remaining = self._without(documents, term, pattern)
            if remaining is None:
                return None
            documents = remaining

        # Spans in documents that an excluded text has ruled out are still among them.
        return documents, spans

    def _with_all(self, required: Sequence[TermWithPattern]) -> tuple[DocumentNumbers, Spans] | None:
        """Return the documents with all terms, and their spans; None if that takes much reading."""
        corpus, unread_units = self.corpus, self.max_units
        candidates: list[tuple[CompiledPattern, UnitNumbers]] = []
        for term, pattern in required:
            term_units = self.units_of(term, pattern)
            if term_units is None:
                return None
            candidates.append((pattern, units_as_written(corpus, pattern, term_units)))

        documents = DocumentNumbers(_EMPTY)
        spans_by_term: list[Spans] = []

        # A term that may match anywhere, such as a text of two letters, was refused above.
        # The term with the fewest units leaves the fewest documents to the others. A term without any ends the search
        # before a text is read.
        for pattern, term_units in sorted(candidates, key=lambda item: len(item[1])):
            units = self._units_in(term_units, documents) if spans_by_term else term_units
            unread_units -= len(units)
            if unread_units < 0:
                return None
            # Checked before it is read, as damage must end the search and not change its result.
            corpus.check_content(units)
            spans_by_term.append(find_spans(corpus, pattern, units, never))
            documents = DocumentNumbers(unique_sorted(corpus.documents_of(spans_by_term[-1].start)))

        return documents, merge_spans(spans_by_term)

    def _units_in(self, units: UnitNumbers, documents: DocumentNumbers) -> UnitNumbers:
        """Return the units that belong to documents."""
        return UnitNumbers(units[mask_of(documents, self.corpus.documents)[self.corpus.unit_doc[units]]])

    def _without(self, documents: DocumentNumbers, term: FileTerm, pattern: CompiledPattern) -> DocumentNumbers | None:
        """Return the documents without a term; None if that takes much reading."""
        if not len(documents) or not term.content:
            return documents

        # Units are numbered in the order of their documents, so those of a document are one run.
        first_units = self.corpus.unit_doc.searchsorted(documents)
        unit_counts = self.corpus.unit_doc.searchsorted(documents, side="right") - first_units
        units = UnitNumbers(runs(first_units, unit_counts))
        # A search stops at the first occurrence in a document, so that a common text costs little. A rare one costs a
        # read of all documents: where these are many, its posting lists leave few units.
        if len(units) > _MAX_UNPROBED_UNITS:
            candidates = self.units_of(term, pattern)
            if candidates is not None:
                units = self._units_in(units_as_written(self.corpus, pattern, candidates), documents)
            if len(units) > self.max_units:
                return None

        is_without = np.ones(len(documents), dtype=np.bool_)
        is_without[documents.searchsorted(documents_holding(self.corpus, pattern, units, never))] = False
        return DocumentNumbers(documents[is_without])
