"""Which units of a fleet, or which documents, may hold a match: the formula of a pattern read from posting lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.boolean import fold
from sourcelight.core.patterns import RequiredText, RequiredTree
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.index.postings import literal_keys, narrow
from sourcelight.engines.search.index.shard import UNIT_BYTES, LooseShard
from sourcelight.engines.search.scan.corpus import Corpus, FileSelection
from sourcelight.engines.search.scan.paths import unique_sorted

Places = NDArray[np.int64]

_LITTLE_BYTES = 12 * UNIT_BYTES
"""Bytes of a shard that windows leave, up to which scanning them costs less than a look at their trigrams."""

_NONE: Places = np.zeros(0, dtype=np.int64)


def candidate_units(fleet: Corpus, pattern: CompiledPattern, chosen: FileSelection) -> Places | None:
    """Give the units of chosen files that may hold a match, ascending; None for all units of the fleet.

    Units of other files may be among them. For a pattern that can cross lines they are all units of the documents that
    may hold one, since what it needs may then stand in different units.
    """
    if pattern.multi_line:
        documents = _documents(fleet, pattern.required, chosen)
        if documents is None:
            return None
        held = np.zeros(fleet.documents, dtype=np.bool_)
        held[documents] = True
        return np.flatnonzero(held[fleet.unit_doc])
    return _units(fleet, pattern.required, chosen)


def _units(fleet: Corpus, tree: RequiredTree, chosen: FileSelection) -> Places | None:
    return fold(
        tree,
        lambda leaf: _units_with(fleet, leaf.text, chosen),
        all_of=_common,
        any_of=lambda parts: _union(parts, fleet.units),
    )


def _units_with(fleet: Corpus, text: bytes, chosen: FileSelection) -> Places | None:
    """The units that hold all keys of a text; None when it has none to tell by."""
    trigrams, windows = literal_keys(text)
    if not len(trigrams):
        return None
    found = [_NONE]
    with_windows: list[tuple[int, list[tuple[int, int]]]] = []
    keys = windows.tolist()
    for number in chosen.shards(fleet):
        shard, base = fleet.shards[number], int(fleet.unit_base[number])
        if isinstance(shard, LooseShard):
            found.append(np.arange(base, base + shard.units))
        elif keys:
            places = shard.postings.windows(keys)
            if places is not None:
                with_windows.append((number, places))
        else:
            units = shard.postings.units_with(trigrams)
            found.append(np.arange(base, base + shard.units) if units is None else units + base)
    if with_windows:
        units = _by_windows(fleet, with_windows, len(keys))
        if not chosen.whole:
            units = units[chosen.in_documents[fleet.unit_doc[units]]]
        found.append(_by_trigrams(fleet, units, trigrams))
        loose = len(found) > 2
        return np.sort(np.concatenate(found)) if loose else found[-1]
    return np.concatenate(found)


def _by_windows(fleet: Corpus, shards: Sequence[tuple[int, list[tuple[int, int]]]], windows: int) -> Places:
    """The units that hold all windows, of the shards that have them all."""
    order = sorted(
        range(windows), key=lambda window: sum(places[window][1] - places[window][0] for _, places in shards)
    )
    found = _listed(fleet, shards, order[0])
    for window in order[1:]:
        if len(found) <= len(shards):
            break
        found = narrow(found, [_listed(fleet, shards, window)], fleet.units)
    return found


def _listed(fleet: Corpus, shards: Sequence[tuple[int, list[tuple[int, int]]]], window: int) -> Places:
    """The units of some shards that hold a window."""
    parts, sizes = [], []
    for number, places in shards:
        low, high = places[window]
        parts.append(fleet.shards[number].postings.window_lists[low:high])
        sizes.append(high - low)
    units = np.concatenate(parts).astype(np.int64)
    units += np.repeat(fleet.unit_base[[number for number, _ in shards]], sizes)
    return units


def _by_trigrams(fleet: Corpus, units: Places, trigrams: NDArray[np.uint32]) -> Places:
    """Keep the units that hold all trigrams, where there are enough in a shard for the look to pay."""
    if not len(units):
        return units
    bounds = units.searchsorted(fleet.unit_base).tolist()
    sizes = np.concatenate(([0], np.cumsum(fleet.unit_end[units] - fleet.unit_start[units])))[bounds].tolist()
    pays = [high - low > _LITTLE_BYTES for low, high in pairwise(sizes)]
    if not any(pays):
        return units
    parts = []
    for number, shard in enumerate(fleet.shards):
        part = units[bounds[number] : bounds[number + 1]]
        if pays[number]:
            base = fleet.unit_base[number]
            part = shard.postings.narrowed(part - base, trigrams) + base
        parts.append(part)
    return np.concatenate(parts)


def _documents(fleet: Corpus, tree: RequiredTree, chosen: FileSelection) -> Places | None:
    def documents_with(leaf: RequiredText) -> Places | None:
        parts = [_units(fleet, RequiredText(line), chosen) for line in leaf.text.split(b"\n") if line]
        return _common([unique_sorted(fleet.unit_doc[part]) for part in parts if part is not None])

    return fold(tree, documents_with, all_of=_common, any_of=lambda parts: _union(parts, fleet.documents))


def _common(parts: Iterable[Places | None]) -> Places | None:
    known = sorted((part for part in parts if part is not None), key=len)
    if not known:
        return None
    found = known[0]
    for part in known[1:]:
        if not len(found):
            break
        found = np.intersect1d(found, part, assume_unique=True)
    return found


def _union(parts: Iterable[Places | None], size: int) -> Places | None:
    held = np.zeros(size, dtype=np.bool_)
    for part in parts:
        if part is None:
            return None
        held[part] = True
    return np.flatnonzero(held)
