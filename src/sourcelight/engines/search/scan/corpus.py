"""Several repositories as one: their files, documents, units, lines and bytes numbered through.

A step of a search costs some microseconds whatever it handles, so it handles all shards at once. Nothing is copied but
the small tables: one entry for each file, document and unit.

A repository at one commit, opened: its view, its shards, and what was worked out about its paths.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.caching import Memo
from sourcelight.core.cancellation import Stopped
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.ranges import RANGE_COST, BufferList
from sourcelight.engines.search.index.shard import LONG_LINE, Shard
from sourcelight.engines.search.index.view import MISSING, NO_SHARD, REASONS, CommitView, DocumentPlacement
from sourcelight.engines.search.model import FileFilter, LanguageFilter
from sourcelight.engines.search.scan.paths import Mask, PathSpans, PathTable, unique_sorted

_MISSING = REASONS.index("missing")


class OpenedCommit(Memo):
    """A view and its shards. Everything is read-only; what is remembered is shared between threads."""

    def __init__(self, view: CommitView, shards: list[Shard]) -> None:
        super().__init__()
        self.view = view
        self.shards = shards

    def is_unchanged(self) -> bool:
        """Tell whether its files on disk are still those that were opened, as they were."""
        return self.view.file.is_unchanged() and all(shard.is_unchanged() for shard in self.shards)

    @functools.cached_property
    def paths(self) -> PathTable:
        """Its paths."""
        raw = None if self.view.path_text_is_raw else self.view.file.bytes_of("paths")
        return PathTable(self.view.path_text, self.view.path_start.astype(np.int64), raw)

    def text_of(self, path: str) -> bytes | None:
        """Read a file by its path; None when there is none or it is matched by name only."""
        view, number = self.view, self._number_of(path)
        if number is None or view.shard[number] == NO_SHARD:
            return None
        return self.shards[int(view.shard[number])].text(int(view.document[number]))

    def reason_of(self, path: str) -> str:
        """Tell why a file is matched by name only; empty when it is not, or there is none."""
        number = self._number_of(path)
        return "" if number is None else REASONS[int(self.view.reason[number])]

    def lacking(self, mask: Mask | None = None) -> int:
        """Count the (chosen) files whose content is not there."""
        missing = self.view.reason == _MISSING
        return int(np.count_nonzero(missing if mask is None else missing & mask))

    def _number_of(self, path: str) -> int | None:
        view = self.view
        wanted = path.encode()
        text = bytes(view.file.bytes_of("paths"))
        at = text.find(b"\n" + wanted + b"\n")
        number = int(np.searchsorted(view.path_start, at + 1)) if at >= 0 else view.files
        return None if number >= view.files or int(view.path_start[number]) != at + 1 else number

    @functools.cached_property
    def missing(self) -> tuple[str, ...]:
        """The files whose content the clone does not have, each by path and blob id."""
        numbers = np.flatnonzero(self.view.reason == MISSING).tolist()
        return tuple(f"{self.view.path(number)} (blob {self.view.blob_id(number)})" for number in numbers)

    def placement(self, shard: int) -> DocumentPlacement:
        """Tell which files have their content in that shard."""
        return self.remember(("placement", shard), lambda: self.view.placement(shard, self.shards[shard].documents))

    def filtered(self, files: tuple[FileFilter, ...], languages: tuple[LanguageFilter, ...]) -> Mask | None:
        """Tell which files pass all filters; None when there is none."""
        mask: Mask | None = None
        for chosen in files:
            held = self.remember(("file", chosen.pattern), lambda p=chosen.pattern: self.paths.match(p))  # type: ignore[misc]
            mask = narrowed(mask, held, negated=chosen.negated)
        for language in languages:
            held = of_language(self.view.languages, language)[self.view.language]
            mask = narrowed(mask, held, negated=language.negated)
        return mask


def of_language(languages: list[tuple[str, list[str]]], chosen: LanguageFilter) -> Mask:
    """Tell which of the languages, each with all its names, bear the name that a filter asks for."""
    wanted = chosen.name.casefold()
    return np.array([wanted in [name.casefold() for name in names] for _, names in languages] or [False])


def narrowed(mask: Mask | None, held: Mask, *, negated: bool) -> Mask:
    """Take from a mask (None: everything) what a filter lets through."""
    held = ~held if negated else held
    return held if mask is None else mask & held


def by_reason(reasons: NDArray[Any]) -> dict[str, int]:
    """Count files that are matched by name only, by reason."""
    counts = np.bincount(reasons, minlength=len(REASONS)).tolist()
    return {name: count for name, count in zip(REASONS[1:], counts[1:], strict=True) if count}


Places = NDArray[np.int64]

_ALL = np.iinfo(np.int64).max
"""Above the number of any file."""

_MOST_SPANS = 20_000

MOST_MISSING = 10
"""Files without content that are named for each repository."""

_MOST_CHECKED_BYTES = 256 << 20
"""Content that is compared with its checksum before the first row: 25 ms, once in a process."""

_FEW_PATHS = 2048
"""Spans in paths up to which their files are looked up one by one."""

_MOST_LEARNED = 64
"""Patterns of which it is kept where they were found: half a megabyte each at the most."""

LONG = 1024
"""Bytes of a line, on average, from which on they are copied one by one, once."""

_FEW = 160
"""Lines of a shard up to which slices of Python are cheaper than a kernel."""


@dataclass(frozen=True)
class FileSelection:
    """The files that pass a query's filters, and where their contents stand.

    Attributes
    ----------
    mask
        Which files pass; None: all.
    files, documents
        Files with content and the document of each, in order of documents.
    first
        Where each document's files begin in `files`, and where the last one's end.
    in_documents
        Which documents are those of a file here.
    nameless
        Files without content.
    """

    mask: Mask | None
    files: Places
    documents: Places
    first: Places
    in_documents: Mask
    nameless: Places

    @functools.cached_property
    def whole(self) -> bool:
        """Whether every document is that of a file here."""
        return bool(self.in_documents.all())

    @functools.cached_property
    def in_order(self) -> bool:
        """Whether files are in order of documents."""
        return bool((self.files[1:] > self.files[:-1]).all())

    def places_of(self, hits: PathSpans) -> Places:
        """Where in `files` those stand that match by their path, ascending."""
        if not self.in_order or len(hits.file) > _FEW_PATHS:
            return np.flatnonzero(hits.held[self.files])
        files = unique_sorted(hits.file)
        at = self.files.searchsorted(files)
        inside = at < len(self.files)
        places: Places = at[inside]
        found: Places = places[self.files[places] == files[inside]]
        return found

    def shards(self, fleet: Corpus) -> Sequence[int]:
        """The shards of the fleet in which a file here has its content."""
        return range(len(fleet.shards)) if self.whole else self._shards(fleet.doc_base)

    def _shards(self, bases: Places) -> list[int]:
        found: list[int] = np.flatnonzero(np.diff(self.first[bases])).tolist()
        return found

    @functools.cached_property
    def _lowest(self) -> Places:
        return np.minimum.accumulate(self.files[::-1])[::-1]

    @functools.cached_property
    def lowest_of_documents(self) -> Places:
        """The lowest file of each document."""
        lowest = np.full(len(self.first) - 1, _ALL, dtype=np.int64)
        np.minimum.at(lowest, self.documents, self.files)
        return lowest

    def settled(self, document: int) -> int:
        """The lowest file whose content stands in that document or in one after it."""
        at = int(self.first[document])
        return int(self._lowest[at]) if at < len(self.files) else _ALL


class _Contents(Sequence[memoryview]):
    """The contents of shards, each compared with its checksum when it is first read."""

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = shards

    def __len__(self) -> int:
        return len(self._shards)

    @overload
    def __getitem__(self, at: int) -> memoryview: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[memoryview]: ...
    def __getitem__(self, at: int | slice) -> memoryview | Sequence[memoryview]:
        return [shard.content for shard in self._shards[at]] if isinstance(at, slice) else self._shards[at].content


class Corpus(Memo):
    """Some snapshots, numbered through. Everything is read-only; what is remembered is shared between threads.

    Parameters
    ----------
    members
        The snapshots, in the order in which their files are numbered. Shards without a file of theirs are left out,
        and those whose files stand between the files of others come first.
    """

    def __init__(self, members: Sequence[OpenedCommit]) -> None:
        super().__init__()
        self.learned = Memo(_MOST_LEARNED)
        self.members = tuple(members)
        views = [member.view for member in self.members]
        self.file_base = _sums([view.files for view in views])
        self.files = int(self.file_base[-1])
        shards: list[Shard] = []
        placements: list[DocumentPlacement] = []
        first_shards = [0]
        self.places: list[tuple[int, int]] = []
        for at, member in enumerate(self.members):
            for number in member.remember("order", lambda member=member: _order(member)):  # type: ignore[misc]
                self.places.append((at, number))
                shards.append(member.shards[number])
                placements.append(member.placement(number))
            first_shards.append(len(shards))
        self.shards = shards
        of_shard = np.repeat(np.arange(len(self.members)), np.diff(first_shards))
        self.unit_base = _sums([shard.units for shard in shards])
        self.doc_base = _sums([shard.documents for shard in shards])
        self.line_base = _sums([shard.line_ends for shard in shards])
        self.byte_base = _sums([shard.content_bytes + RANGE_COST + 1 for shard in shards])
        self.buffers = BufferList(_Contents(shards), self.byte_base[:-1])
        self.units, self.documents = int(self.unit_base[-1]), int(self.doc_base[-1])
        bases = list(zip(shards, self.byte_base.tolist(), strict=False))
        self.unit_start = _joined([shard.unit_start[:-1].astype(np.int64) + base for shard, base in bases])
        self.unit_end = _joined([shard.unit_start[1:].astype(np.int64) + base for shard, base in bases])
        self.unit_doc = _joined([s.unit_doc + base for s, base in zip(shards, self.doc_base.tolist(), strict=False)])
        self.doc_start = _joined([shard.doc_start.astype(np.int64) + base for shard, base in bases])
        self.doc_size = _joined([shard.doc_size.astype(np.int64) for shard in shards])
        self.doc_line = _joined(
            [s.doc_line.astype(np.int64) + base for s, base in zip(shards, self.line_base.tolist(), strict=False)]
        )
        file_base, doc_base = self.file_base[of_shard].tolist(), self.doc_base.tolist()
        self._placed = _joined([one.files + base for one, base in zip(placements, file_base, strict=True)])
        self._placed_documents = _joined(
            [one.documents + base for one, base in zip(placements, doc_base, strict=False)]
        )
        self.reason = np.concatenate([view.reason for view in views])
        self._nameless = np.flatnonzero(np.concatenate([view.shard for view in views]) == NO_SHARD)
        self.languages, self.language = _languages(self.members)
        self.definitions: Any = None

    def check_sizes(self) -> None:
        """Raise `IndexDamaged` where a file lost bytes since it was opened: reading those would end the process."""
        for member in self.members:
            member.view.file.check_size()
        for shard in self.shards:
            shard.check_size()

    def check_content(self, units: Places) -> None:
        """Compare the shards that hold these units, ascending, with their checksums; raises `IndexDamaged`.

        Where that is much, nothing is compared here: each shard is when it is first read, so that first rows come soon.
        """
        bounds = units.searchsorted(self.unit_base).tolist()
        shards = [shard for at, shard in enumerate(self.shards) if bounds[at] < bounds[at + 1]]
        if sum(shard.unchecked_bytes for shard in shards) <= _MOST_CHECKED_BYTES:
            for shard in shards:
                _ = shard.content, shard.newlines

    # Places.

    def docs_of(self, addresses: Places) -> Places:
        """Give the document of each address."""
        return self.doc_start.searchsorted(addresses, side="right") - 1

    def lines_of(self, addresses: Places) -> Places:
        """Give the line of each address, ascending; a newline belongs to the line it ends."""
        found = np.empty(len(addresses), dtype=np.int64)
        for number, low, high in self.buffers.runs(addresses):
            own = (addresses[low:high] - self.byte_base[number]).astype(np.uint32)
            found[low:high] = self.shards[number].newlines.searchsorted(own)
            found[low:high] += self.line_base[number] - 1
        return found

    def bounds_of(self, lines: Places) -> tuple[Places, Places]:
        """Give where lines, ascending, begin and where they end, newline not included."""
        begin, stop = np.empty(len(lines), dtype=np.int64), np.empty(len(lines), dtype=np.int64)
        for number, low, high in self._line_runs(lines):
            newlines, base = self.shards[number].newlines, self.byte_base[number]
            own = lines[low:high] - self.line_base[number]
            begin[low:high] = newlines[own]
            stop[low:high] = newlines[own + 1]
            begin[low:high] += base + 1
            stop[low:high] += base
        return begin, stop

    def _line_runs(self, lines: Places) -> Iterator[tuple[int, int, int]]:
        bounds = lines.searchsorted(self.line_base).tolist()
        for number in range(len(self.shards)):
            if bounds[number] < bounds[number + 1]:
                yield number, bounds[number], bounds[number + 1]

    def text(self, document: int) -> bytes:
        """Give a document's bytes."""
        start = self.doc_start[document]
        return bytes(self.buffers.slices(np.array([[start, start + self.doc_size[document]]]))[0])

    def data(self, begin: Places, stop: Places) -> Any:
        """Give the bytes of pieces, which ascend and are apart, one after another."""
        from sourcelight.engines.search.scan.text import taken

        if int((stop - begin).sum()) > LONG * len(begin):
            return b"".join(self.buffers.slices(np.stack((begin, stop), axis=1)))
        parts: list[Any] = []
        for number, low, high in self.buffers.runs(begin):
            base = self.byte_base[number]
            lows, highs = begin[low:high] - base, stop[low:high] - base
            if high - low <= _FEW:
                content = self.buffers.views[number]
                parts += [content[a:b] for a, b in zip(lows.tolist(), highs.tolist(), strict=True)]
            else:
                parts.append(taken(self.shards[number].arrow_content, lows, highs).buffers()[2] or b"")
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def member_of(self, files: Places) -> NDArray[np.intp]:
        """Tell which member each file is of."""
        if len(self.members) == 1:
            return np.zeros(len(files), dtype=np.intp)
        return self.file_base.searchsorted(files, side="right") - 1

    @functools.cached_property
    def language_names(self) -> list[str]:
        """The languages' names; empty for an unknown one."""
        return [name for name, _ in self.languages]

    @functools.cached_property
    def long_units(self) -> Places:
        """Units with a line so long that a regular expression may take seconds over it."""
        return np.flatnonzero(self.unit_end - self.unit_start > LONG_LINE)

    # Paths and filters.

    @functools.cached_property
    def paths(self) -> PathTable:
        """All paths."""
        if len(self.members) == 1:
            return self.members[0].paths
        texts = [bytes(member.paths.text) for member in self.members]
        raw = None if all(member.view.path_text_is_raw for member in self.members) else self.raw_paths
        return PathTable(b"\n" + b"".join([text[1:] for text in texts]), self._path_starts, raw)

    @functools.cached_property
    def raw_paths(self) -> Any:
        """The bytes of all paths as git has them, where `paths` has them."""
        if len(self.members) == 1:
            return self.members[0].view.file.bytes_of("paths")
        if all(member.view.path_text_is_raw for member in self.members):
            return self.paths.text
        return b"\n" + b"".join([bytes(member.view.file.bytes_of("paths"))[1:] for member in self.members])

    @functools.cached_property
    def _path_starts(self) -> Places:
        sizes = _sums([len(member.paths.text) - 1 for member in self.members])
        starts = [member.paths.starts[:-1] + base for member, base in zip(self.members, sizes.tolist(), strict=False)]
        return np.concatenate([*starts, sizes[-1:] + 1])

    def path_hits(self, pattern: CompiledPattern, stopped: Stopped) -> PathSpans:
        """Find a pattern in all paths; raises `Halted` once `stopped` says so."""
        return self.remember(
            ("path", pattern),
            lambda: self.paths.find(pattern, stopped),
            keep=lambda hits: len(hits.file) <= _MOST_SPANS,
        )

    def selection(self, files: tuple[FileFilter, ...], languages: tuple[LanguageFilter, ...]) -> FileSelection:
        """Choose the files that pass all filters."""
        return self.remember(("selection", files, languages), lambda: self._selection(self._passing(files, languages)))

    def _passing(self, files: tuple[FileFilter, ...], languages: tuple[LanguageFilter, ...]) -> Mask | None:
        mask: Mask | None = None
        for chosen in files:
            held = self.remember(("file", chosen.pattern), lambda p=chosen.pattern: self.paths.match(p))  # type: ignore[misc]
            mask = narrowed(mask, held, negated=chosen.negated)
        for language in languages:
            mask = narrowed(mask, of_language(self.languages, language)[self.language], negated=language.negated)
        return mask

    def _selection(self, mask: Mask | None) -> FileSelection:
        files, documents, nameless = self._placed, self._placed_documents, self._nameless
        if mask is not None:
            passed = mask[files]
            files, documents, nameless = files[passed], documents[passed], nameless[mask[nameless]]
        first = np.zeros(self.documents + 1, dtype=np.int64)
        np.cumsum(np.bincount(documents, minlength=self.documents), out=first[1:])
        return FileSelection(mask, files, documents, first, first[1:] > first[:-1], nameless)

    def skipped(self, selection: FileSelection) -> list[dict[str, int]]:
        """Count for each member the chosen files that are matched by name only, by reason."""
        if selection.mask is None:
            return self.remember("skipped", lambda: self._skipped(None))
        return self._skipped(selection.mask)

    def missing(self, selection: FileSelection) -> list[tuple[str, ...]]:
        """Name for each member the first chosen files whose content the clone does not have: path and blob id."""
        files = np.flatnonzero(self.reason == MISSING)
        if selection.mask is not None:
            files = files[selection.mask[files]]
        named: list[tuple[str, ...]] = []
        for member, own in enumerate(np.searchsorted(files, self.file_base)[:-1].tolist()):
            base, end = self.file_base[member : member + 2].tolist()
            first = [number - base for number in files[own : own + MOST_MISSING].tolist() if number < end]
            view = self.members[member].view
            named.append(tuple(f"{view.path(number)} (blob {view.blob_id(number)})" for number in first))
        return named

    def _skipped(self, mask: Mask | None) -> list[dict[str, int]]:
        files = np.flatnonzero(self.reason if mask is None else (self.reason > 0) & mask)
        kinds = len(REASONS)
        codes = self.member_of(files) * kinds + self.reason[files]
        table = np.bincount(codes, minlength=len(self.members) * kinds).reshape(-1, kinds).tolist()
        return [{name: n for name, n in zip(REASONS[1:], row[1:], strict=True) if n} for row in table]


