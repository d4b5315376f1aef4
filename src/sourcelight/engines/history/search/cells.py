"""Changes of notebooks by their cells: each changed notebook is read before and after the commit.

A change adds a line of a cell if the cells of that kind have its text more often than before, and removes one in
reverse. So renumbered cells, rewritten files and moved cells aren't changes, and JSON is never compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.boolean import fold, leaves
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Stopped, check_stopped
from sourcelight.core.cells import (
    CellText,
    UnreadableNotebook,
    format_of,
    has_marker,
    is_jupyter,
    may_have_cells,
    read_cells,
)
from sourcelight.core.cells.formats import MAX_BYTES
from sourcelight.core.cells.notebook import quick_text
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.query.fields import OUTPUT
from sourcelight.core.query.languages import language_of
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import NO_BLOB, RowNumbers
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.lines import changes_with, matching_texts, removed_rows
from sourcelight.engines.history.search.order import slices_newest_first
from sourcelight.engines.history.search.query import ChangedFileFilter, CommitFilter, PatternTerm, Side, Tree
from sourcelight.repos import ObjectReader, Repository

_SLICE_CHANGES = 200
"""Changes whose notebooks are read together: rows of the newest come before the others are read."""

_CACHE_BYTES = 64 * 1024 * 1024
"""Cached matching lines of contents: the result of one commit is the input of the next."""

_LINE_BYTES = 200
"""Bytes that a line takes in memory beside its text, about."""

LanguageRule: TypeAlias = tuple[str, bool]
"""A language, and whether its texts are left out."""


@dataclass(frozen=True, slots=True)
class CellDiffQuery:
    """Changed lines in the cells of notebooks.

    Attributes
    ----------
    commits, files
        Where; languages are those of cells and no filter of `files`.
    tree
        Must hold for the lines that a change adds to cells or removes from them, on one of `sides`. None: every line.
    kinds
        Kinds of texts that are looked at.
    languages
        Required and excluded languages of a text, or of its file by the path.
    """

    commits: CommitFilter
    files: ChangedFileFilter
    tree: Tree | None
    kinds: frozenset[str]
    languages: tuple[LanguageRule, ...] = ()
    sides: tuple[Side, ...] = ("added", "removed")


class MatchedCellLine(NamedTuple):
    """A line of a cell: its place there and in the file, each from 1, and what matches in it, in bytes."""

    cell: int
    kind: str
    cell_line: int
    file_line: int
    text: bytes
    spans: tuple[tuple[int, int], ...] = ()


class ChangedCellLine(NamedTuple):
    """A line that a change adds or removes."""

    change: int
    side: Side
    line: MatchedCellLine


@dataclass(frozen=True, slots=True)
class CellDiffMatches:
    """Matching changes, newest commits first, and the lines to show: one for each matching term."""

    changes: list[int]
    lines: list[ChangedCellLine]

    def of_changes(self, changes: Container[int]) -> CellDiffMatches:
        """Return the matches in some changes."""
        matching = [change for change in self.changes if change in changes]
        return CellDiffMatches(matching, [line for line in self.lines if line.change in changes])


_LinesOfTerms: TypeAlias = tuple[tuple[MatchedCellLine, ...], ...]


@dataclass(slots=True)
class CellDiffSearch:
    """Searches the changes of one repository.

    Attributes
    ----------
    unread
        Commits with a notebook that could not be searched, or not all of it: it is missing, broken or too large, or has
        malformed cells.
    """

    repository: Repository
    history: History
    query: CellDiffQuery
    stopped: Stopped
    unread: set[int] = field(default_factory=set)
    _lines: LruCache[tuple[bytes, str], _LinesOfTerms | None] = field(
        default_factory=lambda: LruCache(_CACHE_BYTES, weigh=_weight)
    )
    _malformed: set[bytes] = field(default_factory=set)
    _terms: tuple[PatternTerm, ...] = field(init=False)
    _needs_any_line: bool = field(init=False)
    """Whether the tree may hold without a line, so that some cell must have changed. All lines are then kept."""
    _count: int = field(init=False)
    """Entries per content for its lines: one for each term, and one for all lines."""
    _paths: list[str] = field(init=False)

    def __post_init__(self) -> None:
        tree, paths = self.query.tree, self.history.paths
        self._terms = () if tree is None else tuple(dict.fromkeys(leaves(tree)))
        self._needs_any_line = _holds_without_lines(tree)
        self._count = len(self._terms) + self._needs_any_line
        self._paths = [paths.text(number) for number in range(len(paths))]

    def matches(self) -> Iterator[CellDiffMatches]:
        """Yield matching changes in slices; raises `ScanStopped` when stopped."""
        query = self.query
        slices = slices_newest_first(
            self.history, query.commits, query.files, self.stopped, size=_SLICE_CHANGES, among=self._candidates()
        )
        for changes in slices:
            result = CellDiffMatches([], [])
            with ObjectReader(self.repository) as reader:
                for change in changes:
                    check_stopped(self.stopped)
                    self._add_change(reader, change, result)
            yield result

    def _candidates(self) -> BoolArray:
        """Return a mask of the changes of files with cells whose stored lines don't rule a match out."""
        is_json = np.array([is_jupyter(path) for path in self._paths], np.bool_)
        is_text = np.array([may_have_cells(path) for path in self._paths], np.bool_) & ~is_json
        columns = self.history.changes
        mask: BoolArray = is_text[columns.path] | is_text[columns.old_path]

        # Cells of text files are lines of the file: without a matching line among the changed ones there is no match.
        if mask.any() and not self._needs_any_line:
            has_line = np.zeros(len(mask), np.bool_)
            for term in self._terms:
                has_line |= changes_with(self.history, term.pattern, self.stopped)
            mask &= has_line

        return mask | is_json[columns.path] | is_json[columns.old_path]

    def _add_change(self, reader: ObjectReader, change: int, result: CellDiffMatches) -> None:
        columns = self.history.changes
        sides: dict[Side, _LinesOfTerms] = {}
        for side, blobs, paths in (
            ("added", columns.new_blob, columns.path),
            ("removed", columns.old_blob, columns.old_path),
        ):
            lines = self._lines_of(reader, blobs[change].tobytes(), int(paths[change]))
            # With one side alone, all of its lines would seem added or removed.
            if lines is None:
                self.unread.add(int(columns.commit[change]))
                return
            if blobs[change].tobytes() in self._malformed:
                self.unread.add(int(columns.commit[change]))
            sides["added" if side == "added" else "removed"] = lines

        changed_rows = _ChangedRows(self.history, change)
        differences: list[dict[Side, list[MatchedCellLine]]] = [
            {
                "added": _surplus(sides["added"][number], sides["removed"][number], "added", changed_rows),
                "removed": _surplus(sides["removed"][number], sides["added"][number], "removed", changed_rows),
            }
            for number in range(self._count)
        ]
        if not self._holds(differences):
            return

        result.changes.append(change)
        visible = set() if self.query.tree is None else set(leaves(self.query.tree, positive=True))

        # Without `strict`: the entry of all lines has no term.
        visible_differences = [
            of_term for term, of_term in zip(self._terms, differences, strict=False) if term in visible
        ]
        for side in self.query.sides:
            lines_of_side = chain.from_iterable(of_term[side] for of_term in visible_differences)
            result.lines.extend(ChangedCellLine(change, side, line) for line in lines_of_side if line.spans)

    def _holds(self, differences: Sequence[dict[Side, list[MatchedCellLine]]]) -> bool:
        def has_line(of_term: dict[Side, list[MatchedCellLine]]) -> bool:
            return any(of_term[side] for side in self.query.sides)

        if self._needs_any_line and not has_line(differences[-1]):
            return False

        by_term = dict(zip(self._terms, differences, strict=False))
        return self.query.tree is None or fold(
            self.query.tree,
            lambda term: has_line(by_term[term]),
            all_of=all,
            any_of=any,
            negate=lambda value: not value,
        )

    def _lines_of(self, reader: ObjectReader, blob: bytes, path: int) -> _LinesOfTerms | None:
        """Return the lines of each term in a content, or None if it can't be read."""
        name = self._paths[path]
        if blob == NO_BLOB or not may_have_cells(name):
            return ((),) * self._count
        # A copy of a content may have another ending, and be read in another way.
        return self._lines.get_or_make((blob, format_of(name)), lambda: self._read(reader, blob, name))

    def _read(self, reader: ObjectReader, blob: bytes, name: str) -> _LinesOfTerms | None:
        nothing: _LinesOfTerms = ((),) * self._count
        data = reader.read(blob, MAX_BYTES)
        if data is None:
            return None

        # Most scripts have no marker, so they need no reader of cells.
        if not has_marker(name, data):
            return nothing

        patterns = [term.pattern for term in self._terms]
        if not self._needs_any_line and is_jupyter(name):
            # All lines at once and without their places: most notebooks have no match.
            text = quick_text(data, self.query.kinds)
            if text is not None and not any(self._matching_lines(pattern, text) for pattern in patterns):
                return nothing

        try:
            cells = read_cells(name, data, with_outputs=OUTPUT in self.query.kinds)
        except UnreadableNotebook:
            return None

        if cells.malformed:
            self._malformed.add(blob)

        path_language = language_of(name)
        lines: list[list[MatchedCellLine]] = [[] for _ in nothing]
        for cell in cells.texts:
            check_stopped(self.stopped)
            if cell.kind not in self.query.kinds or not self._passes(cell.language, path_language):
                continue
            for index, pattern in enumerate(patterns):
                for number in self._matching_lines(pattern, cell.text):
                    line = cell.line(number)
                    lines[index].append(_cell_line(cell, number, line, tuple(pattern.find_document(line))))
            if self._needs_any_line:
                lines[-1] += [_cell_line(cell, number, cell.line(number)) for number in range(len(cell.line_starts))]

        return tuple(map(tuple, lines))

    def _matching_lines(self, pattern: CompiledPattern, text: bytes) -> list[int]:
        """Return the numbers, from 0, of the lines in which a pattern matches, each line by itself."""
        raw = text if text.endswith(b"\n") else text + b"\n"
        # As `lines.matching_texts` wants texts: a newline behind each, and the end of the last as one start more.
        starts = np.concatenate(([0], np.flatnonzero(np.frombuffer(raw, np.uint8) == ord("\n")) + 1))
        numbers: list[int] = matching_texts(pattern, memoryview(raw), starts, self.stopped).tolist()
        return numbers

    def _passes(self, *languages: str) -> bool:
        names = {language.casefold() for language in languages}
        return all((name.casefold() in names) != is_negated for name, is_negated in self.query.languages)


