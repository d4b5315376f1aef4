"""Commits and changed lines as rows of the ``matches`` table."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches import RepositoryInfo, arrow_type
from sourcelight.core.boolean import Not
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search import tables
from sourcelight.engines.history.search.cells import CellDiffMatches, ChangedCellLine, unite_changed_lines
from sourcelight.engines.history.search.find import DiffMatches, newest_first, removed_rows
from sourcelight.engines.history.search.line_cells import CellColumns
from sourcelight.engines.history.search.matched_rows import MatchedRows, RowOrder
from sourcelight.engines.history.search.previews import DiffPreviews
from sourcelight.engines.history.search.query import PatternTerm, Tree
from sourcelight.engines.history.search.trailer_columns import agent_texts

FIRST_BATCH_ROWS = 50
"""Rows of the first batch of a repository; each further one has twice as many, up to `MAX_BATCH_ROWS`."""

MAX_BATCH_ROWS = 2000

_HOST = re.compile(r"(?<![^/])[^/.]*+\.[^/]*+/(?=[^/]+/)")
_AGES = ((60, "minute"), (60, "hour"), (24, "day"), (7, "week"), (4.345, "month"), (12, "year"))

_Row = tuple[int, int, str, list[int], list[int]]


def commit_matches(
    history: History, repository_info: RepositoryInfo, commits: CommitNumbers, tree: Tree | None
) -> Iterator[Any]:
    """Yield batches of rows of type ``commit``, in the given order.

    A row is a line of the message with matches; a commit without any has one row, for the first line.
    """
    patterns = visible_patterns(tree)
    size = FIRST_BATCH_ROWS
    start = 0
    while start < len(commits):
        batch_commits = CommitNumbers(commits[start : start + size])
        # The first batch is small, so that rows appear soon; later ones double, so that their number stays small.
        start, size = start + size, min(2 * size, MAX_BATCH_ROWS)
        messages = tables.message_texts(history, batch_commits)
        rows = [row for index, text in enumerate(messages.to_pylist()) for row in _message_rows(index, text, patterns)]
        commit_of_row = np.array([row[0] for row in rows], np.int64)
        columns = _columns(history, repository_info, "commit", batch_commits, messages, commit_of_row)
        columns |= {
            "line_number": pa.array([row[1] for row in rows], pa.int32()),
            "line": pa.array([row[2] for row in rows], pa.string()),
            "start": pa.array([row[3] for row in rows], arrow_type("list")),
            "end": pa.array([row[4] for row in rows], arrow_type("list")),
            "match_count": pa.array([max(1, len(row[3])) for row in rows], pa.int32()),
        }
        yield pa.record_batch(columns)


def _message_rows(commit_index: int, message: str, patterns: Sequence[CompiledPattern]) -> list[_Row]:
    """Return the lines of a message with their match positions; a match over several lines has one in each."""
    raw = message.encode()
    spans = sorted(
        {span for pattern in patterns for span in pattern.find_document(raw)}, key=lambda span: (span[0], -span[1])
    )
    by_line: dict[int, tuple[list[int], list[int]]] = {}
    end = 0
    for span_start, span_end in spans:
        # Spans of several patterns may overlap: the first, and of those that begin alike the longest, is shown.
        if span_start < end:
            continue

        end = span_end
        # Spans are byte offsets, columns count code points: each start is decoded from the beginning of its line.
        number, first = raw.count(b"\n", 0, span_start), raw.rfind(b"\n", 0, span_start) + 1
        for text in raw[span_start:span_end].split(b"\n"):
            if text:
                starts, ends = by_line.setdefault(number, ([], []))
                start = len(raw[first:span_start].decode("utf-8", "replace"))
                starts.append(start)
                ends.append(start + len(text.decode("utf-8", "replace")))
            number += 1
            span_start = first = span_start + len(text) + 1  # noqa: PLW2901 - continues in the next line

    lines = message.split("\n")
    rows = [
        (commit_index, number + 1, lines[number], starts, ends) for number, (starts, ends) in sorted(by_line.items())
    ]
    return rows or [(commit_index, 1, lines[0], [], [])]


def diff_matches(
    history: History,
    repository_info: RepositoryInfo,
    matches: DiffMatches,
    stopped: Stopped = never,
    previews: DiffPreviews | None = None,
    cells: CellColumns | None = None,
) -> Iterator[Any]:
    """Yield batches of rows of type ``diff``, newest commit first.

    A row is a changed line with matches; a commit without any has one row, without path and line. `previews` adds the
    columns ``preview`` and ``preview_line``, `cells` those of lines in cells of notebooks.
    """
    rows, changes = (
        (matches.rows, matches.row_changes)
        if matches.patterns or matches.spans
        else (matches.rows[:0], matches.row_changes[:0])
    )
    rank = np.zeros(len(history.commits), np.int64)
    rank[matches.commits] = np.arange(len(matches.commits))
    counts = np.bincount(rank[history.changes.commit[changes]], minlength=len(matches.commits))

    # Rows are sorted by commit, so the rows of commits i to j are one slice: row_ends[i] to row_ends[j].
    row_ends = np.concatenate(([0], np.cumsum(counts)))
    # A commit without matching lines still takes one row of a batch.
    weights = np.concatenate(([0], np.cumsum(np.maximum(counts, 1))))
    size, start = FIRST_BATCH_ROWS, 0
    while start < len(matches.commits):
        end = min(int(np.searchsorted(weights, weights[start] + size)), len(matches.commits))
        row_range = slice(int(row_ends[start]), int(row_ends[end]))
        yield _diff_batch(
            history,
            repository_info,
            CommitNumbers(matches.commits[start:end]),
            RowNumbers(rows[row_range]),
            ChangeNumbers(changes[row_range]),
            matches,
            stopped,
            previews,
            cells,
        )
        start, size = end, min(2 * size, MAX_BATCH_ROWS)


def _diff_batch(
    history: History,
    repository_info: RepositoryInfo,
    commits: CommitNumbers,
    rows: RowNumbers,
    changes: ChangeNumbers,
    matches: DiffMatches,
    stopped: Stopped,
    previews: DiffPreviews | None,
    cells: CellColumns | None,
) -> Any:
    matched = MatchedRows.find(history, rows, changes, matches, stopped)
    rows, changes = matched.rows, matched.changes
    order = RowOrder.by_commit(history, commits, changes)
    removed = removed_rows(history, rows)
    numbers = tables.line_numbers(history, rows, removed)
    counts = np.concatenate((matched.counts, np.ones(order.empty_count)))[order.order]
    sides = pa.array(np.where(removed, "removed", "added").tolist(), pa.string())

    # One dictionary entry a commit: rows of the same commit share the message.
    messages = tables.message_texts(history, commits)
    columns = _columns(history, repository_info, "diff", commits, messages, order.commits)
    columns |= {
        "path": order.arrange(tables.paths(history, history.changes.path[changes])),
        "line_number": order.arrange(pa.array(numbers.astype(np.int32))),
        "line": order.arrange(tables.as_text(tables.without_newlines(matched.lines)).take(matched.line_of_row)),
        "start": order.arrange_spans(matched.starts.take(matched.spans_of_row)),
        "end": order.arrange_spans(matched.ends.take(matched.spans_of_row)),
        "match_count": pa.array(counts.astype(np.int32)),
        "side": order.arrange(sides).dictionary_encode().cast(arrow_type("dict8")),
    }
    if cells is not None:
        of_cells = cells(history, (changes, removed, numbers), matched.first_byte)
        columns |= {name: order.arrange(column) for name, column in of_cells.items()}

    if previews is not None:
        by_commit = np.argsort(order.commit_of_row, kind="stable")
        preview_columns = previews.columns(
            history,
            commits,
            lambda: matches.changes,
            (order.commit_of_row[by_commit], changes[by_commit], removed[by_commit], numbers[by_commit]),
            stopped,
        )
        positions = np.empty(len(by_commit), np.int32)
        positions[by_commit] = np.arange(len(by_commit), dtype=np.int32)
        columns["preview"] = preview_columns["preview"].dictionary_encode().take(pa.array(order.commits))
        columns["preview_line"] = order.arrange(preview_columns["preview_line"].take(pa.array(positions)))

    return pa.record_batch(columns)


def cell_diff_matches(
    history: History, repository_info: RepositoryInfo, matches: Sequence[CellDiffMatches]
) -> Iterator[Any]:
    """Yield batches of rows of type ``diff`` for changed lines of cells, newest commit first.

    Lines and spans refer to cells, as a reader of the notebook sees them. A commit without a line to show has
    one row, without path and line.
    """
    lines_of_commit: dict[int, list[ChangedCellLine]] = {}
    for commit in history.changes.commit[[change for part in matches for change in part.changes]].tolist():
        lines_of_commit.setdefault(commit, [])

    # Matches of several alternatives may share a line: it comes once.
    for line in dict.fromkeys(line for part in matches for line in part.lines):
        lines_of_commit[int(history.changes.commit[line.change])].append(line)

    commits = newest_first(history, CommitNumbers(np.array(list(lines_of_commit), dtype=np.int64)))
    start, size = 0, FIRST_BATCH_ROWS
    while start < len(commits):
        end = start + 1
        rows = max(1, len(lines_of_commit[int(commits[start])]))
        while end < len(commits) and rows < size:
            rows += max(1, len(lines_of_commit[int(commits[end])]))
            end += 1
        batch = CommitNumbers(commits[start:end])
        yield _cell_diff_batch(history, repository_info, batch, [lines_of_commit[n] for n in batch.tolist()])
        start, size = end, min(2 * size, MAX_BATCH_ROWS)


def _cell_diff_batch(
    history: History,
    repository_info: RepositoryInfo,
    commits: CommitNumbers,
    lines_of_commit: Sequence[Sequence[ChangedCellLine]],
) -> Any:
    rows: list[ChangedCellLine | None] = []
    commit_of_row: list[int] = []
    for index, changed in enumerate(lines_of_commit):
        commit_rows: Sequence[ChangedCellLine | None] = unite_changed_lines(changed) or (None,)
        rows += commit_rows
        commit_of_row += [index] * len(commit_rows)

    paths = history.changes.path, history.changes.old_path
    # A removed line is in the old file, under its old name.
    path_of_row = [None if row is None else paths[row.side == "removed"][row.change] for row in rows]
    lines = [None if row is None else row.line for row in rows]
    spans = [() if line is None else _characters(line.text, line.spans) for line in lines]

    # Lists, not arrays: cells are read one by one, and have few lines compared with the notebooks.
    values: dict[str, tuple[str, list[Any]]] = {
        "path": ("dict32", [None if path is None else history.paths.text(int(path)) for path in path_of_row]),
        "line_number": ("int32", [line and line.file_line for line in lines]),
        "line": ("string", [line and line.text.decode("utf-8", "replace") for line in lines]),
        "start": ("list", [[start for start, _ in row_spans] for row_spans in spans]),
        "end": ("list", [[end for _, end in row_spans] for row_spans in spans]),
        "match_count": ("int32", [max(1, len(row_spans)) for row_spans in spans]),
        "side": ("dict8", [row and row.side for row in rows]),
        "cell": ("int32", [line and line.cell for line in lines]),
        "cell_kind": ("dict8", [line and line.kind for line in lines]),
        "cell_line": ("int32", [line and line.cell_line for line in lines]),
    }
    messages = tables.message_texts(history, commits)
    columns = _columns(history, repository_info, "diff", commits, messages, np.array(commit_of_row, np.int64))
    columns |= {name: pa.array(column, arrow_type(kind)) for name, (kind, column) in values.items()}
    return pa.record_batch(columns)


def _characters(line: bytes, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans of bytes as spans of code points."""

    def position(offset: int) -> int:
        return len(line[:offset].decode("utf-8", "replace"))

    return [(position(start), position(end)) for start, end in spans]


