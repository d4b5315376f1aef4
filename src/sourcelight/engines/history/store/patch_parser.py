r"""Parse git's patch streams with array operations: changes, blocks and distinct lines of a run of commits.

The stream comes from ``git diff-tree --stdin --raw -p -U1`` with a line of ``\x01`` and the commit id before each
commit. The first byte of a line is its kind, except for the two lines of file names before a file's first hunk, which
look like changed lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array
from sourcelight.core.batches.git_names import unquote_name

COMMIT_MARK = b"\x01"

MAX_PYTHON_TEXTS = 20_000
"""Texts that are numbered without Arrow."""

# A raw record is `:mode mode oid oid status`, as git-diff describes its raw format: modes at 1 and 8, ids at 15
# and 56, the status letter at 97. Offsets are fixed because --no-abbrev prints all 40 digits of an id.
_RAW_HEAD = 98
_TYPE_CHANGE = ord("T")
_PAIRED = frozenset(b"RC")
_HEX = np.full(256, 0, np.uint8)
_HEX[list(b"0123456789abcdef")] = np.arange(16, dtype=np.uint8)

_Ints = Int64Array


class MisalignedPatch(Exception):
    """Raised when some commits have another number of patches than of changed files; they are `commits`."""

    def __init__(self, commits: Sequence[bytes]) -> None:
        super().__init__(f"{len(commits)} commits")
        self.commits = tuple(commits)


@dataclass(frozen=True, slots=True)
class DistinctLines:
    """Lines of a stream: start, end (newline excluded) and first byte of each."""

    raw: bytes
    data: UInt8Array
    starts: _Ints
    ends: _Ints
    first: UInt8Array

    def starting_with(self, byte: bytes) -> _Ints:
        """Return the numbers of the lines that begin with `byte`."""
        return np.flatnonzero(self.first == byte[0])

    def text(self, line: int) -> bytes:
        """Return one line."""
        return self.raw[int(self.starts[line]) : int(self.ends[line])]


def read_lines(raw: bytes) -> DistinctLines:
    """Cut a stream, which ends with a newline, into lines."""
    data = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(data == 10)
    starts = np.empty_like(ends)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    return DistinctLines(raw, data, starts, ends, data[starts])


def parse_patches(raw: bytes, ordinals: Mapping[bytes, int], *, names_only: bool = False) -> dict[str, AnyArray]:
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
        Arrays as in a segment, `commit` instead of `change_starts` and without `postings`: a part of one.

    Raises
    ------
    MisalignedPatch
        For commits whose patches can't be distinguished.
    """
    lines = read_lines(raw)
    commits = lines.starting_with(COMMIT_MARK)
    records = lines.starting_with(b":")
    patches = _patch_heads(lines)
    heads = _raw_heads(lines, records)
    status = heads[:, 97]
    commit_of_record = np.searchsorted(commits, records) - 1

    # git prints a type change (a file that becomes a link) as a deletion and a creation: two patches for one record.
    weights = np.zeros(len(status), np.int64) if names_only else 1 + (status == _TYPE_CHANGE)
    _check_aligned(lines, commits, commit_of_record, weights, patches)
    hunks = lines.starting_with(b"@")
    rows, block = _rows_and_blocks(lines, hunks, patches)
    patch_starts = np.concatenate(([0], np.cumsum(weights)))
    patch_bounds = np.append(patches, len(lines.first))
    removed = lines.first[rows] == ord("-")

    # `patch_starts` leads from a record to its first patch, so a type change gets the rows of both of its patches.
    row_starts = np.searchsorted(rows, patch_bounds)[patch_starts]
    binary = np.diff(np.searchsorted(lines.starting_with(b"B"), patch_bounds)[patch_starts]) > 0
    additions, deletions = _line_counts(removed, row_starts, binary)
    paths, path, old_path = _paths(lines, records, status)
    commit_ordinals = np.array([ordinals[lines.text(line)[1:]] for line in commits.tolist()], np.uint32)
    part = {
        "commit": commit_ordinals[commit_of_record],
        "path": path,
        "old_path": old_path,
        "status": status,
        "score": _scores(lines, records, status),
        "additions": additions.astype(np.int32),
        "deletions": deletions.astype(np.int32),
        "binary": binary.astype(np.uint8),
        "old_mode": _octal_modes(heads[:, 1:7]),
        "new_mode": _octal_modes(heads[:, 8:14]),
        "old_blob": _oids(heads[:, 15:55]),
        "new_blob": _oids(heads[:, 56:96]),
        "row_starts": row_starts.astype(np.uint32),
        "block_starts": np.searchsorted(block["block_row"], row_starts).astype(np.uint32),
        **block,
        **byte_section("paths", paths),
    }
    return part | _distinct_sections(lines, rows, removed)


