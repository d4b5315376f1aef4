"""`diff_search`: added and removed lines that match.

`pickaxe`: when lines that match came and went.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.diff_preview import Hunk, read_hunks
from sourcelight.core.batches.ordering import group_order
from sourcelight.core.batches.results import ToolResult, repository_url
from sourcelight.core.cancellation import ScanStopped
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.tools.analyses import PICKAXE, PickaxeArguments
from sourcelight.core.tools.commits import DIFF_SEARCH, DiffSearchArguments
from sourcelight.engines.history.compare.changes import make_patch
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search import tables as change_tables
from sourcelight.engines.history.search.find import DiffMatches, filter_changes, find_diffs
from sourcelight.engines.history.search.lines import changes_of, rows_with
from sourcelight.engines.history.search.previews import file_change
from sourcelight.engines.history.search.query import ChangedFileFilter, CommitFilter, DiffQuery, PatternTerm, Side
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import NOTHING, Handler, PartialResult, Rendered, Split, tail, with_notices
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history import tables as columns
from sourcelight.engines.tools.history.commits import echo, heading, limit_of, newest, stamp
from sourcelight.engines.tools.history.contributions import (
    GroupSums,
    commit_mask,
    facts_of,
    group_rows,
    join_groups,
    key_columns,
)
from sourcelight.engines.tools.history.histories import (
    Dates,
    OpenedHistory,
    any_of,
    dates_of,
    files_of,
    gather_dated,
    open_histories,
    pattern_of,
    revisions_of,
)
from sourcelight.engines.tools.history.people import PersonNumbers
from sourcelight.engines.tools.history.tables import bounds, count_distinct, group, line_numbers, period_of, total
from sourcelight.repos.handles import UnusableRepository, open_handle

CALL = "diff_search"
DEFAULT_COUNT = 20
_ROWS_AT_ONCE = 500_000
_MOST_FILES, _MOST_HUNKS, _MOST_LINES = 5, 3, 40


@dataclass(frozen=True, slots=True)
class _DiffMatches:
    """Changed lines of one repository: those of its newest commits, these commits, and how many commits there are."""

    rows: Any
    commits: list[str]
    stamps: Int64Array
    total: int
    results: list[Any]


def _gather_diffs(arguments: DiffSearchArguments, context: ToolContext) -> PartialResult:
    regexp = bool(arguments.use_regex)
    after, before, echoed = dates_of(CALL, arguments.after, arguments.before)
    pattern = pattern_of(CALL, "pattern", arguments.pattern, regexp=regexp, one_line=True)
    added, removed = bool(arguments.added), bool(arguments.removed)
    sides: tuple[Side, ...] = ("added", "removed") if added == removed else ("added",) if added else ("removed",)
    authors = [*(arguments.authors or ()), *([arguments.author] if arguments.author else [])]
    query = DiffQuery(
        CommitFilter(
            authors=any_of(CALL, "authors", authors, regexp=regexp, one_line=True), after=after, before=before
        ),
        files_of(CALL, arguments.files, regexp=regexp),
        PatternTerm(pattern),
        sides,
        "count" if arguments.changes == "count" else "lines",
    )
    histories = open_histories(CALL, context, arguments.repos, *revisions_of(arguments.revisions))
    matches: list[tuple[OpenedHistory, DiffMatches, CommitNumbers]] = []
    for opened in histories.opened:
        try:
            hits = find_diffs(opened.history, query, lambda: context.cancellation.cancelled)
        except ScanStopped:
            context.cancellation.check()
            raise
        matches.append((opened, hits, CommitNumbers(hits.commits[opened.mask[hits.commits]])))
    limit = limit_of(arguments.limit, context, DEFAULT_COUNT)
    counts = newest([opened.history.commits.commit_time[commits[:limit]] for opened, _, commits in matches], limit)
    of_each: dict[str, _DiffMatches] = {}
    for (opened, hits, all_commits), count in zip(matches, counts, strict=True):
        commits = CommitNumbers(all_commits[:count])
        is_shown = np.zeros(len(opened.history.commits), np.bool_)
        is_shown[commits] = True
        is_kept = is_shown[opened.history.changes.commit[hits.row_changes]]
        rows, changes = RowNumbers(hits.rows[is_kept]), ChangeNumbers(hits.row_changes[is_kept])
        batches = []
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            batch = slice(start, start + _ROWS_AT_ONCE)
            batches.append(diff_rows(opened, RowNumbers(rows[batch]), ChangeNumbers(changes[batch]), hits.patterns))
        of_each[opened.name] = _DiffMatches(
            columns.join("diff_lines", batches),
            [] if limit is None else columns.oids(opened.history, commits),
            opened.history.commits.commit_time[commits],
            len(all_commits),
            list(_results(opened, changes, pattern, sides)) if context.served else [],
        )
    return histories.part(of_each, echoed)


def _combine_diffs(arguments: DiffSearchArguments, context: ToolContext, part: PartialResult) -> ToolResult:
    matches: list[_DiffMatches] = list(part.results.values())
    counts = newest([match.stamps for match in matches], limit_of(arguments.limit, context, DEFAULT_COUNT))
    newest_matches = [_first(match, count) for match, count in zip(matches, counts, strict=True)]
    table = columns.join("diff_lines", [match.rows for match in newest_matches])
    notices, shown_count, total = part.notices, sum(counts), sum(match.total for match in matches)
    if shown_count < total:
        notices.append(
            f"Only the newest {shown_count:,} of {total:,} commits are shown; ask for more or narrow the search."
        )
    facts: dict[str, Any] = {
        "pattern": arguments.pattern,
        "repositories": part.names,
        "total": total,
        **part.dates,
    }
    if context.served:
        facts["results"] = [result for match in newest_matches for result in match.results]
    return ToolResult("diff_lines", table, facts, part.complete and shown_count == total, tuple(notices))


def _first(match: _DiffMatches, count: int) -> _DiffMatches:
    """The matches of the first `count` commits."""
    if count == len(match.stamps):
        return match
    commits = set(match.commits[:count])
    of_rows = match.rows.column("commit").cast(pa.string())
    mask = pa.compute.is_in(of_rows, value_set=pa.array(sorted(commits), pa.string()))
    results = [result for result in match.results if result["oid"] in commits]
    return replace(match, rows=columns.compact(match.rows.filter(mask)), results=results)


def diff_rows(
    opened: OpenedHistory, rows: RowNumbers, changes: ChangeNumbers, patterns: tuple[CompiledPattern, ...]
) -> Any:
    """Rows of the table ``diff_lines`` for rows of one history, `changes` being the change of each."""
    batch = change_tables.line_batch(opened.history, rows, changes, patterns)
    return columns.table("diff_lines", dict(zip(batch.schema.names, batch.columns, strict=True)), len(rows))


def _results(
    opened: OpenedHistory, changes: Int64Array, pattern: CompiledPattern, sides: tuple[Side, ...]
) -> Iterator[Any]:
    """One object a commit with the hunks of its files that hold matches, as a served answer shows them."""
    history = opened.history
    try:
        handle = open_handle(opened.repository.git_dir)
    except UnusableRepository:
        return
    signs = {"added": "+", "removed": "-"}
    by_commit: dict[int, list[int]] = {}
    for change in dict.fromkeys(changes.tolist()):
        by_commit.setdefault(int(history.changes.commit[change]), []).append(change)
    for commit, own in by_commit.items():
        author, email, _ = columns.people(history, history.commits.author[[commit]])
        (oid,) = columns.oids(history, [commit])
        files = []
        for change in own[:_MOST_FILES]:
            diff = make_patch(handle, file_change(history, change))
            hunks = map(_payload, read_hunks((diff.patch or b"").decode("utf-8", "replace")))
            matching_hunks = [h for h in hunks if _holds(h, pattern, tuple(signs[side] for side in sides))]
            files.append(
                {
                    "oldPath": history.paths.text(int(history.changes.old_path[change])),
                    "newPath": history.paths.text(int(history.changes.path[change])),
                    "hunks": [_truncate(hunk) for hunk in matching_hunks[:_MOST_HUNKS]],
                    "hunksLeftOut": max(0, len(matching_hunks) - _MOST_HUNKS),
                }
            )
        yield {
            "repo": opened.name,
            "oid": oid,
            "authorName": author[0].as_py(),
            "authorEmail": email[0].as_py(),
            "authorDate": stamp(columns.times(history.commits.author_time[[commit]])[0].as_py()),
            "committerDate": stamp(columns.times(history.commits.commit_time[[commit]])[0].as_py()),
            "subject": history.subject(commit),
            "files": files,
            "filesLeftOut": max(0, len(own) - _MOST_FILES),
        }


def _payload(hunk: Hunk) -> dict[str, Any]:
    return {
        "oldStart": hunk.old_start,
        "oldLines": hunk.old_lines,
        "newStart": hunk.new_start,
        "newLines": hunk.new_lines,
        "section": hunk.section,
        "lines": list(hunk.lines),
    }


def _holds(hunk: dict[str, Any], pattern: CompiledPattern, signs: tuple[str, ...]) -> bool:
    return any(line.startswith(signs) and pattern.find(line[1:].encode()) for line in hunk["lines"])


def _truncate(hunk: dict[str, Any]) -> dict[str, Any]:
    if len(hunk["lines"]) <= _MOST_LINES:
        return hunk
    return {**hunk, "lines": hunk["lines"][:_MOST_LINES], "truncated": True}


def _render_diffs(answer: ToolResult, context: ToolContext) -> Rendered:
    """Commits with their hunks as objects, and as fenced diffs."""
    results, text = [], []
    for result in answer.attributes.get("results", []):
        url = context.link(f"{repository_url('', result['repo'])}/-/commit/{result['oid']}")
        results.append({**result, "url": url})
        row = {
            "author": result["authorName"],
            "author_email": result["authorEmail"],
            "repository": result["repo"],
            "commit": result["oid"],
            "subject": result["subject"],
        }
        lines = [_title(row, result["authorDate"])]
        for file in result["files"]:
            lines += ["```diff", f"--- {file['oldPath']}", f"+++ {file['newPath']}"]
            for hunk in file["hunks"]:
                where = f"@@ -{hunk['oldStart']},{hunk['oldLines']} +{hunk['newStart']},{hunk['newLines']} @@"
                lines += [f"{where} {hunk['section']}".rstrip(), *hunk["lines"]]
                lines += ["(the hunk continues)"] if hunk.get("truncated") else []
            lines.append("```")
            lines += [f"({file['hunksLeftOut']} further hunks match)"] if file["hunksLeftOut"] else []
        lines += [f"({result['filesLeftOut']} further files match)"] if result["filesLeftOut"] else []
        text.append("\n".join(lines) + "\n")
    payload = {"results": results, "totalCount": answer.attributes["total"], **echo(answer), **tail(answer)}
    return payload, with_notices("\n".join(text) or NOTHING, answer)


def _title(row: dict[str, Any], date: str | None) -> str:
    return heading({**row, "author_date": None}).replace("Date: None", f"Date: {date}").rstrip("\n")


PICKAXE_CALL = "pickaxe"
_VALUES = ("added", "removed", "commits")


def _by(arguments: PickaxeArguments) -> list[str]:
    return list(arguments.by or ["month"])


def _gather_pickaxe(arguments: PickaxeArguments, context: ToolContext) -> PartialResult:
    period = period_of(PICKAXE_CALL, _by(arguments))
    regexp = bool(arguments.use_regex)
    pattern = pattern_of(PICKAXE_CALL, "pattern", arguments.pattern, regexp=regexp, one_line=True)
    file_filter = files_of(PICKAXE_CALL, arguments.files, regexp=regexp)

    def find(opened: OpenedHistory, dates: Dates) -> GroupSums:
        people = PersonNumbers(PICKAXE_CALL, arguments.mailmap, join_addresses=arguments.join_addresses)
        return _sums(opened, people, _Asked(pattern, file_filter, period, dates), context)

    return gather_dated(PICKAXE_CALL, arguments, context, find)


@dataclass(frozen=True, slots=True)
class _Asked:
    pattern: CompiledPattern
    files: ChangedFileFilter
    period: str | None
    dates: Dates


def _sums(opened: OpenedHistory, people: PersonNumbers, request: _Asked, context: ToolContext) -> GroupSums:
    """Lines that match in one repository, by author and period."""
    history = opened.history
    try:
        rows = rows_with(history, request.pattern, stopped=lambda: context.cancellation.cancelled)
    except ScanStopped:
        context.cancellation.check()
        raise
    changes = changes_of(history, rows)
    commit = history.changes.commit[changes].astype(np.int64)
    mask = commit_mask(opened, *request.dates)[commit]
    passing = filter_changes(history, request.files)
    if passing is not None:
        mask = mask & passing[changes]
    rows, commit = RowNumbers(rows[mask]), commit[mask]
    _, is_removed = line_numbers(history, rows)
    persons = people.of_identities(opened)[history.commits.author[commit]]
    time = history.commits.commit_time[commit]
    codes, keys = group_rows(persons, time, request.period)
    count = len(keys[0])
    first, last = bounds(codes, time, count)
    removed = total(codes, is_removed, count)
    values = {
        "added": total(codes, np.ones(len(codes)), count) - removed,
        "removed": removed,
        "commits": count_distinct(codes, commit, count),
        "first": first,
        "last": last,
    }
    return GroupSums(people.person_set, keys, values)


def _combine_pickaxe(arguments: PickaxeArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all of them
    by = _by(arguments)
    period = period_of(PICKAXE_CALL, by)
    people = PersonNumbers(PICKAXE_CALL, arguments.mailmap, join_addresses=arguments.join_addresses)
    rows = join_groups(part, people)
    keys = [rows.person if "author" in by else np.zeros(len(rows.person), np.int64)]
    keys += [rows.start] if period else []
    keys += [rows.repository] if "repository" in by else []
    codes, groups = group(keys)
    count = len(groups[0])
    nothing = np.zeros(0, np.int64)
    # A commit has one author and one date, and belongs to one repository: so its counts add up.
    added, removed, commits = (total(codes, rows.values.get(name, nothing), count) for name in _VALUES)
    first, _ = bounds(codes, rows.values.get("first", nothing), count)
    _, last = bounds(codes, rows.values.get("last", nothing), count)
    starts = groups[1] if period else np.zeros(count, np.int64)
    table = key_columns(by, period, groups, part.names, people)
    if "author" not in by:
        table.pop("author"), table.pop("author_email")
    order = group_order((starts, -(added + removed)), table)
    net = added - removed
    running = np.zeros(count, np.int64)
    running[order] = np.cumsum(net[order])
    table |= {
        "added": pa.array(added),
        "removed": pa.array(removed),
        "net": pa.array(net),
        "total": pa.array(running) if period and len(by) == 1 else None,
        "commits": pa.array(commits),
        "first_date": tables.times(first),
        "last_date": tables.times(last),
    }
    drill = {"authors": "author"} if "author" in by else {}
    facts = facts_of(arguments.revisions, part, people, by, period, drill)
    fixed = {"contentTerms": [arguments.pattern], "useRegex": bool(arguments.use_regex)}
    facts["drill_down"]["arguments"] |= fixed | ({"files": list(arguments.files)} if arguments.files else {})
    facts["pattern"] = arguments.pattern
    notices = [*part.notices, "Merges and binary files are left out: they have no changed lines of their own."]
    notices += people.join_notices(groups[0].tolist()) if "author" in by else []
    shown_table = tables.table("pickaxe", table, count).take(pa.array(order))
    return ToolResult("pickaxe", shown_table, facts, part.complete, tuple(notices))


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(DIFF_SEARCH, Split(_gather_diffs, _combine_diffs), _render_diffs),
    Handler(PICKAXE, Split(_gather_pickaxe, _combine_pickaxe)),
)
