"""The newest commits of several repositories: how many of each one, and their rows of the table ``commits``.

Each worker of a cluster returns its own newest, and the newest of all are among them. So a limit applies twice: where
commits are found, and where the results of all repositories come together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import ToolResult, repository_url
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search import tables as change_tables
from sourcelight.engines.history.search import trailer_columns
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import PartialResult
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory

NAMES_AGENTS = {"namesAgents": True}
"""Payload key: a commit without ``agent`` names no coding assistant. Other services don't check for one."""


@dataclass(frozen=True, slots=True)
class CommitMatches:
    """Commits of one repository that match.

    Attributes
    ----------
    rows
        Rows of the newest, a table ``commits``.
    total
        Number of all.
    commits
        The commits whose history was searched.
    """

    rows: Any
    total: int
    commits: list[str]


def limit_of(limit: int | None, context: ToolContext, default: int) -> int | None:
    """Return the limit of rows: the caller's, the default over MCP, else None, all."""
    return default if limit is None and context.served else limit


def newest_commits(
    matches: Sequence[tuple[OpenedHistory, CommitNumbers]], limit: int | None, *, changes: bool = True
) -> dict[str, CommitMatches]:
    """Return the newest commits of all repositories, at most `limit`; the numbers in `matches` are newest first.

    Without `changes`, files and lines of the commits were not read, and their columns are null.
    """
    stamps = [selection.history.commits.commit_time[numbers[:limit]] for selection, numbers in matches]
    counts = newest(stamps, limit)

    newest_matches: dict[str, CommitMatches] = {}
    for (selection, numbers), count in zip(matches, counts, strict=True):
        newest_matches[selection.name] = CommitMatches(
            rows=commit_rows(selection, CommitNumbers(numbers[:count]), changes=changes),
            total=len(numbers),
            commits=list(selection.commits),
        )

    return newest_matches


def commits_answer(part: PartialResult, limit: int | None) -> ToolResult:
    """Make the table ``commits`` from results of `newest_commits`, newest first over all repositories."""
    matches: list[CommitMatches] = list(part.results.values())
    table = _join_newest(matches, limit)
    total = sum(match.total for match in matches)

    notices = list(part.notices)
    is_cut = table.num_rows < total
    if is_cut:
        notices.append(
            f"Only the newest {table.num_rows:,} of {total:,} commits are shown; ask for more or narrow the search."
        )

    attributes = {
        "repositories": part.names,
        "total": total,
        "commits": {name: match.commits for name, match in part.results.items()},
        **part.dates,
    }
    return ToolResult(
        columns="commits",
        table=table,
        attributes=attributes,
        complete=part.complete and not is_cut,
        notices=tuple(notices),
    )


def newest(stamps: Sequence[Int64Array], limit: int | None) -> list[int]:
    """Return how many commits of each repository are among the `limit` newest of all; `stamps` are newest first."""
    counts = [len(times) for times in stamps]
    if limit is None or sum(counts) <= limit:
        return counts

    owners = np.repeat(np.arange(len(stamps)), counts)
    # Stable, so that equal times give the same commits in each run and in a cluster.
    newest_owners = owners[np.argsort(-np.concatenate(stamps), kind="stable")[:limit]]
    kept_counts: list[int] = np.bincount(newest_owners, minlength=len(stamps)).tolist()
    return kept_counts


def commit_rows(selection: OpenedHistory, numbers: CommitNumbers, *, changes: bool = True) -> Any:
    """Return rows of the table ``commits`` for commits of one repository; `changes` as of `newest_commits`."""
    history = selection.history
    batch = change_tables.commit_batch(history, numbers)
    values = dict(zip(batch.schema.names, batch.columns, strict=True))
    if not changes:
        # A column that is not given is null: zeros would be a claim.
        for name in ("files", "additions", "deletions"):
            del values[name]

    values["co_authors"] = trailer_columns.co_author_texts(history, numbers)
    values["bot"] = pa.array(tables.bots(history, history.commits.author[numbers]))
    values["agent"] = trailer_columns.agent_column(history, numbers)
    values["agent_traces"] = trailer_columns.agent_trace_texts(history, numbers)
    values["reviewers"] = trailer_columns.reviewer_texts(history, numbers)

    # Relative: only the process that renders the answer knows the address of the service.
    prefix = f"{repository_url('', selection.name)}/-/commit/"
    values["url"] = change_tables.prefixed_oids(prefix, history.commits.oid[numbers])
    return tables.table("commits", values, len(numbers))


def _join_newest(matches: Sequence[CommitMatches], limit: int | None) -> Any:
    """Return the rows of the newest commits of all repositories, newest first."""
    counts = newest([_commit_times(match.rows) for match in matches], limit)

    # Cut before joining: the rows of a thousand repositories would be joined only to drop nearly all.
    table = tables.join("commits", [_first(match.rows, count) for match, count in zip(matches, counts, strict=True)])
    if len(matches) <= 1:
        return table

    order = np.argsort(-_commit_times(table), kind="stable")
    return table.take(pa.array(order))


def _commit_times(rows: Any) -> Int64Array:
    times: Int64Array = rows.column("commit_date").cast(pa.int64()).to_numpy()
    return times


def _first(rows: Any, count: int) -> Any:
    return rows if count == rows.num_rows else tables.compact(rows.slice(0, count))