def _cell_line(cell: CellText, number: int, line: bytes, spans: tuple[tuple[int, int], ...] = ()) -> MatchedCellLine:
    return MatchedCellLine(
        cell=cell.cell, kind=cell.kind, cell_line=number + 1, file_line=cell.file_lines[number], text=line, spans=spans
    )


def unite_changed_lines(lines: Iterable[ChangedCellLine]) -> list[ChangedCellLine]:
    """Return each line once, with what matches in it for any of several terms.

    By change and then as a diff of the cells has them: a cell after another, and in it what was removed first.
    """
    spans: dict[ChangedCellLine, set[tuple[int, int]]] = {}
    for changed in lines:
        spans.setdefault(changed._replace(line=changed.line._replace(spans=())), set()).update(changed.line.spans)

    def order(changed: ChangedCellLine) -> tuple[int, int, bool, bool, int]:
        line = changed.line
        return changed.change, line.cell, line.kind == OUTPUT, changed.side == "added", line.cell_line

    united = (
        changed._replace(line=changed.line._replace(spans=_disjoint(spans_of_line)))
        for changed, spans_of_line in spans.items()
    )
    return sorted(united, key=order)


def _disjoint(spans: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Drop spans that overlap an earlier span; of spans with the same start, keep the longest."""
    result: list[tuple[int, int]] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > start and (not result or start >= result[-1][1]):
            result.append((start, end))
    return tuple(result)


def _holds_without_lines(tree: Tree | None) -> bool:
    return tree is None or fold(tree, lambda _: False, all_of=all, any_of=any, negate=lambda value: not value)


def _weight(lines: _LinesOfTerms | None) -> int:
    return _LINE_BYTES + sum(_LINE_BYTES + len(line.text) for of_term in lines or () for line in of_term)


@dataclass(slots=True)
class _ChangedRows:
    """The lines of the file that a change adds and removes."""

    history: History
    change: int
    _numbers: dict[str, frozenset[int]] = field(default_factory=dict)

    def of_side(self, side: Side) -> frozenset[int]:
        if not self._numbers:
            starts = self.history.changes.row_starts
            rows = RowNumbers(np.arange(int(starts[self.change]), int(starts[self.change + 1])))
            removed = removed_rows(self.history, rows)
            numbers = tables.line_numbers(self.history, rows, removed) if len(rows) else rows
            self._numbers["removed"] = frozenset(numbers[removed].tolist())
            self._numbers["added"] = frozenset(numbers[~removed].tolist())

        return self._numbers[side]


def _surplus(
    lines: Sequence[MatchedCellLine], other_lines: Sequence[MatchedCellLine], side: Side, changed_rows: _ChangedRows
) -> list[MatchedCellLine]:
    """Return the lines that cells of their kind have more often than among `other_lines`.

    Of equal ones those that stand on a changed line of the file, and of these the last.
    """
    surplus = Counter((line.kind, line.text) for line in lines) - Counter(
        (line.kind, line.text) for line in other_lines
    )
    if not surplus:
        return []

    indices_by_line: dict[tuple[str, bytes], list[int]] = {}
    for index, line in enumerate(lines):
        if (line.kind, line.text) in surplus:
            indices_by_line.setdefault((line.kind, line.text), []).append(index)

    selected: list[int] = []
    for key, indices in indices_by_line.items():
        if len(indices) > surplus[key]:
            # A notebook on one line has all of its lines on a changed one: the order alone decides there.
            changed = changed_rows.of_side(side)
            indices.sort(key=lambda index: (lines[index].file_line in changed, index))
        selected += indices[-surplus[key] :]

    return [lines[index] for index in sorted(selected)]
