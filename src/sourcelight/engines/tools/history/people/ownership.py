"""`ownership`, `bus_factor` and `survival`: current lines by author, by number of owners, and by age."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.persons import BOT_RULE
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import GitFailed, PathNotFound, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.notices import Rule
from sourcelight.core.tools.blame import (
    BUS_FACTOR,
    OWNERSHIP,
    SURVIVAL,
    BusFactorArguments,
    OwnershipArguments,
    SurvivalArguments,
)
from sourcelight.engines.history.blame import OwnedFile, Ownership, blame_file, line_ownership
from sourcelight.engines.history.search.trailer_columns import commit_agents
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.file_kinds import kind_notices, kinds_of, selected_kinds
from sourcelight.engines.tools.history.histories import OpenedHistories, OpenedHistory, open_history
from sourcelight.engines.tools.history.people.person_set import PersonNumbers, agent_notices, text_of
from sourcelight.engines.tools.history.tables import bounds, directories, group, total

_FEW_FILES = 8
_YEAR_S = 1970


@dataclass(frozen=True, slots=True)
class _Selected:
    """Files to count: at or below `path`, and of `kinds` (None: all). With `exact`, git blame checks each line."""

    path: str
    kinds: frozenset[str] | None = None
    exact: bool = False


def _selection(arguments: OwnershipArguments | BusFactorArguments) -> _Selected:
    return _Selected(
        clean_path(arguments.path or ""), selected_kinds(arguments.file_kinds), exact=bool(arguments.exact)
    )


@dataclass(slots=True)
class _OwnedLines:
    """Current lines of files, one row per file and commit that added lines to it.

    The arrays have one entry per row: `history` and `file` (an index into `names`), `person`, the commit's time in
    seconds, the number of lines, and whether it is exact. `agent_lines` equals `lines` if the commit names a coding
    assistant, else it is 0.
    """

    names: list[str]
    history: Int64Array
    file: Int64Array
    person: Int64Array
    time: Int64Array
    lines: Int64Array
    exact: Any
    agent_lines: Int64Array
    left_out: int
    inexact: int


def _owned_lines(
    call: str,
    selected: _Selected,
    context: ToolContext,
    histories: OpenedHistories,
    people: PersonNumbers,
) -> _OwnedLines:
    path = selected.path
    parts: list[list[Any]] = []
    names: list[str] = []
    left_out = inexact = 0
    for number, selection in enumerate(histories.selections):
        files, skipped = _files(call, selection, selected, context)
        left_out += skipped
        persons = people.of_identities(selection)
        authors, times = selection.history.commits.author, selection.history.commits.commit_time
        by_agents = commit_agents(selection.history).mask
        for name, file in files.items():
            # A file of 100,000 lines has a few hundred commits: everything after this works on those pairs.
            commits, counts = np.unique(file.lines, return_counts=True)
            size = len(commits)
            inexact += not file.exact
            parts.append(
                [
                    np.full(size, number),
                    np.full(size, len(names)),
                    persons[authors[commits]],
                    times[commits],
                    counts,
                    np.full(size, file.exact),
                    counts * by_agents[commits],
                ]
            )
            names.append(name)
    if path and not names and selected.kinds is None:
        raise PathNotFound(
            ", ".join(selection.name for selection in histories.selections), "", path, "it has no text file"
        )
    merged = [np.concatenate(part) for part in zip(*parts, strict=True)] if parts else [np.zeros(0, np.int64)] * 7
    history, group_index, person, time, lines, exact, agent_lines = merged
    return _OwnedLines(
        names, history, group_index, person, time, lines, exact.astype(np.bool_), agent_lines, left_out, inexact
    )


def _files(
    call: str, selection: OpenedHistory, selected: _Selected, context: ToolContext
) -> tuple[Mapping[str, OwnedFile], int]:
    """Return files below a path with the commits of their lines; with `exact`, git blame decides unproven lines."""
    observer = context.observer
    path, exact, kinds = selected.path, selected.exact, selected.kinds

    def inside_of(owned: Ownership) -> dict[bytes, OwnedFile]:
        inside = _inside(owned, path)
        if kinds is None:
            return inside
        with_kinds = zip(inside, kinds_of(selection, inside, context), strict=True)
        return {raw: inside[raw] for raw, kind in with_kinds if kind in kinds}

    def tell(stage: str, done: int, of: int) -> None:
        # The replay reports every 200 files or so; a fifth of these reports is enough for a progress bar.
        if observer is not None and done % 1000 < 200:
            observer(ToolProgress(stage, done, of, selection.name))

    history, commit = selection.history, selection.commits[0]

    def replay(*, exact: bool | None) -> Ownership:
        return line_ownership(
            history,
            selection.repository,
            commit,
            exact=exact,
            progress=lambda done, total: tell("replaying history", done, total),
            cancellation=context.cancellation,
        )

    owned = replay(exact=None)
    inside = inside_of(owned)
    # For few files, git blame alone is faster than an exact replay, which compares the contents of all files.
    if exact and sum(not file.exact for file in inside.values()) > _FEW_FILES:
        owned = replay(exact=True)
        inside = inside_of(owned)
    if exact:
        unproven = [raw for raw, file in inside.items() if not file.exact]
        for done, raw in enumerate(unproven):
            tell("blaming", done, len(unproven))
            file = inside[raw]
            try:
                origins = blame_file(
                    selection.repository, commit, raw, len(file.lines), cancellation=context.cancellation
                )
            except GitFailed:
                if not selection.repository.incomplete:
                    raise
                continue  # the clone lacks objects that blame needs: the row stays inexact, and the answer says so
            # Commits as numbers of the history, so that all later columns are lookups by index.
            numbers = [history.position(origin.oid) for origin in origins.commits]
            if None in numbers:
                raise ToolError(
                    f"{call}: git blame names commits that the history of {selection.name} lacks", tool=call
                )
            inside[raw] = OwnedFile(file.blob, np.array(numbers, np.int32)[origins.commit], exact=True)
    by_name = {raw.decode("utf-8", "replace"): file for raw, file in inside.items()}
    return by_name, owned.left_out if not path else 0


def _inside(owned: Ownership, path: str) -> dict[bytes, OwnedFile]:
    return {raw: file for raw, file in owned.files.items() if _below(raw, path)}


def _below(raw: bytes, path: str) -> bool:
    prefix = path.encode("utf-8", "surrogateescape")
    return not path or raw == prefix or raw.startswith(prefix + b"/")


def _ownership(arguments: OwnershipArguments, context: ToolContext) -> ToolResult:
    """Return current lines by author, per file, per directory, or in total."""
    call = "ownership"
    histories = open_history(call, context, arguments.repo, arguments.revision)
    people = PersonNumbers(call, arguments.mailmap, join_addresses=arguments.join_addresses)
    owned = _owned_lines(call, _selection(arguments), context, histories, people)
    by = arguments.by or "total"
    depth = arguments.depth or 1
    top = clean_path(arguments.path or "")
    group_names, group_index = _group_files(
        owned, by, depth, f"{top}/" if top and top not in owned.names else top or "/"
    )
    codes, (history, path, person) = group([owned.history, group_index[owned.file], owned.person])
    count = len(person)
    lines = total(codes, owned.lines, count)
    of_path, _ = group([history, path]) if count else (codes, [])
    sums = total(of_path, lines, int(of_path.max()) + 1 if count else 0)
    oldest, newest = bounds(codes, owned.time, count)
    proven = total(codes, ~owned.exact, count) == 0
    table = {
        "repository": tables.dictionary_column(
            [attributes.name for attributes in histories.selections] or [""], history
        ),
        "path": tables.dictionary_column(group_names or [""], path),
        "author": tables.dictionary_column(people.names or [""], person),
        "author_email": tables.dictionary_column(people.emails or [""], person),
        "lines": pa.array(lines),
        "share": pa.array(lines / np.maximum(sums[of_path], 1) if count else np.zeros(0)),
        "oldest_date": tables.times(oldest),
        "newest_date": tables.times(newest),
        "bot": pa.array(people.bots[person]),
        "exact": pa.array(proven),
        "agent_lines": pa.array(total(codes, owned.agent_lines, count)),
    }
    # `lexsort` sorts by its last key first: by history, then path, then most lines, then person.
    order = np.lexsort((_ranks(people)[person], -lines, path, history))
    ownership_attributes = _answer_attributes(histories, people) | {
        "inexact_files": owned.inexact,
        "left_out_files": owned.left_out,
    }
    shown_table = tables.table("ownership", table, count).take(pa.array(order))
    notices = (
        *histories.notices,
        *kind_notices(arguments.file_kinds),
        *people.join_notices(person.tolist()),
        *agent_notices(lines=int(owned.agent_lines.sum())),
        *_notices(owned),
    )
    return ToolResult("ownership", shown_table, ownership_attributes, histories.complete, notices)


def _ranks(people: PersonNumbers) -> Int64Array:
    """Return the rank of each person by name and address; their numbers depend on the order of reading commits."""
    people_pairs = people.display_pairs
    ranks = np.zeros(max(1, len(people_pairs)), np.int64)
    by_name = sorted(range(len(people_pairs)), key=people_pairs.__getitem__)
    ranks[by_name] = np.arange(len(by_name))
    return ranks


def _group_files(owned: _OwnedLines, by: str, depth: int, top: str) -> tuple[list[str], Int64Array]:
    """Return the group of each file."""
    if by == "file":
        group_names = owned.names
    elif by == "directory":
        group_names = directories(owned.names, depth)
    else:
        group_names = [top] * len(owned.names)
    numbers: dict[str, int] = {}
    group_index = np.array([numbers.setdefault(name, len(numbers)) for name in group_names] or [0], np.int64)
    return list(numbers), group_index


def _bus_factor(arguments: BusFactorArguments, context: ToolContext) -> ToolResult:
    """Return, per directory, the fewest authors who together own more than half of its lines."""
    call = "bus_factor"
    histories = open_history(call, context, arguments.repo, arguments.revision)
    people = PersonNumbers(call, arguments.mailmap, join_addresses=arguments.join_addresses)
    owned = _owned_lines(call, _selection(arguments), context, histories, people)
    depth = arguments.depth or 1
    below, at_depth = _group_files(owned, "directory", depth, "/")
    top = clean_path(arguments.path or "")
    bots = people.bots[owned.person] if len(owned.person) else np.zeros(0, np.bool_)
    # A bot can't leave the team, so its lines say nothing about the risk that this number measures.
    human_rows = np.flatnonzero(~bots)
    rows: list[dict[str, Any]] = []
    displayed, ranks = people.display_pairs, _ranks(people)
    for number, selection in enumerate(histories.selections):
        of_history = human_rows[owned.history[human_rows] == number]
        folders: dict[str, Int64Array] = {f"{top}/" if top else "/": of_history}
        positions = at_depth[owned.file[of_history]]
        for position in np.unique(positions).tolist():
            # The top directory is in the table already, with all rows; files directly in it must not replace these.
            folders.setdefault(below[position], of_history[positions == position])
        for folder, rows_of_folder in folders.items():
            codes, persons = group([owned.person[rows_of_folder]])
            lines = total(codes, owned.lines[rows_of_folder], len(persons[0]))
            order = np.lexsort((ranks[persons[0]], -lines))
            running = np.cumsum(lines[order])
            line_count = int(running[-1]) if len(running) else 0
            # `right`, because owners of exactly half of the lines are not yet more than half.
            factor = int(np.searchsorted(running, line_count / 2, side="right")) + 1 if line_count else 0
            owners = persons[0][order[:factor]].tolist()
            rows.append(
                {
                    "repository": selection.name,
                    "path": folder,
                    "bus_factor": factor,
                    "lines": line_count,
                    "authors": len(order),
                    "owners": [text_of(displayed[position]) for position in owners],
                    "share": float(running[factor - 1] / line_count) if factor else 0.0,
                    "exact": bool(owned.exact[rows_of_folder].all()),
                    "agent_lines": int(owned.agent_lines[rows_of_folder].sum()),
                }
            )
    rows.sort(
        key=lambda row: (
            row["repository"],
            row["path"] != (f"{top}/" if top else "/"),
            row["bus_factor"],
            -row["lines"],
            row["path"],
        )
    )
    bot_lines = int(owned.lines[bots].sum()) if len(bots) else 0
    bot_rule = Rule(f"{count_of(bot_lines, 'line')} of bots left out; {BOT_RULE}.", "bots")
    bot_notices = (bot_rule,) if bot_lines else ()
    attributes = _answer_attributes(histories, people)
    attributes["drill_down"]["columns"].pop("authors")
    table = tables.table(
        "bus_factor", {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}, len(rows)
    )
    identity_notices = people.join_notices(owned.person[human_rows].tolist())
    notices = (
        *histories.notices,
        *kind_notices(arguments.file_kinds),
        *identity_notices,
        *bot_notices,
        *agent_notices(lines=int(owned.agent_lines[human_rows].sum()) if len(human_rows) else 0),
        *_notices(owned),
    )
    return ToolResult("bus_factor", table, attributes, histories.complete, notices)


def _survival(arguments: SurvivalArguments, context: ToolContext) -> ToolResult:
    """Return surviving lines, and all lines ever added, by the year in which they were added."""
    call = "survival"
    histories = open_history(call, context, arguments.repo, arguments.revision)
    people = PersonNumbers(call)
    top = clean_path(arguments.path or "")
    owned = _owned_lines(call, _Selected(top, exact=bool(arguments.exact)), context, histories, people)
    rows: list[tuple[Any, ...]] = []
    for number, selection in enumerate(histories.selections):
        own_rows = owned.history == number
        # Committer times in both sums, in UTC; a year of additions and one of living lines are then comparable.
        years = _years(owned.time[own_rows])
        history = selection.history
        inside = np.array([_below(raw, top) for raw in history.paths] or [False], np.bool_)
        mask = selection.mask[history.changes.commit] & inside[history.changes.path]
        born = _years(history.commits.commit_time[history.changes.commit[mask]])
        # -1 means unknown, as for binary files.
        added = np.maximum(history.changes.additions[mask], 0)
        alive = owned.lines[own_rows]
        total = max(1, int(alive.sum()))
        for year in np.union1d(years, born).tolist():
            living = int(alive[years == year].sum())
            proven = bool(owned.exact[own_rows][years == year].all())
            by_agents = int(owned.agent_lines[own_rows][years == year].sum())
            rows.append(
                (selection.name, year, int(added[born == year].sum()), living, living / total, proven, by_agents)
            )
    names = ("repository", "year", "added", "surviving_lines", "share", "exact", "agent_lines")
    table = tables.table(
        "survival", {name: [row[index] for row in rows] for index, name in enumerate(names)}, len(rows)
    )
    attributes = _answer_attributes(histories, people)
    attributes["drill_down"] = {
        "call": "ownership",
        "arguments": {"path": top} if top else {},
        "columns": {"repo": "repository"},
    }
    of_merges = Rule("Lines that merges alone brought count as alive, not as added.", "merges")
    notices = (*histories.notices, of_merges, *_notices(owned))
    return ToolResult("survival", table, attributes, histories.complete, notices)


def _years(seconds: Any) -> Int64Array:
    return np.asarray(seconds, np.int64).astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + _YEAR_S


def _answer_attributes(histories: OpenedHistories, people: PersonNumbers) -> dict[str, Any]:
    commits = {selection.name: selection.commits[0] for selection in histories.selections}
    drill = {
        "call": "commit_search",
        "arguments": {"revisions": list(commits.values())},
        "columns": {"repos": "repository", "authors": "author", "files": "path"},
    }
    attributes: dict[str, Any] = {"commits": commits, "drill_down": drill}
    aliases = people.aliases
    return attributes | ({"aliases": aliases} if aliases else {})


def _notices(owned: _OwnedLines) -> list[str]:
    notices = []
    if owned.left_out:
        notices.append(f"{_files_are(owned.left_out)} left out: binary, or the content is missing.")
    if owned.inexact:
        notices.append(f"{_files_are(owned.inexact)} not proven to equal git blame; exact=True proves it.")
    return notices


def _files_are(count: int) -> str:
    return f"{count:,} file is" if count == 1 else f"{count:,} files are"


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(OWNERSHIP, _ownership),
    Handler(BUS_FACTOR, _bus_factor),
    Handler(SURVIVAL, _survival),
)
