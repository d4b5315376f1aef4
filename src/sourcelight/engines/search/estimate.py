"""How much work a query is: files that pass its filters, and how much text the index leaves to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcelight.core.cancellation import Cancellation, ScanStopped
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.model import Target, TextQuery, plan
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.evaluate import CorpusSearch
from sourcelight.engines.search.searcher import Opener


@dataclass(slots=True)
class PatternShare:
    """Units of text that may hold a match, and their bytes."""

    units: int = 0
    size_bytes: int = 0


@dataclass(slots=True)
class Estimate:
    """Sums over the repositories that were looked at.

    `files` are all files, `passing` those that pass the ``file:`` and ``lang:`` filters; `file_filters` and
    `language_filters` count the files that each filter lets through by itself. `candidates` holds a share for each atom
    of the query, in order of appearance, `to_read` the share that is read once all atoms are taken together.
    `without_index` names repositories that can't be looked at.
    """

    repositories: int = 0
    files: int = 0
    passing: int = 0
    units: int = 0
    size_bytes: int = 0
    file_filters: list[int] = field(default_factory=list)
    language_filters: list[int] = field(default_factory=list)
    candidates: list[PatternShare] = field(default_factory=list)
    to_read: PatternShare = field(default_factory=PatternShare)
    without_index: list[str] = field(default_factory=list)


def estimate(open_target: Opener, targets: Sequence[Target], query: TextQuery, cancellation: Cancellation) -> Estimate:
    """Look into the indexes of `targets` for what `query` would read, without reading text; stops when told to."""
    prepared = plan(query)
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
        sums.passing += files if mask is None else int(mask.sum())
        for number, chosen in enumerate(query.files):
            mask = snapshot.passing_files((chosen,), ())
            sums.file_filters[number] += 0 if mask is None else int(mask.sum())
        for number, language in enumerate(query.languages):
            mask = snapshot.passing_files((), (language,))
            sums.language_filters[number] += 0 if mask is None else int(mask.sum())
        _add(sums, search)
    return sums


def _add(sums: Estimate, search: CorpusSearch) -> None:
    fleet = search.corpus
    sizes = fleet.unit_end - fleet.unit_start
    sums.units += fleet.units
    sums.size_bytes += int(sizes.sum())
    everything = fleet.selection((), ())
    units = [search.candidates_of(atom, everything) for atom in range(len(search.prepared.terms))]
    for share, found in zip(sums.candidates, units, strict=True):
        share.units += len(found)
        share.size_bytes += int(sizes[found].sum())
    read = search.units_to_read(units)
    sums.to_read.units += len(read)
    sums.to_read.size_bytes += int(sizes[read].sum())
