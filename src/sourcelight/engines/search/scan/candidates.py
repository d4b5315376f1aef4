"""Candidates: the units or documents of a corpus that may hold a match, read from posting lists.

A pattern's required text is a tree of literals under AND and OR. Each literal becomes the intersection of the
posting lists of its keys. Candidates are a superset: every one is scanned afterwards, so a step may be left out where
it costs more than the scan that it saves.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Int64Array, intersect_lists, mask_of, unique_sorted
from sourcelight.core.boolean import fold
from sourcelight.core.patterns import RequiredText, RequiredTree
from sourcelight.engines.search.index.document_buffer import UNIT_BYTES
from sourcelight.engines.search.index.postings import ListBounds, literal_grams, literal_trigrams, literal_windows
from sourcelight.engines.search.index.quads import literal_quads
from sourcelight.engines.search.index.shard import LooseShard
from sourcelight.engines.search.model import DocumentNumbers, TermPattern, UnitNumbers
from sourcelight.engines.search.scan.corpus import Corpus, FileSelection
from sourcelight.engines.storage.section_blocks import SectionBlocks

_MAX_UNPROBED_BYTES = 12 * UNIT_BYTES
"""Candidate bytes of a shard up to which a scan (10 GB/s and more) costs less than probing its trigram lists."""

_ITEMS_PER_UNIT = 256
"""Items of a posting list that take as long to read as a unit of 16 KiB."""

MAX_UNNARROWED_UNITS = 128
"""Units that take as long to scan as the lists of grams, or the bitmaps of quads, to read."""

MIN_UNITS_OF_SHARD = 12
"""Candidates of a shard below which its bitmaps of quads aren't read."""

MAX_UNITS_WITHOUT_WINDOWS = 256
"""Units that the table of units leaves, up to which reading them all takes no longer than the lists of windows."""

_ShardLists: TypeAlias = tuple[int, SectionBlocks, list[ListBounds]]
"""A shard, the items of its lists, and where the list of each window or gram is among them."""

_NO_UNITS: Int64Array = np.zeros(0, dtype=np.int64)


def candidate_units(corpus: Corpus, pattern: TermPattern, selection: FileSelection) -> UnitNumbers | None:
    """Return the units of selected files that may hold a match, ascending, or None for all units of the corpus.

    Units of other files may be among them. For a pattern that can cross lines, all units of a candidate document are
    returned: the literals that it requires may be in different units.
    """
    if pattern.multi_line:
        documents = _required_documents(corpus, pattern.required, selection)
        if documents is None:
            return None
        is_candidate = mask_of(documents, corpus.documents)
        return UnitNumbers(np.flatnonzero(is_candidate[corpus.unit_doc]))

    return _required_units(corpus, pattern.required, selection)


def units_as_written(corpus: Corpus, pattern: TermPattern, units: UnitNumbers) -> UnitNumbers:
    """Keep the candidates that may hold a match as it is written: `candidate_units` ignores the case of letters.

    A few units are all kept, since scanning them costs less than looking them up.
    """
    if len(units) <= MAX_UNNARROWED_UNITS or pattern.multi_line:
        return units
    tree = pattern.required_as_written
    if tree is None:
        return units

    shards = _shards_of(corpus, units).tolist()
    # None for a text without a gram, which any unit may hold.
    possible: BoolArray | None = fold(
        tree, lambda leaf: _units_with_grams(corpus, leaf.text, shards), all_of=_all_masks, any_of=_any_mask
    )
    return units if possible is None else UnitNumbers(units[possible[units]])


def _units_with_grams(corpus: Corpus, text: bytes, shards: Sequence[int]) -> BoolArray | None:
    """Return which units of some shards may hold the grams of a text, or None for a text without one."""
    grams = literal_grams(text)
    if not grams:
        return None

    is_possible = np.zeros(corpus.units, dtype=np.bool_)
    shard_lists: list[_ShardLists] = []
    for shard_index in shards:
        shard = corpus.shards[shard_index]
        lists = None if isinstance(shard, LooseShard) else shard.postings.grams
        if lists is None:
            is_possible[corpus.unit_base[shard_index] : corpus.unit_base[shard_index + 1]] = True
            continue
        bounds = lists.bounds(grams)
        if bounds is not None:
            shard_lists.append((shard_index, lists.items, bounds))

    if shard_lists:
        is_possible[_units_with_hashes(corpus, shard_lists, len(grams))] = True
    return is_possible


def _all_masks(masks: Iterable[BoolArray | None]) -> BoolArray | None:
    with_grams = [mask for mask in masks if mask is not None]
    return functools.reduce(np.logical_and, with_grams) if with_grams else None


def _any_mask(masks: Iterable[BoolArray | None]) -> BoolArray | None:
    every = list(masks)
    with_grams = [mask for mask in every if mask is not None]
    # One part without a gram may be anywhere.
    return functools.reduce(np.logical_or, with_grams) if with_grams and len(with_grams) == len(every) else None


