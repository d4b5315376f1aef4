"""`commits_behind`: exactly the commits that a row of `hotspots`, `coupling` or `churn` was counted from.

Names of files alone can't say it: a file has earlier names, and these may have been those of other files.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import ScanStopped
from sourcelight.core.tools.analyses import COMMITS_BEHIND, CommitsBehindArguments
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search.find import filter_commits, newest_first
from sourcelight.engines.history.search.query import CommitFilter
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history.commits import commits_answer, newest_commits
from sourcelight.engines.tools.history.contributions import changes_of_row, commit_mask
from sourcelight.engines.tools.history.filters import any_of, dates_of
from sourcelight.engines.tools.history.histories import open_histories, revisions_of
from sourcelight.engines.tools.history.hotspots import hot_commits, paired_commits

CALL = "commits_behind"
_ROWS = {"hotspots": hot_commits, "coupling": paired_commits, "churn": changes_of_row}


def _gather(arguments: CommitsBehindArguments, context: ToolContext) -> PartialResult:
    after, before, echoed = dates_of(CALL, arguments.after, arguments.before)
    commit_filter = CommitFilter(authors=any_of(CALL, "authors", arguments.authors, regexp=False, one_line=True))
    histories = open_histories(CALL, context, arguments.repos, *revisions_of(arguments.revisions))
    matches = []
    for snapshot in histories.opened:
        context.cancellation.check()
        mask: BoolArray = np.zeros(len(snapshot.history.commits), np.bool_)
        mask[_ROWS[arguments.of](snapshot, arguments, (after, before), context)] = True
        try:
            mask &= filter_commits(snapshot.history, commit_filter, lambda: context.cancellation.cancelled)
        except ScanStopped:
            context.cancellation.check()
            raise
        commits = CommitNumbers(np.flatnonzero(mask & commit_mask(snapshot, after, before)))
        matches.append((snapshot, newest_first(snapshot.history, commits)))
    return histories.part(newest_commits(matches, None), echoed)


def _combine(arguments: CommitsBehindArguments, context: ToolContext, part: PartialResult) -> ToolResult:
    del arguments, context
    return commits_answer(part, None)


HANDLERS: tuple[Handler[Any], ...] = (Handler(COMMITS_BEHIND, Split(_gather, _combine)),)
