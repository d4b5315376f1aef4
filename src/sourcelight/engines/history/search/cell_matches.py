"""Changed lines of cells as rows of the ``matches`` table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import RepositoryInfo, arrow_type
from sourcelight.core.code_points import spans_in_text
from sourcelight.core.patterns.ranges import disjoint_spans
from sourcelight.core.query.fields import OUTPUT
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.cells import CellDiffMatches, ChangedCellLine
from sourcelight.engines.history.search.commit_columns import batch_sizes, commit_columns
from sourcelight.engines.history.search.order import newest_first
from sourcelight.engines.history.search.tables import Batch

_LINE_COLUMNS = {
    "path": "dict32",
    "line_number": "int32",
    "line": "string",
    "start": "list",
    "end": "list",
    "match_count": "int32",
    "side": "dict8",
    "cell": "int32",
    "cell_kind": "dict8",
    "cell_line": "int32",
}
"""Columns of a changed line of a cell, with their Arrow types."""


def cell_diff_matches(
    history: History, repository_info: RepositoryInfo, matches: Sequence[CellDiffMatches]
) -> Iterator[Batch]:
    """Yield batches of rows of type ``diff`` for changed lines of cells, newest commit first.

    Lines and spans refer to cells, as a reader of the notebook sees them. A commit without a line to show has
    one row, without path and line.
    """
    lines_of_commit = _lines_by_commit(history, matches)
    commits = newest_first(history, CommitNumbers(np.array(list(lines_of_commit), dtype=np.int64)))
    start = 0
    for size in batch_sizes():
        if start >= len(commits):
            return

        end = start
        row_count = 0
        # At least one commit, however many lines it has.
        while end < len(commits) and (end == start or row_count < size):
            row_count += max(1, len(lines_of_commit[int(commits[end])]))
            end += 1

        batch = CommitNumbers(commits[start:end])
        batch_lines = [lines_of_commit[commit] for commit in batch.tolist()]
        yield _cell_diff_batch(history, repository_info, batch, batch_lines)
        start = end


def _lines_by_commit(history: History, matches: Sequence[CellDiffMatches]) -> dict[int, list[ChangedCellLine]]:
    """Return the lines to show of each matching commit; none for one that matches without a line."""
    commit_of_change = history.changes.commit
    lines_of_commit: dict[int, list[ChangedCellLine]] = {}
    for alternative in matches:
        # Every matching commit comes, also one that matches by a condition on lines that it lacks.
        for commit in commit_of_change[alternative.changes].tolist():
            lines_of_commit.setdefault(commit, [])

    seen: set[ChangedCellLine] = set()
    for alternative in matches:
        for line in alternative.lines:
            # Matches of several alternatives may share a line: it comes once.
            if line not in seen:
                seen.add(line)
                lines_of_commit[int(commit_of_change[line.change])].append(line)

    return lines_of_commit


def _cell_diff_batch(
    history: History,
    repository_info: RepositoryInfo,
    commits: CommitNumbers,
    lines_of_commit: Sequence[Sequence[ChangedCellLine]],
) -> Batch:
    rows: list[ChangedCellLine | None] = []
    commit_of_row: list[int] = []
    for index, changed in enumerate(lines_of_commit):
        commit_rows: Sequence[ChangedCellLine | None] = _unite_changed_lines(changed) or (None,)
        rows += commit_rows
        commit_of_row += [index] * len(commit_rows)

    messages = tables.message_texts(history, commits)
    columns = commit_columns(history, repository_info, "diff", commits, messages, np.array(commit_of_row, np.int64))
    # Lists, not arrays: cells are read one by one, and have few lines compared with the notebooks.
    values = [_line_values(history, row) for row in rows]
    for name, kind in _LINE_COLUMNS.items():
        columns[name] = pa.array([row_values.get(name) for row_values in values], arrow_type(kind))

    return pa.record_batch(columns)


def _line_values(history: History, row: ChangedCellLine | None) -> dict[str, Any]:
    """Return the values of a changed line by column; without a line only those that a commit has."""
    if row is None:
        return {"start": [], "end": [], "match_count": 1}

    # A removed line is in the old file, under its old name.
    paths = history.changes.old_path if row.side == "removed" else history.changes.path
    line = row.line
    spans = spans_in_text(line.text, line.spans)
    return {
        "path": history.paths.text(int(paths[row.change])),
        "line_number": line.file_line,
        "line": line.text.decode("utf-8", "replace"),
        "start": [start for start, _ in spans],
        "end": [end for _, end in spans],
        "match_count": max(1, len(spans)),
        "side": row.side,
        "cell": line.cell,
        "cell_kind": line.kind,
        "cell_line": line.cell_line,
    }


def _unite_changed_lines(lines: Iterable[ChangedCellLine]) -> list[ChangedCellLine]:
    """Return each line once, with what matches in it for any of several terms.

    By change and then as a diff of the cells has them: a cell after another, and in it what was removed first.
    """
    # A term's matches in a line are one entry, so a line may come once for each term.
    spans_by_line: dict[ChangedCellLine, set[tuple[int, int]]] = {}
    for changed in lines:
        spans_by_line.setdefault(_with_spans(changed, ()), set()).update(changed.line.spans)

    united = [_with_spans(changed, tuple(disjoint_spans(spans))) for changed, spans in spans_by_line.items()]
    return sorted(united, key=_place_in_diff)


def _with_spans(changed: ChangedCellLine, spans: tuple[tuple[int, int], ...]) -> ChangedCellLine:
    return changed._replace(line=changed.line._replace(spans=spans))


def _place_in_diff(changed: ChangedCellLine) -> tuple[int, int, bool, bool, int]:
    line = changed.line
    return changed.change, line.cell, line.kind == OUTPUT, changed.side == "added", line.cell_line
