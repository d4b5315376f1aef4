"""Estimate the work of a query: files that pass its filters, and text that the index leaves to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcelight.core.cancellation import Cancellation, ScanStopped
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.model import Target, TextQuery, prepare
from sourcelight.engines.search.open_index import Opener
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.evaluate import CorpusSearch


@dataclass(slots=True)
class PatternShare:
    """Units of text that may hold a match, and their bytes."""

    units: int = 0
    size_bytes: int = 0


@dataclass(slots=True)
class Estimate:
    """Sums over repositories.

    `files` are all files, `passing_files` those that pass the ``file:`` and ``lang:`` filters; `file_filters` and
    `language_filters` count the files that each filter lets through by itself. `candidates` holds a share for each atom
    of the query, in order of appearance, `to_read` the share that is read once all atoms are taken together.
    `without_index` names repositories that can't be looked at.
    """

    repositories: int = 0
    files: int = 0
    passing_files: int = 0
    units: int = 0
    size_bytes: int = 0
    file_filters: list[int] = field(default_factory=list)
    language_filters: list[int] = field(default_factory=list)
    candidates: list[PatternShare] = field(default_factory=list)
    to_read: PatternShare = field(default_factory=PatternShare)
    without_index: list[str] = field(default_factory=list)


def estimate(open_target: Opener, targets: Sequence[Target], query: TextQuery, cancellation: Cancellation) -> Estimate:
    """Sum up what `query` would read in `targets`, from posting lists alone; ends early when cancelled."""
    prepared = prepare(query)
    sums = Estimate(
        file_filters=[0] * len(query.files),
        language_filters=[0] * len(query.languages),
        candidates=[PatternShare() for _ in prepared.terms],
    )
    for target in targets:
        if cancellation.stopped:
            break

        try:
            snapshot, _ = open_target(target)
        except (SourcelightError, OSError):
            sums.without_index.append(target.repository.name)
            continue

        try:
            search = CorpusSearch(Corpus((snapshot,)), prepared, lambda: cancellation.stopped)
        except ScanStopped:
            break

        sums.repositories += 1
        files = snapshot.view.files
        sums.files += files
        mask = search.selection.mask
        sums.passing_files += files if mask is None else int(mask.sum())
        for filter_index, file_filter in enumerate(query.files):
            mask = snapshot.passing_files((file_filter,), ())
            sums.file_filters[filter_index] += 0 if mask is None else int(mask.sum())

        for filter_index, language in enumerate(query.languages):
            mask = snapshot.passing_files((), (language,))
            sums.language_filters[filter_index] += 0 if mask is None else int(mask.sum())

        _add(sums, search)

    return sums


def _add(sums: Estimate, search: CorpusSearch) -> None:
    corpus = search.corpus
    sizes = corpus.unit_end - corpus.unit_start
    sums.units += corpus.units
    sums.size_bytes += int(sizes.sum())

    # Shares are of the pattern alone: filters are counted beside them.
    everything = corpus.selection((), ())
    units_by_term = [search.candidates_of(atom, everything) for atom in range(len(search.prepared.terms))]
    for share, candidates in zip(sums.candidates, units_by_term, strict=True):
        share.units += len(candidates)
        share.size_bytes += int(sizes[candidates].sum())

    to_read = search.units_to_read(units_by_term)
    sums.to_read.units += len(to_read)
    sums.to_read.size_bytes += int(sizes[to_read].sum())
