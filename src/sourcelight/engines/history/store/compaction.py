"""Merge segments, without commits that no ref reaches any more, and merge the parts of a new segment.

Lines of all parts are renumbered, so that each distinct line is stored once, and posting lists are built.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array
from sourcelight.engines.history.history import UNKNOWN, History
from sourcelight.engines.history.segment import LINE, REMOVED, Segment, oid_keys
from sourcelight.engines.history.store.distinct_texts import byte_section, number_texts

Part: TypeAlias = Mapping[str, AnyArray]
"""Arrays of some changes and their lines, as `parse_patches` returns them."""

MAX_SEGMENTS = 8
"""Segments of a history; one more, and the small ones are merged. A search looks into each."""

MAX_UNREACHABLE_FRACTION = 0.25
"""Part of the rows that no ref may lead to before they are dropped."""

_NUMBERS_OF_CHANGE = ("status", "score", "additions", "deletions", "binary", "old_mode", "new_mode")
_BLOBS_OF_CHANGE = ("old_blob", "new_blob")
_PATHS_OF_CHANGE = ("path", "old_path")
"""Columns with an item for each change; blobs have 20 bytes, paths are numbers of their part."""

_OF_COMMIT = ("author_time", "commit_time", "author_offset", "commit_offset", "unread")
"""Columns with a number for each commit that merging does not change."""


def merge_parts(parts: Sequence[Part], commits: int) -> dict[str, AnyArray]:
    """Join parts (see `parse_patches`) whose changes come in the order of their commits.

    `commits` is the number of commits; `commit` of the parts counts from 0. Returns the arrays of a segment that
    describe changes.
    """
    # In the order in which parts first have them: the same commits give the same numbers in every run, with any number
    # of workers.
    path_numbers: dict[bytes, int] = {}
    new_numbers = [_path_numbers(part, path_numbers) for part in parts]

    # uint32 for everything that numbers commits, paths, lines or rows: half the size of int64, on disk and in the
    # mapped memory of each process.
    commit = _concatenate([part["commit"] for part in parts], np.uint32)
    # Nearly every removed line was added once before: distinct lines are 2.5 to 3.7 times smaller than changed lines
    # (measured on zoekt, pytest, redis and git), and a search scans each of them once.
    lines, rows = _lines(parts)
    sections = {
        # Changes come in the order of commits, so a search gives the starts; a commit without changes gets an empty
        # range.
        "change_starts": np.searchsorted(commit, np.arange(commits + 1)).astype(np.uint32),
        "row_starts": _starts(parts, "row_starts"),
        "block_starts": _starts(parts, "block_starts"),
        "block_old": _concatenate([part["block_old"] for part in parts], np.uint32),
        "block_new": _concatenate([part["block_new"] for part in parts], np.uint32),
        "block_row": _offset(parts, "block_row", "rows"),
        **byte_section("paths", list(path_numbers)),
        **lines,
        "rows": rows,
        **postings(rows, len(lines["line_starts"]) - 1),
    }
    for name in _PATHS_OF_CHANGE:
        renumbered = [number_of[part[name]] for part, number_of in zip(parts, new_numbers, strict=True)]
        sections[name] = _concatenate(renumbered, np.uint32)

    # Without parts, the type of an empty column does not matter.
    for name in (*_NUMBERS_OF_CHANGE, *_BLOBS_OF_CHANGE):
        dtype = parts[0][name].dtype if parts else np.uint8
        sections[name] = _concatenate([part[name] for part in parts], dtype)

    return sections


def postings(rows: NDArray[np.uint32], lines: int) -> dict[str, AnyArray]:
    """Return the inverted list: rows sorted by their line, and the start of each line's rows."""
    # A row is one word: the number of its line, and in the highest bit whether the line was removed.
    number = rows & LINE
    # Line number above, row number below: the sort gives the rows of a line in ascending order, and the low half of a
    # key is the posting. numpy sorts whole words with vector instructions: for 20 million rows this takes 1.4 s, a
    # stable argsort of the line numbers 18.7 s, and one by two radix passes over 16 bits 12.8 s (numpy 2.4, AVX-512).
    keys = (number.astype(np.uint64) << np.uint64(32)) | np.arange(len(rows), dtype=np.uint64)
    keys.sort()
    starts = np.zeros(lines + 1, np.uint32)
    np.cumsum(np.bincount(number, minlength=lines), out=starts[1:])
    return {"postings": keys.astype(np.uint32), "posting_starts": starts}


def oid_order_section(oids: AnyArray) -> dict[str, AnyArray]:
    """Return the order of commits by the first eight bytes of their ids; `Segment.find` resolves ties."""
    return {"oid_order": np.argsort(oid_keys(oids.reshape(-1, 20)), kind="stable").astype(np.uint32)}


