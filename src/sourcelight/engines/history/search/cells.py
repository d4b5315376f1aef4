"""Changes of notebooks by their cells: each changed notebook is read before and after the commit.

A change adds a line of a cell if the cells of that kind have its text more often than before, and removes one in
reverse. So renumbered cells, rewritten files and moved cells aren't changes, and JSON is never compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
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
from sourcelight.engines.history.search.query import CellDiffQuery, PatternTerm, Side, Tree
from sourcelight.repos import ObjectReader, Repository

_SLICE_CHANGES = 200
"""Changes whose notebooks are read together: rows of the newest come before the others are read."""

_CACHE_BYTES = 64 * 1024 * 1024
"""Cached matching lines of contents: the result of one commit is the input of the next."""

_LINE_BYTES = 200
"""Bytes that a line takes in memory beside its text, about."""


class MatchedCellLine(NamedTuple):
    """A line of a cell, and the matches of a term in it.

    Attributes
    ----------
    cell, kind
        Number of the cell in its file, from 1, and what it is: code, Markdown or an output.
    cell_line, file_line
        Number of the line in the cell and in the file, from 1.
    text
        The line, without its newline.
    spans
        Start and end of each match, in bytes of the line.
    """

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


_LineKey: TypeAlias = PatternTerm | None
"""A term of the condition. None stands for every line, which a condition such as ``NOT foo`` needs (see `_keys`)."""

_CellLines: TypeAlias = dict[_LineKey, tuple[MatchedCellLine, ...]]
"""The lines of one content that each term matches."""


@dataclass(frozen=True, slots=True)
class _LineDifference:
    """Lines that a change adds to cells, and lines that it removes."""

    added: Sequence[MatchedCellLine]
    removed: Sequence[MatchedCellLine]

    def of_side(self, side: Side) -> Sequence[MatchedCellLine]:
        return self.added if side == "added" else self.removed


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
    _cache: LruCache[tuple[bytes, str], _CellLines | None] = field(
        default_factory=lambda: LruCache(_CACHE_BYTES, weigh=_weight)
    )
    _malformed: set[bytes] = field(default_factory=set)
    _terms: tuple[PatternTerm, ...] = field(init=False)
    _keys: tuple[_LineKey, ...] = field(init=False)
    """The terms, and None if the condition may hold without a line: then some other line must have changed."""
    _paths: list[str] = field(init=False)

    def __post_init__(self) -> None:
        tree, paths = self.query.tree, self.history.paths
        self._terms = () if tree is None else tuple(dict.fromkeys(leaves(tree)))
        self._keys = self._terms
        if _holds_without_lines(tree):
            self._keys += (None,)
        self._paths = [paths.text(number) for number in range(len(paths))]

    def matches(self) -> Iterator[CellDiffMatches]:
        """Yield matching changes in slices; raises `ScanStopped` when stopped."""
        query = self.query
        slices = slices_newest_first(
            self.history, query.commits, query.files, self.stopped, size=_SLICE_CHANGES, among=self._candidates()
        )
        for changes in slices:
            matching_changes: list[int] = []
            lines: list[ChangedCellLine] = []
            with ObjectReader(self.repository) as reader:
                for change in changes:
                    check_stopped(self.stopped)
                    change_lines = self._search_change(reader, change)
                    if change_lines is not None:
                        matching_changes.append(change)
                        lines += change_lines

            yield CellDiffMatches(matching_changes, lines)

    def _candidates(self) -> BoolArray:
        """Return a mask of the changes of files with cells whose stored lines don't rule a match out."""
        is_json = np.array([is_jupyter(path) for path in self._paths], np.bool_)
        is_text = np.array([may_have_cells(path) for path in self._paths], np.bool_) & ~is_json
        columns = self.history.changes
        mask: BoolArray = is_text[columns.path] | is_text[columns.old_path]

        # Cells of text files are lines of the file: without a matching line among the changed ones there is no match.
        if mask.any() and None not in self._keys:
            has_line = np.zeros(len(mask), np.bool_)
            for term in self._terms:
                has_line |= changes_with(self.history, term.pattern, self.stopped)
            mask &= has_line

        return mask | is_json[columns.path] | is_json[columns.old_path]

    def _search_change(self, reader: ObjectReader, change: int) -> list[ChangedCellLine] | None:
        """Return the lines to show of a change, or None if it doesn't match; the list may be empty."""
        differences = self._compare(reader, change)
        if differences is None or not self._holds(differences):
            return None

        # Lines that match below a NOT make a change match, or not, and have nothing to show.
        visible = set() if self.query.tree is None else set(leaves(self.query.tree, positive=True))
        lines: list[ChangedCellLine] = []
        for side in self.query.sides:
            for term in self._terms:
                if term in visible:
                    changed = differences[term].of_side(side)
                    lines += [ChangedCellLine(change, side, line) for line in changed if line.spans]

        return lines

    def _compare(self, reader: ObjectReader, change: int) -> dict[_LineKey, _LineDifference] | None:
        """Compare the cells of a file before and after a change; None if one of the two can't be read."""
        columns = self.history.changes
        new_blob, old_blob = columns.new_blob[change].tobytes(), columns.old_blob[change].tobytes()
        after = self._lines_of(reader, new_blob, int(columns.path[change]))
        before = self._lines_of(reader, old_blob, int(columns.old_path[change]))
        if after is None or before is None or not self._malformed.isdisjoint((new_blob, old_blob)):
            self.unread.add(int(columns.commit[change]))

        # With one side alone, all of its lines would seem added or removed.
        if after is None or before is None:
            return None

        changed_rows = _ChangedRows(self.history, change)
        differences: dict[_LineKey, _LineDifference] = {}
        for key in self._keys:
            differences[key] = _LineDifference(
                added=_surplus(after[key], before[key], "added", changed_rows),
                removed=_surplus(before[key], after[key], "removed", changed_rows),
            )
        return differences

    def _holds(self, differences: dict[_LineKey, _LineDifference]) -> bool:
        """Return whether the condition of the query holds for a change."""

        def has_line(key: _LineKey) -> bool:
            return any(differences[key].of_side(side) for side in self.query.sides)

        if None in differences and not has_line(None):
            return False
        if self.query.tree is None:
            return True
        return fold(self.query.tree, has_line, all_of=all, any_of=any, negate=lambda value: not value)

    def _lines_of(self, reader: ObjectReader, blob: bytes, path: int) -> _CellLines | None:
        """Return the lines of each term in a content, or None if it can't be read."""
        name = self._paths[path]
        if blob == NO_BLOB or not may_have_cells(name):
            return self._no_lines()
        # A copy of a content may have another ending, and be read in another way.
        # A content is read twice in a row: after one commit, and before the next that changes the file.
        return self._cache.get_or_make((blob, format_of(name)), lambda: self._read(reader, blob, name))

    def _no_lines(self) -> _CellLines:
        return dict.fromkeys(self._keys, ())

    def _read(self, reader: ObjectReader, blob: bytes, name: str) -> _CellLines | None:
        data = reader.read(blob, MAX_BYTES)
        if data is None:
            return None

        # Most scripts have no marker, so they need no reader of cells.
        if not has_marker(name, data) or self._rules_out(name, data):
            return self._no_lines()

        try:
            cells = read_cells(name, data, with_outputs=OUTPUT in self.query.kinds)
        except UnreadableNotebook:
            return None

        if cells.malformed:
            self._malformed.add(blob)

        path_language = language_of(name)
        lines: dict[_LineKey, list[MatchedCellLine]] = {key: [] for key in self._keys}
        for cell in cells.texts:
            check_stopped(self.stopped)
            if cell.kind in self.query.kinds and self._passes(cell.language, path_language):
                for key in self._keys:
                    lines[key] += self._lines_in_cell(cell, key)

        return {key: tuple(key_lines) for key, key_lines in lines.items()}

    def _rules_out(self, name: str, data: bytes) -> bool:
        """Return whether a Jupyter notebook can't match, by its text alone."""
        # All lines at once and without their places: most notebooks have no match.
        if None in self._keys or not is_jupyter(name):
            return False

        text = quick_text(data, self.query.kinds)
        return text is not None and not any(self._matching_lines(term.pattern, text) for term in self._terms)

    def _lines_in_cell(self, cell: CellText, key: _LineKey) -> Iterator[MatchedCellLine]:
        """Yield the lines of a cell that a term matches, each with its matches, or every line without them."""
        if key is None:
            for number in range(len(cell.line_starts)):
                yield _cell_line(cell, number, cell.line(number))
            return

        for number in self._matching_lines(key.pattern, cell.text):
            line = cell.line(number)
            yield _cell_line(cell, number, line, tuple(key.pattern.find_document(line)))

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


