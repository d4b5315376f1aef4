"""Current lines of files, and the commit that added each: what `ownership`, `bus_factor` and `survival` count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import ToolProgress
from sourcelight.core.errors import GitFailed, PathNotFound, ToolError
from sourcelight.engines.history.blame import OwnedFile, Ownership, blame_file, line_ownership
from sourcelight.engines.history.blame.ownership import shallow_edge
from sourcelight.engines.history.search.trailer_columns import commit_agents
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.history.file_kinds import kinds_of
from sourcelight.engines.tools.history.histories import OpenedHistories, OpenedHistory
from sourcelight.engines.tools.history.people.person_set import PersonNumbers

_FEW_FILES = 8
"""Files up to which git blame of each takes less time than an exact replay."""


@dataclass(frozen=True, slots=True)
class SelectedFiles:
    """Files to count: at or below `path`, and of `kinds` (None: all). With `exact`, git blame checks each line."""

    path: str
    kinds: frozenset[str] | None = None
    exact: bool = False


@dataclass(slots=True)
class OwnedLines:
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


def owned_lines(
    tool: str,
    selected: SelectedFiles,
    context: ToolContext,
    histories: OpenedHistories,
    people: PersonNumbers,
) -> OwnedLines:
    """Return the current lines of the selected files in all repositories; `call` is the tool that errors name."""
    path = selected.path
    parts: list[list[Any]] = []
    names: list[str] = []
    left_out = inexact = 0
    for number, selection in enumerate(histories.selections):
        files, skipped = _files(tool, selection, selected, context)
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
    return OwnedLines(
        names=names,
        history=history,
        file=group_index,
        person=person,
        time=time,
        lines=lines,
        exact=exact.astype(np.bool_),
        agent_lines=agent_lines,
        left_out=left_out,
        inexact=inexact,
    )


def _files(
    tool: str, selection: OpenedHistory, selected: SelectedFiles, context: ToolContext
) -> tuple[Mapping[str, OwnedFile], int]:
    """Return files below a path with the commits of their lines; with `exact`, git blame decides unproven lines."""
    observer = context.observer

    def report(stage: str, done: int, total: int) -> None:
        # The replay reports every 200 files or so; a fifth of these reports is enough for a progress bar.
        if observer is not None and done % 1000 < 200:
            observer(ToolProgress(stage, done, total, selection.name))

    def replay(*, exact: bool | None) -> tuple[dict[bytes, OwnedFile], int]:
        ownership = line_ownership(
            selection.history,
            selection.repository,
            selection.commits[0],
            exact=exact,
            progress=lambda done, total: report("replaying history", done, total),
            cancellation=context.cancellation,
        )
        return _selected_files(ownership, selection, selected, context), ownership.left_out

    files, left_out = replay(exact=None)
    # For few files, git blame alone is faster than an exact replay, which compares the contents of all files.
    if selected.exact and sum(not file.exact for file in files.values()) > _FEW_FILES:
        files, left_out = replay(exact=True)

    if selected.exact:
        unproven = [raw for raw, file in files.items() if not file.exact]
        for done, raw in enumerate(unproven):
            report("blaming", done, len(unproven))
            blamed = _blame(tool, selection, raw=raw, file=files[raw], context=context)
            if blamed is not None:
                files[raw] = blamed

    by_name = {raw.decode("utf-8", "replace"): file for raw, file in files.items()}
    return by_name, 0 if selected.path else left_out


def _selected_files(
    ownership: Ownership, selection: OpenedHistory, selected: SelectedFiles, context: ToolContext
) -> dict[bytes, OwnedFile]:
    files = {raw: file for raw, file in ownership.files.items() if is_below(raw, selected.path)}
    if selected.kinds is None:
        return files
    kinds = kinds_of(selection, files, context)
    return {raw: file for (raw, file), kind in zip(files.items(), kinds, strict=True) if kind in selected.kinds}


def _blame(
    tool: str, selection: OpenedHistory, *, raw: bytes, file: OwnedFile, context: ToolContext
) -> OwnedFile | None:
    """Return a file with the commits that git blame names, or None if the clone lacks objects that blame needs."""
    try:
        origins = blame_file(
            selection.repository, selection.commits[0], raw, len(file.lines), cancellation=context.cancellation
        )
    except GitFailed:
        if not selection.repository.incomplete:
            raise
        return None  # the row stays inexact, and the answer says so

    # Commits as numbers of the history, so that all later columns are lookups by index.
    is_edge = shallow_edge(selection.history) if "shallow" in selection.history.shallow else None
    numbers = [selection.history.position(origin.oid) for origin in origins.commits]
    if None in numbers:
        raise ToolError(f"{tool}: git blame names commits that the history of {selection.name} lacks", tool=tool)

    # The oldest commits of a shallow clone seem to have written all that older ones did.
    commits = np.array(numbers, np.int32)[origins.commit]
    return OwnedFile(file.blob, commits, exact=is_edge is None or not is_edge[commits].any())


def is_below(raw: bytes, path: str) -> bool:
    """Return whether a path of git is `path` or in this directory; empty: all are."""
    prefix = path.encode("utf-8", "surrogateescape")
    return not path or raw == prefix or raw.startswith(prefix + b"/")
