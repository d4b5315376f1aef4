"""Which units of a shard, or which documents, may hold a match: the formula of a pattern read from posting lists."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.patterns import Formula, Needs, NeedsAll
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.index.grams import literal_keys
from sourcelight.engines.search.index.shard import Shard

Places = NDArray[np.intp]


def candidate_units(shard: Shard, pattern: CompiledPattern) -> Places | None:
    """Give the units that may hold a match, ascending; None for all of them.

    For a pattern that can cross lines they are all units of the documents that may hold one, since what it needs may
    then stand in different units.
    """
    if pattern.multi_line:
        documents = _documents(shard, pattern.required)
        if documents is None:
            return None
        held = np.zeros(shard.documents, dtype=np.bool_)
        held[documents] = True
        return np.flatnonzero(held[shard.unit_doc])
    return _units(shard, pattern.required)


def _units(shard: Shard, formula: Formula) -> Places | None:
    if isinstance(formula, Needs):
        return shard.postings.units_with(*literal_keys(formula.text))
    parts = (_units(shard, part) for part in formula.parts)
    if isinstance(formula, NeedsAll):
        return _common([part for part in parts if part is not None])
    return _union(list(parts), shard.units)


def _documents(shard: Shard, formula: Formula) -> Places | None:
    if isinstance(formula, Needs):
        parts = [_units(shard, Needs(line)) for line in formula.text.split(b"\n") if line]
        return _common([np.unique(shard.unit_doc[part]) for part in parts if part is not None])
    found = [_documents(shard, part) for part in formula.parts]
    if isinstance(formula, NeedsAll):
        return _common([part for part in found if part is not None])
    return _union(found, shard.documents)


def _common(parts: list[Places]) -> Places | None:
    if not parts:
        return None
    parts.sort(key=len)
    found = parts[0]
    for part in parts[1:]:
        if not len(found):
            break
        found = np.intersect1d(found, part, assume_unique=True)
    return found


def _union(parts: list[Places | None], size: int) -> Places | None:
    held = np.zeros(size, dtype=np.bool_)
    for part in parts:
        if part is None:
            return None
        held[part] = True
    return np.flatnonzero(held)
