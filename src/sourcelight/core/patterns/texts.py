r"""Find candidates for a regular expression by plain texts that its matches contain.

Every match of ``(get|set)Name\(`` contains ``Name(``, and also ``getName(`` or ``setName(``. Each of these two choices
is a *prefilter*. A sample of the searched bytes tells which is rarer; RE2 then reads only the lines around its texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import stringzilla

from sourcelight.core.arrays import Int64Array, distinct
from sourcelight.core.boolean import And, fold
from sourcelight.core.patterns.formula import FOLD_HAZARDS, MIN_TEXT_BYTES, RequiredText, RequiredTree, lower_ascii
from sourcelight.core.patterns.ranges import DENSE, BufferList, find_in_all, find_texts, never_overlaps
from sourcelight.core.patterns.required import drops_hazards, exact_texts, required_texts
from sourcelight.core.patterns.tree import Node

MAX_TEXTS = 8
"""Maximum number of alternative texts. With more, RE2 is as fast as one search for each."""

MAX_SPELLINGS = 4
"""Maximum number of spellings to search for one by one. With more, one search in lowered text is faster."""

MAX_CHOICES = 4
"""Maximum number of prefilters to compare in a sample."""

MIN_BYTES_PER_MATCH = 384
"""Minimum bytes per occurrence of a required text. Below that, RE2 is as fast on all lines as on the candidates."""

SAMPLES = 16
"""Number of ranges in a sample."""

SAMPLE_BYTES = 16 * 1024
"""Bytes of each range in a sample."""

MIN_HAZARDS = 128
"""Number of `FOLD_HAZARDS` in any block up to which the text around each is read."""

BYTES_PER_HAZARD = 2048
"""Bytes of a block that allow one more. With more hazards, RE2 is as fast on the whole block."""

BLOCK_BYTES = 64 * 1024
"""Bytes that are lowered at once, so that they stay in the processor's cache."""

_Group: TypeAlias = tuple[bytes, ...]
"""Texts of which every match contains at least one; empty where nothing is known."""


@dataclass(frozen=True, slots=True)
class Prefilter:
    """Alternative texts: every match contains at least one.

    Attributes
    ----------
    texts
        The texts; in lower case when `fold_case`.
    fold_case
        Whether to search lowered text.
    hazards
        Whether `FOLD_HAZARDS` may stand for letters of the texts: then each occurrence of a hazard is a candidate too.
    """

    texts: tuple[bytes, ...]
    fold_case: bool = False
    hazards: bool = False

    def find(self, buffers: BufferList, ranges: Int64Array) -> Int64Array:
        """Return ascending addresses of candidates; every match in the ranges holds one."""
        if not self.fold_case:
            addresses = [find_in_all(buffers, text, ranges) for text in self.texts]
            if len(addresses) == 1:
                return addresses[0]
            # Each text is searched for separately, so the addresses must be merged.
            return distinct(np.concatenate(addresses))

        lowered_addresses: list[int] = []
        for base, lowered in lowered_blocks(buffers, ranges):
            lowered_addresses += self._in_lowered(lowered, base)
        return distinct(np.array(lowered_addresses, dtype=np.int64))

    def _in_lowered(self, lowered: bytes, base: int) -> Iterator[int]:
        """Yield the addresses of each text in a lowered block, whose first byte has the address `base`."""
        find = stringzilla.Str(lowered).find
        texts = self.texts
        if self.hazards:
            texts += FOLD_HAZARDS
        for text in texts:
            position = find(text)
            while position >= 0:
                yield base + position
                position = find(text, position + len(text))


def prefilters(tree: Node) -> tuple[Prefilter, ...]:
    """Return the possible prefilters, each sufficient by itself; none for a tree whose matches need no text."""
    # Exact spellings first: these searches read the mapped bytes and need no lowered copy.
    exact_groups = _required_groups(required_texts(tree, fold_case=False))
    exact_prefilters = tuple(Prefilter(texts) for texts in exact_groups)
    fast_prefilters = tuple(prefilter for prefilter in exact_prefilters if len(prefilter.texts) <= MAX_SPELLINGS)
    if fast_prefilters:
        return fast_prefilters

    hazards = drops_hazards(tree)
    groups = _required_groups(required_texts(tree))
    folded_prefilters = tuple(Prefilter(texts, fold_case=True, hazards=hazards) for texts in groups)
    return folded_prefilters or exact_prefilters


