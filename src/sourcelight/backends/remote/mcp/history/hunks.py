"""Hunks of patches as services send them, and the rows of changed lines that a call wants.

A hunk is JSON, with the lines of the patch and the numbers of its first line before and after::

    {"oldStart": 7, "newStart": 7, "lines": [" def retry():", "-    sleep(1)", "+    sleep(delay)"]}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.batches.patches import read_hunks
from sourcelight.core.code_points import spans_in_text
from sourcelight.core.errors import PatternError, ToolError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query.regexps import file_pattern


@dataclass(frozen=True, slots=True)
class LineFilter:
    """Filter of changed lines, from the arguments of `diff_search`."""

    pattern: CompiledPattern
    sides: tuple[str, ...]
    files: tuple[CompiledPattern, ...]
    by_count: bool

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> LineFilter:
        """Read the arguments.

        Raises
        ------
        ToolError
            For a pattern that RE2 refuses.
        """
        uses_regex = bool(arguments.get("useRegex"))
        text = arguments["pattern"]
        try:
            if uses_regex:
                pattern = compile_pattern(text, kind="regexp", case_sensitive=True)
            else:
                pattern = compile_pattern(text, kind="literal", case_sensitive=False)
            files = _compile_file_patterns(arguments.get("files") or (), uses_regex=uses_regex)
        except PatternError as error:
            raise ToolError(f"diff_search: {error}", tool="diff_search") from error

        added = bool(arguments.get("added"))
        removed = bool(arguments.get("removed"))
        # Both or neither asks for all changed lines.
        sides: tuple[str, ...] = ("added", "removed")
        if added and not removed:
            sides = ("added",)
        elif removed and not added:
            sides = ("removed",)
        return cls(pattern, sides, files, by_count=arguments.get("changes") == "count")

    def wants(self, *paths: str) -> bool:
        """Return whether the request includes a file with one of these names."""
        if not self.files:
            return True
        for path in paths:
            name = path.encode()
            if any(pattern.find(name) for pattern in self.files):
                return True
        return False

    def rows(self, hunks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the matching lines of a file's hunks."""
        rows: list[dict[str, Any]] = []
        for hunk in hunks:
            rows += self._hunk_rows(hunk)

        if self.by_count:
            matches = {"added": 0, "removed": 0}
            for row in rows:
                matches[row["side"]] += len(row["start"])
            # The file has as many matches after the commit as before.
            if matches["added"] == matches["removed"]:
                return []

        return [row for row in rows if row["side"] in self.sides]

    def _hunk_rows(self, hunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        old_number = int(hunk.get("oldStart") or 0)
        new_number = int(hunk.get("newStart") or 0)
        for text in hunk.get("lines") or ():
            sign = text[:1]
            line = text[1:]
            if sign == "+":
                yield from self._row("added", new_number, line)
                new_number += 1
            elif sign == "-":
                yield from self._row("removed", old_number, line)
                old_number += 1
            elif sign == " ":
                old_number += 1
                new_number += 1

    def _row(self, side: str, line_number: int, line: str) -> Iterator[dict[str, Any]]:
        """Yield the row of a changed line if the pattern matches in it; spans are in characters."""
        data = line.encode()
        spans = spans_in_text(data, self.pattern.find(data))
        if spans:
            yield {
                "side": side,
                "line_number": line_number,
                "line": line,
                "start": [start for start, _ in spans],
                "end": [end for _, end in spans],
            }


def _compile_file_patterns(files: Sequence[str], *, uses_regex: bool) -> tuple[CompiledPattern, ...]:
    regexps = list(files)
    if not uses_regex:
        regexps = [file_pattern(name) for name in files]
        # The pattern of an empty name fits every file, and would undo the names beside it.
        regexps = [regexp for regexp in regexps if regexp != "^"]
    return tuple(compile_pattern(regexp, kind="regexp", case_sensitive=True, whole_text=True) for regexp in regexps)


def hunks_of(patch: str) -> list[dict[str, Any]]:
    """Return the hunks of a file's patch."""
    return [
        {"oldStart": hunk.old_start, "newStart": hunk.new_start, "lines": list(hunk.lines)}
        for hunk in read_hunks(patch)
    ]
