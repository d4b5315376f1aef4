"""Pages of answers about changes: commits of `diff_search`, files of `compare_revisions`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.engines.history.compare import write_cursor
from sourcelight.engines.tools.pages.items import FactItems, ItemMark, TableItems

_RESULTS = "results"


@dataclass(frozen=True, slots=True)
class DiffItems:
    """Commits with their hunks; one commit alone can be cut between lines of its hunks."""

    noun: str = "commits"

    def count(self, result: ToolResult) -> int:
        """Return the number of commits."""
        return len(result.attributes.get(_RESULTS) or ())

    def key(self, result: ToolResult, item: int) -> str:
        """Return the description of a commit."""
        return repr(result.attributes[_RESULTS][item])

    def text(self, result: ToolResult, item: int) -> str:
        """Return the lines of all hunks of a commit."""
        return "".join(
            f"{line}\n"
            for file in result.attributes[_RESULTS][item]["files"]
            for hunk in file["hunks"]
            for line in hunk["lines"]
        )

    def part(self, result: ToolResult, start: ItemMark, end: ItemMark) -> ToolResult:
        """Return the commits between two places."""
        commits = [dict(commit) for commit in FactItems(_RESULTS, "").entries(result, start, end)]
        if end.offset:
            commits[-1] = _truncate(commits[-1], 0, self._lines(result, end))
        if start.offset:
            commits[0] = _truncate(commits[0], self._lines(result, start), None)
        return replace(result, attributes={**result.attributes, _RESULTS: commits})

    def _lines(self, result: ToolResult, mark: ItemMark) -> int:
        # An offset within a line shows the line on both pages.
        return self.text(result, mark.item)[: mark.offset].count("\n")


def _truncate(commit: Mapping[str, Any], skip: int, end: int | None) -> dict[str, Any]:
    """Return a commit with the lines of its hunks from `skip` up to `end`, counted over all of its files."""
    files, position = [], 0
    for file in commit["files"]:
        hunks = []
        for hunk in file["hunks"]:
            count = len(hunk["lines"])
            first, last = max(0, skip - position), count if end is None else min(count, end - position)
            if first < last:
                hunks.append(hunk if (first, last) == (0, count) else _cut_hunk(hunk, first, last))
            position += count
        if hunks:
            files.append({**file, "hunks": hunks})

    return {**commit, "files": files}


def _cut_hunk(hunk: Mapping[str, Any], first: int, last: int) -> dict[str, Any]:
    lines = hunk["lines"]
    old, new = _counter(lines, "+"), _counter(lines, "-")
    return {
        **hunk,
        "oldStart": hunk["oldStart"] + old(0, first),
        "oldLines": old(first, last),
        "newStart": hunk["newStart"] + new(0, first),
        "newLines": new(first, last),
        "lines": lines[first:last],
    }


def _counter(lines: list[str], other: str) -> Callable[[int, int], int]:
    def count(first: int, last: int) -> int:
        # git's note on a missing newline is a line of neither side.
        return sum(not line.startswith((other, "\\")) for line in lines[first:last])

    return count


def _set_end_cursor(part: ToolResult, full_result: ToolResult, start: ItemMark, end: ItemMark) -> ToolResult:
    """Set ``endCursor`` to the end of a part, at a whole file."""
    del start
    if end.item >= full_result.table.num_rows:
        return part
    attributes = full_result.attributes
    position = full_result.table.column("position")[end.item].as_py()
    cursor = write_cursor(attributes["base"], attributes["head"], position)
    return replace(part, attributes={**part.attributes, "end_cursor": cursor})


DIFF_ITEMS = DiffItems()
FILE_ITEMS = TableItems("files", "patch", adjust=_set_end_cursor)