def _patch_heads(lines: DistinctLines) -> _Ints:
    """Return the numbers of the lines ``diff --git …``."""
    heads = lines.starting_with(b"d")
    # `deleted file mode` begins with d too; `dissimilarity index` comes with -B alone, which isn't used.
    is_patch = (lines.data[lines.starts[heads] + 1] == ord("i")) & (lines.ends[heads] > 0)
    patch_heads: _Ints = heads[is_patch]
    return patch_heads


def byte_section(name: str, items: Sequence[bytes]) -> dict[str, AnyArray]:
    """Return a section of byte strings and the section of their starts."""
    starts = np.zeros(len(items) + 1, np.uint32)
    np.cumsum([len(item) for item in items], out=starts[1:])
    return {name: np.frombuffer(b"".join(items), np.uint8), f"{name[:-1]}_starts": starts}


def _check_aligned(lines: DistinctLines, commits: _Ints, of_commit: _Ints, weights: Any, patches: _Ints) -> None:
    # A mismatch would shift the lines of every later file to the wrong change, so it is checked per commit.
    expected = np.bincount(of_commit, weights, len(commits)).astype(np.int64)
    actual = np.bincount(np.searchsorted(commits, patches) - 1, minlength=len(commits))
    misaligned = np.flatnonzero(expected != actual)
    if len(misaligned):
        raise MisalignedPatch([lines.text(int(commits[commit_index]))[1:] for commit_index in misaligned])


def _rows_and_blocks(lines: DistinctLines, hunks: _Ints, patches: _Ints) -> tuple[_Ints, dict[str, AnyArray]]:
    """Return the numbers of the changed lines, and the blocks that they form."""
    plus, minus = lines.first == ord("+"), lines.first == ord("-")
    patch_of_hunk = np.searchsorted(patches, hunks)

    # The number of patches before a hunk rises at the first hunk of each file. Binary files, pure renames and changes
    # of mode have no hunk, and git prints no `---` and `+++` lines for them.
    heads = hunks[np.flatnonzero(np.diff(patch_of_hunk, prepend=-1))]
    # The two lines before a file's first hunk are its names (``---`` and ``+++``), not changed lines.
    minus[heads - 2] = False
    plus[heads - 1] = False

    # Names of a file may begin with anything, so the rest of its head is not looked at.
    rows = np.flatnonzero(plus | minus)
    # diff.suppressBlankEmpty=false makes git print the space before an empty context line.
    is_context = lines.first == ord(" ")

    # A note (`\ No newline at end of file`) may come between removed and added lines. Positions skip notes, so they
    # don't split a block.
    notes = np.cumsum(lines.first == ord("\\"), dtype=np.int32)
    positions = rows - notes[rows]
    is_added = plus[rows]
    starts_block = np.ones(len(rows), np.bool_)

    # A removed line after an added one starts a new block too: in a block, removed lines come first.
    starts_block[1:] = (np.diff(positions) != 1) | (is_added[:-1] & ~is_added[1:])
    block_row = np.flatnonzero(starts_block)
    line = rows[block_row]
    hunk = np.searchsorted(hunks, line) - 1
    old, new = _hunk_starts(lines, hunks)

    # These sums run over the whole stream; the sum at the hunk's head is subtracted, so only lines of the hunk count.
    old_lines = np.cumsum(is_context | minus, dtype=np.int32)
    new_lines = np.cumsum(is_context | plus, dtype=np.int32)
    hunk_lines = hunks[hunk]
    return rows, {
        "block_row": block_row.astype(np.uint32),
        "block_old": (old[hunk] + old_lines[line - 1] - old_lines[hunk_lines]).astype(np.uint32),
        "block_new": (new[hunk] + new_lines[line - 1] - new_lines[hunk_lines]).astype(np.uint32),
    }


