"""`contributors` and `churn`: who wrote how many commits and lines, by person, period, directory or file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import ToolResult, group_order
from sourcelight.core.errors import ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.notices import MERGES_COUNTED, MERGES_LEFT_OUT
from sourcelight.core.tools.analyses import (
    CHURN,
    CONTRIBUTORS,
    ChurnArguments,
    CommitsBehindArguments,
    ContributorsArguments,
)
from sourcelight.engines.history.model import RENAMED
from sourcelight.engines.history.search.trailer_columns import commit_agents
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.file_kinds import are_of_kinds, kind_notices, kinds_of
from sourcelight.engines.tools.history.filters import Dates
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_dated
from sourcelight.engines.tools.history.people import change_groups
from sourcelight.engines.tools.history.people.person_set import PersonNumbers, agent_notices
from sourcelight.engines.tools.history.tables import bounds, count_distinct, directories, group, period_of, total
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS

_SUMMED = ("commits", "merges", "co_authored", "additions", "deletions", "files", "agent_commits")
"""Columns that add up over repositories."""

_BREAK = "\0"
"""Separates the parts of a group's name; no path has it."""

_PLACES = frozenset({"directory", "path", "file_kind"})
"""Columns of `by` that group files."""

_ROW_PLACES = {"directory": "directory", "path": "path", "file_kind": "fileKind"}
"""The same columns, with the arguments of `commits_behind` that their values are passed as."""

_SUMS = ("additions", "deletions", "changes", "commits", "agent_commits")
"""Columns that are sums over the repositories."""


def _gather(arguments: ContributorsArguments, context: ToolContext) -> PartialResult:
    period_of(CONTRIBUTORS.name, arguments.by or ())
    if arguments.lines is False and arguments.file_kinds:
        raise ToolError(
            f"{CONTRIBUTORS.name}: file_kinds selects lines, and lines is false; leave one of them out",
            tool=CONTRIBUTORS.name,
            argument="file_kinds",
        )

    return gather_dated(
        CONTRIBUTORS.name,
        arguments,
        context,
        lambda selection, dates: _sums(selection, arguments, dates, context),
        commits_alone=arguments.lines is False,
    )


def _sums(
    selection: OpenedHistory, arguments: ContributorsArguments, dates: Dates, context: ToolContext
) -> change_groups.GroupSums:
    """Return commits and changed lines of one repository by author and period, and by co-author."""
    people = PersonNumbers(CONTRIBUTORS.name, arguments.mailmap, join_addresses=arguments.join_addresses)
    period = period_of(CONTRIBUTORS.name, arguments.by or ())
    history = selection.history
    commits = history.commits
    is_counted = change_groups.commit_mask(selection, *dates)
    change_rows = np.flatnonzero(is_counted)
    co_commits, co_people = people.co_authors(selection, context.cancellation)
    helped = is_counted[co_commits]
    co_commits, co_people = co_commits[helped], co_people[helped]

    # Co-authors follow authors, so that one grouping numbers the persons of both.
    person = np.concatenate((people.of_identities(selection)[commits.author[change_rows]], co_people))
    time = np.concatenate((commits.commit_time[change_rows], commits.commit_time[co_commits]))
    codes, keys = change_groups.group_rows(person, time, period)
    count, author_codes = len(keys[0]), codes[: len(change_rows)]
    first, last = bounds(codes, time, count)
    values = {
        "commits": total(author_codes, np.ones(len(change_rows)), count),
        "merges": total(author_codes, commits.is_merge[change_rows], count),
        "agent_commits": total(author_codes, commit_agents(history).mask[change_rows], count),
        "co_authored": total(codes[len(change_rows) :], np.ones(len(co_people)), count),
        "first": first,
        "last": last,
    }
    if arguments.lines is not False:
        row_of_commit = np.full(len(commits), -1, np.int64)
        row_of_commit[change_rows] = author_codes
        values |= _line_sums(selection, row_of_commit, count=count, arguments=arguments, context=context)

    commit_keys = change_groups.keys_of_commits(history, change_rows)
    return change_groups.GroupSums(people.person_set, keys, values, commit_keys=commit_keys)


