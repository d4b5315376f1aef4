r"""Git's patch streams, read with array operations: changes, blocks and distinct lines of a run of commits.

The stream is that of ``git diff-tree --stdin --raw -p -U1`` with a line of ``\x01`` and the commit's name before each
commit. In it the first byte of a line says what the line is, except for the two lines of names before a file's first
hunk, which look like changed lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches.diff_text import unquote_name
from sourcelight.engines.storage.sections import Array

COMMIT_MARK = b"\x01"
FEW_TEXTS = 20_000
"""Texts that are numbered without Arrow."""

_RAW_HEAD = 98
_TYPE_CHANGE = ord("T")
_PAIRED = frozenset(b"RC")
_HEX = np.full(256, 0, np.uint8)
_HEX[list(b"0123456789abcdef")] = np.arange(16, dtype=np.uint8)

_Ints = NDArray[np.int64]


class MisalignedPatch(Exception):
    """Raised when some commits have another number of patches than of changed files; they are `commits`."""

    def __init__(self, commits: Sequence[bytes]) -> None:
        super().__init__(f"{len(commits)} commits")
        self.commits = tuple(commits)


@dataclass(frozen=True, slots=True)
class DistinctLines:
    """The lines of a stream: where each begins and ends (newline excluded), and its first byte."""

    raw: bytes
    data: NDArray[np.uint8]
    starts: _Ints
    ends: _Ints
    first: NDArray[np.uint8]

    def of(self, byte: bytes) -> _Ints:
        """Numbers of the lines that begin with `byte`."""
        return np.flatnonzero(self.first == byte[0])

    def text(self, line: int) -> bytes:
        """One line."""
        return self.raw[int(self.starts[line]) : int(self.ends[line])]


def read_lines(raw: bytes) -> DistinctLines:
    """Cut a stream, which ends with a newline, into lines."""
    data = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(data == 10)
    starts = np.empty_like(ends)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    return DistinctLines(raw, data, starts, ends, data[starts])


def parse_patches(raw: bytes, ordinals: Mapping[bytes, int], *, names_only: bool = False) -> dict[str, Array]:
    """Read a stream of whole commits.

    Parameters
    ----------
    raw
        The stream; empty is fine.
    ordinals
        Number of each commit that may occur, by its 40 hex digits.
    names_only
        Whether the stream has no patches, so that no change has lines.

    Returns
    -------
    dict
        Arrays as in a segment, `commit` in place of `change_starts` and without `postings`: a part of one.

    Raises
    ------
    Misaligned
        For commits whose patches can't be told apart.
    """
    lines = read_lines(raw)
    commits = lines.of(COMMIT_MARK)
    records = lines.of(b":")
    patches = lines.of(b"d")
    patches = patches[(lines.data[lines.starts[patches] + 1] == ord("i")) & (lines.ends[patches] > 0)]
    heads = _raw_heads(lines, records)
    status = heads[:, 97]
    of_commit = np.searchsorted(commits, records) - 1
    weights = np.zeros(len(status), np.int64) if names_only else 1 + (status == _TYPE_CHANGE)
    _check_aligned(lines, commits, of_commit, weights, patches)
    hunks = lines.of(b"@")
    rows, block = _rows_and_blocks(lines, hunks, patches)
    patch_starts = np.concatenate(([0], np.cumsum(weights)))
    bounds = np.append(patches, len(lines.first))
    removed = lines.first[rows] == ord("-")
    row_starts = np.searchsorted(rows, bounds)[patch_starts]
    of_rows = np.concatenate(([0], np.cumsum(removed)))
    deletions = np.diff(of_rows[row_starts])
    additions = np.diff(row_starts) - deletions
    binary = np.diff(np.searchsorted(lines.of(b"B"), bounds)[patch_starts]) > 0
    # A file that becomes a link is two patches and one pair of numbers: none where git takes either side for binary.
    additions[binary] = deletions[binary] = 0
    paths, path, old_path = _paths(lines, records, status)
    part = {
        "commit": np.array([ordinals[lines.text(c)[1:]] for c in commits.tolist()], np.uint32)[of_commit]
        if len(records)
        else np.zeros(0, np.uint32),
        "path": path,
        "old_path": old_path,
        "status": status,
        "score": _scores(lines, records, status),
        "additions": additions.astype(np.int32),
        "deletions": deletions.astype(np.int32),
        "binary": binary.astype(np.uint8),
        "old_mode": _octal(heads[:, 1:7]),
        "new_mode": _octal(heads[:, 8:14]),
        "old_blob": _oids(heads[:, 15:55]),
        "new_blob": _oids(heads[:, 56:96]),
        "row_starts": row_starts.astype(np.uint32),
        "block_starts": np.searchsorted(block["block_row"], row_starts).astype(np.uint32),
        **block,
        **byte_section("paths", paths),
    }
    return part | _distinct(lines, rows, removed)


def byte_section(name: str, items: Sequence[bytes]) -> dict[str, Array]:
    """A section of byte strings and the section of their starts."""
    starts = np.zeros(len(items) + 1, np.uint32)
    np.cumsum([len(item) for item in items], out=starts[1:])
    return {name: np.frombuffer(b"".join(items), np.uint8), f"{name[:-1]}_starts": starts}


def _check_aligned(lines: DistinctLines, commits: _Ints, of_commit: _Ints, weights: Any, patches: _Ints) -> None:
    wanted = np.bincount(of_commit, weights, len(commits)).astype(np.int64)
    there = np.bincount(np.searchsorted(commits, patches) - 1, minlength=len(commits))
    bad = np.flatnonzero(wanted != there)
    if len(bad):
        raise MisalignedPatch([lines.text(int(commits[at]))[1:] for at in bad])


def _rows_and_blocks(lines: DistinctLines, hunks: _Ints, patches: _Ints) -> tuple[_Ints, dict[str, Array]]:
    """Numbers of the changed lines, and the blocks that they form."""
    plus, minus = lines.first == ord("+"), lines.first == ord("-")
    of_patch = np.searchsorted(patches, hunks)
    heads = hunks[np.flatnonzero(np.diff(of_patch, prepend=-1))]
    minus[heads - 2] = False
    plus[heads - 1] = False
    # Names of a file may begin with anything, so what else stands in its head is not looked at.
    rows = np.flatnonzero(plus | minus)
    kept = lines.first == ord(" ")
    notes = np.cumsum(lines.first == ord("\\"), dtype=np.int32)
    place = rows - notes[rows]
    grows = plus[rows]
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (np.diff(place) != 1) | (grows[:-1] & ~grows[1:])
    block_row = np.flatnonzero(fresh)
    line = rows[block_row]
    hunk = np.searchsorted(hunks, line) - 1
    old, new = _hunk_starts(lines, hunks)
    of_old = np.cumsum(kept | minus, dtype=np.int32)
    of_new = np.cumsum(kept | plus, dtype=np.int32)
    at = hunks[hunk]
    return rows, {
        "block_row": block_row.astype(np.uint32),
        "block_old": (old[hunk] + of_old[line - 1] - of_old[at]).astype(np.uint32),
        "block_new": (new[hunk] + of_new[line - 1] - of_new[at]).astype(np.uint32),
    }


def _hunk_starts(lines: DistinctLines, hunks: _Ints) -> tuple[_Ints, _Ints]:
    """Numbers of the old and new line that each hunk begins at (``@@ -a,b +c,d @@``)."""
    at = lines.starts[hunks] + 4
    old, at = _numbers(lines.data, at)
    old, at = _without_lines(lines.data, old, at)
    new, at = _numbers(lines.data, at + 2)
    new, _ = _without_lines(lines.data, new, at)
    return old, new


def _without_lines(data: NDArray[np.uint8], start: _Ints, at: _Ints) -> tuple[_Ints, _Ints]:
    """Read ``,count`` where it stands: with a count of 0, git gives the line before."""
    counted = data[at] == ord(",")
    count, after = _numbers(data, at + counted)
    return start + (counted & (count == 0)), np.where(counted, after, at)


def _numbers(data: NDArray[np.uint8], at: _Ints) -> tuple[_Ints, _Ints]:
    """Read the decimal numbers that stand at `at`, and say where they end."""
    value = np.zeros(len(at), np.int64)
    at = at.copy()
    going = np.arange(len(at))
    while len(going):
        digit = data[at[going]].astype(np.int64) - ord("0")
        good = (digit >= 0) & (digit <= 9)
        going, digit = going[good], digit[good]
        value[going] = value[going] * 10 + digit
        at[going] += 1
    return value, at


def _distinct(lines: DistinctLines, rows: _Ints, removed: NDArray[np.bool_]) -> dict[str, Array]:
    """The distinct texts of the changed lines, and which one each line has."""
    lengths = (lines.ends + 1) - lines.starts
    changed = np.zeros(len(lines.first), np.bool_)
    changed[rows] = True
    kept = np.repeat(changed, lengths)
    kept[lines.starts] = False
    texts = lines.data[: len(kept)][kept]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths[rows] - 1, out=offsets[1:])
    codes, blob, starts = dictionary_of([(texts, offsets)])
    signed = codes[0].astype(np.uint32) | (removed.astype(np.uint32) << 31)
    return {"rows": signed, "lines": blob, "line_starts": starts}


def dictionary_of(
    groups: Sequence[tuple[NDArray[np.uint8], _Ints]],
) -> tuple[list[NDArray[np.int32]], NDArray[np.uint8], _Ints]:
    """Number the distinct texts of some groups of texts, in the order in which they come first.

    Each group is bytes and the offsets of its texts in them. Gives the numbers for each group, and bytes and offsets of
    the distinct texts.
    """
    if sum(len(offsets) - 1 for _, offsets in groups) <= FEW_TEXTS:
        return _numbered(groups)
    import pyarrow as pa

    arrays = [
        pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(texts)]
        )
        for texts, offsets in groups
    ]
    encoded = pa.chunked_array(arrays, pa.large_binary()).dictionary_encode()
    codes = [_codes(chunk.indices) for chunk in encoded.chunks]
    if len(codes) != len(groups):
        flat = np.concatenate(codes)
        codes = np.split(flat, np.cumsum([len(offsets) - 1 for _, offsets in groups])[:-1])
    dictionary = encoded.chunks[-1].dictionary
    _, offsets_buffer, data = dictionary.buffers()
    starts = np.frombuffer(offsets_buffer, np.int64, len(dictionary) + 1, 8 * dictionary.offset)
    blob = np.frombuffer(data, np.uint8, int(starts[-1])) if data is not None else np.zeros(0, np.uint8)
    return codes, blob, starts


def _codes(indices: Any) -> NDArray[np.int32]:
    """Arrow's numbers as an array: its own way would load pandas."""
    return np.frombuffer(indices.buffers()[1], np.int32, len(indices), 4 * indices.offset)