def _path_numbers(part: Part, path_numbers: dict[bytes, int]) -> NDArray[np.uint32]:
    """Return the number of each path of a part among the paths of all parts; new ones are added to `path_numbers`."""
    raw = part["paths"].tobytes()
    numbers: list[int] = []
    for start, end in pairwise(part["path_starts"].tolist()):
        numbers.append(path_numbers.setdefault(raw[start:end], len(path_numbers)))
    return np.array(numbers, np.uint32)


def _lines(parts: Sequence[Part]) -> tuple[dict[str, AnyArray], NDArray[np.uint32]]:
    """Return the distinct lines of all parts as sections, and the rows, which refer to them by number."""
    if not parts:
        return {"lines": np.zeros(0, np.uint8), "line_starts": np.zeros(1, np.uint32)}, np.zeros(0, np.uint32)

    groups = [(part["lines"], part["line_starts"].astype(np.int64)) for part in parts]
    distinct = number_texts(groups)
    rows = np.empty(sum(len(part["rows"]) for part in parts), np.uint32)
    position = 0
    for part, numbers in zip(parts, distinct.numbers, strict=True):
        part_rows = part["rows"]
        rows[position : position + len(part_rows)] = numbers.astype(np.uint32)[part_rows & LINE] | (part_rows & REMOVED)
        position += len(part_rows)

    # Offsets take four bytes each as long as the lines fit in 4 GiB.
    starts: AnyArray = distinct.starts
    if int(starts[-1]) < 1 << 32:
        starts = starts.astype(np.uint32)
    return {"lines": distinct.texts, "line_starts": starts}, rows


def _concatenate(arrays: Sequence[AnyArray], dtype: object) -> AnyArray:
    return np.concatenate([np.zeros(0, dtype), *arrays]).astype(dtype, copy=False)  # type: ignore[call-overload, no-any-return]


def _starts(parts: Sequence[Part], name: str) -> AnyArray:
    """Join the starts of all parts; each part continues from the end of the one before."""
    arrays = [np.zeros(1, np.uint32)]
    base = 0
    for part in parts:
        arrays.append((part[name][1:].astype(np.int64) + base).astype(np.uint32))
        base += int(part[name][-1])
    return np.concatenate(arrays)


def _offset(parts: Sequence[Part], name: str, length_section: str) -> AnyArray:
    """Join numbers of items of all parts; those of a part count on from the items of the parts before it."""
    arrays = [np.zeros(0, np.uint32)]
    base = 0
    for part in parts:
        arrays.append((part[name].astype(np.int64) + base).astype(np.uint32))
        base += len(part[length_section])
    return np.concatenate(arrays)


def first_segment_to_merge(rows: list[int]) -> int:
    """Return the first segment to merge, so that small segments don't cause a copy of a large one.

    `rows` is the size of each segment. A segment joins the merge when it has at most twice the rows of those behind it.
    """
    first = len(rows) - 2
    total = sum(rows[first:])
    while first > 0 and rows[first - 1] <= 2 * total:
        first -= 1
        total += rows[first]
    return max(first, 0)


def merge_segments(history: History, first: int, keep: BoolArray) -> dict[str, AnyArray]:
    """Return the arrays of one segment that replaces those from `first` on, without commits that `keep` rules out.

    With commits left out, `first` must be 0: numbers of commits in other segments would be wrong.
    """
    segments = history.segments[first:]
    base = history.bases.commits[first]

    # `keep` and numbers of parents are about the whole history; columns below are about the merged segments.
    is_kept = keep[base:]
    commits = history.commits

    # The item at the end answers index -1, which is UNKNOWN: a missing parent stays missing. So does one that is
    # dropped.
    numbers = np.concatenate((np.cumsum(keep) - 1, [UNKNOWN])).astype(np.int32)
    numbers[:-1][~keep] = UNKNOWN
    starts = commits.parent_starts[base:]
    counts = np.diff(starts)
    parents = numbers[commits.parents[int(starts[0]) :]][np.repeat(is_kept, counts)]
    of_person = _people(history, first)
    arrays: dict[str, AnyArray] = {
        "oid": commits.oid[base:][is_kept].reshape(-1),
        "tree": commits.tree[base:][is_kept].reshape(-1),
        "author": of_person["author"][is_kept].astype(np.uint32),
        "committer": of_person["committer"][is_kept].astype(np.uint32),
        "identities": of_person["identities"],
        "parents": parents,
        "parent_starts": _starts_of_sizes(counts[is_kept], np.uint32),
        **_texts("message", segments, is_kept),
        **_texts("subject", segments, is_kept),
    }
    for name in _OF_COMMIT:
        arrays[name] = np.concatenate([segment[name] for segment in segments])[is_kept]

    # Each segment becomes a part like one of new commits, so that one function merges both.
    parts = []
    position = 0
    for segment in segments:
        segment_kept = is_kept[position : position + segment.commits]
        parts.append(_segment_part(segment, segment_kept, int(is_kept[:position].sum())))
        position += segment.commits

    return arrays | oid_order_section(arrays["oid"]) | merge_parts(parts, int(is_kept.sum()))


