"""`ownership`, `bus_factor` and `survival`: current lines by author, by number of owners, and by age.

All three read the current lines of a history with their authors and dates (`owned_lines`), and group them by files, by
persons or by years. Groups are numbers in arrays of one entry for each run of lines; names come last.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches.persons import BOT_RULE, pair_text
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.markup.counts import count_of
from sourcelight.core.notices import Rule
from sourcelight.core.tools import blame
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.file_kinds import kind_notices, selected_kinds
from sourcelight.engines.tools.history.histories import OpenedHistories, OpenedHistory, open_history
from sourcelight.engines.tools.history.people.owned_lines import OwnedLines, SelectedFiles, is_below, owned_lines
from sourcelight.engines.tools.history.people.person_set import PersonNumbers, agent_notices
from sourcelight.engines.tools.history.tables import bounds, directories, group, total

_EPOCH_YEAR = 1970
"""The year that numpy counts years from."""


@dataclass(frozen=True, slots=True)
class _AnalyzedLines:
    """The current lines that one analysis is about, with their histories and the persons in them."""

    call: str
    histories: OpenedHistories
    people: PersonNumbers
    owned: OwnedLines

    def result(self, table: Any, attributes: dict[str, Any], notices: Iterable[str]) -> ToolResult:
        """Return the answer; notices on what was read are around its own."""
        is_shallow = any("shallow" in selection.history.shallow for selection in self.histories.selections)
        return ToolResult(
            columns=self.call,
            table=table,
            attributes=attributes,
            complete=self.histories.complete,
            notices=(*self.histories.notices, *notices, *_notices(self.owned, is_shallow=is_shallow)),
        )


def _read_lines(
    call: str, context: ToolContext, repo: str, revision: str | None, files: SelectedFiles, people: PersonNumbers
) -> _AnalyzedLines:
    histories = open_history(call, context, repo, revision)
    return _AnalyzedLines(call, histories, people, owned_lines(call, files, context, histories, people))


def _ownership(arguments: blame.OwnershipArguments, context: ToolContext) -> ToolResult:
    """Return current lines by author, per file, per directory, or in total."""
    people = PersonNumbers("ownership", arguments.mailmap, join_addresses=arguments.join_addresses)
    lines = _read_lines("ownership", context, arguments.repo, arguments.revision, _selection(arguments), people)
    owned = lines.owned
    path = clean_path(arguments.path or "")
    top = path or "/"
    if path and path not in owned.names:
        top = f"{path}/"
    group_names, group_index = _group_files(owned, arguments.by or "total", arguments.depth or 1, top)
    table, person = _ownership_table(lines, group_names, group_index)
    attributes = _answer_attributes(lines) | {"inexact_files": owned.inexact, "left_out_files": owned.left_out}
    notices = (
        *kind_notices(arguments.file_kinds),
        *people.join_notices(person.tolist()),
        *agent_notices(lines=int(owned.agent_lines.sum())),
    )
    return lines.result(table, attributes, notices)


def _selection(arguments: blame.OwnershipArguments | blame.BusFactorArguments) -> SelectedFiles:
    return SelectedFiles(
        clean_path(arguments.path or ""), selected_kinds(arguments.file_kinds), exact=bool(arguments.exact)
    )


def _ownership_table(lines: _AnalyzedLines, group_names: list[str], group_index: Int64Array) -> tuple[Any, Int64Array]:
    """Return a row per repository, group of files and person, and the persons."""
    people, owned = lines.people, lines.owned
    codes, (history, path, person) = group([owned.history, group_index[owned.file], owned.person])
    count = len(person)
    line_counts = total(codes, owned.lines, count)
    of_path, (history_of_path, _) = group([history, path])
    sums = total(of_path, line_counts, len(history_of_path))
    oldest, newest = bounds(codes, owned.time, count)
    repositories = [selection.name for selection in lines.histories.selections]
    columns = {
        "repository": tables.dictionary_column(repositories or [""], history),
        "path": tables.dictionary_column(group_names or [""], path),
        "author": tables.dictionary_column(people.names or [""], person),
        "author_email": tables.dictionary_column(people.emails or [""], person),
        "lines": pa.array(line_counts),
        "share": pa.array(line_counts / np.maximum(sums[of_path], 1)),
        "oldest_date": tables.times(oldest),
        "newest_date": tables.times(newest),
        "bot": pa.array(people.bots[person]),
        "exact": pa.array(total(codes, ~owned.exact, count) == 0),
        "agent_lines": pa.array(total(codes, owned.agent_lines, count)),
    }

    # `lexsort` sorts by its last key first: by history, then path, then most lines, then person.
    order = np.lexsort((_ranks(people)[person], -line_counts, path, history))
    return tables.table("ownership", columns, count).take(pa.array(order)), person


def _ranks(people: PersonNumbers) -> Int64Array:
    """Return the rank of each person by name and address; their numbers depend on the order of reading commits."""
    people_pairs = people.display_pairs
    ranks = np.zeros(max(1, len(people_pairs)), np.int64)
    by_name = sorted(range(len(people_pairs)), key=people_pairs.__getitem__)
    ranks[by_name] = np.arange(len(by_name))
    return ranks


def _group_files(owned: OwnedLines, by: str, depth: int, top: str) -> tuple[list[str], Int64Array]:
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


def _bus_factor(arguments: blame.BusFactorArguments, context: ToolContext) -> ToolResult:
    """Return, per directory, the fewest authors who together own more than half of its lines."""
    people = PersonNumbers("bus_factor", arguments.mailmap, join_addresses=arguments.join_addresses)
    lines = _read_lines("bus_factor", context, arguments.repo, arguments.revision, _selection(arguments), people)
    owned = lines.owned
    path = clean_path(arguments.path or "")
    top = f"{path}/" if path else "/"
    bots = people.bots[owned.person]

    # A bot can't leave the team, so its lines say nothing about the risk that this number measures.
    human_rows = np.flatnonzero(~bots)
    rows = list(_factor_rows(lines, human_rows, arguments.depth or 1, top))
    rows.sort(key=lambda row: (row["repository"], row["path"] != top, row["bus_factor"], -row["lines"], row["path"]))
    attributes = _answer_attributes(lines)
    attributes["drill_down"]["columns"].pop("authors")
    notices = [*kind_notices(arguments.file_kinds), *people.join_notices(owned.person[human_rows].tolist())]
    bot_lines = int(owned.lines[bots].sum())
    if bot_lines:
        notices.append(Rule(f"{count_of(bot_lines, 'line')} of bots left out; {BOT_RULE}.", "bots"))

    agent_lines = int(owned.agent_lines[human_rows].sum())
    return lines.result(table_of_rows("bus_factor", rows), attributes, [*notices, *agent_notices(lines=agent_lines)])


def _factor_rows(lines: _AnalyzedLines, human_rows: Int64Array, depth: int, top: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each directory of each repository."""
    owned, ranks = lines.owned, _ranks(lines.people)
    for number, selection in enumerate(lines.histories.selections):
        repository_rows = human_rows[owned.history[human_rows] == number]
        for directory, rows in _rows_by_directory(owned, repository_rows, depth, top).items():
            factor = _bus_factor_of(owned, rows, lines.people, ranks)
            yield {"repository": selection.name, "path": directory, **factor}