def _numbered(
    groups: Sequence[tuple[NDArray[np.uint8], _Ints]],
) -> tuple[list[NDArray[np.int32]], NDArray[np.uint8], _Ints]:
    """Do what `dictionary_of` does for few texts, for which loading Arrow takes longer."""
    known: dict[bytes, int] = {}
    codes = []
    for texts, offsets in groups:
        raw = texts.tobytes()
        items = (raw[low:high] for low, high in pairwise(offsets.tolist()))
        codes.append(np.array([known.setdefault(item, len(known)) for item in items], np.int32))
    starts = np.cumsum([0, *map(len, known)], dtype=np.int64)
    return codes, np.frombuffer(b"".join(known), np.uint8), starts


def _raw_heads(lines: DistinctLines, records: _Ints) -> NDArray[np.uint8]:
    heads: NDArray[np.uint8] = lines.data[lines.starts[records][:, None] + np.arange(_RAW_HEAD)]
    return heads


def _oids(digits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    values: NDArray[np.uint8] = _HEX[digits]
    return (values[:, 0::2] * 16 + values[:, 1::2]).astype(np.uint8).reshape(-1)


def _octal(digits: NDArray[np.uint8]) -> NDArray[np.int32]:
    return ((digits.astype(np.int32) - ord("0")) @ (8 ** np.arange(5, -1, -1, dtype=np.int32))).astype(np.int32)


def _scores(lines: DistinctLines, records: _Ints, status: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Likeness in percent: three digits behind the letters R and C."""
    score: NDArray[np.uint8] = np.zeros(len(records), np.uint8)
    paired = np.flatnonzero(np.isin(status, list(_PAIRED)))
    values, _ = _numbers(lines.data, lines.starts[records[paired]] + _RAW_HEAD)
    score[paired] = values.astype(np.uint8)
    return score


def _paths(lines: DistinctLines, records: _Ints, status: NDArray[np.uint8]) -> tuple[list[bytes], Array, Array]:
    known: dict[bytes, int] = {}
    new: list[int] = []
    old: list[int] = []
    starts, ends = lines.starts[records].tolist(), lines.ends[records].tolist()
    raw = lines.raw
    for start, end, letter in zip(starts, ends, status.tolist(), strict=True):
        if letter in _PAIRED:
            former, _, name = raw[start + _RAW_HEAD + 4 : end].partition(b"\t")
            old.append(known.setdefault(unquote_name(former), len(known)))
            new.append(known.setdefault(unquote_name(name), len(known)))
        else:
            number = known.setdefault(unquote_name(raw[start + _RAW_HEAD + 1 : end]), len(known))
            old.append(number)
            new.append(number)
    return list(known), np.array(new, np.uint32), np.array(old, np.uint32)
