"""Parts made one: the lines of all are numbered anew, so that each distinct one is kept once, and postings are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.history.store.patches import byte_section, dictionary_of
from sourcelight.engines.history.store.segment import LINE, REMOVED, oid_keys
from sourcelight.engines.storage.sections import Array

_OF_CHANGE = ("status", "score", "additions", "deletions", "binary", "old_mode", "new_mode", "old_blob", "new_blob")

Part = Mapping[str, Array]


def merged_changes(parts: Sequence[Part], commits: int) -> dict[str, Array]:
    """Join parts (see `patches.parse_patches`) whose changes come in the order of their commits.

    `commits` is how many there are; `commit` of the parts counts from 0. Gives the arrays of a segment that are about
    changes.
    """
    known: dict[bytes, int] = {}
    numbers = [_path_numbers(part, known) for part in parts]
    pairs = list(zip(parts, numbers, strict=True))
    commit = _joined([part["commit"] for part in parts], np.uint32)
    lines, rows = _lines(parts)
    found = {
        "change_starts": np.searchsorted(commit, np.arange(commits + 1)).astype(np.uint32),
        "path": _joined([of[part["path"]] for part, of in pairs], np.uint32),
        "old_path": _joined([of[part["old_path"]] for part, of in pairs], np.uint32),
        "row_starts": _starts(parts, "row_starts"),
        "block_starts": _starts(parts, "block_starts"),
        "block_old": _joined([part["block_old"] for part in parts], np.uint32),
        "block_new": _joined([part["block_new"] for part in parts], np.uint32),
        "block_row": _offset(parts, "block_row", "rows"),
        **byte_section("paths", list(known)),
        **lines,
        "rows": rows,
        **postings(rows, len(lines["line_starts"]) - 1),
    }
    for name in _OF_CHANGE:
        found[name] = _joined([part[name] for part in parts], parts[0][name].dtype if parts else np.uint8)
    return found


def postings(rows: NDArray[np.uint32], lines: int) -> dict[str, Array]:
    """Rows by their line: `postings`, and where those of each line begin."""
    number = rows & LINE
    keys = (number.astype(np.uint64) << np.uint64(32)) | np.arange(len(rows), dtype=np.uint64)
    keys.sort()
    starts = np.zeros(lines + 1, np.uint32)
    np.cumsum(np.bincount(number, minlength=lines), out=starts[1:])
    return {"postings": keys.astype(np.uint32), "posting_starts": starts}


def order_of(oids: Array) -> dict[str, Array]:
    """What finds a commit by its name."""
    return {"oid_order": np.argsort(oid_keys(oids.reshape(-1, 20)), kind="stable").astype(np.uint32)}


def _path_numbers(part: Part, known: dict[bytes, int]) -> NDArray[np.uint32]:
    raw = part["paths"].tobytes()
    starts = part["path_starts"].tolist()
    items = (raw[low:high] for low, high in zip(starts, starts[1:], strict=False))  # noqa: RUF007 - both are lists
    return np.array([known.setdefault(item, len(known)) for item in items], np.uint32)


def _lines(parts: Sequence[Part]) -> tuple[dict[str, Array], NDArray[np.uint32]]:
    if not parts:
        return {"lines": np.zeros(0, np.uint8), "line_starts": np.zeros(1, np.uint32)}, np.zeros(0, np.uint32)
    groups = [(part["lines"], part["line_starts"].astype(np.int64)) for part in parts]
    codes, blob, starts = dictionary_of(groups)
    rows = np.empty(sum(len(part["rows"]) for part in parts), np.uint32)
    at = 0
    for part, code in zip(parts, codes, strict=True):
        own = part["rows"]
        rows[at : at + len(own)] = code.astype(np.uint32)[own & LINE] | (own & REMOVED)
        at += len(own)
    small = int(starts[-1]) < 1 << 32
    return {"lines": blob, "line_starts": starts.astype(np.uint32) if small else starts}, rows


def _joined(arrays: Sequence[Array], kind: object) -> Array:
    return np.concatenate([np.zeros(0, kind), *arrays]).astype(kind, copy=False)  # type: ignore[call-overload, no-any-return]


def _starts(parts: Sequence[Part], name: str) -> Array:
    """Starts of the items of all parts, those of each counted on from the part before."""
    found = [np.zeros(1, np.uint32)]
    base = 0
    for part in parts:
        found.append((part[name][1:].astype(np.int64) + base).astype(np.uint32))
        base += int(part[name][-1])
    return np.concatenate(found)


def _offset(parts: Sequence[Part], name: str, counted: str) -> Array:
    found = [np.zeros(0, np.uint32)]
    base = 0
    for part in parts:
        found.append((part[name].astype(np.int64) + base).astype(np.uint32))
        base += len(part[counted])
    return np.concatenate(found)
