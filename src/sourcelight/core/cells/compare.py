"""Compare two versions of a notebook cell by cell: added, removed and changed cells with their lines.

Cells are aligned by their sources. Execution counts, metadata, images and the layout of the JSON don't count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple

from sourcelight.core.cells.formats import UnreadableNotebook, is_jupyter
from sourcelight.core.cells.model import CellDocument, CellText
from sourcelight.core.cells.reading import read_lines
from sourcelight.core.query.fields import OUTPUT, RAW

MAX_CELLS = 2_000
"""Maximum cells of a version; notebooks with more aren't compared, because alignment takes quadratic time."""

_MAX_PAIRS = 40_000
"""Maximum pairs of lines, or of cells, in one alignment: at worst 0.2 s of work. With more, all counts as replaced."""

_ALL_PAIRS = 400_000
"""Maximum pairs in all alignments of a notebook: at worst 2 s of work."""

_MAX_CANDIDATES = 20
"""Number of old cells that are tried as the former version of a new one."""

_MAX_NOTEBOOKS = 10
"""Maximum notebooks of a change that are shown by cells, because both versions of each are read."""

_CONTEXT_LINES = 3
"""Unchanged lines around a change, as in a diff of git."""

_MIN_SHARE = 0.3
"""Minimum share of equal lines for two cells to be versions of one cell."""


class ComparedLine(NamedTuple):
    """A line of a comparison; `old` and `new` are its numbers in both texts, from 1. A gap replaces unchanged lines."""

    side: Literal["added", "removed", "context", "gap"]
    old: int | None
    new: int | None
    text: str


@dataclass(frozen=True, slots=True)
class ChangedText:
    """A source or an output that differs: `old` and `new` are its texts, or None."""

    old: CellText | None
    new: CellText | None
    lines: tuple[ComparedLine, ...]

    @property
    def text(self) -> CellText:
        """The newer text, or the older one if it was removed."""
        text = self.new or self.old
        assert text is not None  # noqa: S101 - no comparison has neither
        return text

    @property
    def heading(self) -> str:
        """The heading above it, such as ``Cell 3 (code), was cell 2``."""
        heading = f"Cell {self.text.cell} ({self.text.kind})"
        if self.old is None:
            return f"{heading}, added"
        if self.new is None:
            return f"{heading}, removed"
        if self.old.cell == self.new.cell:
            return heading
        return f"{heading}, was cell {self.old.cell}"


class NotebookDiff(NamedTuple):
    """The sources and outputs that differ, in the order of the newer version, and the number of equal cells."""

    texts: list[ChangedText]
    equal_cells: int


@dataclass(frozen=True)
class _NotebookCell:
    """A cell of one version; its texts are None if it has no source, or no output."""

    kind: str
    source: CellText | None
    output: CellText | None

    @property
    def code(self) -> bytes:
        return _bytes_of(self.source)

    @property
    def key(self) -> tuple[str, bytes]:
        """Equal for cells that count as the same."""
        return self.kind, self.code

    @cached_property
    def lines(self) -> frozenset[bytes]:
        return frozenset(self.code.splitlines())

    @cached_property
    def words(self) -> frozenset[bytes]:
        return frozenset(self.code.split())


_NO_CELL = _NotebookCell(RAW, None, None)
"""Takes the place of a cell that the other version lacks."""


def changed_notebooks(rows: Iterable[Mapping[str, Any]], base: str) -> Iterator[tuple[str, str, str]]:
    """Yield path, old path and new path of the notebooks to show by cells; a path is empty without that version.

    Parameters
    ----------
    rows
        Rows of ``file_diffs``.
    base
        The older commit; empty before the first one.
    """
    notebooks = (row for row in rows if is_jupyter(row["path"]) and row["patch"])
    for row in islice(notebooks, _MAX_NOTEBOOKS):
        path = row["path"]
        old_path = row["old_path"] or path
        new_path = path
        if row["status"] == "added" or not base:
            old_path = ""
        if row["status"] == "deleted":
            new_path = ""
        yield path, old_path, new_path


def compare_versions(
    old: tuple[str, Sequence[str]] | None, new: tuple[str, Sequence[str]] | None
) -> NotebookDiff | None:
    """Compare two versions of a file, each given as path and lines; return None if it doesn't exist.

    Returns None for a notebook that can't be read, or that has too many cells to be aligned.
    """
    try:
        return compare_cells(_read_version(old), _read_version(new))
    except UnreadableNotebook:
        return None


def _read_version(version: tuple[str, Sequence[str]] | None) -> CellDocument:
    """Return the cells of a version; none without it, or when the file had another format then."""
    if version is None:
        return CellDocument()
    path, lines = version
    if not is_jupyter(path):
        return CellDocument()
    return read_lines(path, lines)


def compare_cells(old: CellDocument, new: CellDocument) -> NotebookDiff | None:
    """Compare two versions of a notebook; returns None if it has too many cells to be aligned."""
    if max(old.cells, new.cells) > MAX_CELLS:
        return None

    texts: list[ChangedText] = []
    equal_cells = 0
    alignment = _Alignment()
    for before, after in alignment.pairs(_cells_of(old), _cells_of(new)):
        source = alignment.compare(before.source, after.source)
        output = alignment.compare(before.output, after.output)
        if source is not None:
            texts.append(source)
        if output is not None:
            texts.append(output)
        if source is None and output is None:
            equal_cells += 1

    return NotebookDiff(texts, equal_cells)