def _hunk_starts(lines: DistinctLines, hunks: _Ints) -> tuple[_Ints, _Ints]:
    """Return numbers of the old and new line that each hunk begins at (``@@ -a,b +c,d @@``)."""
    offsets = lines.starts[hunks] + 4
    old, offsets = _read_decimals(lines.data, offsets)
    old, offsets = _read_count(lines.data, old, offsets)
    new, offsets = _read_decimals(lines.data, offsets + 2)
    new, _ = _read_count(lines.data, new, offsets)
    return old, new


def _read_count(data: UInt8Array, start: _Ints, offsets: _Ints) -> tuple[_Ints, _Ints]:
    """Read an optional ``,count``; with a count of 0, git gives the line before the hunk, so add one."""
    has_count = data[offsets] == ord(",")
    count, ends = _read_decimals(data, offsets + has_count)
    return start + (has_count & (count == 0)), np.where(has_count, ends, offsets)


def _read_decimals(data: UInt8Array, offsets: _Ints) -> tuple[_Ints, _Ints]:
    """Read the decimal numbers at `offsets`; return them and the offsets behind them."""
    value = np.zeros(len(offsets), np.int64)
    offsets = offsets.copy()

    # One round per digit for all numbers at once; a number leaves `active` at its first other byte.
    active = np.arange(len(offsets))
    while len(active):
        digit = data[offsets[active]].astype(np.int64) - ord("0")
        is_digit = (digit >= 0) & (digit <= 9)
        active, digit = active[is_digit], digit[is_digit]
        value[active] = value[active] * 10 + digit
        offsets[active] += 1

    return value, offsets


def _line_counts(removed: BoolArray, row_starts: _Ints, binary: BoolArray) -> tuple[_Ints, _Ints]:
    """Return the additions and the deletions of each change."""
    # One running sum over all rows replaces a loop over changes: a difference of two of its items counts removals.
    removed_before = np.concatenate(([0], np.cumsum(removed)))
    deletions: _Ints = np.diff(removed_before[row_starts])
    additions = np.diff(row_starts) - deletions
    # A file that becomes a link is two patches and one pair of numbers: none where git takes either side for binary.
    additions[binary] = deletions[binary] = 0
    return additions, deletions


def _distinct_sections(lines: DistinctLines, rows: _Ints, removed: BoolArray) -> dict[str, AnyArray]:
    """Return the distinct texts of the changed lines, and the number of the text of each line."""
    lengths = (lines.ends + 1) - lines.starts
    changed = np.zeros(len(lines.first), np.bool_)
    changed[rows] = True

    # The mask keeps the newline of each changed line and drops its first byte, the sign.
    is_text = np.repeat(changed, lengths)
    is_text[lines.starts] = False
    texts = lines.data[: len(is_text)][is_text]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(lengths[rows] - 1, out=offsets[1:])
    codes, blob, starts = number_texts([(texts, offsets)])

    # The sign takes the highest bit, which leaves 2**31 distinct lines for a segment.
    signed = codes[0].astype(np.uint32) | (removed.astype(np.uint32) << 31)
    return {"rows": signed, "lines": blob, "line_starts": starts}


