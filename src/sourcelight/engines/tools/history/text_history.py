"""`history_of` and `pickaxe`: the commits that brought or removed a text, or changed a range of lines.

`pickaxe` counts matching lines that came and went; `history_of` follows one text or range from commit to commit.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.agents import agents_text, traces_of
from sourcelight.core.batches.results import ToolResult, group_order
from sourcelight.core.errors import GitFailed, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.notices import Rule
from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.tools.analyses import PICKAXE, PickaxeArguments
from sourcelight.core.tools.commits import DiffSearchArguments
from sourcelight.core.tools.inspection import HISTORY_OF, HistoryOfArguments
from sourcelight.engines.history.git import git_chunks, mailmap_setting
from sourcelight.engines.history.model import RowNumbers
from sourcelight.engines.history.search.filters import filter_changes
from sourcelight.engines.history.search.lines import changes_of, rows_with
from sourcelight.engines.history.search.query import ChangedFileFilter
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.diffs.diff_search import DIFF_SEARCH_HANDLER
from sourcelight.engines.tools.history.filters import Dates, files_of, pattern_of
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_dated
from sourcelight.engines.tools.history.people import change_groups
from sourcelight.engines.tools.history.people.person_set import PersonNumbers
from sourcelight.engines.tools.history.tables import bounds, count_distinct, line_numbers, period_of, total
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import Row, commit_heading, render_rows
from sourcelight.repos import ObjectReader, Repository, find_entry, resolve
from sourcelight.repos.objects.commits import parse_seconds

_MAX_COMMITS = 1_000
"""Maximum commits of an answer for which the caller sets no limit."""

_FIELDS = 6
"""Fields of a commit in the output of git, before its patch."""

_MAX_BYTES = 64 << 20
"""Bytes of a file, and of the output of git."""

_NAMES = re.compile(rb"^\+\+\+ (?:b/)?(.*)$", re.MULTILINE)
"""The line of a patch with the new name of a file: ``+++ b/src/retry.py``."""

_COLUMNS = (
    "repository",
    "commit",
    "commit_date",
    "author",
    "author_email",
    "subject",
    "path",
    "added",
    "removed",
    "agent",
)
"""Columns of the table."""

_SUMS = ("added", "removed", "commits", "agent_commits")
"""Columns that are sums over the repositories."""


def _history_of(arguments: HistoryOfArguments, context: ToolContext) -> ToolResult:
    if (arguments.text is None) == (arguments.start_line is None):
        raise ToolError(
            f"{HISTORY_OF.name}: give either text, or path and startLine", tool=HISTORY_OF.name, argument="text"
        )
    if arguments.text is not None:
        return _text_changes(arguments, context)
    return _line_changes(arguments, context)


def _text_changes(arguments: HistoryOfArguments, context: ToolContext) -> ToolResult:
    """Return commits that change how often a text occurs in a file, as ``git log -S`` and ``-G`` find them per line."""
    request = DiffSearchArguments(
        pattern=arguments.text or "",
        repos=(arguments.repo,),
        files=(arguments.path,) if arguments.path else None,
        use_regex=arguments.use_regex,
        revisions=(arguments.revision,) if arguments.revision else None,
        changes="count",
    )
    diffs = DIFF_SEARCH_HANDLER.run(request, replace(context, served=False))
    changes: dict[tuple[str, str], dict[str, Any]] = {}
    names = ["repository", "commit", "commit_date", "author", "author_email", "subject", "path", "side", "agent"]
    for row in diffs.table.select(names).to_pylist():
        change = changes.setdefault((row["commit"], row["path"]), {**row, "added": 0, "removed": 0})
        change[row["side"]] += 1

    return _answer(
        list(changes.values()),
        arguments,
        is_complete=diffs.complete,
        notices=list(diffs.notices),
        attributes={"text": arguments.text},
    )


def _line_changes(arguments: HistoryOfArguments, context: ToolContext) -> ToolResult:
    """Return commits that changed a range of lines of a file, by ``git log -L``."""
    repository = context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)
    if repository.kind != "git":
        raise ToolError(
            f"{HISTORY_OF.name}: {repository.name} is a directory without git and has no history", tool=HISTORY_OF.name
        )

    if not arguments.path:
        raise ToolError(f"{HISTORY_OF.name}: startLine needs the path of a file", tool=HISTORY_OF.name, argument="path")

    commit, path = resolve(repository, arguments.revision or ""), clean_path(arguments.path)
    first, last = _range_of(repository, commit, path, arguments)
    limit = arguments.limit or _MAX_COMMITS

    # Texts of files and messages can't know the mark, so that they can't pass for a commit.
    marker = secrets.token_hex(16)
    form = f"{marker}%x00".join(["", "%H", "%aN", "%aE", "%ct", "%s", "%an%x00%ae%x00%B", ""])
    command: list[str | bytes] = [
        *mailmap_setting(repository.git_dir), "log", "--no-textconv", "--no-ext-diff", "--encoding=UTF-8",
        "--no-show-signature", "--no-notes", f"--max-count={limit + 1}", f"--format={form}",
        b"-L%d,%d:" % (first, last) + path.encode("utf-8", "surrogateescape"), commit,
    ]  # fmt: skip
    rows: list[dict[str, Any]] = []
    notices: list[str] = []

    try:
        records = _records(repository.git_dir, command, f"{marker}\0".encode(), context)
        rows += ({"repository": repository.name, "path": path, **record.row()} for record in records)
    except GitFailed as error:
        raise ToolError(f"{HISTORY_OF.name}: git can't follow these lines: {error}", tool=HISTORY_OF.name) from error

    is_complete = len(rows) <= limit and not repository.incomplete
    if repository.incomplete:
        notices.append(f"This is a {repository.incomplete} clone: earlier changes are not in it.")

    if len(rows) > limit:
        rows = rows[:limit]
        if arguments.limit is None:
            notices.append(f"Only the newest {limit:,} commits are shown.")

    attributes = {"commit": commit, "path": path, "start_line": first, "end_line": last}
    return _answer(rows, arguments, is_complete=is_complete, notices=notices, attributes=attributes)


def _range_of(repository: Repository, commit: CommitId, path: str, arguments: HistoryOfArguments) -> tuple[int, int]:
    """Return the first and the last requested line that the file has; raise `ToolError` if it has none of them."""
    first = arguments.start_line or 1
    last = arguments.end_line or first
    if last < first:
        raise ToolError(
            f"{HISTORY_OF.name}: endLine {last} is before startLine {first}", tool=HISTORY_OF.name, argument="endLine"
        )

    with ObjectReader(repository) as reader:
        entry = find_entry(reader, commit, path, arguments.revision or "")
        data = reader.read(entry.object_id, _MAX_BYTES) if entry.kind == "file" else None

    if data is None:
        raise ToolError(
            f"{HISTORY_OF.name}: {path} is not a file whose text is in this clone",
            tool=HISTORY_OF.name,
            argument="path",
        )

    count = data.count(b"\n") + (not data.endswith(b"\n"))
    if first > count:
        raise ToolError(
            f"{HISTORY_OF.name}: startLine is {first}, but {path} has {count_of(count, 'line')}",
            tool=HISTORY_OF.name,
            argument="startLine",
        )

    return first, min(last, count)


@dataclass(frozen=True, slots=True)
class _LogRecord:
    """A commit of ``git log -L``: its fields, and the diff of the range."""

    fields: list[bytes]
    diff: bytes

    def row(self) -> dict[str, Any]:
        """Return the values of a row."""
        oid, author, email, date, subject, commit = (field.decode("utf-8", "replace") for field in self.fields)
        name, address, message = commit.split("\0", 2)
        diff = self.diff
        body = diff[diff.find(b"\n@@ ") :] if b"\n@@ " in diff else b""
        names = _NAMES.findall(diff[: len(diff) - len(body)])
        row = {
            "commit": oid,
            "author": author,
            "author_email": email,
            "commit_date": datetime.fromtimestamp(parse_seconds(date.encode()), UTC),
            "subject": subject,
            "agent": agents_text(traces_of(name, address, message)),
            "added": body.count(b"\n+"),
            "removed": body.count(b"\n-"),
        }

        # A renamed file had another name; a file whose name git quotes keeps today's name.
        if names and names[0] != b"/dev/null" and not names[0].startswith(b'"'):
            row["path"] = names[0].decode("utf-8", "replace")

        return row


def _records(git_dir: str, command: list[str | bytes], marker: bytes, context: ToolContext) -> Iterator[_LogRecord]:
    output = bytearray()
    for chunk in git_chunks(git_dir, command, cancellation=context.cancellation):
        output += chunk
        if len(output) > _MAX_BYTES:
            raise ToolError(
                f"{HISTORY_OF.name}: the changes of these lines are too large; choose fewer", tool=HISTORY_OF.name
            )

    parts = bytes(output).split(marker)[1:]
    for start in range(0, len(parts) - _FIELDS, _FIELDS + 1):
        yield _LogRecord(parts[start : start + _FIELDS], parts[start + _FIELDS])


def _answer(
    rows: list[dict[str, Any]],
    arguments: HistoryOfArguments,
    *,
    is_complete: bool,
    notices: list[str],
    attributes: dict[str, Any],
) -> ToolResult:
    total = len(rows)
    if arguments.limit is not None and total > arguments.limit:
        rows, is_complete = rows[: arguments.limit], False
        notices.append(f"The newest {arguments.limit:,} of {total:,} changes are shown.")

    columns = {name: [row[name] for row in rows] for name in _COLUMNS}
    table = tables.table("text_history", columns, len(rows))
    common = {"repository": arguments.repo.strip("/"), "total": total, **attributes}
    return ToolResult(
        columns="text_history", table=table, attributes=common, complete=is_complete, notices=tuple(notices)
    )


def _file_line(row: Row) -> str:
    return f"+{row['added']} -{row['removed']} {row['path']}"


def _gather_pickaxe(arguments: PickaxeArguments, context: ToolContext) -> PartialResult:
    period = period_of(PICKAXE.name, _by(arguments))
    regexp = bool(arguments.use_regex)
    pattern = pattern_of(PICKAXE.name, "pattern", arguments.pattern, regexp=regexp, one_line=True)
    file_filter = files_of(PICKAXE.name, arguments.files, regexp=regexp)

    def find(selection: OpenedHistory, dates: Dates) -> change_groups.GroupSums:
        people = PersonNumbers(PICKAXE.name, arguments.mailmap, join_addresses=arguments.join_addresses)
        return _sums(selection, people, _PickaxeRequest(pattern, file_filter, period, dates), context)

    return gather_dated(PICKAXE.name, arguments, context, find)


def _by(arguments: PickaxeArguments) -> list[str]:
    return list(arguments.by or ["month"])


@dataclass(frozen=True, slots=True)
class _PickaxeRequest:
    """The lines to count: those that match, of some files and dates, by period (None: all together)."""

    pattern: CompiledPattern
    files: ChangedFileFilter
    period: str | None
    dates: Dates


def _sums(
    snapshot: OpenedHistory, people: PersonNumbers, request: _PickaxeRequest, context: ToolContext
) -> change_groups.GroupSums:
    """Return lines that match in one repository, by author and period."""
    history = snapshot.history
    with context.watch_scan() as stopped:
        rows = rows_with(history, request.pattern, stopped=stopped)

    changes = changes_of(history, rows)
    commit = history.changes.commit[changes].astype(np.int64)
    mask = change_groups.commit_mask(snapshot, *request.dates)[commit]
    passing = filter_changes(history, request.files)
    if passing is not None:
        mask = mask & passing[changes]

    rows, commit = RowNumbers(rows[mask]), commit[mask]
    _, is_removed = line_numbers(history, rows)
    persons = people.of_identities(snapshot)[history.commits.author[commit]]
    time = history.commits.commit_time[commit]
    codes, keys = change_groups.group_rows(persons, time, request.period)
    count = len(keys[0])
    first, last = bounds(codes, time, count)

    # Each row is an added or a removed line.
    removed = total(codes, is_removed, count)
    values = {
        "added": total(codes, np.ones(len(codes)), count) - removed,
        "removed": removed,
        "commits": count_distinct(codes, commit, count),
        "agent_commits": change_groups.agent_commits(snapshot, codes, commit, count),
        "first": first,
        "last": last,
    }
    commit_keys = change_groups.keys_of_commits(history, commit)
    return change_groups.GroupSums(people.person_set, keys, values, commit_keys=commit_keys)


def _combine_pickaxe(arguments: PickaxeArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all of them
    by = _by(arguments)
    period = period_of(PICKAXE.name, by)
    people = PersonNumbers(PICKAXE.name, arguments.mailmap, join_addresses=arguments.join_addresses)
    rows = change_groups.join_groups(part, people)
    codes, groups = change_groups.regroup(rows, by, period)
    count = len(groups[0])
    nothing = np.zeros(0, np.int64)

    # A commit has one author and one date, and belongs to one repository: so its counts add up.
    sums = {name: total(codes, rows.values.get(name, nothing), count) for name in _SUMS}
    first, _ = bounds(codes, rows.values.get("first", nothing), count)
    _, last = bounds(codes, rows.values.get("last", nothing), count)
    starts = groups[1] if period else np.zeros(count, np.int64)
    table = change_groups.key_columns(by, period, groups, part.names, people)
    order = group_order((starts, -(sums["added"] + sums["removed"])), table)
    table |= {name: pa.array(values) for name, values in sums.items()}
    net = sums["added"] - sums["removed"]
    table["net"] = pa.array(net)
    if period and len(by) == 1:
        # In the order of display, which begins with the period.
        running = np.zeros(count, np.int64)
        running[order] = np.cumsum(net[order])
        table["total"] = pa.array(running)

    table |= {
        "first_date": tables.times(first),
        "last_date": tables.times(last),
    }
    drill_columns = {"authors": "author"} if "author" in by else {}
    attributes = change_groups.result_attributes(arguments.revisions, part, people, by, period, drill_columns)
    drill_arguments = attributes["drill_down"]["arguments"]
    drill_arguments |= {"contentTerms": [arguments.pattern], "useRegex": bool(arguments.use_regex)}
    if arguments.files:
        drill_arguments["files"] = list(arguments.files)
    attributes["pattern"] = arguments.pattern
    left_out = Rule("Merges and binary files are left out: they have no changed lines of their own.", "merges")
    notices = [*part.notices, *change_groups.repetitions_of(part, by), left_out]
    if "author" in by:
        notices += people.join_notices(groups[0].tolist())
    shown_table = tables.table("pickaxe", table, count).take(pa.array(order))
    return ToolResult(
        columns="pickaxe", table=shown_table, attributes=attributes, complete=part.complete, notices=tuple(notices)
    )


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(HISTORY_OF, _history_of, render_rows(_file_line, commit_heading), TableItems("changes")),
    Handler(PICKAXE, Split(_gather_pickaxe, _combine_pickaxe)),
)
