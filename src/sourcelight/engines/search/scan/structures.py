"""Structures in the documents of a corpus: texts that may hold them are chosen here, and searched by other processes.

The language of a file decides what its text means, and files of several languages may share a document. Each document
of a selection is read in one language; what is left of such twins is a selection of its own.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, unique_sorted
from sourcelight.core.cancellation import Stopped, check_stopped
from sourcelight.engines.search.model import DocumentNumbers, FileNumbers, UnitNumbers
from sourcelight.engines.search.scan.corpus import Corpus, FileSelection
from sourcelight.engines.search.scan.spans import NO_SPANS, Spans
from sourcelight.engines.structure.pattern import StructurePattern
from sourcelight.engines.structure.pool import SourceText, shared_pool

_BATCH_BYTES, _BATCH_TEXTS = 8 << 20, 512
"""Bytes of text in memory at once: enough for all processes, and little compared with the mapped text."""


class StructureScan:
    """Finds structures in the documents of a selection.

    Parameters
    ----------
    corpus, selection
        Where; all files of a document have one language, see `split_by_language`.
    language
        The language in which all files are read; empty: each in its own.

    Attributes
    ----------
    waited_s
        Seconds for which other processes were waited for.
    """

    def __init__(self, corpus: Corpus, selection: FileSelection, language: str) -> None:
        self._corpus = corpus
        self._selection = selection
        self._names = corpus.language_names
        self._pattern_language = language
        self._language_of: Int64Array = np.full(corpus.documents, -1, dtype=np.int64)
        self._language_of[selection.documents] = corpus.language[selection.files]
        self._unread: dict[int, str] = {}
        self.waited_s = 0.0

    def find(self, pattern: StructurePattern, units: UnitNumbers, stopped: Stopped) -> Spans:
        """Return the matches in the documents of some units; raises `ScanStopped` when `stopped` returns True."""
        tables: list[Int64Array] = []
        documents: list[int] = []
        texts: list[SourceText] = []
        size = 0
        for document in unique_sorted(self._corpus.unit_doc[units]).tolist():
            check_stopped(stopped)
            language = self._language(document)

            # A language in which this pattern is invalid, though another one of the query has matches there.
            if language not in pattern.languages:
                continue

            data = self._corpus.text(document)
            # Units of the index hold the pieces of a text somewhere and in any case; here they must match exactly.
            if not pattern.may_match(language, data):
                continue

            documents.append(document)
            texts.append(SourceText(language, data))
            size += len(data)
            if size > _BATCH_BYTES or len(texts) == _BATCH_TEXTS:
                tables += self._spans(pattern, documents, texts, stopped)
                documents, texts, size = [], [], 0

        tables += self._spans(pattern, documents, texts, stopped)
        if not tables:
            return NO_SPANS

        # Documents ascend, and the matches of each are sorted: so is the whole.
        table = np.concatenate(tables)
        return Spans(table[:, 0], table[:, 1])

    def _language(self, document: int) -> str:
        code = int(self._language_of[document])
        return "" if code < 0 else self._pattern_language or self._names[code]

    def _spans(
        self, pattern: StructurePattern, documents: list[int], texts: list[SourceText], stopped: Stopped
    ) -> list[Int64Array]:
        tables = []
        started_s = time.monotonic()
        spans_by_text = shared_pool().find(pattern.text, texts, stopped)
        self.waited_s += time.monotonic() - started_s

        for document, result in zip(documents, spans_by_text, strict=True):
            # Told with the repository, when that is finished: the answer lacks what may be in it.
            if result.problem:
                self._unread[document] = result.problem
            elif len(result.starts):
                tables.append(np.stack((result.starts, result.ends), axis=1) + int(self._corpus.doc_start[document]))

        return tables

    def count_unread(self) -> list[Counter[str]]:
        """Count, for each member, the selected files whose syntax could not be read, by reason."""
        counts: list[Counter[str]] = [Counter() for _ in self._corpus.members]
        first = self._selection.first_position
        for document, problem in self._unread.items():
            files = FileNumbers(self._selection.files[int(first[document]) : int(first[document + 1])])
            for member in self._corpus.member_of(files).tolist():
                counts[member][f"structure-{problem}"] += 1
        return counts


def unread_counts(scans: Sequence[StructureScan]) -> list[dict[str, int]]:
    """Add up the counts of scans of one corpus."""
    counts_by_scan = [scan.count_unread() for scan in scans]
    return [dict(sum(of_member, Counter())) for of_member in zip(*counts_by_scan, strict=True)]


def split_by_language(corpus: Corpus, selection: FileSelection, language: str) -> list[FileSelection]:
    """Return selections, mostly one, in which all files of a document have one language; together they are the whole.

    With `language`, all files have this language.
    """
    if language or not len(selection.files):
        return [selection]

    # Members with different aliases for a language have an entry each, with one name.
    numbers: dict[str, int] = {}
    number_of_code = np.array([numbers.setdefault(name, len(numbers)) for name in corpus.language_names])
    languages, documents = number_of_code[corpus.language[selection.files]], selection.documents
    lowest = np.full(corpus.documents, len(numbers), dtype=np.int64)
    highest = np.full(corpus.documents, -1, dtype=np.int64)
    np.minimum.at(lowest, documents, languages)
    np.maximum.at(highest, documents, languages)
    ambiguous = np.flatnonzero((lowest < highest)[documents])
    if not len(ambiguous):
        return [selection]

    # The rank of a file's language among the languages of its document.
    rank = np.zeros(len(documents), dtype=np.int64)
    ranks: dict[int, dict[int, int]] = {}
    for position in ambiguous.tolist():
        document_ranks = ranks.setdefault(int(documents[position]), {})
        rank[position] = document_ranks.setdefault(int(languages[position]), len(document_ranks))

    return [_with_positions(selection, rank == number, number) for number in range(int(rank.max()) + 1)]


def _with_positions(selection: FileSelection, positions: BoolArray, rank: int) -> FileSelection:
    # Positions are in document order, as they are in the whole selection.
    documents = DocumentNumbers(selection.documents[positions])
    first = np.zeros(len(selection.first_position), dtype=np.int64)
    np.cumsum(np.bincount(documents, minlength=len(first) - 1), out=first[1:])
    return FileSelection(
        selection.mask,
        FileNumbers(selection.files[positions]),
        documents,
        first,
        first[1:] > first[:-1],
        selection.name_only if rank == 0 else FileNumbers(selection.name_only[:0]),
    )