def _required_units(corpus: Corpus, tree: RequiredTree, selection: FileSelection) -> UnitNumbers | None:
    units: Int64Array | None = fold(
        tree,
        lambda leaf: _units_with(corpus, leaf.text, selection),
        all_of=_intersection,
        any_of=lambda operands: _union(operands, corpus.units),
    )
    return None if units is None else UnitNumbers(units)


def _units_with(corpus: Corpus, text: bytes, selection: FileSelection) -> UnitNumbers | None:
    """Return the units of selected files that may hold a literal, or None if it is too short to have keys."""
    trigrams = literal_trigrams(text)
    if not trigrams:
        return None

    tables = corpus.tables
    table = None if tables is None else tables.units
    rows, rarest = ([], None) if table is None else table.rows_of(text, trigrams)
    if table is None or (not rows and rarest is None):
        return _filter_by_quads(corpus, _literal_units(corpus, text, selection), text, selection)

    # The bits of selected files are one more row.
    units = UnitNumbers(table.units_with(rows, rarest, corpus.selected_bits(table, selection)))
    if len(units) <= MAX_UNITS_WITHOUT_WINDOWS:
        return units
    windows = literal_windows(text)
    if not windows:
        return units
    # The words of a phrase are common, and its windows across two words are not.
    with_windows = _units_with_windows(corpus, windows, _shards_of(corpus, units).tolist())
    return UnitNumbers(intersect_lists(with_windows, [units], corpus.units))


def _units_with_windows(corpus: Corpus, windows: list[int], shards: Iterable[int]) -> UnitNumbers:
    """Return the units of some shards that hold all windows."""
    shard_lists: list[_ShardLists] = []
    for shard_index in shards:
        lists = corpus.shards[shard_index].postings.windows
        bounds = lists.bounds(windows)
        # A shard that lacks one of the windows holds no match.
        if bounds is not None:
            shard_lists.append((shard_index, lists.items, bounds))
    return _units_with_hashes(corpus, shard_lists, len(windows)) if shard_lists else UnitNumbers(_NO_UNITS)


def _shards_of(corpus: Corpus, units: UnitNumbers) -> Int64Array:
    """Return the shards of some units, which ascend."""
    bounds = units.searchsorted(corpus.unit_base)
    return (bounds[1:] > bounds[:-1]).nonzero()[0]


def _literal_units(corpus: Corpus, text: bytes, selection: FileSelection) -> UnitNumbers | None:
    """Return the units that hold all keys of a literal, or None for a literal too short to have keys."""
    trigrams, windows = literal_trigrams(text), literal_windows(text)
    if not trigrams:
        return None
    trigram_keys = np.array(trigrams, dtype=np.uint32)

    # Windows (six bytes, see `index/postings`) are far more selective than trigrams. Where the literal has any, the
    # lists of all shards are read together, one numpy call per window and not per window and shard.
    # The empty list comes first: `concatenate` refuses to join nothing.
    unit_lists = [_NO_UNITS]
    window_lists: list[_ShardLists] = []
    every = range(len(corpus.shards)) if corpus.tables is None else corpus.tables.shards_with(trigrams)
    for shard_index in selection.shards_among(corpus, every):
        shard = corpus.shards[shard_index]
        if windows and not isinstance(shard, LooseShard):
            lists = shard.postings.windows
            bounds = lists.bounds(windows)
            # A shard that lacks one of the windows holds no match and adds no units.
            if bounds is not None:
                window_lists.append((shard_index, lists.items, bounds))
            continue

        base = int(corpus.unit_base[shard_index])
        if isinstance(shard, LooseShard):
            unit_lists.append(np.arange(base, base + shard.units))
        else:
            units = shard.postings.units_with(trigram_keys)
            unit_lists.append(np.arange(base, base + shard.units) if units is None else units + base)

    if window_lists:
        units = _units_with_hashes(corpus, window_lists, len(windows))
        if not selection.covers_all:
            units = UnitNumbers(units[selection.in_documents[corpus.unit_doc[units]]])
        unit_lists.append(_filter_by_trigrams(corpus, units, trigram_keys))
        # Units from windows are in shard order; only units of loose shards have to be sorted in.
        has_loose = len(unit_lists) > 2
        return UnitNumbers(np.sort(np.concatenate(unit_lists)) if has_loose else unit_lists[-1])

    # Shards were visited in order, so the units ascend.
    return UnitNumbers(np.concatenate(unit_lists))


def _units_with_hashes(corpus: Corpus, shards: Sequence[_ShardLists], count: int) -> UnitNumbers:
    """Return the units with all of some windows, or all of some grams; `shards` have bounds for each of them."""
    sizes = [0] * count
    for _, _, bounds in shards:
        for number, (start, end) in enumerate(bounds):
            sizes[number] += end - start
    # Shortest list first: each further list can only shorten the result. With one candidate per shard left, a further
    # list costs more than scanning 16 KiB.
    first, *further_numbers = sorted(range(count), key=sizes.__getitem__)
    candidates = _posting_list(corpus, shards, first)
    for number in further_numbers:
        if len(candidates) <= len(shards) + sizes[number] // _ITEMS_PER_UNIT:
            break
        candidates = UnitNumbers(intersect_lists(candidates, [_posting_list(corpus, shards, number)], corpus.units))

    return candidates


