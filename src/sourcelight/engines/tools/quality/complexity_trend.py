"""`complexity_trend`: sizes and complexities at several commits, of everything, of files or of functions.

The commits are those that are asked for, or ones at regular intervals along the first parents of the newest. They are
measured one after another with one cache by contents and language: a file that stays the same is parsed once. A commit
without the path and a file that can't be parsed are named in a notice, and all others still have their rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import PathNotFound, ToolError
from sourcelight.core.markup.counts import count_of, join_names
from sourcelight.core.notices import Rule
from sourcelight.core.query.file_kinds import is_test_or_example
from sourcelight.core.tools.quality import COMPLEXITY_TREND, MAX_TREND_POINTS, ComplexityTrendArguments
from sourcelight.engines.complexity import LANGUAGES, FileMeasures
from sourcelight.engines.history import History
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory, open_history
from sourcelight.engines.tools.quality.complexity import file_row, function_rows, measure_files

_POINTS = 12
"""Commits to measure without `points` and `revisions`."""

_MAX_NAMED = 3
"""Commits or files that a notice names."""

_SUMS = ("functions", "lines", "code_lines", "comment_lines", "cyclomatic", "cognitive")
"""Columns that a row of everything sums."""

_COLUMNS = (
    *("path", "symbol", "kind", "line_number", "end_line", "files", *_SUMS),
    *("test_files", "test_code_lines", "test_ratio"),
)
"""Columns of the table that are values of rows; null where a row has none."""

_Row: TypeAlias = dict[str, Any]
"""A row of a function, a file or everything, by column."""


class _Point(NamedTuple):
    """A commit to measure, and its requested revision."""

    revision: str
    commit: CommitId
    time: int


def _complexity_trend(arguments: ComplexityTrendArguments, context: ToolContext) -> ToolResult:
    count = len(arguments.revisions or ())
    if count > MAX_TREND_POINTS:
        raise ToolError(
            f"{COMPLEXITY_TREND.name}: revisions must be at most {MAX_TREND_POINTS}, got {count}",
            tool=COMPLEXITY_TREND.name,
            argument="revisions",
        )

    below = clean_path(arguments.path or "")
    by = arguments.by or "total"
    revision = arguments.revisions[0] if arguments.revisions else None
    histories = open_history(COMPLEXITY_TREND.name, context, arguments.repo, revision)
    attributes: dict[str, Any] = {"repository": arguments.repo.strip("/"), "by": by, "path": below}
    if not histories.selections:
        return histories.without_rows("complexity_trend", attributes)

    (snapshot,) = histories.selections
    notices = histories.notices
    points = _points(snapshot, arguments, context)
    trend = _measure_points(snapshot, points, by=by, below=below, context=context)
    if trend.absent:
        if len(trend.absent) == len(points):
            raise PathNotFound(snapshot.name, "", below)
        commits = count_of(len(trend.absent), "commit")
        notices.append(f"{commits} without {below}: {join_names(trend.absent, _MAX_NAMED)}.")

    if trend.unread:
        files = count_of(len(trend.unread), "file")
        notices.append(f"{files} can't be parsed: {join_names(sorted(trend.unread), _MAX_NAMED)}.")

    notices.append(Rule(f"Files of {', '.join(LANGUAGES)} are measured.", "languages"))
    complete = histories.complete and not trend.unread
    attributes["drill_down"] = _drill_down(by, below)
    return ToolResult(
        columns="complexity_trend",
        table=_table(snapshot, trend.rows),
        attributes=attributes,
        complete=complete,
        notices=tuple(notices),
    )


@dataclasses.dataclass(slots=True)
class _Trend:
    """The rows of all commits, the files that can't be parsed, and the revisions that lack the path."""

    rows: list[_Row] = dataclasses.field(default_factory=list)
    unread: set[str] = dataclasses.field(default_factory=set)
    absent: list[str] = dataclasses.field(default_factory=list)


def _measure_points(
    snapshot: OpenedHistory, points: Sequence[_Point], *, by: str, below: str, context: ToolContext
) -> _Trend:
    """Measure commits one after another; files that stay the same are measured once."""
    trend = _Trend()
    cache: dict[tuple[bytes, str], FileMeasures] = {}
    # The bar of one commit would start again at each.
    quiet = dataclasses.replace(context, observer=None)
    for number, point in enumerate(points):
        if context.observer is not None:
            context.observer(ToolProgress("measuring", number, len(points)))

        try:
            measured = list(measure_files(snapshot.repository, point.commit, below, quiet, cache))
        except PathNotFound:
            trend.absent.append(point.revision)
            continue

        trend.unread.update(path for path, measures in measured if measures.incomplete)
        for row in _rows_of(measured, by, below):
            trend.rows.append(row | {"point": point})

    return trend