def _rows_by_directory(owned: OwnedLines, rows: Int64Array, depth: int, top: str) -> dict[str, Int64Array]:
    """Return the rows of each directory; `top` has all rows."""
    names, directory_of_file = _group_files(owned, "directory", depth, "/")
    directories: dict[str, Int64Array] = {top: rows}
    positions = directory_of_file[owned.file[rows]]
    for position in np.unique(positions).tolist():
        # The top directory is in the table already, with all rows; files directly in it must not replace these.
        directories.setdefault(names[position], rows[positions == position])
    return directories


def _bus_factor_of(owned: OwnedLines, rows: Int64Array, people: PersonNumbers, ranks: Int64Array) -> dict[str, Any]:
    """Return the bus factor of some rows, and the columns beside it."""
    codes, (persons,) = group([owned.person[rows]])
    lines = total(codes, owned.lines[rows], len(persons))
    order = np.lexsort((ranks[persons], -lines))
    running = np.cumsum(lines[order])
    line_count = int(running[-1]) if len(running) else 0

    factor = 0
    if line_count:
        # `right`, because owners of exactly half of the lines are not yet more than half.
        factor = int(np.searchsorted(running, line_count / 2, side="right")) + 1
    return {
        "bus_factor": factor,
        "lines": line_count,
        "authors": len(order),
        "owners": [pair_text(people.display_pairs[person]) for person in persons[order[:factor]].tolist()],
        "share": float(running[factor - 1] / line_count) if factor else 0.0,
        "exact": bool(owned.exact[rows].all()),
        "agent_lines": int(owned.agent_lines[rows].sum()),
    }


