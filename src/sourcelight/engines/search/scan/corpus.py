"""The corpus: the open shards of several repositories, with files, documents, units, lines and bytes numbered through.

A numpy call costs some microseconds for any input, so each step of a search handles all shards at once. Only the
small tables are copied, with one entry per file, document and unit; text stays mapped.

A *member* is an opened commit, a *shard* an immutable file of the index with texts of one member. Everything else has a
number from 0 over all members and shards, as int64. Member or shard *i* has those from ``base[i]`` up to
``base[i + 1]``:

- *file* (`file_base`): a path of a member, in path order;
- *document* (`doc_base`): a text; files with the same content share it;
- *unit* (`unit_base`): a run of lines of about 16 KiB in one document, to which posting lists point;
- *line* (`line_base`) and *offset* (`byte_base`): of a document's text.

A *position* is none of these: it is an index into the files of a `FileSelection`, which are sorted by document.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, pairs, unique_sorted
from sourcelight.core.caching import Memo
from sourcelight.core.cancellation import Stopped
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.ranges import skip_empty
from sourcelight.engines.search.index.fleet_tables import FleetTables
from sourcelight.engines.search.index.shard import LONG_UNIT_BYTES as LONG_LINE
from sourcelight.engines.search.index.shard import LooseShard
from sourcelight.engines.search.index.shard_contents import MappedFiles, ShardContents
from sourcelight.engines.search.index.unit_table import UnitTable
from sourcelight.engines.search.index.view import MISSING, NO_SHARD, REASONS
from sourcelight.engines.search.model import (
    DocumentNumbers,
    FileFilter,
    FileNumbers,
    GroupNotes,
    LanguageTest,
    LineNumbers,
    UnitNumbers,
    add_maximum,
)
from sourcelight.engines.search.scan.opened_commit import (
    LFS_POINTER,
    OpenedCommit,
    apply_filter,
    join_languages,
    languages_matching,
)
from sourcelight.engines.search.scan.paths import MAX_LISTED_PATHS, PathLists, PathSpans, PathTable

_NO_FILE = np.iinfo(np.int64).max
"""A number above all file numbers."""

_MAX_CACHED_SPANS = 20_000
"""Spans in paths that are cached per pattern."""

MAX_NAMED_MISSING = 10
"""Files without content that are named per repository; the others are counted."""

MAX_EARLY_CHECK_BYTES = 256 << 20
"""Content that is checked before the first row: 25 ms, once per process. Beyond it, each block when it is read.