def _cells_of(document: CellDocument) -> list[_NotebookCell]:
    """Return the cells in their order; a document has a text for each source and each output."""
    cells: dict[int, _NotebookCell] = {}
    for text in document.texts:
        cell = cells.get(text.cell, _NO_CELL)
        if text.kind == OUTPUT:
            cells[text.cell] = replace(cell, output=text)
        else:
            cells[text.cell] = replace(cell, kind=text.kind, source=text)
    return [cell for _, cell in sorted(cells.items())]


@dataclass(slots=True)
class _Alignment:
    """Aligns the cells and the lines of one notebook within its bounds."""

    remaining_pairs: int = _ALL_PAIRS

    def pairs(
        self, old: Sequence[_NotebookCell], new: Sequence[_NotebookCell]
    ) -> Iterator[tuple[_NotebookCell, _NotebookCell]]:
        """Yield pairs of cells, in the order of the newer version; added and removed ones have `_NO_CELL`."""
        old_keys = [cell.key for cell in old]
        new_keys = [cell.key for cell in new]
        for tag, old_start, old_end, new_start, new_end in self._opcodes(old_keys, new_keys):
            old_cells = old[old_start:old_end]
            new_cells = new[new_start:new_end]
            if tag == "equal":
                yield from zip(old_cells, new_cells, strict=True)
            else:
                yield from _versions(old_cells, new_cells)

    def compare(self, old: CellText | None, new: CellText | None) -> ChangedText | None:
        """Return the differences between two texts, or None without any."""
        if _bytes_of(old) == _bytes_of(new):
            return None
        return ChangedText(old, new, tuple(self._lines(_lines(old), _lines(new))))

    def _lines(self, old: Sequence[str], new: Sequence[str]) -> Iterator[ComparedLine]:
        """Yield changed lines with three lines of context; a gap replaces the unchanged lines between."""
        for tag, old_start, old_end, new_start, new_end in self._opcodes(old, new):
            if tag != "equal":
                for number in range(old_start, old_end):
                    yield ComparedLine(side="removed", old=number + 1, new=None, text=old[number])
                for number in range(new_start, new_end):
                    yield ComparedLine(side="added", old=None, new=number + 1, text=new[number])
                continue

            # Context follows the change before, and precedes the change after.
            head_end = old_start
            tail_start = old_end
            is_first = not old_start and not new_start
            is_last = old_end == len(old) and new_end == len(new)
            if not is_first:
                head_end = min(old_end, old_start + _CONTEXT_LINES)
            if not is_last:
                tail_start = max(head_end, old_end - _CONTEXT_LINES)

            shift = new_start - old_start
            for number in range(old_start, head_end):
                yield ComparedLine(side="context", old=number + 1, new=number + shift + 1, text=old[number])
            if head_end < tail_start:
                yield ComparedLine(side="gap", old=None, new=None, text="")
            for number in range(tail_start, old_end):
                yield ComparedLine(side="context", old=number + 1, new=number + shift + 1, text=old[number])

    def _opcodes(self, old: Sequence[object], new: Sequence[object]) -> Iterator[tuple[str, int, int, int, int]]:
        """Yield opcodes that turn `old` into `new`, as `difflib` has them, in bounded time."""
        # Equal ends are cut off first: most edits touch few lines, and this takes linear time.
        start = 0
        while start < min(len(old), len(new)) and old[start] == new[start]:
            start += 1

        end = 0
        while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
            end += 1

        old_end = len(old) - end
        new_end = len(new) - end
        if start:
            yield "equal", 0, start, 0, start

        pairs = (old_end - start) * (new_end - start)
        if pairs > min(_MAX_PAIRS, self.remaining_pairs):
            yield "replace", start, old_end, start, new_end
        elif old_end > start or new_end > start:
            # Shared by all texts of a notebook, so that many changed cells can't take long either.
            self.remaining_pairs -= pairs
            # Without `autojunk`, which ignores frequent lines of long texts, such as `}`.
            matcher = SequenceMatcher(None, old[start:old_end], new[start:new_end], autojunk=False)
            for tag, old_first, old_last, new_first, new_last in matcher.get_opcodes():
                yield tag, start + old_first, start + old_last, start + new_first, start + new_last

        if end:
            yield "equal", old_end, len(old), new_end, len(new)


def _versions(
    old: Sequence[_NotebookCell], new: Sequence[_NotebookCell]
) -> Iterator[tuple[_NotebookCell, _NotebookCell]]:
    """Pair each new cell with the first similar old one; cells without a pair were added or removed."""
    position = 0
    for cell in new:
        index = _index_of_version(old, position, cell)
        if index is None:
            yield _NO_CELL, cell
            continue

        for removed_cell in old[position:index]:
            yield removed_cell, _NO_CELL
        yield old[index], cell
        # Pairs never cross: a moved cell counts as removed and added, as in a diff of lines.
        position = index + 1

    for removed_cell in old[position:]:
        yield removed_cell, _NO_CELL


def _index_of_version(old: Sequence[_NotebookCell], start: int, cell: _NotebookCell) -> int | None:
    for index, candidate in enumerate(old[start : start + _MAX_CANDIDATES], start):
        if _is_version(candidate, cell):
            return index
    return None


def _is_version(old: _NotebookCell, new: _NotebookCell) -> bool:
    if old.kind != new.kind:
        return False
    longest = max(len(old.lines), len(new.lines))
    # Cells of one or two lines may have no equal line, so their words are compared.
    if longest <= 2:
        return len(old.words & new.words) >= _MIN_SHARE * max(len(old.words), len(new.words), 1)
    return len(old.lines & new.lines) >= _MIN_SHARE * longest


def _bytes_of(text: CellText | None) -> bytes:
    return b"" if text is None else text.text


def _lines(text: CellText | None) -> list[str]:
    if text is None:
        return []
    return [text.line(number).decode("utf-8", "replace") for number in range(len(text.line_starts))]
