"""Hunks of patches as services send them, and the rows of changed lines that a call wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
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
        try:
            pattern = compile_pattern(
                arguments["pattern"], kind="regexp" if uses_regex else "literal", case_sensitive=uses_regex
            )
            files = _compile_file_patterns(arguments.get("files") or (), uses_regex=uses_regex)
        except PatternError as error:
            raise ToolError(f"diff_search: {error}", tool="diff_search") from error

        added, removed = bool(arguments.get("added")), bool(arguments.get("removed"))
        # Both or neither asks for all changed lines.
        sides: tuple[str, ...] = ("added", "removed")
        if added != removed:
            sides = ("added",) if added else ("removed",)
        return cls(pattern, sides, files, arguments.get("changes") == "count")

    def wants(self, *paths: str) -> bool:
        """Return whether the request includes a file with one of these names."""
        if not self.files:
            return True
        names = [path.encode() for path in paths]
        return any(pattern.find(name) for pattern, name in product(self.files, names))

    def rows(self, hunks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Return the matching lines of a file's hunks."""
        rows = list(chain.from_iterable(map(self._hunk_rows, hunks)))
        if self.by_count:
            counts = {"added": 0, "removed": 0}
            for row in rows:
                counts[row["side"]] += len(row["start"])
            if counts["added"] == counts["removed"]:
                return []

        return [row for row in rows if row["side"] in self.sides]

    def _hunk_rows(self, hunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        old, new = int(hunk.get("oldStart") or 0), int(hunk.get("newStart") or 0)
        for text in hunk.get("lines") or ():
            sign, line = text[:1], text[1:]
            spans = self._spans(line) if sign in {"+", "-"} else []
            if spans:
                yield {
                    "side": "added" if sign == "+" else "removed",
                    "line_number": new if sign == "+" else old,
                    "line": line,
                    "start": [start for start, _ in spans],
                    "end": [end for _, end in spans],
                }

            if sign in {"+", "-", " "}:
                old += sign != "+"
                new += sign != "-"

    def _spans(self, line: str) -> list[tuple[int, int]]:
        """Return the matches in a line, in characters."""
        data = line.encode()
        return spans_in_text(data, self.pattern.find(data))


def _compile_file_patterns(files: Sequence[str], *, uses_regex: bool) -> tuple[CompiledPattern, ...]:
    regexps = list(files)
    if not uses_regex:
        # An empty name has a pattern that fits every file, and would undo the names beside it.
        regexps = [regexp for regexp in map(file_pattern, files) if regexp != "^"]
    return tuple(compile_pattern(regexp, kind="regexp", case_sensitive=True, whole_text=True) for regexp in regexps)


def hunks_of(patch: str) -> list[dict[str, Any]]:
    """Return the hunks of a file's patch."""
    return [
        {"oldStart": hunk.old_start, "newStart": hunk.new_start, "lines": list(hunk.lines)}
        for hunk in read_hunks(patch)
    ]
