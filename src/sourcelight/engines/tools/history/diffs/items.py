"""Pages of answers about changes: commits of `diff_search`, files of `compare_revisions`."""

from __future__ import annotations

from collections.abc import Mapping
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
        lines: list[str] = []
        for file in result.attributes[_RESULTS][item]["files"]:
            for hunk in file["hunks"]:
                lines += hunk["lines"]
        return "".join([f"{line}\n" for line in lines])

    def part(self, result: ToolResult, start: ItemMark, end: ItemMark) -> ToolResult:
        """Return the commits between two places."""
        commits = [dict(commit) for commit in FactItems(_RESULTS, "").entries(result, start, end)]
        if end.offset:
            commits[-1] = _truncate(commits[-1], end=self._lines(result, end))
        if start.offset:
            commits[0] = _truncate(commits[0], start=self._lines(result, start))
        return replace(result, attributes={**result.attributes, _RESULTS: commits})

    def _lines(self, result: ToolResult, mark: ItemMark) -> int:
        # An offset within a line shows the line on both pages.
        return self.text(result, mark.item)[: mark.offset].count("\n")


def _truncate(commit: Mapping[str, Any], *, start: int = 0, end: int | None = None) -> dict[str, Any]:
    """Return a commit with the lines of its hunks from `start` up to `end`, counted over all of its files."""
    files = []
    position = 0
    for file in commit["files"]:
        hunks = []
        for hunk in file["hunks"]:
            count = len(hunk["lines"])
            # The lines to keep, counted within the hunk.
            first = max(0, start - position)
            last = count
            if end is not None:
                last = min(count, end - position)
            if first < last:
                is_whole = first == 0 and last == count
                hunks.append(hunk if is_whole else _cut_hunk(hunk, first, last))
            position += count
        if hunks:
            files.append({**file, "hunks": hunks})

    return {**commit, "files": files}


def _cut_hunk(hunk: Mapping[str, Any], first: int, last: int) -> dict[str, Any]:
    """Return a hunk with its lines from `first` up to `last`, and the numbers of these lines in both files."""
    before = hunk["lines"][:first]
    lines = hunk["lines"][first:last]
    return {
        **hunk,
        "oldStart": hunk["oldStart"] + _count_without(before, "+"),
        "oldLines": _count_without(lines, "+"),
        "newStart": hunk["newStart"] + _count_without(before, "-"),
        "newLines": _count_without(lines, "-"),
        "lines": lines,
    }


def _count_without(lines: list[str], sign: str) -> int:
    """Count the lines of one file, without those of the other one, which begin with `sign`."""
    # git's note on a missing newline, which begins with a backslash, is a line of neither file.
    return sum(not line.startswith((sign, "\\")) for line in lines)


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