def number_texts(
    groups: Sequence[tuple[UInt8Array, _Ints]],
) -> tuple[list[NDArray[np.int32]], UInt8Array, _Ints]:
    """Assign numbers to the distinct texts of groups of texts, in order of first occurrence.

    Each group is bytes and the offsets of its texts. Returns the numbers for each group, then bytes and offsets of the
    distinct texts.
    """
    if sum(len(offsets) - 1 for _, offsets in groups) <= MAX_PYTHON_TEXTS:
        return _number_in_python(groups)

    import pyarrow as pa

    # Offsets of 64 bits: the texts of all parts together may exceed the 2 GiB of Arrow's plain binary type.
    arrays = [
        pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(texts)]
        )
        for texts, offsets in groups
    ]
    encoded = pa.chunked_array(arrays, pa.large_binary()).dictionary_encode()
    codes = [_codes(chunk.indices) for chunk in encoded.chunks]

    # Arrow may return other chunks than it was given; their concatenation is the same.
    if len(codes) != len(groups):
        flat = np.concatenate(codes)
        codes = np.split(flat, np.cumsum([len(offsets) - 1 for _, offsets in groups])[:-1])

    # dictionary_encode() gives all chunks one dictionary, in the order of first occurrence.
    dictionary = encoded.chunks[-1].dictionary
    _, offsets_buffer, data = dictionary.buffers()
    starts = np.frombuffer(offsets_buffer, np.int64, len(dictionary) + 1, 8 * dictionary.offset)
    blob = np.frombuffer(data, np.uint8, int(starts[-1])) if data is not None else np.zeros(0, np.uint8)
    return codes, blob, starts


def _codes(indices: Any) -> NDArray[np.int32]:
    """Return Arrow's numbers as an array, without the conversion of Arrow that imports pandas."""
    return np.frombuffer(indices.buffers()[1], np.int32, len(indices), 4 * indices.offset)


def _number_in_python(
    groups: Sequence[tuple[UInt8Array, _Ints]],
) -> tuple[list[NDArray[np.int32]], UInt8Array, _Ints]:
    """Assign numbers to few texts: importing Arrow would take longer."""
    text_numbers: dict[bytes, int] = {}
    codes = []
    for texts, offsets in groups:
        raw = texts.tobytes()
        items = (raw[start:end] for start, end in pairwise(offsets.tolist()))
        codes.append(np.array([text_numbers.setdefault(item, len(text_numbers)) for item in items], np.int32))

    starts = np.cumsum([0, *map(len, text_numbers)], dtype=np.int64)
    return codes, np.frombuffer(b"".join(text_numbers), np.uint8), starts


def _raw_heads(lines: DistinctLines, records: _Ints) -> UInt8Array:
    heads: UInt8Array = lines.data[lines.starts[records][:, None] + np.arange(_RAW_HEAD)]
    return heads


def _oids(digits: UInt8Array) -> UInt8Array:
    # n x 40 digits become n x 20 bytes, flattened as sections of a file are.
    values: UInt8Array = _HEX[digits]
    return (values[:, 0::2] * 16 + values[:, 1::2]).astype(np.uint8).reshape(-1)


def _octal_modes(digits: UInt8Array) -> NDArray[np.int32]:
    return ((digits.astype(np.int32) - ord("0")) @ (8 ** np.arange(5, -1, -1, dtype=np.int32))).astype(np.int32)


def _scores(lines: DistinctLines, records: _Ints, status: UInt8Array) -> UInt8Array:
    """Return the similarity in percent: three digits behind the letters R and C."""
    score: UInt8Array = np.zeros(len(records), np.uint8)
    paired = np.flatnonzero(np.isin(status, list(_PAIRED)))
    values, _ = _read_decimals(lines.data, lines.starts[records[paired]] + _RAW_HEAD)
    score[paired] = values.astype(np.uint8)
    return score


def _paths(lines: DistinctLines, records: _Ints, status: UInt8Array) -> tuple[list[bytes], AnyArray, AnyArray]:
    path_numbers: dict[bytes, int] = {}
    new: list[int] = []
    old: list[int] = []
    starts, ends = lines.starts[records].tolist(), lines.ends[records].tolist()
    raw = lines.raw
    for start, end, letter in zip(starts, ends, status.tolist(), strict=True):
        if letter in _PAIRED:
            # Behind the letter: a similarity of three digits, a tab, the old name, a tab, the new name. A tab in a name
            # is quoted by git.
            old_name, _, name = raw[start + _RAW_HEAD + 4 : end].partition(b"\t")
            old.append(path_numbers.setdefault(unquote_name(old_name), len(path_numbers)))
            new.append(path_numbers.setdefault(unquote_name(name), len(path_numbers)))
        else:
            number = path_numbers.setdefault(unquote_name(raw[start + _RAW_HEAD + 1 : end]), len(path_numbers))
            old.append(number)
            new.append(number)

    return list(path_numbers), np.array(new, np.uint32), np.array(old, np.uint32)
