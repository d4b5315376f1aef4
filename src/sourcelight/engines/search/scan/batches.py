"""Batches of a scan: how many units each takes, where it ends, and the spans that a repeated search takes instead."""

from __future__ import annotations

from dataclasses import dataclass, field

from sourcelight.core.arrays import Int64Array, unique_sorted
from sourcelight.engines.search.index.document_buffer import UNIT_BYTES
from sourcelight.engines.search.model import DEFAULT_BATCHES, BatchLimits, UnitNumbers
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.spans import Spans, concatenate_spans

MAX_CACHED_UNITS, MAX_CACHED_SPANS = 16_384, 20_000
"""Candidates and spans that are cached per pattern (0.5 MB at most): a repeated search then reads no text."""

_MIN_BATCH_UNITS, _GROWTH = 4, 4

LAST_BATCH_FACTOR = 2
"""Remaining units, in batches, that are taken at once: a small last batch costs as much as a full one."""

_EXPECTED_UNIT_BYTES = 2 * UNIT_BYTES
"""Bytes per unit that a batch allows for: a unit of one long line can be megabytes, and fills a batch alone."""

# A search can be stopped only between batches, so a batch should take 50 ms; above 80 ms the next one is smaller.
_TARGET_S, _MAX_BATCH_S = 0.05, 0.08


@dataclass(frozen=True, slots=True)
class DocumentRange:
    """Documents ``start:end`` of a batch, and for each term the units in them that may hold a match."""

    start: int
    end: int
    units: list[UnitNumbers]


@dataclass(slots=True)
class PatternSpans:
    """Cached candidates and spans of one pattern in the files that pass certain filters.

    They never go stale, since a corpus is immutable. `units` are the candidates in any case, None when there are too
    many; `spans` is set when one search has read all candidates and found few enough matches.
    """

    units: UnitNumbers | None = None
    spans: Spans | None = None

    def store(self, corpus: Corpus, spans: Spans) -> None:
        """Store all spans of the pattern, and narrow its candidates to the units that have one."""
        # Units ascend by byte, so a span lies in the last unit that starts at or before it.
        self.units = UnitNumbers(unique_sorted(corpus.unit_start.searchsorted(spans.start, side="right") - 1))
        self.spans = spans

    def in_batch(self, corpus: Corpus, batch: DocumentRange) -> Spans | None:
        """Return the spans in the documents of a batch, or None when the documents must be read."""
        if self.spans is None or (not batch.start and batch.end == corpus.documents):
            return self.spans
        # Spans ascend by byte, so the spans of a run of documents are one slice.
        last = batch.end - 1
        byte_range = corpus.doc_start[batch.start], corpus.doc_start[last] + corpus.doc_size[last]
        return self.spans.slice(*self.spans.start.searchsorted(byte_range).tolist())


@dataclass(slots=True)
class SpanRecorder:
    """Collects the spans of all batches of a search for the cache; gives up on too many, or on a skipped batch."""

    cache: PatternSpans
    spans: list[Spans] = field(default_factory=list)
    size: int = 0
    end: int = 0

    def add(self, corpus: Corpus, batch: DocumentRange, spans: Spans) -> None:
        """Add the spans of a batch."""
        self.size += len(spans)
        if batch.start != self.end or self.size > MAX_CACHED_SPANS:
            # No batch starts at -1, so nothing is recorded any more: a cache entry must cover all documents.
            self.end = -1
            self.spans.clear()
            return

        self.spans.append(spans)
        self.end = batch.end
        if batch.end == corpus.documents:
            self.cache.store(corpus, concatenate_spans(self.spans))


@dataclass(slots=True)
class BatchSizer:
    """Number of units of the next batch: few at first, four times as many after each fast batch.

    With `expects_one_batch` the first batch is large enough for most searches. A search that has more units starts
    small all the same, and sets `has_many`. `units` are those of the first batch, by default as in `limits`.
    """

    units: int = 0
    expects_one_batch: bool = False
    limits: BatchLimits = DEFAULT_BATCHES
    has_many: bool = False

    def __post_init__(self) -> None:
        self.units = self.units or self.limits.first_units

    def start(self, total_units: int) -> None:
        """Set the size of the first batch of a search with `total_units`."""
        if self.expects_one_batch and total_units > LAST_BATCH_FACTOR * self.units:
            self.units, self.has_many = self.limits.first_units, True
        self.expects_one_batch = False

    def adapt(self, taken_s: float) -> None:
        """Set the size of the next batch from the CPU time of the last one, including its consumer's."""
        if taken_s > _MAX_BATCH_S:
            self.units = max(_MIN_BATCH_UNITS, int(self.units * _TARGET_S / taken_s))
        elif taken_s < _TARGET_S / 2:
            self.units = min(self.units * _GROWTH, self.limits.max_units)


def batch_end(position: int, cumulative_bytes: Int64Array, total_bytes: int, max_units: int) -> int:
    """Return where a batch of units from `position` ends, limited by its units and their bytes."""
    start_bytes = int(cumulative_bytes[position - 1]) if position else 0
    expected_bytes = max_units * _EXPECTED_UNIT_BYTES
    max_bytes = start_bytes + expected_bytes

    # What remains is one batch where it is little: no second round of fixed costs for the last few units.
    if (
        len(cumulative_bytes) - position <= LAST_BATCH_FACTOR * max_units
        and total_bytes <= max_bytes + (LAST_BATCH_FACTOR - 1) * expected_bytes
    ):
        return len(cumulative_bytes)

    # At least one unit: a unit larger than the limit must still be read.
    units_within_bytes = max(position + 1, int(cumulative_bytes.searchsorted(max_bytes, side="right")))
    return min(position + max_units, units_within_bytes)
