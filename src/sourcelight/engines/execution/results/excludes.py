"""The usual excludes that a search suggests, such as ``-file:(^|/)vendor/``, and how many matches each leaves out."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from sourcelight.core.arrays import BoolArray, Int64Array, UInt8Array, arrow_array, arrow_strings, to_numpy
from sourcelight.engines.search.scan.corpus import Corpus

EXCLUDES = (
    ("Exclude _test.*", r"_test\.\w+$"),
    ("Exclude .test.*", r"\.test\.\w+$"),
    ("Exclude Ruby tests", r"_spec\.rb$"),
    ("Exclude vendor", r"(^|/)vendor/"),
    ("Exclude third party", r"(^|/)third[_\-]?party/"),
    ("Exclude node_modules", r"(^|/)node_modules/"),
    ("Exclude minified JavaScript", r"\.min\.js$"),
    ("Exclude JavaScript maps", r"\.js\.map$"),
)
"""Labels and regular expressions of filters that leave paths out."""

_ANY_EXCLUDE = "|".join(f"(?:{regexp})" for _, regexp in EXCLUDES).replace("(^|/)", "(?:^|/)")
_REQUIRED = (b"_test.", b".test.", b"_spec.rb", b"vendor/", b"third", b"node_modules/", b".min.js", b".js.map")
"""A text that every match of each of these expressions contains."""


def sums_of_texts(paths: Any, sums: Any) -> dict[str, int]:
    """Return sums over the paths that each of the usual excludes would leave out."""
    is_excluded = _matches(paths, _ANY_EXCLUDE)
    if not is_excluded.any():
        return {}

    sums, paths = sums[is_excluded], paths.filter(arrow_array(is_excluded))
    sums_by_regexp = {}
    for _, regexp in EXCLUDES:
        is_excluded = _matches(paths, regexp)
        if is_excluded.any():
            sums_by_regexp[regexp] = int(sums[is_excluded].sum())

    return sums_by_regexp


def _matches(paths: Any, regexp: str) -> BoolArray:
    mask: BoolArray = to_numpy(pc.match_substring_regex(paths, regexp))
    return mask


def sums_of_raw(paths: Sequence[bytes], counts: Any) -> dict[str, int]:
    """Return sums over paths, in bytes, that each of the usual excludes would leave out."""
    masks = exclude_masks(paths)
    if masks is None:
        return sums_of_texts(arrow_strings([str(path, "utf-8", "replace") for path in paths]), counts)
    return sums_by_mask(masks, counts)


def exclude_masks(paths: Sequence[bytes]) -> UInt8Array | None:
    """Return a bit for each of the usual excludes, for each path; None if a path has a newline."""
    text = b"\n".join(paths)
    # Newlines separate paths below. For paths with a newline, which are rare, `sums_of_raw` decodes each.
    if text.count(b"\n") >= max(len(paths), 1):
        return None

    sizes = np.fromiter(map(len, paths), np.int64, len(paths)) + 1
    starts = np.cumsum(sizes) - sizes

    # There are eight excludes, so that a byte for each path holds them all.
    masks = np.zeros(len(paths), dtype=np.uint8)
    for bit, (required_bytes, compiled) in enumerate(_raw_excludes()):
        if required_bytes not in text:
            continue
        # Searching for the bytes takes a tenth of the time of the expression, and few paths contain them.
        offsets = [match.start() for match in re.finditer(re.escape(required_bytes), text)]
        # The path of an offset is the last one that starts at or before it.
        candidates = np.unique(starts.searchsorted(offsets, side="right") - 1).tolist()
        masks[[index for index in candidates if compiled.search(paths[index])]] |= 1 << bit
    return masks


def sums_by_mask(masks: UInt8Array, counts: Int64Array) -> dict[str, int]:
    """Return sums over paths that each of the usual excludes would leave out, from their `exclude_masks`."""
    # Most files match none of them.
    files = masks.nonzero()[0]
    if not len(files):
        return {}

    # As floating-point numbers, which are exact up to 2**53.
    counts_by_mask = np.bincount(masks[files], counts[files])
    return sums_of_masks({mask: int(count) for mask, count in enumerate(counts_by_mask.tolist()) if count})


def sums_of_masks(counts: Mapping[int, int]) -> dict[str, int]:
    """Return `sums_by_mask`, from the sum of the counts of files with each mask."""
    sums = {}
    # Most files match none of them.
    masks = [(mask, count) for mask, count in counts.items() if mask]
    for bit, (_, regexp) in enumerate(EXCLUDES) if masks else ():
        count = sum([count for mask, count in masks if mask & (1 << bit)])
        if count:
            sums[regexp] = count
    return sums


@functools.cache
def _raw_excludes() -> list[tuple[bytes, re.Pattern[bytes]]]:
    """Return each of the usual excludes, with bytes that every match contains."""
    return [
        (required_bytes, re.compile(regexp.encode(), re.MULTILINE))
        for required_bytes, (_, regexp) in zip(_REQUIRED, EXCLUDES, strict=True)
    ]


def corpus_masks(corpus: Corpus | None) -> UInt8Array | None:
    """Return the `exclude_masks` of all files of a corpus; None while its paths aren't listed."""
    if corpus is None or corpus.path_lists is None:
        return None
    # Not an attribute of the corpus, which knows nothing of what a search suggests.
    return corpus.remember("excludes", lambda: _join_masks(corpus))


def _join_masks(corpus: Corpus) -> UInt8Array | None:
    """Return the masks of all members, which all corpora with a member share."""
    masks: list[UInt8Array] = []
    for member in corpus.members:
        of_member = member.remember("excludes", lambda paths=member.path_lists.paths: exclude_masks(paths))  # type: ignore[misc]
        if of_member is None:
            return None
        masks.append(of_member)
    return masks[0] if len(masks) == 1 else np.concatenate(masks)