A corpus with less content is checked by shard."""

_MAX_PROBED_PATHS = 2048
"""Path matches up to which a binary search per file is faster than a mask over all files."""

_MAX_CACHED_PATTERNS = 64
"""Patterns whose candidates and spans are cached, with half a megabyte each at most."""

_MAX_PATTERNS_OF_ONE_MEMBER = 16
"""As `_MAX_CACHED_PATTERNS`, for a corpus of one commit: a process may have many of these open."""

LONG_LINE_BYTES = 1024
"""Mean bytes of a line above which lines are copied one by one: Arrow would copy them twice."""

MIN_SHARDS = 4
"""Shards from which on a table of all of them saves more than it takes to ask."""

LISTS_UNMADE = 3
"""Answers of a new corpus before its paths are listed."""

_MAX_GROUP_NOTES = 4
"""Lists of names of repositories whose notes stay with a selection: one as a rule."""

_MAX_SLICED_LINES = 160
"""Lines of a shard up to which Python slices are faster than an Arrow kernel."""


@dataclass(frozen=True)
class FileSelection:
    """The files that pass the filters of a query, and the documents that have their content.

    Attributes
    ----------
    mask
        Which files pass; None: all.
    files, documents
        Files with content and the document of each, sorted by document. A *position* is an index into both.
    first_position
        First position of each document, and the end of the last one.
    in_documents
        Which documents are the content of a selected file.
    name_only
        Files without content.
    notes
        Notices about the selected repositories, by name.
    """

    mask: BoolArray | None
    files: FileNumbers
    documents: DocumentNumbers
    first_position: Int64Array
    in_documents: BoolArray
    name_only: FileNumbers
    notes: Memo = field(default_factory=lambda: Memo(_MAX_GROUP_NOTES), repr=False, compare=False)

    @functools.cached_property
    def covers_all(self) -> bool:
        """Whether every document of the corpus is the content of a selected file."""
        return bool(self.in_documents.all())

    @functools.cached_property
    def is_ordered(self) -> bool:
        """Whether document order is file order, so that sorting isn't needed."""
        return bool((self.files[1:] > self.files[:-1]).all())

    def positions_with_path_match(self, spans: PathSpans) -> Int64Array:
        """Return the positions of the files that match by their path, ascending."""
        if not self.is_ordered or len(spans.file) > _MAX_PROBED_PATHS:
            return np.flatnonzero(spans.is_match[self.files])

        # Files ascend here, so one binary search per matching file replaces a gather over all files. Files without
        # content have spans too, but no position: hence the comparison below.
        files = unique_sorted(spans.file)
        positions = self.files.searchsorted(files)
        in_range = positions < len(self.files)
        candidates: Int64Array = positions[in_range]
        matching: Int64Array = candidates[self.files[candidates] == files[in_range]]
        return matching

    def shards(self, corpus: Corpus) -> Sequence[int]:
        """Return the shards with content of a selected file."""
        if self.covers_all:
            return range(len(corpus.shards))
        return self._shards(corpus.doc_base)

    def shards_among(self, corpus: Corpus, numbers: Sequence[int]) -> Sequence[int]:
        """Return which of some shards have content of a selected file."""
        if self.covers_all:
            return numbers

        selected = set(self._shards(corpus.doc_base))
        return [number for number in numbers if number in selected]

    def _shards(self, doc_base: Int64Array) -> list[int]:
        # The first position of each shard's first document: a shard with selected files is where it grows.
        positions = self.first_position[doc_base]
        shards: list[int] = np.flatnonzero(positions[1:] > positions[:-1]).tolist()
        return shards

    @functools.cached_property
    def _lowest_files(self) -> Int64Array:
        # A minimum from the right: entry i is the lowest file at position i or later.
        return np.minimum.accumulate(self.files[::-1])[::-1]

    @functools.cached_property
    def lowest_file_of_document(self) -> Int64Array:
        """The lowest file of each document; the highest possible number for a document without one."""
        lowest = np.full(len(self.first_position) - 1, _NO_FILE, dtype=np.int64)
        # `minimum.at` handles repeated indexes; equal files share a document, so documents repeat.
        np.minimum.at(lowest, self.documents, self.files)
        return lowest

    def lowest_file_from(self, document: int) -> int:
        """Return the lowest file whose content is in this document or a later one: all files below it are done."""
        position = int(self.first_position[document])
        if position < len(self.files):
            return int(self._lowest_files[position])
        return _NO_FILE