def _line_sums(
    selection: OpenedHistory,
    row_of_commit: Int64Array,
    *,
    count: int,
    arguments: ContributorsArguments,
    context: ToolContext,
) -> dict[str, Int64Array]:
    """Return changed lines and files of each row; `row_of_commit` is -1 for commits that don't count."""
    history, layout = selection.history, selection.layout(context)
    row_of_change = row_of_commit[history.changes.commit]
    changed = np.flatnonzero(row_of_change >= 0)
    changed = changed[are_of_kinds(selection, layout.names, layout.path[changed], arguments.file_kinds, context)]
    row_of_change = row_of_change[changed]
    return {
        "additions": total(row_of_change, np.maximum(history.changes.additions[changed], 0), count),
        "deletions": total(row_of_change, np.maximum(history.changes.deletions[changed], 0), count),
        "files": count_distinct(row_of_change, layout.path[changed], count),
    }


def _combine(arguments: ContributorsArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all of them
    by = arguments.by or ()
    period = period_of(CONTRIBUTORS.name, by)
    people = PersonNumbers(CONTRIBUTORS.name, arguments.mailmap, join_addresses=arguments.join_addresses)
    rows = change_groups.join_groups(part, people)
    if not len(rows.person):
        table = tables.table("contributors", {}, 0)
        return ToolResult(
            columns="contributors",
            table=table,
            attributes=part.dates,
            complete=part.complete,
            notices=tuple(part.notices),
        )

    codes, groups = change_groups.regroup(rows, ("author", *by), period)
    count = len(groups[0])

    # A file belongs to one repository, and its authors there are counted once: so its counts add up.
    sums = {name: total(codes, rows.values[name], count) for name in _SUMMED if name in rows.values}
    first, _ = bounds(codes, rows.values["first"], count)
    _, last = bounds(codes, rows.values["last"], count)
    table = {
        **change_groups.key_columns(("author", *by), period, groups, part.names, people),
        **{name: pa.array(values) for name, values in sums.items()},
        "first_date": tables.times(first),
        "last_date": tables.times(last),
        "bot": pa.array(people.bots[groups[0]]),
    }
    starts = groups[1] if period else np.zeros(count, np.int64)
    order = group_order((starts, people.bots[groups[0]], -sums["commits"]), table)
    merges = [] if arguments.lines is False else [MERGES_COUNTED]
    repetitions = change_groups.repetitions_of(part, by)
    notices = [*part.notices, *repetitions, *merges, *people.join_notices(groups[0].tolist())]
    notices += kind_notices(arguments.file_kinds, " Commits are all.")
    notices += people.bot_notices(groups[0], sums["commits"])
    notices += agent_notices(int(sums["agent_commits"].sum()))
    attributes = change_groups.result_attributes(arguments.revisions, part, people, by, period, {"authors": "author"})
    shown_table = tables.table("contributors", table, count).take(order)
    return ToolResult(
        columns="contributors", table=shown_table, attributes=attributes, complete=part.complete, notices=tuple(notices)
    )


def _gather_churn(arguments: ChurnArguments, context: ToolContext) -> PartialResult:
    period_of(CHURN.name, _by(arguments))

    def find(selection: OpenedHistory, dates: Dates) -> change_groups.GroupSums:
        return _churn_sums(selection, arguments, dates, context)

    return gather_dated(CHURN.name, arguments, context, find)


def _by(arguments: ChurnArguments) -> list[str]:
    return list(arguments.by or ["directory"])


def _churn_sums(
    selection: OpenedHistory, arguments: ChurnArguments, dates: Dates, context: ToolContext
) -> change_groups.GroupSums:
    """Return changed lines of one repository by author, period and path."""
    by = _by(arguments)
    people = PersonNumbers(CHURN.name, arguments.mailmap, join_addresses=arguments.join_addresses)
    history = selection.history
    commits = history.commits
    changes = history.changes
    layout = selection.layout(context)
    rows = np.flatnonzero(change_groups.commit_mask(selection, *dates)[changes.commit])
    rows = rows[are_of_kinds(selection, layout.names, layout.path[rows], arguments.file_kinds, context)]
    commit_rows = changes.commit[rows].astype(np.int64)
    persons = people.of_identities(selection)[commits.author[commit_rows]]
    groups, group_names = None, [""]
    if _PLACES & set(by):
        groups, group_names = _group_files(selection, layout.path[rows], by=by, depth=arguments.depth, context=context)

    if "commit" in by:
        groups, group_names = _group_commits(selection, commit_rows, groups, group_names)

    codes, keys = change_groups.group_rows(persons, commits.commit_time[commit_rows], period_of(CHURN.name, by), groups)
    count = len(keys[0])

    # A rename touches two paths.
    renamed = rows[changes.status[rows] == RENAMED]
    touched = len(np.unique(np.concatenate((changes.path[rows], changes.old_path[renamed]))))
    values = {
        "additions": total(codes, np.maximum(changes.additions[rows], 0), count),
        "deletions": total(codes, np.maximum(changes.deletions[rows], 0), count),
        "changes": total(codes, np.ones(len(codes)), count),
        "commits": count_distinct(codes, commit_rows, count),
        "agent_commits": change_groups.agent_commits(selection, codes, commit_rows, count),
    }

    # -1: contents are missing, so git couldn't count lines.
    uncounted = int((changes.additions[rows] < 0).sum())
    by_agents = len(np.unique(commit_rows[commit_agents(history).mask[commit_rows]]))
    return change_groups.GroupSums(
        persons=people.person_set,
        keys=keys,
        values=values,
        group_names=group_names,
        unknown=uncounted,
        touched=touched,
        by_agents=by_agents,
        commit_keys=change_groups.keys_of_commits(history, commit_rows),
    )


def _group_files(
    selection: OpenedHistory, paths: Any, *, by: Sequence[str], depth: int | None, context: ToolContext
) -> tuple[Int64Array, list[str]]:
    """Return numbers of the kinds and folders (or files) of some paths, and the names that they are of, kind first."""
    layout = selection.layout(context)
    # Paths repeat over changes, so each is decoded and classified once.
    distinct, position = np.unique(paths, return_inverse=True)
    texts = [layout.text(index) for index in distinct.tolist()]
    place_names = [""] * len(texts)
    if "path" in by:
        place_names = texts
    elif "directory" in by:
        place_names = directories(texts, depth or 1)

    kinds = [""] * len(texts)
    if "file_kind" in by:
        kinds = kinds_of(selection, (layout.names[index] for index in distinct.tolist()), context)

    if not texts:
        return np.zeros(0, np.int64), [_BREAK]

    numbers: dict[str, int] = {}
    names = [f"{kind}{_BREAK}{name}" for kind, name in zip(kinds, place_names, strict=True)]
    groups = [numbers.setdefault(name, len(numbers)) for name in names]
    return np.array(groups, np.int64)[position], list(numbers)


def changes_of_row(
    selection: OpenedHistory, arguments: CommitsBehindArguments, dates: Dates, context: ToolContext
) -> Int64Array:
    """Return the numbers of commits whose changes count for a row's `path` or `directory`, and `fileKind`, if given."""
    layout = selection.layout(context)
    change_rows = np.flatnonzero(change_groups.commit_mask(selection, *dates)[selection.history.changes.commit])
    change_rows = change_rows[
        are_of_kinds(selection, layout.names, layout.path[change_rows], arguments.file_kinds, context)
    ]
    values = {"directory": arguments.directory, "path": arguments.path, "file_kind": arguments.file_kind}
    by = [name for name, value in values.items() if value is not None]
    if by:
        groups, group_names = _group_files(
            selection, layout.path[change_rows], by=by, depth=arguments.depth, context=context
        )
        below = arguments.path
        if below is None:
            below = arguments.directory or ""
        name = f"{arguments.file_kind or ''}{_BREAK}{below}"
        is_of_row = np.array([group_name == name for group_name in group_names], np.bool_)
        change_rows = change_rows[is_of_row[groups]]

    return np.unique(selection.history.changes.commit[change_rows])


def _group_commits(
    selection: OpenedHistory, rows: Int64Array, groups: Any, names: list[str]
) -> tuple[Int64Array, list[str]]:
    """Return numbers of commits with their places, and their texts: the commit, and the place behind it."""
    if groups is None:
        groups = np.zeros(len(rows), np.int64)
    codes, (commits, group_numbers) = group([rows, groups])
    texts: list[str] = []
    for commit, position in zip(tables.oids(selection.history, commits), group_numbers.tolist(), strict=True):
        texts.append(f"{commit}{_BREAK}{names[position] or _BREAK}")
    return codes, texts or [_BREAK * 2]


def _combine_churn(arguments: ChurnArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all of them
    by = _by(arguments)
    period = period_of(CHURN.name, by)
    people = PersonNumbers(CHURN.name, arguments.mailmap, join_addresses=arguments.join_addresses)
    rows = change_groups.join_groups(part, people)
    unknown = sum(result.unknown for result in part.results.values())
    has_places = bool({*_PLACES, "commit"} & set(by))
    codes, groups = change_groups.regroup(rows, by, period, with_groups=has_places)
    count = len(groups[0])
    nothing = np.zeros(0, np.int64)
    sums = {name: total(codes, rows.values.get(name, nothing), count) for name in _SUMS}
    table: dict[str, Any] = change_groups.key_columns(by, period, groups, part.names, people)
    if has_places:
        table |= _place_columns(by, rows.group_names, groups[-1])

    # A commit has one author and one date, and belongs to one repository: so its counts add up.
    table |= {name: pa.array(values) for name, values in sums.items()}
    # A person can be in several of the summed rows, so people are counted again.
    table["authors"] = pa.array(count_distinct(codes, rows.person, count))
    starts = groups[1] if period else np.zeros(count, np.int64)
    order = group_order((starts, -(sums["additions"] + sums["deletions"])), table)
    repetitions = change_groups.repetitions_of(part, by)
    notices = [*part.notices, *repetitions, MERGES_LEFT_OUT, *kind_notices(arguments.file_kinds)]
    if unknown:
        notices.append(f"The lines of {count_of(unknown, 'change')} are not counted, because contents are missing.")

    if "author" in by:
        notices += people.join_notices(groups[0].tolist())
    # A commit is in the rows of all its files, so their numbers don't add up.
    notices += agent_notices(sum(result.by_agents for result in part.results.values()))
    shown_table = tables.table("churn", table, count).take(pa.array(order))
    attributes = _churn_attributes(arguments, by, period=period, part=part, people=people)
    return ToolResult(
        columns="churn",
        table=shown_table,
        attributes=attributes,
        complete=part.complete and not unknown,
        notices=tuple(notices),
    )


def _churn_attributes(
    arguments: ChurnArguments, by: list[str], *, period: str | None, part: PartialResult, people: PersonNumbers
) -> dict[str, Any]:
    columns = {"authors": "author"} if "author" in by else {}
    columns |= {argument: name for name, argument in _ROW_PLACES.items() if name in by}
    attributes = change_groups.result_attributes(arguments.revisions, part, people, by, period, columns)
    attributes["changed_paths"] = {name: result.touched for name, result in part.results.items()}

    # Services list commits without files, so requests that need no files are sent as a search.
    if _PLACES & set(by) or arguments.file_kinds:
        wire_arguments = arguments.to_wire()
        fixed = {name: wire_arguments[name] for name in ("depth", "fileKinds") if wire_arguments.get(name)}
        attributes["drill_down"]["call"] = "commits_behind"
        attributes["drill_down"]["arguments"] |= {"of": CHURN.name, **fixed}

    # The row names its commit.
    if "commit" in by:
        del attributes["drill_down"]

    return attributes


def _place_columns(by: list[str], group_names: list[str], which: Int64Array) -> dict[str, Any]:
    """Return the columns of commit, kind of file, and directory or path, for rows with these numbers."""
    names = ["file_kind", "path" if "path" in by else "directory"]
    if "commit" in by:
        names.insert(0, "commit")

    texts = [group_name.split(_BREAK, len(names) - 1) for group_name in group_names] or [[""] * len(names)]
    columns: dict[str, Any] = {}
    for index, name in enumerate(names):
        if name in by:
            columns[name] = tables.dictionary_column([text[index] for text in texts], which)
    return columns


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(CONTRIBUTORS, Split(_gather, _combine), TEXTS["contributors"], TableItems("people")),
    Handler(CHURN, Split(_gather_churn, _combine_churn)),
)
