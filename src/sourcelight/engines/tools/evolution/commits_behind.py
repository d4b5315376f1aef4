"""Handler of `commits_behind`: the commits that a row of `hotspots`, `coupling` or `churn` counts.

A path isn't enough to select these commits: a file has earlier paths, and other files may have had them too. So each
analysis selects the commits of its rows itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from sourcelight.core.arrays import Int64Array, mask_of
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.analyses import COMMITS_BEHIND, HOTSPOTS, CommitsBehindArguments
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search.filters import filter_commits
from sourcelight.engines.history.search.order import newest_first
from sourcelight.engines.history.search.query import ChangedFileFilter, CommitFilter
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history.changed_files import MAX_PAIRED_FILES
from sourcelight.engines.tools.history.countable_changes import common_commits, countable_changes
from sourcelight.engines.tools.history.filters import Dates, any_of, dates_of, files_of
from sourcelight.engines.tools.history.histories import OpenedHistory, open_histories, revisions_of
from sourcelight.engines.tools.history.newest_commits import commits_answer, newest_commits
from sourcelight.engines.tools.history.people.change_groups import commit_mask
from sourcelight.engines.tools.history.people.contributors import changes_of_row


def _gather_behind(arguments: CommitsBehindArguments, context: ToolContext) -> PartialResult:
    after, before, echoed = dates_of(COMMITS_BEHIND.name, arguments.after, arguments.before)
    commit_filter = CommitFilter(
        authors=any_of(COMMITS_BEHIND.name, "authors", arguments.authors, regexp=False, one_line=True)
    )
    histories = open_histories(COMMITS_BEHIND.name, context, arguments.repos, *revisions_of(arguments.revisions))
    matches = []
    for snapshot in histories.selections:
        context.cancellation.check()
        selected = _SELECT_COMMITS[arguments.of](snapshot, arguments, (after, before), context)
        mask = mask_of(selected, len(snapshot.history.commits))
        with context.watch_scan() as stopped:
            mask &= filter_commits(snapshot.history, commit_filter, stopped)
        commits = CommitNumbers(np.flatnonzero(mask & commit_mask(snapshot, after, before)))
        matches.append((snapshot, newest_first(snapshot.history, commits)))

    return histories.to_partial_result(newest_commits(matches, None), echoed)


def _combine_behind(arguments: CommitsBehindArguments, context: ToolContext, part: PartialResult) -> ToolResult:
    del arguments, context
    return commits_answer(part, None)


def _hot_commits(
    selection: OpenedHistory, arguments: CommitsBehindArguments, dates: Dates, context: ToolContext
) -> Int64Array:
    """Return numbers of the commits that the row of today's file `path` counts."""
    file_filter = files_of(HOTSPOTS.name, arguments.files, regexp=False)
    countable = countable_changes(selection, file_filter, dates, arguments.file_kinds, context)
    return np.unique(selection.history.changes.commit[countable.of_path(arguments.path)])


def _paired_commits(
    selection: OpenedHistory, arguments: CommitsBehindArguments, dates: Dates, context: ToolContext
) -> Int64Array:
    """Return numbers of the commits that the row of today's files `path` and `otherPath` counts as changing both."""
    countable = countable_changes(selection, ChangedFileFilter(), dates, arguments.file_kinds, context)
    changes, other_changes = countable.of_path(arguments.path), countable.of_path(arguments.other_path)
    common = common_commits(selection.history.changes.commit, changes, other_changes)

    # `change_starts` has one entry more than there are commits, so differences are changes per commit.
    sizes = np.diff(selection.history.commits.change_starts)[common]
    return common[sizes <= (arguments.max_files or MAX_PAIRED_FILES)]


_SelectCommits: TypeAlias = Callable[[OpenedHistory, CommitsBehindArguments, Dates, ToolContext], Int64Array]
"""Returns the numbers of the commits that the row of an analysis counts."""

_SELECT_COMMITS: Mapping[str, _SelectCommits] = {
    "hotspots": _hot_commits,
    "coupling": _paired_commits,
    "churn": changes_of_row,
}


HANDLERS: tuple[Handler[Any], ...] = (Handler(COMMITS_BEHIND, Split(_gather_behind, _combine_behind)),)
