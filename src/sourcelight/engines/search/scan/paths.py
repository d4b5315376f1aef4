"""Match patterns in paths; all paths of a table are one text, so one scan matches all of them."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import stringzilla
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Int64Array, UInt8Array, pairs, unique_sorted
from sourcelight.core.batches.codecs.raw_matches import json_paths
from sourcelight.core.boolean import fold
from sourcelight.core.cancellation import Stopped
from sourcelight.core.patterns import FOLD_HAZARDS, RequiredText, RequiredTree, lower_ascii
from sourcelight.core.patterns.compiled import CompiledPattern, compile_pattern
from sourcelight.core.patterns.ranges import find_texts, join_adjacent

_MIN_REQUIRED_BYTES = 3
"""Minimum bytes of a required text to search for. Shorter texts are in too many paths to save time."""

_GRAM_BYTES, _GRAM_FACTOR = 4, 0x9E3779B1

_GRAM_BLOCK_BYTES = 64 << 10
"""Bytes of paths whose hashes are made at once."""

_MIN_GRAM_BITS, _MAX_GRAM_BITS = 10, 20
"""Bits of a hash of four bytes: two megabytes of paths have some ten thousand different hashes."""

_SEARCHED_BYTES = 64 << 10
"""Bytes of paths up to which a search takes less time than a look into the table of hashes."""

_SEARCHES_WITHOUT_GRAMS = 3
"""Searches of longer paths before their table is made, which takes as long as a thousand searches."""

_FINDS_WITHOUT_BLOCKS = 4
"""Searches for a text that may be in long paths before their blocks are made, which takes as long as fifty searches."""

_PATHS_OF_BLOCK, _BLOCK_GRAM_BITS = 64, 12
"""Paths of a block, three kilobytes with some hundred different hashes of four bytes, and the bits of these."""

MAX_LISTED_PATHS = 50_000
"""Paths up to which a corpus has them as objects: 200 bytes each, and together less than 100 ms once."""

_WORD = re.compile(r"[A-Za-z0-9_/-]+")
"""A regular expression that matches itself alone."""

_NO_OFFSETS: Int64Array = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PathSpans:
    """Matches of a pattern in paths: a mask over files, and spans in bytes, sorted by file and start."""

    is_match: BoolArray
    file: Int64Array
    start: Int64Array
    end: Int64Array
    has_matches: bool


@dataclass(frozen=True, slots=True)
class PathLists:
    """The paths of a corpus as objects: their bytes, and their JSON texts without quotes.

    A common word is in thousands of files. Cutting their paths out of one text takes longer.
    """

    paths: Sequence[bytes]
    json: Sequence[bytes]

    @classmethod
    def of(cls, text: Any, starts: Int64Array, ends: Int64Array) -> PathLists:
        """Return the paths ``text[start:end]``."""
        view = memoryview(text)
        paths = [bytes(view[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        # The garbage collector looks at each item of a list, and drops tuples of bytes from its work.
        return cls(tuple(paths), tuple(json_paths(paths)))


class PathBlocks:
    """Blocks of paths, and for each hash of four bytes the blocks that have it.

    A word that is in some paths is in few of the blocks, so a search reads kilobytes and not megabytes.

    Parameters
    ----------
    lowered
        The paths in lower case, a newline before the first and after each.
    offsets
        Start of each path, and the end of the text.
    """

    def __init__(self, lowered: bytes, offsets: Int64Array) -> None:
        self._bounds = np.concatenate((offsets[:-1:_PATHS_OF_BLOCK], offsets[-1:]))
        blocks = len(self._bounds) - 1
        self._width = -(-blocks // 8)
        raw = np.frombuffer(lowered, np.uint8)
        has_gram = np.zeros((1 << _BLOCK_GRAM_BITS) * 8 * self._width, dtype=np.bool_)
        # The newline before the first path is in the first block.
        block_of_byte = (np.arange(blocks, dtype=np.intp)).repeat(np.diff(self._bounds, prepend=0)[1:])
        for start in range(1, len(raw) - _GRAM_BYTES + 1, _GRAM_BLOCK_BYTES):
            codes = _gram_codes(raw, start, _BLOCK_GRAM_BITS) * (8 * self._width)
            # One index for hash and block together: numpy takes twice as long for two.
            codes += block_of_byte[start - 1 : start - 1 + len(codes)]
            has_gram[codes] = True

        self._bits = np.packbits(has_gram, bitorder="little").tobytes()

    def ranges(self, tree: RequiredTree) -> Int64Array:
        """Return the ranges of the text, ascending, outside of which no path has the texts of a tree."""
        blocks = len(self._bounds) - 1
        # -1 has all bits.
        bits = fold(
            tree,
            self._blocks_with,
            all_of=lambda parts: functools.reduce(operator.and_, parts, -1),
            any_of=lambda parts: functools.reduce(operator.or_, parts, 0),
        )
        # Where most blocks may have the texts, one search of all is as fast.
        if bits < 0 or 2 * bits.bit_count() > blocks:
            return np.array([[self._bounds[0], self._bounds[-1]]], dtype=np.int64)

        # Few bits are left as a rule, see `ShardFilter.shards_with`.
        numbers = []
        while bits:
            lowest = bits & -bits
            numbers.append(lowest.bit_length() - 1)
            bits ^= lowest
        selected = np.array(numbers, dtype=np.int64)
        return join_adjacent(pairs(self._bounds[selected], self._bounds[selected + 1]))

    def _blocks_with(self, leaf: RequiredText) -> int:
        """Return a bit for each block that may have a text; -1 if any may."""
        text, bits = leaf.text, -1
        if b"\n" in text:
            return bits
        width, table = self._width, self._bits
        for start in range(len(text) - _GRAM_BYTES + 1):
            code = int.from_bytes(text[start : start + _GRAM_BYTES], "little") * _GRAM_FACTOR & 0xFFFFFFFF
            row = (code >> 32 - _BLOCK_GRAM_BITS) * width
            bits &= int.from_bytes(table[row : row + width], "little")
        return bits


def _gram_codes(raw: UInt8Array, start: int, bits: int) -> NDArray[np.intp]:
    """Return the hashes of the four bytes at each place of a block of text."""
    text = raw[start : start + _GRAM_BLOCK_BYTES + _GRAM_BYTES - 1].astype(np.uint32)
    codes = text[:-3] | text[1:-2] << np.uint32(8) | text[2:-1] << np.uint32(16) | text[3:] << np.uint32(24)
    codes *= np.uint32(_GRAM_FACTOR)  # the overflow is intended
    codes >>= np.uint32(32 - bits)
    # numpy takes half as long for indexes of its own type.
    indexes: NDArray[np.intp] = codes.astype(np.intp)
    return indexes


class PathTable:
    """Paths in one text, each after a newline.

    Within a path, another control character replaces a newline. Paths with newlines are matched separately.

    Parameters
    ----------
    text
        The paths, a newline before the first and after each.
    offsets
        Start of each path, and the end of the text.
    raw
        The same text with the newlines of paths; None if no path has one.
    """

    def __init__(self, text: Any, offsets: Int64Array, raw: Any = None) -> None:
        self.text = memoryview(text)
        self.offsets = offsets
        self.starts, self.ends = offsets[:-1], offsets[1:] - 1
        self._newline_paths = {} if raw is None else self._find_newline_paths(memoryview(raw))
        self._searches = self._finds = 0

    def _find_newline_paths(self, raw: memoryview) -> dict[int, bytes]:
        """Return the paths that hold a newline, by number."""
        # Both texts have the same length and differ only in the newlines within paths.
        positions = np.flatnonzero(np.frombuffer(self.text, np.uint8) != np.frombuffer(raw, np.uint8))
        rows = unique_sorted(self.starts.searchsorted(positions, side="right") - 1)
        return {row: bytes(raw[int(self.starts[row]) : int(self.ends[row])]) for row in rows.tolist()}

    def __len__(self) -> int:
        return len(self.starts)

    @functools.cached_property
    def _lowered(self) -> bytes | None:
        """All paths in lower case; None when a path holds a non-ASCII character that folds to an ASCII letter."""
        find = stringzilla.Str(self.text).find
        return None if any(find(hazard) >= 0 for hazard in FOLD_HAZARDS) else lower_ascii(self.text)

    @functools.cached_property
    def _grams(self) -> bytes:
        """Table of the hashes of four bytes that occur in the lower-case text; takes up to a megabyte."""
        raw = np.frombuffer(self._lowered or b"", np.uint8)
        bits = max(_MIN_GRAM_BITS, min(_MAX_GRAM_BITS, (4 * len(raw)).bit_length()))
        occurs = np.zeros(1 << bits, dtype=np.uint8)
        # In blocks, whose arrays stay in the processor's cache: those of all paths of a large corpus take a gigabyte.
        for start in range(0, len(raw) - _GRAM_BYTES + 1, _GRAM_BLOCK_BYTES):
            occurs[_gram_codes(raw, start, bits)] = 1

        return occurs.tobytes()

    def _may_hold(self, text: bytes) -> bool:
        """Return whether a path may contain a folded text; False is certain, and much cheaper than a search."""
        if b"\n" in text:
            return True

        grams = self._grams
        shift = 33 - len(grams).bit_length()
        return all(
            grams[(int.from_bytes(text[index : index + _GRAM_BYTES], "little") * _GRAM_FACTOR & 0xFFFFFFFF) >> shift]
            for index in range(len(text) - _GRAM_BYTES + 1)
        )

    def _may_match(self, tree: RequiredTree) -> bool:
        lowered = self._lowered
        if lowered is None:
            return True

        if len(lowered) <= _SEARCHED_BYTES or self._searches < _SEARCHES_WITHOUT_GRAMS:
            self._searches += 1
            find = stringzilla.Str(lowered).find
            return fold(tree, lambda leaf: b"\n" in leaf.text or find(leaf.text) >= 0, all_of=all, any_of=any)

        return fold(tree, lambda leaf: self._may_hold(leaf.text), all_of=all, any_of=any)

    @functools.cached_property
    def is_non_ascii(self) -> BoolArray:
        """Mask of the paths that have a non-ASCII byte."""
        mask = np.zeros(len(self), dtype=np.bool_)
        positions = np.flatnonzero(np.frombuffer(self.text, np.uint8) >= 0x80)
        mask[self.starts.searchsorted(positions, side="right") - 1] = True
        return mask

    def match(self, pattern: CompiledPattern) -> BoolArray:
        """Return which paths a whole-text pattern matches; empty matches count."""
        matched = self._match(pattern)
        for row, path in self._newline_paths.items():
            matched[row] = bool(_whole_text_pattern(pattern).match_many(path, [0], [len(path)])[0])
        return matched

    def _match(self, pattern: CompiledPattern) -> BoolArray:
        required = _required_text(pattern.required)
        lowered = self._lowered if len(required) >= _MIN_REQUIRED_BYTES else None
        if lowered is None:
            return np.asarray(pattern.match_many(self.text, self.starts, self.ends), dtype=np.bool_)

        # A literal search takes a tenth of the time of a regular expression, and leaves few paths to match. Lowering
        # changes ASCII letters only, so offsets are valid in the text. The required text has no newline, so each
        # occurrence is within one path.
        text, literal = (lowered, required) if pattern.literal is None else (self.text, pattern.literal)
        offsets = find_texts(memoryview(text), literal, np.array([[0, len(text)]], dtype=np.int64))
        rows = unique_sorted(self.offsets.searchsorted(offsets, side="right") - 1)
        matched = np.zeros(len(self), dtype=np.bool_)
        # A word in any case matches where the paths in lower case have it.
        is_word = _WORD.fullmatch(pattern.text) is not None and pattern.text.lower().encode() == required
        is_exact = pattern.literal is not None or (is_word and not pattern.case_sensitive)
        matched[rows] = is_exact or pattern.match_many(self.text, self.starts[rows], self.ends[rows])
        return matched

    def find(self, pattern: CompiledPattern, stopped: Stopped) -> PathSpans:
        """Find a pattern in all paths; raises `ScanStopped` when `stopped` returns True."""
        spans = self._find(pattern, stopped)
        if self._newline_paths:
            return self._with_newline_paths(spans, _whole_text_pattern(pattern))
        return spans

    def _with_newline_paths(self, scanned_spans: PathSpans, pattern: CompiledPattern) -> PathSpans:
        """Replace the spans in paths with a newline by the spans in the raw paths."""
        matched = scanned_spans.is_match.copy()
        # The scan read these paths with replaced newlines, so all of its spans in them are dropped.
        is_intact = ~np.isin(scanned_spans.file, list(self._newline_paths))
        raw_spans = [(row, *span) for row, path in self._newline_paths.items() for span in pattern.find(path)]
        rows, starts, ends = np.array(raw_spans, dtype=np.int64).reshape(-1, 3).T
        matched[list(self._newline_paths)] = False
        matched[rows] = True
        file = np.concatenate((scanned_spans.file[is_intact], rows))
        order = np.argsort(file, kind="stable")
        start = np.concatenate((scanned_spans.start[is_intact], starts))[order]
        end = np.concatenate((scanned_spans.end[is_intact], ends))[order]
        return PathSpans(matched, file[order], start, end, bool(len(file)))

    @functools.cached_property
    def no_spans(self) -> PathSpans:
        """The spans of a pattern that no path matches, shared by all such patterns."""
        mask = np.zeros(len(self), dtype=np.bool_)
        mask.flags.writeable = False
        return PathSpans(mask, _NO_OFFSETS, _NO_OFFSETS, _NO_OFFSETS, has_matches=False)

    def may_match(self, pattern: CompiledPattern) -> bool:
        """Return whether a path may match a pattern; False is certain, and much cheaper than a search."""
        return bool(self._newline_paths) or (len(self) > 0 and self._may_match(pattern.required))

    @functools.cached_property
    def _blocks(self) -> PathBlocks:
        return PathBlocks(self._lowered or b"", self.offsets)

    def _ranges(self, tree: RequiredTree) -> Int64Array:
        """Return the ranges of the text, each of whole paths, in which a path may have the texts of a tree."""
        if self._lowered is not None and len(self.text) > _SEARCHED_BYTES and len(self) <= MAX_LISTED_PATHS:
            self._finds += 1
            if self._finds > _FINDS_WITHOUT_BLOCKS:
                return self._blocks.ranges(tree)
        # Starts at 1: the newline before the first path belongs to no path.
        return np.array([[1, len(self.text)]], dtype=np.int64)

    def _find(self, pattern: CompiledPattern, stopped: Stopped) -> PathSpans:
        if not len(self) or not self._may_match(pattern.required):
            return self.no_spans

        matched = np.zeros(len(self), dtype=np.bool_)
        starts, ends = self.starts, self.ends

        # Paths are the lines of the text. A pattern that can match a newline, or anchors to the ends of the text, is
        # matched against each path separately.
        if pattern.multi_line or pattern.whole_text:
            file, start, end = pattern.spans(self.text, starts, ends, stopped)
        else:
            text_ranges = self._ranges(pattern.required)
            lowered = self._lowered if pattern.lowered else None
            if lowered is None:
                offsets = pattern.lines(self.text, text_ranges, stopped)
            else:
                offsets = find_texts(memoryview(lowered), pattern.lowered, text_ranges)

            if not len(offsets):
                return self.no_spans

            file = self.offsets.searchsorted(offsets, side="right") - 1
            if pattern.exact and pattern.literal is not None:
                start = offsets - starts[file]
                end = start + len(pattern.literal)
            elif lowered is not None:
                start = offsets - starts[file]
                end = start + len(pattern.lowered)
            else:
                # `lines` may report lines without a match, so find the exact spans.
                rows = unique_sorted(file)
                row, start, end = pattern.spans(self.text, starts[rows], ends[rows], stopped)
                file = rows[row]

        matched[file] = True
        return PathSpans(matched, file, start, end, bool(len(file)))


def _whole_text_pattern(pattern: CompiledPattern) -> CompiledPattern:
    """Return the pattern in which ``^`` and ``$`` match only at the ends of a path."""
    if pattern.whole_text:
        return pattern
    return compile_pattern(pattern.text, kind=pattern.kind, case_sensitive=pattern.case_sensitive, whole_text=True)


def _required_text(tree: RequiredTree) -> bytes:
    """Return the longest text that every match contains; empty if there is none."""
    # Another branch of an OR may match, so an OR requires no single text.
    return fold(tree, _within_line, all_of=_longest, any_of=lambda _: b"")


def _within_line(leaf: RequiredText) -> bytes:
    return b"" if b"\n" in leaf.text else leaf.text


def _longest(texts: Iterable[bytes]) -> bytes:
    return max(texts, key=len, default=b"")