def _holds_without_lines(tree: Tree | None) -> bool:
    return tree is None or fold(tree, lambda _: False, all_of=all, any_of=any, negate=lambda value: not value)


def _weight(lines: _CellLines | None) -> int:
    """Return about how many bytes the lines of a content take in memory."""
    size = _LINE_BYTES
    for term_lines in (lines or {}).values():
        size += sum(_LINE_BYTES + len(line.text) for line in term_lines)
    return size


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
    surplus = Counter(map(_kind_and_text, lines)) - Counter(map(_kind_and_text, other_lines))
    if not surplus:
        return []

    indices_by_text: dict[tuple[str, bytes], list[int]] = {}
    for index, line in enumerate(lines):
        if _kind_and_text(line) in surplus:
            indices_by_text.setdefault(_kind_and_text(line), []).append(index)

    selected: list[int] = []
    for text, indices in indices_by_text.items():
        if len(indices) > surplus[text]:
            # A notebook on one line has all of its lines on a changed one: the order alone decides there.
            changed = changed_rows.of_side(side)
            indices.sort(key=lambda index: (lines[index].file_line in changed, index))
        selected += indices[-surplus[text] :]

    return [lines[index] for index in sorted(selected)]


def _kind_and_text(line: MatchedCellLine) -> tuple[str, bytes]:
    return line.kind, line.text