def _drill_down(by: str, below: str) -> dict[str, Any]:
    """Return the call that lists the parts of a row: files of a total or functions of a file, at its commit."""
    columns = {"repo": "repository", "revision": "commit"}
    if by == "total":
        path = {"path": below} if below else {}
        return {"call": "complexity", "arguments": {"by": "file"} | path, "columns": columns}
    return {"call": "complexity", "arguments": {"by": "function"}, "columns": columns | {"path": "path"}}


def _points(snapshot: OpenedHistory, arguments: ComplexityTrendArguments, context: ToolContext) -> list[_Point]:
    """Return the commits to measure: of revisions, in their order, or of the first-parent history by time."""
    history = snapshot.history
    times = history.commits.commit_time
    if arguments.revisions:
        points = []
        for revision in arguments.revisions:
            selection = open_history(COMPLEXITY_TREND.name, context, arguments.repo, revision).selections[0]
            commit = selection.commits[0]
            points.append(_Point(revision, commit, int(times[_number(history, commit)])))
        return points

    line = np.array(_first_parents(history, _number(history, snapshot.commits[0])))
    # A clock can be wrong, so the time of a commit is at least the time of the commit before it.
    line_times = np.maximum.accumulate(times[line])
    # At equal distances in time: the newest commit that is not later.
    instants = np.linspace(int(line_times[0]), int(line_times[-1]), arguments.points or _POINTS)
    indices = np.unique(np.searchsorted(line_times, instants, side="right") - 1)
    points = []
    for number in line[indices].tolist():
        oid = history.oid(number)
        points.append(_Point(oid, oid, int(times[number])))

    return points


def _number(history: History, commit: str) -> int:
    number = history.position(commit)
    if number is None:
        raise KeyError(commit)
    return number


def _first_parents(history: History, tip: int) -> Sequence[int]:
    """Return a commit and its first parents, the oldest first."""
    starts = history.commits.parent_starts
    parents = history.commits.parents
    line = [tip]
    commit = tip
    while starts[commit] < starts[commit + 1]:
        commit = int(parents[starts[commit]])
        line.append(commit)
    return line[::-1]


def _rows_of(measured: Iterable[tuple[str, FileMeasures]], by: str, below: str) -> list[_Row]:
    if by == "function":
        rows: list[_Row] = []
        for path, measures in measured:
            rows += function_rows(path, measures)
        return rows

    files = [file_row(path, measures) for path, measures in measured]
    if by == "file":
        return [row | {"files": int(not is_test_or_example(row["path"]))} for row in files]

    return [_total_row(files, below)]


def _total_row(files: Sequence[_Row], below: str) -> _Row:
    """Return the sums of all files; of tests, only how many there are and their lines of code."""
    code = [row for row in files if not is_test_or_example(row["path"])]
    tests = [row for row in files if is_test_or_example(row["path"])]
    total: _Row = {name: sum(row[name] for row in code) for name in _SUMS}
    test_lines = sum(row["code_lines"] for row in tests)
    return total | {
        "path": below,
        "kind": "total",
        "files": len(code),
        "test_files": len(tests),
        "test_code_lines": test_lines,
        "test_ratio": _ratio(test_lines, total["code_lines"]),
    }


def _ratio(count: int, total: int) -> float | None:
    return count / total if total else None


def _table(snapshot: OpenedHistory, rows: Sequence[Mapping[str, Any]]) -> Any:
    values: dict[str, Any] = {}
    for name in _COLUMNS:
        values[name] = [row.get(name) for row in rows]
    values |= {
        "repository": snapshot.name,
        "revision": [row["point"].revision for row in rows],
        "commit": [row["point"].commit for row in rows],
        "commit_date": pa.array([row["point"].time * 1_000_000 for row in rows], pa.timestamp("us", tz="UTC")),
        "comment_ratio": [_ratio(row["comment_lines"], row["code_lines"]) for row in rows],
    }
    return tables.table("complexity_trend", values, len(rows))


HANDLERS: tuple[Handler[Any], ...] = (Handler(COMPLEXITY_TREND, _complexity_trend),)