def _posting_list(corpus: Corpus, shards: Sequence[_ShardLists], number: int) -> UnitNumbers:
    """Return the units that hold a window or gram, of all these shards, which ascend."""
    units_of_shards, sizes = [], []
    for _, items, bounds in shards:
        start, end = bounds[number]
        # A key without a list is in many units.
        units_of_shards.append(items.slice(start, end) if start >= 0 else np.arange(end - start, dtype=np.uint16))
        sizes.append(end - start)

    # A list numbers the units within its shard in uint16; the base makes them units of the corpus. Lists follow one
    # another in shard order, so the result ascends.
    units = np.concatenate(units_of_shards).astype(np.int64)
    units += corpus.unit_base[[shard_index for shard_index, _, _ in shards]].repeat(sizes)
    return UnitNumbers(units)


def _filter_by_trigrams(corpus: Corpus, units: UnitNumbers, trigrams: NDArray[np.uint32]) -> UnitNumbers:
    """Keep the units with all trigrams; shards with few candidate bytes are not filtered."""
    if not len(units):
        return units

    shard_bounds = units.searchsorted(corpus.unit_base).tolist()
    # Candidate bytes before each shard: the difference of two neighbors is the share of one shard.
    sizes = np.concatenate(([0], (corpus.unit_end[units] - corpus.unit_start[units]).cumsum()))[shard_bounds].tolist()
    is_worth_it = [end - start > _MAX_UNPROBED_BYTES for start, end in pairwise(sizes)]
    if not any(is_worth_it):
        return units

    filtered = []
    for shard_index, shard in enumerate(corpus.shards):
        shard_units = units[shard_bounds[shard_index] : shard_bounds[shard_index + 1]]
        if is_worth_it[shard_index]:
            # Loose shards have no postings, but no units here either: windows found all of these.
            base = corpus.unit_base[shard_index]
            shard_units = shard.postings.filter(shard_units - base, trigrams) + base
        filtered.append(shard_units)

    return UnitNumbers(np.concatenate(filtered))


def _filter_by_quads(
    corpus: Corpus, units: UnitNumbers | None, text: bytes, selection: FileSelection
) -> UnitNumbers | None:
    """Keep the units that may hold the quads of a text; a few are all kept."""
    if units is None or len(units) <= MAX_UNNARROWED_UNITS:
        return units
    quads = literal_quads(text)
    if not quads:
        return units

    # Bitmaps of a shard without selected files are read for nothing.
    if not selection.covers_all:
        units = UnitNumbers(units[selection.in_documents[corpus.unit_doc[units]]])
    # All stay in a shard without bitmaps, and where they are few: to scan them takes less time.
    is_possible = np.ones(len(units), dtype=np.bool_)
    for shard_index, (start, end) in enumerate(pairwise(units.searchsorted(corpus.unit_base).tolist())):
        bitmaps = corpus.shards[shard_index].quads if end - start >= MIN_UNITS_OF_SHARD else None
        if bitmaps is not None:
            is_possible[start:end] = bitmaps.among(units[start:end] - corpus.unit_base[shard_index], quads)

    return UnitNumbers(units[is_possible])


def _required_documents(corpus: Corpus, tree: RequiredTree, selection: FileSelection) -> DocumentNumbers | None:
    def documents_with(leaf: RequiredText) -> Int64Array | None:
        # A unit holds whole lines, so a text that crosses lines is required line by line, anywhere in the document.
        lines = [line for line in leaf.text.split(b"\n") if line]
        units_by_line = [_required_units(corpus, RequiredText(line), selection) for line in lines]
        return _intersection([unique_sorted(corpus.unit_doc[units]) for units in units_by_line if units is not None])

    documents: Int64Array | None = fold(
        tree, documents_with, all_of=_intersection, any_of=lambda operands: _union(operands, corpus.documents)
    )
    return None if documents is None else DocumentNumbers(documents)


def _intersection(operands: Iterable[Int64Array | None]) -> Int64Array | None:
    """Intersect ascending arrays, the shortest first; None stands for everything."""
    arrays = sorted((operand for operand in operands if operand is not None), key=len)
    if not arrays:
        return None

    common = arrays[0]
    for array in arrays[1:]:
        if not len(common):
            break
        # Posting lists have no repeats; without this flag numpy sorts both again to remove them.
        common = np.intersect1d(common, array, assume_unique=True)

    return common


def _union(operands: Iterable[Int64Array | None], size: int) -> Int64Array | None:
    """Unite ascending arrays of numbers below `size`; None stands for everything."""
    # A mask takes one pass per operand and needs no sort, unlike `np.union1d`.
    is_member = np.zeros(size, dtype=np.bool_)
    for operand in operands:
        if operand is None:
            return None
        is_member[operand] = True
    return np.flatnonzero(is_member)