def _people(history: History, first: int) -> dict[str, AnyArray]:
    # Each segment numbers its identities from 0. The merged segment needs one numbering, so both columns are
    # translated.
    person_numbers: dict[tuple[bytes, bytes], int] = {}
    authors, committers = [], []
    for segment in history.segments[first:]:
        numbers = np.array(
            [person_numbers.setdefault(person, len(person_numbers)) for person in segment.identities], np.uint32
        )
        authors.append(numbers[segment["author"]])
        committers.append(numbers[segment["committer"]])

    # The form that `Segment.identities` reads: name, NUL, address, newline. git allows none of these bytes inside.
    raw = b"".join(b"%b\0%b\n" % person for person in person_numbers)
    return {
        "author": np.concatenate(authors),
        "committer": np.concatenate(committers),
        "identities": np.frombuffer(raw, np.uint8),
    }


def _texts(name: str, segments: tuple[Segment, ...], is_kept: BoolArray) -> dict[str, AnyArray]:
    # Sizes of texts, newlines included: repeating the mask by them selects the bytes of whole texts.
    sizes = np.concatenate([np.diff(segment[f"{name}_starts"].astype(np.int64)) for segment in segments])
    raw = np.concatenate([segment[f"{name}s"] for segment in segments])
    return {f"{name}s": raw[np.repeat(is_kept, sizes)], f"{name}_starts": _starts_of_sizes(sizes[is_kept], np.uint64)}


def _segment_part(segment: Segment, is_kept: BoolArray, first: int) -> dict[str, AnyArray]:
    """Return a segment as a part (see `merge_parts`), with the commits that are `is_kept`."""
    change_counts = _sizes(segment["change_starts"])
    changes = np.repeat(is_kept, change_counts)
    row_counts = _sizes(segment["row_starts"])
    block_counts = _sizes(segment["block_starts"])
    rows, blocks = np.repeat(changes, row_counts), np.repeat(changes, block_counts)

    # Blocks refer to rows of the segment; this maps an old row to its place among the kept ones.
    new_positions = np.cumsum(rows) - 1
    part = {name: segment[name][changes] for name in (*_NUMBERS_OF_CHANGE, *_PATHS_OF_CHANGE)}
    part |= {name: segment[name].reshape(-1, 20)[changes].reshape(-1) for name in _BLOBS_OF_CHANGE}
    part["commit"] = np.repeat(np.cumsum(is_kept) - 1 + first, change_counts)[changes].astype(np.uint32)
    part["row_starts"] = _starts_of_sizes(row_counts[changes], np.uint32)
    part["block_starts"] = _starts_of_sizes(block_counts[changes], np.uint32)
    part["block_row"] = new_positions[segment["block_row"][blocks]].astype(np.uint32)
    part["block_old"], part["block_new"] = segment["block_old"][blocks], segment["block_new"][blocks]

    # All paths stay, also those of dropped commits: no change refers to them.
    part["paths"], part["path_starts"] = segment["paths"], segment["path_starts"]
    return part | _used_lines(segment, segment["rows"][rows])


def _used_lines(segment: Segment, rows: NDArray[np.uint32]) -> dict[str, AnyArray]:
    count = len(segment.line_starts) - 1
    is_used = np.zeros(count, np.bool_)

    # Lines that only dropped commits had go, or every search would still scan them.
    is_used[rows & LINE] = True
    if is_used.all():
        return {"rows": rows, "lines": segment["lines"], "line_starts": segment.line_starts}

    sizes = np.diff(segment.line_starts)
    number = (np.cumsum(is_used) - 1).astype(np.uint32)
    return {
        "rows": number[rows & LINE] | (rows & REMOVED),
        "lines": segment["lines"][np.repeat(is_used, sizes)],
        "line_starts": _starts_of_sizes(sizes[is_used], np.int64),
    }


def _sizes(starts: AnyArray) -> Int64Array:
    wide = starts.astype(np.int64)
    return wide[1:] - wide[:-1]


def _starts_of_sizes(counts: Int64Array, dtype: type[np.unsignedinteger | np.int64]) -> AnyArray:
    """Return the starts of items with these sizes, and the end of the last one."""
    starts = np.zeros(len(counts) + 1, dtype)
    np.cumsum(counts, out=starts[1:])
    return starts
