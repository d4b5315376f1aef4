"""Changes that add or remove code of a structure: each changed file is searched before and after the commit.

A commit adds a structure if a file has a match that it didn't have before, and removes one if it had. Matches are the
same if their text is, ignoring white space, and count as often as they occur: moved or indented lines aren't changes.
A change within a match adds one and removes one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.boolean import Boolean, fold, leaves
from sourcelight.core.cancellation import Stopped, check_stopped
from sourcelight.core.query.languages import language_of
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import NO_BLOB, ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.find import DiffMatches
from sourcelight.engines.history.search.lines import changes_of, removed_rows
from sourcelight.engines.history.search.order import DiffRows, slices_newest_first
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

    def part_in(self, line: int) -> tuple[int, int]:
        """Return the start and end of the match in one of its lines, in bytes of the line."""
        start, end = 0, tables.FULL_LINE
        if line == self.first_line:
            start = self.start_offset
        if line == self.last_line:
            end = self.end_offset
        return start, end


class _ChangedContent(NamedTuple):
    """The content of a file on one side of a change, by its blob, and the language of its path."""

    blob: bytes
    language: str


@dataclass(frozen=True, slots=True)
class _SpanDifference:
    """The matches of a pattern that a change adds, and those that it removes."""

    added: Sequence[_Span]
    removed: Sequence[_Span]

    def of_side(self, side: Side) -> Sequence[_Span]:
        return self.added if side == "added" else self.removed


RowSpans: TypeAlias = dict[int, list[tuple[int, int]]]
"""Start and end, in bytes of its line, of each place to mark in a changed line, by the number of its row."""


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
    _spans_of_content: dict[tuple[StructurePattern, _ChangedContent], tuple[_Span, ...] | None] = field(
        default_factory=dict
    )
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
        self._search_contents(reader, patterns, changes)

        matching_changes: list[int] = []
        spans: RowSpans = {}
        for change in changes:
            differences = {pattern: self._difference(change, pattern) for pattern in patterns}
            if self._holds(differences):
                matching_changes.append(change)
                visible_differences = [differences[pattern] for pattern in patterns if pattern in visible]
                spans |= self._row_spans(change, visible_differences)

        return self._to_matches(matching_changes, spans)

    def _search_contents(
        self, reader: ObjectReader, patterns: Sequence[StructurePattern], changes: Sequence[int]
    ) -> None:
        """Fill the cache of spans with the contents before and after some changes."""
        # All at once, and rarely: a content that two slices share is then searched twice.
        if len(self._spans_of_content) > _MAX_CACHED:
            self._spans_of_content.clear()

        contents: set[_ChangedContent] = set()
        for change in changes:
            contents |= {self._content_of(change, "added"), self._content_of(change, "removed")}

        ordered_contents = sorted(content for content in contents if content.blob != NO_BLOB)
        for pattern in patterns:
            self._find_spans(reader, pattern, ordered_contents)

    def _find_spans(self, reader: ObjectReader, pattern: StructurePattern, contents: Sequence[_ChangedContent]) -> None:
        """Find a pattern in the contents that were not searched yet."""
        pending: list[_ChangedContent] = []
        texts: list[SourceText] = []
        for content in contents:
            check_stopped(self.stopped)
            key = pattern, content
            language = pattern.language or content.language
            if key in self._spans_of_content or language not in pattern.languages:
                continue

            # Bounded before it is read: the reader returns None for a content above the limit, and for a missing one.
            # Their commits stay unread.
            data = reader.read(content.blob, MAX_TEXT_BYTES)
            if data is None:
                self._spans_of_content[key] = None
                continue

            self._spans_of_content[key] = ()
            if b"\0" not in data and pattern.may_match(language, data):
                pending.append(content)
                texts.append(SourceText(language, data))

        # One call for all texts, so that every process of the pool has work.
        results = shared_pool().find(pattern.text, texts, self.stopped)
        for content, text, result in zip(pending, texts, results, strict=True):
            spans = None
            if not result.problem:
                spans = tuple(_spans(text.data, result.starts, result.ends))
            self._spans_of_content[pattern, content] = spans

    def _difference(self, change: int, pattern: StructurePattern) -> _SpanDifference:
        """Compare the matches of a pattern before and after a change."""
        spans_after = self._spans_of_content.get((pattern, self._content_of(change, "added")), ())
        spans_before = self._spans_of_content.get((pattern, self._content_of(change, "removed")), ())
        if spans_after is None or spans_before is None:
            # An unread content may hide a match, so its commit is reported.
            self.unread.add(int(self.history.changes.commit[change]))

        after, before = spans_after or (), spans_before or ()
        return _SpanDifference(added=_surplus(after, before), removed=_surplus(before, after))

    def _content_of(self, change: int, side: Side) -> _ChangedContent:
        """Return the content of a file after a change (``added``) or before it."""
        columns = self.history.changes
        if side == "added":
            blob, path = columns.new_blob[change], int(columns.path[change])
        else:
            blob, path = columns.old_blob[change], int(columns.old_path[change])

        if path not in self._languages:
            self._languages[path] = language_of(self.history.paths.text(path))
        return _ChangedContent(blob.tobytes(), self._languages[path])

    def _holds(self, differences: Mapping[StructurePattern, _SpanDifference]) -> bool:
        """Return whether the condition of the query holds for a change."""

        def is_changed(pattern: StructurePattern) -> bool:
            return any(differences[pattern].of_side(side) for side in self.query.sides)

        return fold(self.query.tree, is_changed, all_of=all, any_of=any, negate=lambda value: not value)

    def _row_spans(self, change: int, differences: Sequence[_SpanDifference]) -> RowSpans:
        """Return the changed lines of a change that matches touch, with the part of each line that is in a match."""
        starts = self.history.changes.row_starts
        rows = RowNumbers(np.arange(int(starts[change]), int(starts[change + 1])))
        if not len(rows):
            return {}

        removed: BoolArray = removed_rows(self.history, rows)
        numbers: Int64Array = tables.line_numbers(self.history, rows, removed)
        spans: RowSpans = {}
        for side in self.query.sides:
            side_rows = np.flatnonzero(removed == (side == "removed"))
            lines = numbers[side_rows]  # ascending within a side
            for difference in differences:
                for span in difference.of_side(side):
                    first, end = np.searchsorted(lines, (span.first_line, span.last_line + 1)).tolist()
                    for index in range(first, end):
                        row_spans = spans.setdefault(int(rows[side_rows[index]]), [])
                        row_span = span.part_in(int(lines[index]))
                        if row_span not in row_spans:
                            row_spans.append(row_span)

        # By start, and the longest first, as in files.
        for row_spans in spans.values():
            row_spans.sort(key=lambda row_span: (row_span[0], -row_span[1]))
        return spans

    def _to_matches(self, changes: Sequence[int], spans: RowSpans) -> DiffMatches:
        """Return matches of some changes, which are given newest first, and of the rows with spans."""
        # Changes are given newest first, so their rows need the same order.
        matching = ChangeNumbers(np.array(changes, dtype=np.int64))
        rows = RowNumbers(np.array(sorted(spans), dtype=np.int64))
        row_changes = changes_of(self.history, rows)

        # A stable sort: the rows of a change stay in the order of its lines.
        position_of = {change: position for position, change in enumerate(changes)}
        order = np.argsort([position_of[change] for change in row_changes.tolist()], kind="stable").astype(np.int64)
        ordered = DiffRows(matching, RowNumbers(rows[order]), ChangeNumbers(row_changes[order]))

        distinct_commits = dict.fromkeys(self.history.changes.commit[matching].tolist())
        commits = CommitNumbers(np.array(list(distinct_commits), dtype=np.int64))
        return DiffMatches(commits=commits, patterns=(), find_rows=lambda: ordered, spans=spans)


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
    """Yield matches of a content from their byte offsets in it."""
    newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    line_starts = np.concatenate(([0], newlines + 1))
    first_lines = np.searchsorted(line_starts, starts, side="right") - 1
    last_lines = np.searchsorted(line_starts, ends - 1, side="right") - 1
    for start, end, first, last in zip(
        starts.tolist(), ends.tolist(), first_lines.tolist(), last_lines.tolist(), strict=True
    ):
        yield _Span(
            first_line=first + 1,
            last_line=last + 1,
            start_offset=start - int(line_starts[first]),
            end_offset=end - int(line_starts[last]),
            text=b" ".join(data[start:end].split()),
        )