class Corpus(Memo):
    """Opened commits, numbered through. Read-only, with caches that are safe to share between threads.

    Parameters
    ----------
    members
        The commits, in the order in which their files are numbered. Shards that hold none of their files are left out.
        In each member, shards whose files lie between those of other shards come first, see `OpenedCommit.shard_order`.
    """

    def __init__(self, members: Sequence[OpenedCommit]) -> None:
        super().__init__()
        self.members = tuple(members)
        self.pattern_cache = Memo(_MAX_CACHED_PATTERNS if len(self.members) > 1 else _MAX_PATTERNS_OF_ONE_MEMBER)

        views = [member.view for member in self.members]
        self.file_base = _sums([view.files for view in views])
        self.files = int(self.file_base[-1])
        # By file: 0 if a shard has its content, or an index into `REASONS`.
        self.reason = np.concatenate([view.reason for view in views])
        self._name_only = np.flatnonzero(np.concatenate([view.shard for view in views]) == NO_SHARD)
        self.languages, self.language = join_languages(self.members)

        self.member_shards = _member_shards(self.members)
        shards = [self.members[member].shards[shard] for member, shard in self.member_shards]
        self.shards = shards
        self.unit_base = _sums([shard.units for shard in shards])
        self.units = int(self.unit_base[-1])
        self.doc_base = _sums([shard.documents for shard in shards])
        self.documents = int(self.doc_base[-1])
        self.buffers = ShardContents(shards)
        self.tables = FleetTables(shards, self.unit_base) if len(shards) >= MIN_SHARDS else None
        self.byte_base = self.buffers.bases

        # A unit lies in one document, so that a term without a match in a document rules out its units for other terms.
        self.unit_start = _number_through([shard.unit_start[:-1] for shard in shards], self.byte_base)
        self.unit_end = _number_through([shard.unit_start[1:] for shard in shards], self.byte_base)
        self.unit_doc = _number_through([shard.unit_doc for shard in shards], self.doc_base)
        self.doc_start = _number_through([shard.doc_start for shard in shards], self.byte_base)
        self.doc_size = _concatenate([shard.doc_size for shard in shards])

        # Sorted by document, since placements are; this is the order of positions in a `FileSelection`.
        placements = [self.members[member].placement(shard) for member, shard in self.member_shards]
        file_bases = [self.file_base[member] for member, _ in self.member_shards]
        self._content_files = _number_through([placement.files for placement in placements], file_bases)
        self._content_documents = _number_through([placement.documents for placement in placements], self.doc_base)

        files = [member.view.file for member in self.members]
        self.mapped = MappedFiles([*files, *(shard.file for shard in shards if not isinstance(shard, LooseShard))])
        self._path_list_requests = 0

        # Set by symbol search, so that the definitions live as long as their corpus.
        self.symbol_corpus: Any = None

    @functools.cached_property
    def line_base(self) -> Int64Array:
        """The number of the first newline of each shard."""
        # A shard begins with a newline that ends no line. On first use: a shard without a file finds newlines then.
        return _sums([shard.line_ends for shard in self.shards])

    @functools.cached_property
    def doc_line(self) -> Int64Array:
        """The newline before each document."""
        return _number_through([shard.doc_line for shard in self.shards], self.line_base)

    def check_content(self, units: UnitNumbers) -> None:
        """Check the text of these units against its checksums; raises `IndexDamaged`.

        Beyond 256 MB nothing is checked here, and each block is when it is first read: the first rows come sooner. A
        smaller corpus is checked by shard.
        """
        if not self.buffers.is_complete:
            ranges = pairs(self.unit_start[units], self.unit_end[units])
            self.buffers.check_early(ranges, MAX_EARLY_CHECK_BYTES)

    def selected_bits(self, table: UnitTable, selection: FileSelection) -> NDArray[np.uint64] | None:
        """Return the bits in a table of the units with content of selected files; None for all of them."""
        if selection.covers_all:
            return None
        return selection.notes.remember(table, lambda: table.pack(selection.in_documents[self.unit_doc]))

    # Offsets, lines and documents.

    def documents_of(self, offsets: Int64Array) -> DocumentNumbers:
        """Return the document of each offset."""
        return DocumentNumbers(self.doc_start.searchsorted(offsets, side="right") - 1)

    def lines_of(self, offsets: Int64Array) -> LineNumbers:
        """Return the line of each offset, ascending; a newline belongs to the line that it ends."""
        lines = np.empty(len(offsets), dtype=np.int64)
        for shard_index, start, end in self.buffers.runs(offsets):
            # Line i ends with newline i + 1, the first newline at or after its bytes: hence - 1 below. uint32 like the
            # table, since `searchsorted` would first copy the table to a common type.
            local_offsets = (offsets[start:end] - self.byte_base[shard_index]).astype(np.uint32)
            lines[start:end] = self.shards[shard_index].newlines.find_positions(local_offsets)
            lines[start:end] += self.line_base[shard_index] - 1

        return LineNumbers(lines)

    def line_bounds(self, lines: LineNumbers) -> tuple[Int64Array, Int64Array]:
        """Return start and end of lines, ascending, without their newlines."""
        starts = np.empty(len(lines), dtype=np.int64)
        ends = np.empty(len(lines), dtype=np.int64)
        for shard_index, start, end in self._line_runs(lines):
            newlines = self.shards[shard_index].newlines
            base = self.byte_base[shard_index]
            # Line i is between newline i and newline i + 1.
            local_lines = lines[start:end] - self.line_base[shard_index]
            starts[start:end] = newlines.take(local_lines)
            ends[start:end] = newlines.take(local_lines + 1)
            starts[start:end] += base + 1
            ends[start:end] += base

        return starts, ends

    def _line_runs(self, lines: LineNumbers) -> Iterator[tuple[int, int, int]]:
        """Yield each shard with some of these lines, which ascend, and the start and end of its lines among them."""
        yield from skip_empty(lines.searchsorted(self.line_base).tolist())

    def text(self, document: int) -> bytes:
        """Return the bytes of a document."""
        start = self.doc_start[document]
        end = start + self.doc_size[document]
        return bytes(self.buffers.slices(np.array([[start, end]]))[0])

    def data(self, starts: Int64Array, ends: Int64Array) -> Any:
        """Return the bytes of ranges one after another; the ranges ascend and do not overlap."""
        from sourcelight.engines.search.scan.text import take_slices

        ranges = pairs(starts, ends)
        if int((ends - starts).sum()) > LONG_LINE_BYTES * len(starts):
            return b"".join(self.buffers.slices(ranges))

        self.buffers.check(ranges)
        copies: list[Any] = []
        for shard_index, first, last in self.buffers.runs(starts):
            base = self.byte_base[shard_index]
            local_starts = starts[first:last] - base
            local_ends = ends[first:last] - base

            # Both ways give the bytes one after another.
            if last - first <= _MAX_SLICED_LINES:
                content = self.buffers.views[shard_index]
                for start, end in zip(local_starts.tolist(), local_ends.tolist(), strict=True):
                    copies.append(content[start:end])
            else:
                slices = take_slices(self.shards[shard_index].arrow_content, local_starts, local_ends)
                # Buffer 2 of an Arrow binary array is its data, None when all slices are empty.
                copies.append(slices.buffers()[2] or b"")

        return copies[0] if len(copies) == 1 else b"".join(copies)

    def member_of(self, files: FileNumbers) -> NDArray[np.intp]:
        """Return the member of each file."""
        # A search of one repository, as most are, needs no look-up.
        if len(self.members) == 1:
            return np.zeros(len(files), dtype=np.intp)
        return self.file_base.searchsorted(files, side="right") - 1

    @functools.cached_property
    def language_names(self) -> list[str]:
        """Names of the languages; empty for an unknown one."""
        return [name for name, _ in self.languages]

    @functools.cached_property
    def long_units(self) -> UnitNumbers:
        """Units with a line so long that a regular expression may take seconds to match it."""
        return UnitNumbers(np.flatnonzero(self.unit_end - self.unit_start > LONG_LINE))

    # Paths and filters.

    @functools.cached_property
    def paths(self) -> PathTable:
        """The paths of all members."""
        if len(self.members) == 1:
            return self.members[0].paths
        raw = None
        if not self._path_text_is_raw:
            raw = self.raw_paths

        # Each text begins and ends with a newline; without its first one, a single newline separates two paths.
        # Views, since all paths of a large corpus have tens of megabytes.
        text = b"".join([b"\n", *[member.paths.text[1:] for member in self.members]])
        return PathTable(text, self._path_offsets, raw)

    @functools.cached_property
    def raw_paths(self) -> Any:
        """The bytes of all paths as git has them, at the offsets of `paths`."""
        if len(self.members) == 1:
            return self.members[0].view.file.bytes_of("paths")
        if self._path_text_is_raw:
            return self.paths.text
        return b"".join([b"\n", *[member.view.file.bytes_of("paths")[1:] for member in self.members]])

    @functools.cached_property
    def _path_text_is_raw(self) -> bool:
        """Whether no path has a newline, so that the text that is searched has all paths as git has them."""
        return all(member.view.path_text_is_raw for member in self.members)

    @property
    def path_lists(self) -> PathLists | None:
        """All paths as objects; None for a large corpus, or a new one, whose first searches don't wait for them."""
        # An event loop may wait for the lists, which take 16 ms for 36,000 files, once for each corpus.
        if self.files > MAX_LISTED_PATHS or self._path_list_requests < LISTS_UNMADE:
            self._path_list_requests += 1
            return None
        return self._path_lists

    @property
    def made_path_lists(self) -> PathLists | None:
        """`path_lists`, if an earlier search has made them; all corpora of one commit share those of the commit."""
        # Read from where they are cached, since to make them takes longer than a small search.
        owner, name = (self, "_path_lists") if len(self.members) > 1 else (self.members[0], "path_lists")
        return vars(owner).get(name)

    @functools.cached_property
    def _path_lists(self) -> PathLists:
        lists = [member.path_lists for member in self.members]
        if len(lists) == 1:
            return lists[0]
        return PathLists(
            tuple(itertools.chain.from_iterable(of_member.paths for of_member in lists)),
            tuple(itertools.chain.from_iterable(of_member.json for of_member in lists)),
        )

    @functools.cached_property
    def _path_offsets(self) -> Int64Array:
        # One byte less than each text, as its first newline is dropped (see `paths`).
        text_base = _sums([len(member.paths.text) - 1 for member in self.members])
        starts = _number_through([member.paths.offsets[:-1] for member in self.members], text_base)
        return np.concatenate([starts, text_base[-1:] + 1])

    def path_spans(self, pattern: CompiledPattern, stopped: Stopped) -> PathSpans:
        """Find a pattern in all paths; raises `ScanStopped` when `stopped` returns True."""
        if not self.paths.may_match(pattern):
            return self.paths.no_spans
        return self.remember(
            ("path", pattern),
            lambda: self.paths.find(pattern, stopped),
            keep=lambda spans: len(spans.file) <= _MAX_CACHED_SPANS,
        )

    def selection(self, files: tuple[FileFilter, ...], languages: tuple[LanguageTest, ...]) -> FileSelection:
        """Return the files that pass all filters."""
        return self.remember(("selection", files, languages), lambda: self._selection(self._passing(files, languages)))

    def _passing(self, files: tuple[FileFilter, ...], languages: tuple[LanguageTest, ...]) -> BoolArray | None:
        """Return which files pass all filters, or None without a filter."""
        mask: BoolArray | None = None
        for file_filter in files:
            mask = apply_filter(mask, self._matching_files(file_filter.pattern), negated=file_filter.negated)

        for language in languages:
            passing = languages_matching(self.languages, language)[self.language]
            mask = apply_filter(mask, passing, negated=language.negated)

        return mask

    def _matching_files(self, pattern: CompiledPattern) -> BoolArray:
        # Most queries of a reader have the same filters, and a match of all paths takes longer than a small search.
        return self.remember(("file", pattern), lambda: self.paths.match(pattern))

    def _selection(self, mask: BoolArray | None) -> FileSelection:
        files = self._content_files
        documents = self._content_documents
        name_only = self._name_only
        if mask is not None:
            is_passing = mask[files]
            files = files[is_passing]
            documents = documents[is_passing]
            name_only = name_only[mask[name_only]]

        # Files are sorted by document, so counts per document add up to the first position of each.
        first_position = np.zeros(self.documents + 1, dtype=np.int64)
        np.cumsum(np.bincount(documents, minlength=self.documents), out=first_position[1:])
        return FileSelection(
            mask=mask,
            files=FileNumbers(files),
            documents=DocumentNumbers(documents),
            first_position=first_position,
            in_documents=first_position[1:] > first_position[:-1],
            name_only=FileNumbers(name_only),
        )

    def skipped_counts(self, selection: FileSelection) -> list[dict[str, int]]:
        """Count, for each member, the selected files that are matched by name only, by reason, and pointers of LFS."""
        if selection.mask is None:
            return self.remember("skipped", lambda: self._count_skipped(None))
        return self._count_skipped(selection.mask)

    def group_notes(self, selection: FileSelection, names: tuple[str, ...]) -> GroupNotes:
        """Return the notes of all members, whose repositories have these names; made once for a selection."""
        return selection.notes.remember(names, lambda: self._group_notes(selection, names))

    def _group_notes(self, selection: FileSelection, names: tuple[str, ...]) -> GroupNotes:
        counts = self.skipped_counts(selection)
        skipped: dict[str, Mapping[str, int]] = {}
        for name, counts_of_member in zip(names, counts, strict=True):
            if counts_of_member:
                add_maximum(skipped, name, counts_of_member)

        missing: dict[str, tuple[str, ...]] = {}
        if any("missing" in counts_of_member for counts_of_member in counts):
            named_files = zip(names, self.missing_files(selection), strict=True)
            missing = {name: files for name, files in named_files if files}

        return GroupNotes(names, skipped, missing)

    def missing_files(self, selection: FileSelection) -> list[tuple[str, ...]]:
        """Name, for each member, the first selected files whose content the clone lacks: path and blob id."""
        files = np.flatnonzero(self.reason == MISSING)
        if selection.mask is not None:
            files = files[selection.mask[files]]

        # Files ascend, so the files of a member are one run.
        bounds = files.searchsorted(self.file_base).tolist()
        names_by_member: list[tuple[str, ...]] = []
        for member, (start, end) in enumerate(pairwise(bounds)):
            view = self.members[member].view
            first_files = files[start : min(end, start + MAX_NAMED_MISSING)] - self.file_base[member]
            names = [f"{view.path(number)} (blob {view.blob_id(number)})" for number in first_files.tolist()]
            names_by_member.append(tuple(names))

        return names_by_member

    def _count_skipped(self, mask: BoolArray | None) -> list[dict[str, int]]:
        is_skipped = self.reason > 0
        pointers = self._lfs_pointers
        if mask is not None:
            is_skipped = is_skipped & mask
            pointers = pointers[mask[pointers]]

        # One code for member and reason: a single bincount replaces one per member.
        files = FileNumbers(np.flatnonzero(is_skipped))
        codes = self.member_of(files) * len(REASONS) + self.reason[files]
        table = np.bincount(codes, minlength=len(self.members) * len(REASONS)).reshape(-1, len(REASONS)).tolist()
        pointer_members = self.member_of(FileNumbers(pointers))
        pointer_counts = np.bincount(pointer_members, minlength=len(self.members)).tolist()

        counts = []
        for row, pointer_count in zip(table, pointer_counts, strict=True):
            # Reason 0 is none: files with content.
            named_counts = zip(REASONS[1:], row[1:], strict=True)
            counts_of_member = {reason: count for reason, count in named_counts if count}
            if pointer_count:
                counts_of_member[LFS_POINTER] = pointer_count
            counts.append(counts_of_member)

        return counts

    @functools.cached_property
    def _lfs_pointers(self) -> Int64Array:
        return _number_through([member.lfs_pointers for member in self.members], self.file_base)


def _member_shards(members: Sequence[OpenedCommit]) -> list[tuple[int, int]]:
    """Return the shards of members in the order of a corpus, each as the index of its member and its own in there."""
    member_shards: list[tuple[int, int]] = []
    for member_index, member in enumerate(members):
        member_shards += [(member_index, shard_index) for shard_index in member.shard_order]
    return member_shards


def _sums(sizes: Sequence[int]) -> Int64Array:
    """Return the base of each of some sizes, and their sum."""
    sums = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(np.array(sizes, dtype=np.int64), out=sums[1:])
    return sums


def _number_through(arrays: Sequence[AnyArray], bases: Iterable[int]) -> Int64Array:
    """Return numbers of several shards or members one after another, each with its base added.

    They are stored in 32 bits, and the sums need 64. `bases` may have one entry more: the end of the last one.
    """
    return _concatenate([array.astype(np.int64) + base for array, base in zip(arrays, bases, strict=False)])


def _concatenate(arrays: Sequence[AnyArray]) -> Int64Array:
    if arrays:
        return np.concatenate(arrays).astype(np.int64, copy=False)
    return np.zeros(0, dtype=np.int64)