def separate_texts(tree: Node) -> tuple[bytes, ...]:
    """Return all texts that a tree without anchors matches, where finding each by itself gives the matches.

    Empty where there are many or other matches, or where a text begins with another.
    """
    texts = exact_texts(tree)
    if texts is None or not are_separate(texts):
        return ()
    return tuple(sorted(texts))


def are_separate(texts: Collection[bytes]) -> bool:
    """Return whether finding each text by itself gives all matches of any of them, see `hides_matches`."""
    if len(texts) > MAX_TEXTS or any(len(text) < MIN_TEXT_BYTES for text in texts):
        return False
    # Sorting puts all texts with a common prefix next to each other, so comparing neighbors is enough.
    in_order = sorted(texts)
    return not any(later.startswith(text) for text, later in pairwise(in_order))


def hides_matches(texts: Collection[bytes], starts: Int64Array, ends: Int64Array) -> bool:
    """Return whether there may be matches besides these non-overlapping occurrences of each text, sorted by start.

    A text such as `papa` can overlap itself. If the match of another text covers its first occurrence, a second one
    within the first becomes a match. Without an overlap of two texts, all these occurrences are matches, and no other.
    """
    has_overlaps = bool((starts[1:] < ends[:-1]).any())
    return has_overlaps and not all(map(never_overlaps, texts))