def visible_patterns(tree: Tree | None) -> tuple[CompiledPattern, ...]:
    """Return the patterns whose matches are shown: those outside NOT."""
    if tree is None or isinstance(tree, Not):
        return ()
    if isinstance(tree, PatternTerm):
        return (tree.pattern,) if tree.visible else ()
    return tuple(dict.fromkeys(pattern for arg in tree.args for pattern in visible_patterns(arg)))


def _columns(
    history: History,
    repository_info: RepositoryInfo,
    kind: str,
    commits: CommitNumbers,
    messages: Any,
    commit_of_row: Int64Array,
) -> dict[str, Any]:
    """Return the columns that describe commits; `commit_of_row` is the commit of each row."""
    commit_columns = history.commits
    oids = tables.hex_texts(commit_columns.oid[commits])
    names = tables.author_names(history, commit_columns.author[commits]).cast(pa.string()).to_pylist()
    repository = repository_info.name

    # The label shows OWNER/NAME; the host stays in the link.
    short_name = _HOST.sub("", repository, count=1) if repository.count("/") > 1 else repository
    urls = [f"/{repository}/-/commit/{oid}" for oid in oids.to_pylist()]
    subjects = tables.subject_texts(history, commits).to_pylist()
    now = time.time()
    ages = [format_age(now - seconds) for seconds in commit_columns.author_time[commits].tolist()]
    labels = [
        f"[{short_name}](/{repository}) \u203a [{name}]({url}): [{subject}]({url})"
        for name, url, subject in zip(names, urls, subjects, strict=True)
    ]
    details = [f"[`{url[-40:-33]}` {when}]({url})" for url, when in zip(urls, ages, strict=True)]
    take = pa.array(commit_of_row)

    def dictionary(values: Any) -> Any:
        return values.dictionary_encode().take(take)

    count = len(commit_of_row)
    return {
        "type": pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array([kind])),
        "repository": tables.constant(repository, count),
        "repository_id": pa.array(np.full(count, repository_info.id, np.int64)),
        "revision": tables.constant("", count),
        "commit": dictionary(oids),
        "author": dictionary(pa.array(names, pa.string())),
        "author_email": tables.author_emails(history, commit_columns.author[commits]).take(take),
        "author_date": tables.times(commit_columns.author_time[commits]).take(take),
        "committer": tables.author_names(history, commit_columns.committer[commits]).take(take),
        "commit_date": tables.times(commit_columns.commit_time[commits]).take(take),
        "message": dictionary(messages),
        "agent": dictionary(agent_texts(history, commits, messages)),
        "url": pa.array(urls, pa.string()).take(take),
        "detail": pa.array(details, pa.string()).take(take),
        "label": pa.array(labels, pa.string()).take(take),
    }


def format_age(seconds: float) -> str:
    """Return an age in the largest unit that fits: ``3 weeks ago``."""
    count, unit = abs(seconds), "second"
    for size, name in _AGES:
        if count < size:
            break
        count, unit = count / size, name

    rounded = int(count)
    if seconds < 0:
        return f"{rounded} {unit}{'' if rounded == 1 else 's'} from now"

    return f"{rounded} {unit}{'' if rounded == 1 else 's'} ago"
