"""Segments made one, without what no ref leads to any more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.history.snapshot import UNKNOWN, History, Mask
from sourcelight.engines.history.store.merge import merged_changes, order_of
from sourcelight.engines.history.store.segment import LINE, REMOVED, Segment
from sourcelight.engines.storage.sections import Array

MOST_SEGMENTS = 8
MOST_UNREACHABLE = 0.25
"""Part of the rows that no ref may lead to before they are dropped."""

_OF_CHANGE = ("path", "old_path", "status", "score", "additions", "deletions", "binary", "old_mode", "new_mode")
_OF_COMMIT = ("author_time", "commit_time", "author_offset", "commit_offset", "unread")


def first_to_merge(rows: list[int]) -> int:
    """Say from which segment on (counting from 0) to merge, so that no big one is copied for the sake of small ones.

    `rows` are those of each segment. What is merged comes to at least half of what would be merged with it next.
    """
    first = len(rows) - 2
    total = sum(rows[first:])
    while first > 0 and rows[first - 1] <= 2 * total:
        first -= 1
        total += rows[first]
    return max(first, 0)


def merged(history: History, first: int, keep: Mask) -> dict[str, Array]:
    """Give the arrays of one segment in place of those from `first` on; commits that `keep` denies are left out.

    With commits left out, `first` must be 0: numbers of commits in other segments would be wrong.
    """
    segments = history.segments[first:]
    base = history.bases.commits[first]
    kept = keep[base:]
    commits = history.commits
    numbers = np.concatenate((np.cumsum(keep) - 1, [UNKNOWN])).astype(np.int32)
    numbers[:-1][~keep] = UNKNOWN
    starts = commits.parent_starts[base:]
    counts = np.diff(starts)
    parents = numbers[commits.parents[int(starts[0]) :]][np.repeat(kept, counts)]
    of_person = _people(history, first)
    arrays: dict[str, Array] = {
        "oid": commits.oid[base:][kept].reshape(-1),
        "tree": commits.tree[base:][kept].reshape(-1),
        "author": of_person["author"][kept].astype(np.uint32),
        "committer": of_person["committer"][kept].astype(np.uint32),
        "identities": of_person["identities"],
        "parents": parents,
        "parent_starts": _ends(counts[kept], np.uint32),
        **_texts("message", segments, kept),
        **_texts("subject", segments, kept),
    }
    for name in _OF_COMMIT:
        arrays[name] = np.concatenate([segment[name] for segment in segments])[kept]
    parts = []
    at = 0
    for segment in segments:
        own = kept[at : at + segment.commits]
        parts.append(_part(segment, own, int(kept[:at].sum())))
        at += segment.commits
    return arrays | order_of(arrays["oid"]) | merged_changes(parts, int(kept.sum()))


def _people(history: History, first: int) -> dict[str, Array]:
    known: dict[tuple[bytes, bytes], int] = {}
    authors, committers = [], []
    for segment in history.segments[first:]:
        numbers = np.array([known.setdefault(person, len(known)) for person in segment.identities], np.uint32)
        authors.append(numbers[segment["author"]])
        committers.append(numbers[segment["committer"]])
    raw = b"".join(b"%b\0%b\n" % person for person in known)
    return {
        "author": np.concatenate(authors),
        "committer": np.concatenate(committers),
        "identities": np.frombuffer(raw, np.uint8),
    }


def _texts(name: str, segments: tuple[Segment, ...], kept: Mask) -> dict[str, Array]:
    sizes = np.concatenate([np.diff(segment[f"{name}_starts"].astype(np.int64)) for segment in segments])
    raw = np.concatenate([segment[f"{name}s"] for segment in segments])
    return {f"{name}s": raw[np.repeat(kept, sizes)], f"{name}_starts": _ends(sizes[kept], np.uint64)}


def _part(segment: Segment, kept: Mask, first: int) -> dict[str, Array]:
    """A segment as a part (see `merge.merged_changes`), with the commits that are `kept`."""
    of_commit = _sizes(segment["change_starts"])
    changes = np.repeat(kept, of_commit)
    rows_of = _sizes(segment["row_starts"])
    blocks_of = _sizes(segment["block_starts"])
    rows, blocks = np.repeat(changes, rows_of), np.repeat(changes, blocks_of)
    place = np.cumsum(rows) - 1
    part = {name: segment[name][changes] for name in _OF_CHANGE}
    part |= {name: segment[name].reshape(-1, 20)[changes].reshape(-1) for name in ("old_blob", "new_blob")}
    part["commit"] = np.repeat(np.cumsum(kept) - 1 + first, of_commit)[changes].astype(np.uint32)
    part["row_starts"] = _ends(rows_of[changes], np.uint32)
    part["block_starts"] = _ends(blocks_of[changes], np.uint32)
    part["block_row"] = place[segment["block_row"][blocks]].astype(np.uint32)
    part["block_old"], part["block_new"] = segment["block_old"][blocks], segment["block_new"][blocks]
    part["paths"], part["path_starts"] = segment["paths"], segment["path_starts"]
    return part | _used_lines(segment, segment["rows"][rows])


def _used_lines(segment: Segment, rows: NDArray[np.uint32]) -> dict[str, Array]:
    count = len(segment.line_starts) - 1
    used = np.zeros(count, np.bool_)
    used[rows & LINE] = True
    if used.all():
        return {"rows": rows, "lines": segment["lines"], "line_starts": segment.line_starts}
    sizes = np.diff(segment.line_starts)
    number = (np.cumsum(used) - 1).astype(np.uint32)
    return {
        "rows": number[rows & LINE] | (rows & REMOVED),
        "lines": segment["lines"][np.repeat(used, sizes)],
        "line_starts": _ends(sizes[used], np.int64),
    }


def _sizes(starts: Array) -> NDArray[np.int64]:
    wide = starts.astype(np.int64)
    return wide[1:] - wide[:-1]


def _ends(counts: NDArray[np.int64], kind: type[np.unsignedinteger | np.int64]) -> Array:
    starts = np.zeros(len(counts) + 1, kind)
    np.cumsum(counts, out=starts[1:])
    return starts