def rarest_prefilter(choices: tuple[Prefilter, ...], buffers: BufferList, ranges: Int64Array) -> Prefilter | None:
    """Return the prefilter with the fewest places in a sample, or None when all have so many that RE2 is as fast."""
    if not choices:
        return None

    # Spread over all ranges: the first ones may be files of one directory.
    sample = ranges[:: len(ranges) // SAMPLES + 1].copy()
    sample[:, 1] = np.minimum(sample[:, 1], sample[:, 0] + SAMPLE_BYTES)
    counts = [len(prefilter.find(buffers, sample)) for prefilter in choices]
    min_count = min(counts)
    sample_bytes = int((sample[:, 1] - sample[:, 0]).sum())
    if min_count * MIN_BYTES_PER_MATCH <= sample_bytes:
        return choices[counts.index(min_count)]
    return None


def _required_groups(tree: RequiredTree) -> list[_Group]:
    """Return groups of texts, the longest first: every match contains one text of each group."""
    branches = tree.args if isinstance(tree, And) else (tree,)
    return _longest_first(map(_group_of, branches))


def _group_of(tree: RequiredTree) -> _Group:
    """Return alternative texts, one of which every match contains; empty if there are none, or too many."""
    return fold(tree, _group_of_leaf, all_of=_best_group, any_of=_union)


def _group_of_leaf(leaf: RequiredText) -> _Group:
    # The searched blocks end at newlines, so a text must not contain one.
    line = max(leaf.text.split(b"\n"), key=len)
    if not line:
        return ()
    return (line,)


def _best_group(groups: Iterable[_Group]) -> _Group:
    """Return one of several groups of which every match contains a text."""
    # An AND needs all of its groups, so each alone selects every match.
    ordered = _longest_first(groups)
    if not ordered:
        return ()
    return ordered[0]


def _union(groups: Iterable[_Group]) -> _Group:
    """Return the texts of several branches, of which a match takes one."""
    texts: dict[bytes, None] = {}
    for group in groups:
        # If one branch requires no text, the whole OR requires none.
        if not group:
            return ()
        texts.update(dict.fromkeys(group))

    if len(texts) > MAX_TEXTS:
        return ()
    return tuple(texts)


def _longest_first(groups: Iterable[_Group]) -> list[_Group]:
    # Longer texts are usually rarer; `rarest_prefilter` samples the first few and decides.
    distinct = {group for group in groups if group}
    return sorted(distinct, key=lambda group: (-min(map(len, group)), len(group), group))[:MAX_CHOICES]


def lowered_blocks(buffers: BufferList, ranges: Int64Array) -> Iterator[tuple[int, bytes]]:
    """Cut ranges at newlines into blocks; yield the address and the lowered text of each.

    A block has `BLOCK_BYTES` and the rest of a line, and the last of a range up to twice as many.
    """
    for base, text in zip(ranges[:, 0].tolist(), buffers.slices(ranges), strict=True):
        position = 0
        size = len(text)
        while position < size:
            end = size
            # At a newline, so that a match within a line is within one block.
            if size - position > 2 * BLOCK_BYTES:
                newline = stringzilla.Str(text).find(b"\n", position + BLOCK_BYTES, size)
                if newline >= 0:
                    end = newline + 1
            # Only ASCII is folded and lengths stay the same, so offsets are valid in the original text.
            yield base + position, lower_ascii(text[position:end])
            position = end


def owners_holding(
    buffers: BufferList, text: bytes, ranges: Int64Array, owners: Int64Array, *, fold_case: bool = False
) -> Int64Array:
    """Return the owners, ascending, of ranges that hold a text.

    The search stops at the first occurrence in a range, and skips the remaining ranges of that owner. With
    `fold_case`, the text must be in lower case, and the bytes are lowered.
    """
    # Most documents have one or two units, and a text under a NOT is often common. A search that stops at the first
    # occurrence then reads some hundred bytes instead of the whole document.
    holding: list[int] = []
    last = -1
    for text_bytes, owner in zip(buffers.slices(ranges), owners.tolist(), strict=True):
        if owner == last:
            continue
        searched = lower_ascii(text_bytes) if fold_case else text_bytes
        if stringzilla.Str(searched).find(text) >= 0:
            holding.append(owner)
            last = owner
    return np.array(holding, dtype=np.int64)


def find_lowered(buffers: BufferList, text: bytes, ranges: Int64Array, *, hazards: bool) -> Int64Array | None:
    """Return the starts of all non-overlapping occurrences of a text without newlines, ignoring case.

    None when `hazards` count and a match may hold one: only RE2 can decide then.
    """
    starts: list[int] = []
    done_bytes = 0
    for base, lowered in lowered_blocks(buffers, ranges):
        # The text is common: comparing all bytes at once is faster than one search per occurrence, so start over.
        if len(starts) * DENSE > done_bytes > BLOCK_BYTES:
            return _find_all(buffers, text, ranges, hazards=hazards)

        find = stringzilla.Str(lowered).find
        if hazards and may_match_hazard(lowered, text):
            return None

        position = find(text)
        while position >= 0:
            starts.append(base + position)
            position = find(text, position + len(text))

        done_bytes += len(lowered)

    return np.array(starts, dtype=np.int64)


def may_match_hazard(lowered: bytes, text: bytes) -> bool:
    """Return whether a match of a text may hold one of `FOLD_HAZARDS`; True also if there are many of these."""
    # Most files have only ASCII, and nearly all hazards are in words of another language.
    if lowered.isascii():
        return False

    # A match has as many characters as the text, and a hazard has the most bytes that one of them takes.
    reach = len(text) * max(map(len, FOLD_HAZARDS))
    remaining = MIN_HAZARDS + len(lowered) // BYTES_PER_HAZARD
    find = stringzilla.Str(lowered).find
    for hazard in FOLD_HAZARDS:
        position = find(hazard)
        while position >= 0:
            remaining -= 1
            if remaining < 0:
                return True
            nearby = lowered[max(position - reach, 0) : position + reach]
            if text in _fold_hazards(nearby):
                return True
            position = find(hazard, position + len(hazard))

    return False


def _fold_hazards(lowered: bytes) -> bytes:
    """Replace the hazards by the ASCII letters for which they can stand."""
    for hazard in FOLD_HAZARDS:
        lowered = lowered.replace(hazard, hazard.decode().casefold().encode())
    return lowered


def _find_all(buffers: BufferList, text: bytes, ranges: Int64Array, *, hazards: bool) -> Int64Array | None:
    """Find a common text by comparing all bytes of one joined copy at once."""
    lowered = lower_ascii(b"\n".join(buffers.slices(ranges)))
    if hazards and may_match_hazard(lowered, text):
        return None

    # + 1: the newline between two slices. The text contains none, so no match spans two slices.
    sizes = ranges[:, 1] - ranges[:, 0] + 1
    ends = np.cumsum(sizes)
    match_starts = find_texts(memoryview(lowered), text, np.array([[0, len(lowered)]], dtype=np.int64))
    rows = ends.searchsorted(match_starts, side="right")
    offsets: Int64Array = match_starts - (ends - sizes)[rows] + ranges[rows, 0]
    return offsets
