"""`diff_search` of a service: changed lines from hunks, and from whole diffs where the service truncates hunks.

A hunk is JSON, with the lines of the patch and the numbers of its first line before and after::

    {"oldStart": 7, "newStart": 7, "lines": [" def retry():", "-    sleep(1)", "+    sleep(delay)"]}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sourcelight.backends.remote.mcp.arguments import texts_of
from sourcelight.backends.remote.mcp.history.comparisons import ComparisonPages, read_comparison
from sourcelight.backends.remote.mcp.history.entries import Entry, UnparsedText, row_of
from sourcelight.backends.remote.mcp.history.paging import read_pages, scope_info
from sourcelight.backends.remote.mcp.history.streams import from_stream
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.patches import read_hunks
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.code_points import spans_in_text
from sourcelight.core.errors import PatternError, RepositoryError, RevisionNotFound, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.query.regexps import file_pattern
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.commits import WHOLE_PATCHES

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's name for a tree without files

_NO_REVISION = re.compile(r"\brevisions?\b|\bbad object\b|ambiguous argument|does(?:n't| not) exist|~1", re.IGNORECASE)
"""Words of an error about a revision that isn't there: `unknown revision or path`, `bad object`."""


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


async def diff_search(request: ToolRequest) -> ToolResult:
    """Return the changed lines that match, by the requested order of repositories, newest commit first."""
    line_filter = LineFilter.of(request.arguments)
    try:
        pages = await read_pages(request, "results")
    except UnparsedText as exc:
        return await from_stream(request, exc.text)

    if any("files" not in entry for entry in pages.entries):
        pages.add_gap("The service lists commits without their changes.")

    rows: list[dict[str, Any]] = []
    for done, entry in enumerate(pages.entries):
        files: Sequence[Mapping[str, Any]] = entry.get("files") or ()
        if _is_truncated(entry):
            request.report("reading whole diffs", done, len(pages.entries), str(entry.get("repo") or ""))
            diff = await _read_whole_diff(request, entry)
            files = diff.files
            if diff.gaps:
                pages.add_gap(*diff.gaps)

        lines = list(_matching_lines(entry, files, line_filter))
        rows += lines
        if entry.get("isFromText") and not lines:
            pages.add_gap(f"{_label(entry)} matches, but not in the part of its diff that the service shows.")

    if pages.info.get("namesAgents"):
        for row in rows:
            row["agent"] = row["agent"] or ""

    return ToolResult(
        columns="diff_lines",
        table=table_of_rows("diff_lines", _by_repository(rows, request)),
        attributes={"pattern": request.arguments["pattern"], **scope_info(request, pages)},
        complete=pages.complete,
        # Truncated diffs were read in full above, or have their own notice.
        notices=tuple(notice for notice in pages.notices if WHOLE_PATCHES not in notice),
    )


def _is_truncated(entry: Entry) -> bool:
    files = entry.get("files") or ()
    hunks = chain.from_iterable(file.get("hunks") or () for file in files)
    return bool(
        entry.get("filesLeftOut")
        or any(file.get("hunksLeftOut") for file in files)
        or any(hunk.get("truncated") for hunk in hunks)
    )


@dataclass(frozen=True, slots=True)
class _WholeDiff:
    """The files of a commit with all hunks that the service has, and notices about those it lacks."""

    files: Sequence[Mapping[str, Any]]
    gaps: Sequence[str] = ()


async def _read_whole_diff(request: ToolRequest, entry: Entry) -> _WholeDiff:
    """Compare a commit with its parent; without an answer, return the files of the search."""
    try:
        comparison = await _compare_with_parent(request, entry)
    except (ToolError, RepositoryError, UnparsedText) as exc:
        return _WholeDiff(entry.get("files") or (), (_unread_notice(entry, exc),))

    rows = comparison.rows
    gaps = []
    incomplete = [row for row in rows if row["truncated"] or (row["patch"] is None and not row["binary"])]
    if incomplete:
        changed = sum((row["additions"] or 0) + (row["deletions"] or 0) for row in incomplete)
        gaps.append(
            f"{_label(entry)}: the service truncates the patches of {len(incomplete):,} of "
            f"{count_of(len(rows), 'file')} with {count_of(changed, 'changed line')}; matching lines may be missing."
        )

    if comparison.has_more:
        gaps.append(f"{_label(entry)} has more than {count_of(len(rows), 'file')}; the others were not read.")

    return _WholeDiff([_file_of(row) for row in rows], gaps)


def _file_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a comparison as a file of a diff."""
    return {"oldPath": row["old_path"], "newPath": row["path"], "hunks": hunks_of(row["patch"] or "")}


async def _compare_with_parent(request: ToolRequest, entry: Entry) -> ComparisonPages:
    oid = str(entry["oid"])
    arguments = {"repo": entry["repo"], "head": oid}
    try:
        return await read_comparison(request, {**arguments, "base": f"{oid}~1"})
    except (RevisionNotFound, ToolError) as exc:
        # A first commit has no parent to compare with. After any other error, a comparison with nothing would report
        # all lines of the repository as added by this commit.
        if not isinstance(exc, RevisionNotFound) and _NO_REVISION.search(str(exc)) is None:
            raise
        return await read_comparison(request, {**arguments, "base": _EMPTY_TREE})


def _unread_notice(entry: Entry, exc: Exception) -> str:
    """Return a notice about the hunks that a search leaves out, and why they can't be read."""
    files = entry.get("files") or ()
    file_count = int(entry.get("filesLeftOut") or 0)
    hunk_count = sum(int(file.get("hunksLeftOut") or 0) for file in files)
    hunks = chain.from_iterable(file.get("hunks") or () for file in files)
    truncated_count = sum(bool(hunk.get("truncated")) for hunk in hunks)
    return (
        f"{_label(entry)} has more matching lines than the service returns. It leaves out "
        f"{count_of(file_count, 'file')} and {count_of(hunk_count, 'hunk')}, and truncates "
        f"{count_of(truncated_count, 'hunk')} ({exc})."
    )


def _label(entry: Entry) -> str:
    return f"{entry['repo']}@{str(entry['oid'])[:7]}"


def _matching_lines(
    entry: Entry, files: Sequence[Mapping[str, Any]], line_filter: LineFilter
) -> Iterator[dict[str, Any]]:
    """Yield the matching lines of a commit's diff."""
    commit = row_of(entry, "diff_lines")
    for file in files:
        path = str(file.get("newPath") or file.get("path") or file.get("oldPath"))
        old_path = str(file.get("oldPath") or path)
        if line_filter.wants(path, old_path):
            for line in line_filter.rows(file.get("hunks") or ()):
                yield {**commit, "path": path, "old_path": old_path, **line}


def _by_repository(rows: list[dict[str, Any]], request: ToolRequest) -> list[dict[str, Any]]:
    """Sort rows by the requested order of repositories; the service sorts all by date."""
    order = {name: index for index, name in enumerate(texts_of(request.arguments, "repos"))}
    return sorted(rows, key=lambda row: order.get(str(row["repository"]), len(order)))