def _survival(arguments: blame.SurvivalArguments, context: ToolContext) -> ToolResult:
    """Return surviving lines, and all lines ever added, by the year in which they were added."""
    top = clean_path(arguments.path or "")
    files = SelectedFiles(top, exact=bool(arguments.exact))
    people = PersonNumbers("survival")
    lines = _read_lines("survival", context, arguments.repo, arguments.revision, files, people)
    rows: list[dict[str, Any]] = []
    for number, selection in enumerate(lines.histories.selections):
        rows += _survival_rows(selection, lines.owned, lines.owned.history == number, top)

    attributes = _answer_attributes(lines)
    attributes["drill_down"] = {
        "call": "ownership",
        "arguments": {"path": top} if top else {},
        "columns": {"repo": "repository"},
    }
    of_merges = Rule("Lines that merges alone brought count as alive, not as added.", "merges")
    return lines.result(table_of_rows("survival", rows), attributes, [of_merges])


def _survival_rows(
    selection: OpenedHistory, owned: OwnedLines, is_of_repository: BoolArray, top: str
) -> Iterator[dict[str, Any]]:
    """Yield a row for each year in which lines of a repository were added."""
    history = selection.history
    is_inside = np.array([is_below(raw, top) for raw in history.paths] or [False], np.bool_)
    mask = selection.mask[history.changes.commit] & is_inside[history.changes.path]
    # -1 means unknown, as for binary files.
    added = np.maximum(history.changes.additions[mask], 0)

    # Committer times in both sums, in UTC; a year of additions and one of living lines are then comparable.
    added_years = _years(history.commits.commit_time[history.changes.commit[mask]])
    living_years = _years(owned.time[is_of_repository])
    living_lines = owned.lines[is_of_repository]
    living_total = max(1, int(living_lines.sum()))
    for year in np.union1d(living_years, added_years).tolist():
        is_of_year = living_years == year
        living = int(living_lines[is_of_year].sum())
        yield {
            "repository": selection.name,
            "year": year,
            "added": int(added[added_years == year].sum()),
            "surviving_lines": living,
            "share": living / living_total,
            "exact": bool(owned.exact[is_of_repository][is_of_year].all()),
            "agent_lines": int(owned.agent_lines[is_of_repository][is_of_year].sum()),
        }


def _years(seconds: Int64Array) -> Int64Array:
    return np.asarray(seconds, np.int64).astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + _EPOCH_YEAR


def _answer_attributes(lines: _AnalyzedLines) -> dict[str, Any]:
    """Return the commits that were read, and how to list the commits of a row."""
    commits = {selection.name: selection.commits[0] for selection in lines.histories.selections}
    drill = {
        "call": "commit_search",
        "arguments": {"revisions": list(commits.values())},
        "columns": {"repos": "repository", "authors": "author", "files": "path"},
    }
    attributes: dict[str, Any] = {"commits": commits, "drill_down": drill}
    if lines.people.aliases:
        attributes["aliases"] = lines.people.aliases
    return attributes


def _notices(owned: OwnedLines, *, is_shallow: bool) -> list[str]:
    notices = []
    if owned.left_out:
        notices.append(f"{_files_are(owned.left_out)} left out: binary, or the content is missing.")
    if owned.inexact and is_shallow:
        notices.append(
            f"{_files_are(owned.inexact)} not proven: lines of the oldest commits of a shallow clone may be of older "
            "ones by others; `git fetch --unshallow` gets these."
        )
    elif owned.inexact:
        notices.append(f"{_files_are(owned.inexact)} not proven to equal git blame; exact=True proves it.")
    return notices


def _files_are(count: int) -> str:
    return f"{count:,} file is" if count == 1 else f"{count:,} files are"


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(blame.OWNERSHIP, _ownership),
    Handler(blame.BUS_FACTOR, _bus_factor),
    Handler(blame.SURVIVAL, _survival),
)
