"""Changes that add or remove code of a structure: each changed file is searched before and after the commit.

A commit adds a structure if a file has a match that it didn't have before, and removes one if it had. Matches are the
same if their text is, ignoring white space, and count as often as they occur: moved or indented lines aren't changes.
A change within a match adds one and removes one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.boolean import Boolean, fold, leaves
from sourcelight.core.cancellation import Stopped, check_stopped
from sourcelight.core.query.languages import language_of
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import NO_BLOB, ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.find import DiffMatches
from sourcelight.engines.history.search.lines import removed_rows
from sourcelight.engines.history.search.order import slices_newest_first
from sourcelight.engines.history.search.query import ChangedFileFilter, CommitFilter, Side
from sourcelight.engines.structure.pattern import StructurePattern
from sourcelight.engines.structure.pool import MAX_TEXT_BYTES, SourceText, shared_pool
from sourcelight.repos import ObjectReader, Repository

_SLICE_CHANGES = 400
"""Changes whose files are read together: rows of the newest come before the others are read."""

_MAX_CACHED = 20_000
"""Contents whose matches are cached: the result of one commit is the input of the next."""


@dataclass(frozen=True, slots=True)
class StructureQuery:
    """Changed files in which a commit adds or removes structures.

    Attributes
    ----------
    commits, files
        The commits, and their changed files, that are searched.
    tree
        The condition on the structures that a change adds or removes, on one of `sides`.
    sides
        ``added``, ``removed`` or both.
    """

    commits: CommitFilter
    files: ChangedFileFilter
    tree: Boolean[StructurePattern]
    sides: tuple[Side, ...] = ("added", "removed")


@dataclass(frozen=True, slots=True)
class _Span:
    """A match: its lines from 1, its first byte in the first and its end in the last of them, and its text."""

    first_line: int
    last_line: int
    start_offset: int
    end_offset: int
    text: bytes


@dataclass(slots=True)
class StructureSearch:
    """Searches the changes of one repository.

    Attributes
    ----------
    unread
        Commits with a file that could not be searched: its content is missing, or ast-grep fails on it.
    """

    repository: Repository
    history: History
    query: StructureQuery
    stopped: Stopped
    unread: set[int] = field(default_factory=set)
    _spans_of_blob: dict[tuple[StructurePattern, bytes, str], tuple[_Span, ...] | None] = field(default_factory=dict)
    _languages: dict[int, str] = field(default_factory=dict)

    def matches(self) -> Iterator[DiffMatches]:
        """Yield matching changes, newest commits first; raise `ScanStopped` when stopped."""
        query = self.query
        slices = slices_newest_first(self.history, query.commits, query.files, self.stopped, size=_SLICE_CHANGES)
        for changes in slices:
            with ObjectReader(self.repository) as reader:
                yield self._search_changes(reader, changes)

    def _search_changes(self, reader: ObjectReader, changes: Sequence[int]) -> DiffMatches:
        patterns = tuple(dict.fromkeys(leaves(self.query.tree)))
        # Patterns below a NOT decide whether a change matches, and have nothing to show.
        visible = frozenset(leaves(self.query.tree, positive=True))
        texts = {change: {side: self._content_of(change, side) for side in ("added", "removed")} for change in changes}
        contents = {content for sides in texts.values() for content in sides.values() if content[0] != NO_BLOB}
        self._find_spans(reader, patterns, contents)
        matching_changes: list[int] = []
        spans: dict[int, list[tuple[int, int]]] = {}
        for change in changes:
            differences = {pattern: self._difference(change, pattern, texts[change]) for pattern in patterns}
            if self._holds(differences):
                matching_changes.append(change)
                self._add_rows(change, [differences[pattern] for pattern in patterns if pattern in visible], spans)

        matching = ChangeNumbers(np.array(matching_changes, dtype=np.int64))
        rows = RowNumbers(np.array(sorted(spans), dtype=np.int64))

        # Newest first: changes are, and the rows of a change follow one another.
        row_changes = np.searchsorted(self.history.changes.row_starts, rows, side="right") - 1
        position_of = {change: number for number, change in enumerate(matching_changes)}
        order = np.argsort([position_of[change] for change in row_changes.tolist()], kind="stable").astype(np.int64)
        commits = CommitNumbers(np.array(list(dict.fromkeys(self._commits(matching_changes))), dtype=np.int64))
        ordered, changes_of_rows = RowNumbers(rows[order]), ChangeNumbers(row_changes[order])
        return DiffMatches(
            commits=commits, patterns=(), find_rows=lambda: (matching, ordered, changes_of_rows), spans=spans
        )

    def _holds(self, differences: dict[StructurePattern, dict[str, list[_Span]]]) -> bool:
        return fold(
            self.query.tree,
            lambda pattern: any(differences[pattern][side] for side in self.query.sides),
            all_of=all,
            any_of=any,
            negate=lambda value: not value,
        )

    def _commits(self, changes: Sequence[int]) -> list[int]:
        numbers: list[int] = self.history.changes.commit[np.array(changes, dtype=np.int64)].tolist()
        return numbers

    def _content_of(self, change: int, side: str) -> tuple[bytes, str]:
        """Return the content and the language of a file after a change (``added``) or before it."""
        columns = self.history.changes
        blob, path = (columns.new_blob, columns.path) if side == "added" else (columns.old_blob, columns.old_path)
        number = int(path[change])
        if number not in self._languages:
            self._languages[number] = language_of(self.history.paths.text(number))
        return blob[change].tobytes(), self._languages[number]

    def _find_spans(
        self, reader: ObjectReader, patterns: Sequence[StructurePattern], contents: set[tuple[bytes, str]]
    ) -> None:
        """Find the patterns in contents that were not searched yet."""
        # All at once, and rarely: a content that two slices share is then searched twice.
        if len(self._spans_of_blob) > _MAX_CACHED:
            self._spans_of_blob.clear()

        for pattern in patterns:
            keys: list[tuple[StructurePattern, bytes, str]] = []
            texts: list[SourceText] = []
            for blob, blob_language in sorted(contents):
                check_stopped(self.stopped)
                key = pattern, blob, blob_language
                language = pattern.language or blob_language
                if key in self._spans_of_blob or language not in pattern.languages:
                    continue

                # Bounded before it is read; commits of missing or larger contents stay unread.
                data = reader.read(blob, MAX_TEXT_BYTES)
                self._spans_of_blob[key] = None if data is None else ()
                if data is not None and b"\0" not in data and pattern.may_match(language, data):
                    keys.append(key)
                    texts.append(SourceText(language, data))

            results = shared_pool().find(pattern.text, texts, self.stopped)
            for key, text, result in zip(keys, texts, results, strict=True):
                self._spans_of_blob[key] = (
                    None if result.problem else tuple(_spans(text.data, result.starts, result.ends))
                )

    def _difference(
        self, change: int, pattern: StructurePattern, texts: dict[str, tuple[bytes, str]]
    ) -> dict[str, list[_Span]]:
        """Return the matches that a change adds (``added``) and the matches that it removes."""
        spans: dict[str, tuple[_Span, ...]] = {}
        for side, (blob, language) in texts.items():
            blob_spans = self._spans_of_blob.get((pattern, blob, language), ())
            # An unread content may hide a match, so that its commit is reported.
            if blob_spans is None:
                self.unread.add(int(self.history.changes.commit[change]))
            spans[side] = blob_spans or ()

        return {
            "added": _surplus(spans["added"], spans["removed"]),
            "removed": _surplus(spans["removed"], spans["added"]),
        }

    def _add_rows(
        self, change: int, differences: Sequence[dict[str, list[_Span]]], spans: dict[int, list[tuple[int, int]]]
    ) -> None:
        """Add the changed lines that matches of a change touch, with what they hold of these, in bytes."""
        starts = self.history.changes.row_starts
        rows = RowNumbers(np.arange(int(starts[change]), int(starts[change + 1])))
        if not len(rows):
            return

        removed: BoolArray = removed_rows(self.history, rows)
        numbers: Int64Array = tables.line_numbers(self.history, rows, removed)
        for side in self.query.sides:
            side_rows = np.flatnonzero(removed == (side == "removed"))
            lines = numbers[side_rows]  # ascending within a side
            for span in (span for difference in differences for span in difference[side]):
                start, end = np.searchsorted(lines, (span.first_line, span.last_line + 1)).tolist()
                for index in range(start, end):
                    line = int(lines[index])
                    row_span = (
                        span.start_offset if line == span.first_line else 0,
                        span.end_offset if line == span.last_line else tables.FULL_LINE,
                    )
                    row_spans = spans.setdefault(int(rows[side_rows[index]]), [])
                    if row_span not in row_spans:
                        row_spans.append(row_span)

        # By start, and the longest first, as in files.
        for row in rows.tolist():
            if row in spans:
                spans[row].sort(key=lambda row_span: (row_span[0], -row_span[1]))


def _surplus(spans: Sequence[_Span], other_spans: Sequence[_Span]) -> list[_Span]:
    """Return the matches whose text occurs more often than in `other_spans`; of equal ones the last."""
    remaining = Counter(span.text for span in other_spans)
    surplus = []
    for span in spans:
        if remaining[span.text] > 0:
            remaining[span.text] -= 1
        else:
            surplus.append(span)

    return surplus


def _spans(data: bytes, starts: Int64Array, ends: Int64Array) -> Iterator[_Span]:
    line_starts = np.concatenate(([0], np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1))
    firsts = np.searchsorted(line_starts, starts, side="right") - 1
    lasts = np.searchsorted(line_starts, ends - 1, side="right") - 1
    columns = (starts, ends, firsts, lasts, starts - line_starts[firsts], ends - line_starts[lasts])
    for start, end, first, last, start_column, end_column in zip(*(column.tolist() for column in columns), strict=True):
        yield _Span(
            first_line=first + 1,
            last_line=last + 1,
            start_offset=start_column,
            end_offset=end_column,
            text=b" ".join(data[start:end].split()),
        )
