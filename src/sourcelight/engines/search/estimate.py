"""How much work a query is: files that pass its filters, and how much text the index leaves to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcelight.core.batches.events import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.core.patterns.halting import Halted
from sourcelight.engines.search.model import Target, TextQuery
from sourcelight.engines.search.scan.candidates import candidate_units
from sourcelight.engines.search.scan.evaluate import RepositorySearch
from sourcelight.engines.search.scan.plan import plan
from sourcelight.engines.search.searcher import Opener


@dataclass(slots=True)
class Share:
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
    candidates: list[Share] = field(default_factory=list)
    to_read: Share = field(default_factory=Share)
    without_index: list[str] = field(default_factory=list)


def estimate(open_target: Opener, targets: Sequence[Target], query: TextQuery, cancellation: Cancellation) -> Estimate:
    """Look into the indexes of `targets` for what `query` would read, without reading text; stops when told to."""
    prepared = plan(query)
    sums = Estimate(
        file_filters=[0] * len(query.files),
        language_filters=[0] * len(query.languages),
        candidates=[Share() for _ in prepared.atoms],
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
            search = RepositorySearch(snapshot, prepared, lambda: cancellation.stopped)
        except Halted:
            break
        sums.repositories += 1
        files = snapshot.view.files
        sums.files += files
        sums.passing += files if search.filter is None else int(search.filter.sum())
        for number, chosen in enumerate(query.files):
            mask = snapshot.filtered((chosen,), ())
            sums.file_filters[number] += 0 if mask is None else int(mask.sum())
        for number, language in enumerate(query.languages):
            mask = snapshot.filtered((), (language,))
            sums.language_filters[number] += 0 if mask is None else int(mask.sum())
        for number in range(len(snapshot.shards)):
            _add_shard(sums, search, number)
    return sums


def _add_shard(sums: Estimate, search: RepositorySearch, number: int) -> None:
    shard, prepared = search.snapshot.shards[number], search.plan
    sizes = np.diff(shard.unit_start.astype(np.int64))
    sums.units += shard.units
    sums.size_bytes += int(sizes.sum())
    placement = search.snapshot.placement(number)
    files, documents = placement.files, placement.documents
    if search.filter is not None:
        passed = search.filter[files]
        files, documents = files[passed], documents[passed]
    lower = [search.in_path(atom, files) for atom in range(len(prepared.atoms))]
    upper, candidates = [], []
    for index, atom in enumerate(prepared.atoms):
        found = candidate_units(shard, atom.pattern) if atom.content else np.zeros(0, dtype=np.intp)
        units = np.arange(shard.units) if found is None else found
        sums.candidates[index].units += len(units)
        sums.candidates[index].size_bytes += int(sizes[units].sum())
        held = np.zeros(shard.documents, dtype=np.bool_)
        held[shard.unit_doc[units]] = True
        upper.append(lower[index] | held[documents])
        candidates.append(units)
    if not candidates or not len(files):
        return
    alive = np.zeros(shard.documents, dtype=np.bool_)
    alive[documents[prepared.possible_files(lower, upper, len(files))]] = True
    read = np.zeros(shard.units, dtype=np.bool_)
    for units in candidates:
        read[units[alive[shard.unit_doc[units]]]] = True
    sums.to_read.units += int(read.sum())
    sums.to_read.size_bytes += int(sizes[read].sum())
