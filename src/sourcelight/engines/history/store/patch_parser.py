r"""Parse git's patch streams with array operations: changes, blocks and distinct lines of a run of commits.

The stream comes from ``git diff-tree --stdin --raw -p -U1``. Here, ids of 40 digits are shortened to three::

    \x01c0f…                                        a commit: the byte 1 and its id
    :100644 100644 1f4… 9e2… M\told.py               a record for each changed file of the commit
    diff --git a/old.py b/old.py                    a patch for each record
    index 1f4…..9e2… 100644
    --- a/old.py
    +++ b/old.py
    @@ -7,3 +7,3 @@ def retry():                    a hunk
     delay = 1
    -sleep(delay)                                   a block: removed lines, then added ones, without a line between
    +sleep(2 * delay)
     return

The first byte of a line is its kind, except for the two lines of file names before a file's first hunk, which look like
changed lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array
from sourcelight.core.batches.git_names import unquote_name
from sourcelight.engines.history.store.distinct_texts import byte_section, number_texts

COMMIT_MARK = b"\x01"

# A record is `:mode mode id id status`, as git-diff describes its raw format. Its offsets are fixed because --no-abbrev
# prints all 40 digits of an id.
_OLD_MODE = slice(1, 7)
_NEW_MODE = slice(8, 14)
_OLD_ID = slice(15, 55)
_NEW_ID = slice(56, 96)
_STATUS = 97
_RECORD_HEAD_BYTES = 98
"""Bytes of a record up to its status letter. A score may follow, then a tab and one or two names."""

_SCORE_DIGITS = 3
"""Digits behind R and C: the similarity in percent."""

_TYPE_CHANGE = ord("T")
_PAIRED = frozenset(b"RC")
"""Letters of renames and copies, whose records have two names."""

_HEX = np.full(256, 0, np.uint8)
_HEX[list(b"0123456789abcdef")] = np.arange(16, dtype=np.uint8)
"""Value of each hexadecimal digit, by its byte."""

_Ints = Int64Array
"""Numbers of lines of the stream, unless said otherwise."""


class MisalignedPatch(Exception):
    """Raised when some commits have another number of patches than of changed files; they are `commits`."""

    def __init__(self, commits: Sequence[bytes]) -> None:
        super().__init__(f"{len(commits)} commits")
        self.commits = tuple(commits)


@dataclass(frozen=True, slots=True)
class PatchLines:
    """The lines of a stream: start, end (newline excluded) and first byte of each."""

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
    lines = _read_lines(raw)
    # All of these are numbers of lines in the order of the stream. So `searchsorted` finds the commit of a record, and
    # the patch and the hunk of a changed line, for all of them at once.
    commits = lines.starting_with(COMMIT_MARK)
    records = lines.starting_with(b":")
    patches = _patch_heads(lines)
    hunks = lines.starting_with(b"@")
    record_heads = _record_heads(lines, records)
    status = record_heads[:, _STATUS]
    commit_of_record = np.searchsorted(commits, records) - 1

    if names_only:
        patch_counts = np.zeros(len(records), np.int64)
    else:
        # git prints a type change (a file that becomes a link) as a deletion and a creation: two patches for one
        # record.
        patch_counts = 1 + (status == _TYPE_CHANGE)
    _check_aligned(lines, commits, commit_of_record=commit_of_record, patch_counts=patch_counts, patches=patches)

    rows, blocks = _rows_and_blocks(lines, hunks, patches)
    removed = lines.first[rows] == ord("-")
    # `record_patches` leads from a record to its first patch, so a type change gets the rows of both of its patches.
    record_patches = np.concatenate(([0], np.cumsum(patch_counts)))
    patch_bounds = np.append(patches, len(lines.first))
    row_starts = np.searchsorted(rows, patch_bounds)[record_patches]
    # `Binary files a/x and b/x differ`
    binary_starts = np.searchsorted(lines.starting_with(b"B"), patch_bounds)[record_patches]
    is_binary = np.diff(binary_starts) > 0
    additions, deletions = _line_counts(removed, row_starts, is_binary)

    paths, path, old_path = _paths(lines, records, status)
    commit_ordinals = np.array([ordinals[lines.text(line)[1:]] for line in commits.tolist()], np.uint32)
    changes = {
        "commit": commit_ordinals[commit_of_record],
        "path": path,
        "old_path": old_path,
        "status": status,
        "score": _scores(lines, records, status),
        "additions": additions.astype(np.int32),
        "deletions": deletions.astype(np.int32),
        "binary": is_binary.astype(np.uint8),
        "old_mode": _octal_modes(record_heads[:, _OLD_MODE]),
        "new_mode": _octal_modes(record_heads[:, _NEW_MODE]),
        "old_blob": _blob_ids(record_heads[:, _OLD_ID]),
        "new_blob": _blob_ids(record_heads[:, _NEW_ID]),
        "row_starts": row_starts.astype(np.uint32),
        "block_starts": np.searchsorted(blocks["block_row"], row_starts).astype(np.uint32),
    }
    return changes | blocks | byte_section("paths", paths) | _line_sections(lines, rows, removed)


def _read_lines(raw: bytes) -> PatchLines:
    """Cut a stream, which ends with a newline, into lines."""
    data = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.empty_like(ends)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    return PatchLines(raw, data, starts, ends, data[starts])


def _patch_heads(lines: PatchLines) -> _Ints:
    """Return the numbers of the lines ``diff --git …``."""
    heads = lines.starting_with(b"d")
    # `deleted file mode` begins with d too; `dissimilarity index` comes with -B alone, which isn't used.
    is_patch = (lines.data[lines.starts[heads] + 1] == ord("i")) & (lines.ends[heads] > 0)
    patch_heads: _Ints = heads[is_patch]
    return patch_heads


def _check_aligned(
    lines: PatchLines, commits: _Ints, *, commit_of_record: _Ints, patch_counts: _Ints, patches: _Ints
) -> None:
    """Raise `MisalignedPatch` unless each commit has the patches that its records announce.

    A mismatch would give the lines of every later file to the wrong change.
    """
    expected = np.bincount(commit_of_record, patch_counts, len(commits)).astype(np.int64)
    actual = np.bincount(np.searchsorted(commits, patches) - 1, minlength=len(commits))
    misaligned = np.flatnonzero(expected != actual)
    if len(misaligned):
        raise MisalignedPatch([lines.text(int(commits[commit_index]))[1:] for commit_index in misaligned])


def _rows_and_blocks(lines: PatchLines, hunks: _Ints, patches: _Ints) -> tuple[_Ints, dict[str, AnyArray]]:
    """Return the numbers of the changed lines, and the blocks that they form."""
    plus = lines.first == ord("+")
    minus = lines.first == ord("-")
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


def _hunk_starts(lines: PatchLines, hunks: _Ints) -> tuple[_Ints, _Ints]:
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
        active = active[is_digit]
        value[active] = value[active] * 10 + digit[is_digit]
        offsets[active] += 1

    return value, offsets


def _line_counts(removed: BoolArray, row_starts: _Ints, is_binary: BoolArray) -> tuple[_Ints, _Ints]:
    """Return the additions and the deletions of each change."""
    # One running sum over all rows replaces a loop over changes: a difference of two of its items counts removals.
    removed_before = np.concatenate(([0], np.cumsum(removed)))
    deletions: _Ints = np.diff(removed_before[row_starts])
    additions = np.diff(row_starts) - deletions
    # A file that becomes a link is two patches and one pair of numbers: none where git takes either side for binary.
    additions[is_binary] = 0
    deletions[is_binary] = 0
    return additions, deletions


def _line_sections(lines: PatchLines, rows: _Ints, removed: BoolArray) -> dict[str, AnyArray]:
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
    distinct = number_texts([(texts, offsets)])
    (text_numbers,) = distinct.numbers

    # The sign takes the highest bit, which leaves 2**31 distinct lines for a segment.
    signed_numbers = text_numbers.astype(np.uint32) | (removed.astype(np.uint32) << 31)
    return {"rows": signed_numbers, "lines": distinct.texts, "line_starts": distinct.starts}


def _record_heads(lines: PatchLines, records: _Ints) -> UInt8Array:
    """Return the bytes of each record up to its status letter, one record a row."""
    heads: UInt8Array = lines.data[lines.starts[records][:, None] + np.arange(_RECORD_HEAD_BYTES)]
    return heads


def _blob_ids(digits: UInt8Array) -> UInt8Array:
    # n x 40 digits become n x 20 bytes, flattened as sections of a file are.
    values: UInt8Array = _HEX[digits]
    return (values[:, 0::2] * 16 + values[:, 1::2]).astype(np.uint8).reshape(-1)


def _octal_modes(digits: UInt8Array) -> NDArray[np.int32]:
    """Return the modes that six octal digits each say."""
    place_values = 8 ** np.arange(5, -1, -1, dtype=np.int32)
    values = digits.astype(np.int32) - ord("0")
    return (values @ place_values).astype(np.int32)


def _scores(lines: PatchLines, records: _Ints, status: UInt8Array) -> UInt8Array:
    """Return the similarity in percent: three digits behind the letters R and C."""
    score: UInt8Array = np.zeros(len(records), np.uint8)
    paired = np.flatnonzero(np.isin(status, list(_PAIRED)))
    values, _ = _read_decimals(lines.data, lines.starts[records[paired]] + _RECORD_HEAD_BYTES)
    score[paired] = values.astype(np.uint8)
    return score


def _paths(lines: PatchLines, records: _Ints, status: UInt8Array) -> tuple[list[bytes], AnyArray, AnyArray]:
    """Return the distinct paths, and for each record the number of its path and of its old path."""
    path_numbers: dict[bytes, int] = {}
    new: list[int] = []
    old: list[int] = []
    starts = lines.starts[records].tolist()
    ends = lines.ends[records].tolist()
    raw = lines.raw
    for start, end, letter in zip(starts, ends, status.tolist(), strict=True):
        # Behind the status letter, a tab and the name; git quotes a name with a tab.
        name_start = start + _RECORD_HEAD_BYTES + 1
        if letter in _PAIRED:
            # Behind the letter, the score, a tab, the old name, a tab and the new name.
            old_name, _, name = raw[name_start + _SCORE_DIGITS : end].partition(b"\t")
            old.append(path_numbers.setdefault(unquote_name(old_name), len(path_numbers)))
            new.append(path_numbers.setdefault(unquote_name(name), len(path_numbers)))
        else:
            number = path_numbers.setdefault(unquote_name(raw[name_start:end]), len(path_numbers))
            old.append(number)
            new.append(number)

    return list(path_numbers), np.array(new, np.uint32), np.array(old, np.uint32)