def _order(snapshot: OpenedCommit) -> list[int]:
    """Shards that hold files, those first whose files stand between those of another."""
    late, steady, last = [], [], -1
    for number in range(len(snapshot.shards)):
        placement = snapshot.placement(number)
        if not len(placement.files):
            continue
        owners = placement.first[:-1][np.diff(placement.first) > 0]
        if int(placement.files.min()) > last:
            steady.append(number)
            last = int(placement.files[owners].max())
        else:
            late.append(number)
    return late + steady


def _languages(members: Sequence[OpenedCommit]) -> tuple[list[tuple[str, list[str]]], NDArray[np.int64]]:
    """One table of the languages of all members, and the language of each file in it."""
    numbers: dict[tuple[str, tuple[str, ...]], int] = {}
    parts = []
    for member in members:
        table = member.view.languages or [("", [])]
        codes = [numbers.setdefault((name, tuple(names)), len(numbers)) for name, names in table]
        parts.append(np.array(codes, dtype=np.int64)[member.view.language])
    return [(name, list(names)) for name, names in numbers], np.concatenate(parts)


def _sums(sizes: Sequence[int]) -> Places:
    found = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(np.array(sizes, dtype=np.int64), out=found[1:])
    return found


def _joined(parts: Sequence[NDArray[Any]]) -> Places:
    return np.concatenate(parts).astype(np.int64, copy=False) if parts else np.zeros(0, dtype=np.int64)
