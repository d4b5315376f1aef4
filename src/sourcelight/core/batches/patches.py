"""Patches as text: their hunks and headers, and the preview of a diff (wire reference, 3.7).

An answer with a patch doesn't have to repeat what the headers of the patch say. A client reads it from the patch of
any service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, TypeAlias

from sourcelight.core.batches.diff_text import HUNK, escape_name

MAX_FILES, MAX_HUNKS, MAX_LINES, CONTEXT_LINES = 5, 3, 5, 1
"""Files of a preview, hunks of a file, and lines of a hunk beside its context; the wire reference has these numbers."""

_OLD, _NEW = (" ", "-"), (" ", "+")
"""Signs of the lines that a side has."""

_LinePosition: TypeAlias = tuple[str, int]
"""Sign of a line, and its 1-based number: of a removed line in the old file, of others in the new."""

_NO_MODE, _NO_OBJECT = "000000", "0" * 40
"""Mode and object id of a file that does not exist, in git's notation."""

_INDEX = re.compile(r"index ([0-9a-f]{40})\.\.([0-9a-f]{40})(?: ([0-7]{6}))?")
"""A line of the header with the object ids: ``index 1f4c…..9e2d… 100644``."""

# A line of a file starts with a sign, so only headers match.
_OBJECT_IDS = re.compile(r"^(index [0-9a-f]{7})[0-9a-f]{33}\.\.([0-9a-f]{7})[0-9a-f]{33}(?= |$)", re.MULTILINE)
_SIMILARITY = re.compile(r"similarity index (\d{1,3})%")
"""A line of the header of a renamed file: ``similarity index 97%``."""

_MODE = re.compile(r"(old mode|new mode|new file mode|deleted file mode) ([0-7]{6})")
"""A line of the header with a mode: ``new file mode 100644``."""

_BINARY = ("Binary files ", "GIT binary patch")
_IS_BINARY = re.compile(rf"^(?:{'|'.join(_BINARY)})", re.MULTILINE)
"""A line of a binary patch."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk of a patch.

    Attributes
    ----------
    old_start, new_start
        1-based first lines; without any line on a side, the line before (0 at the start of a file), as git counts.
    section
        What git writes behind the numbers: the line that begins the function around the hunk.
    lines
        Lines with their signs, without newlines; also git's notes on missing newlines, which begin with a backslash.
    """

    old_start: int
    new_start: int
    section: str
    lines: tuple[str, ...]

    @property
    def old_lines(self) -> int:
        """Number of lines before the change."""
        return sum(line.startswith(_OLD) for line in self.lines)

    @property
    def new_lines(self) -> int:
        """Number of lines after the change."""
        return sum(line.startswith(_NEW) for line in self.lines)

    @property
    def header(self) -> str:
        """The line that begins the hunk."""
        ranges = f"@@ -{self.old_start},{self.old_lines} +{self.new_start},{self.new_lines} @@"
        return f"{ranges} {self.section}".rstrip()

    def positions(self) -> Iterator[_LinePosition]:
        """Yield sign and number of each line."""
        old, new = self._first_lines()
        for line in self.lines:
            sign = line[:1]
            yield sign, (old if sign == "-" else new)
            old += line.startswith(_OLD)
            new += line.startswith(_NEW)

    def part(self, first: int, last: int, section: str = "") -> Hunk:
        """Return the lines from index `first` up to `last` as a hunk; `section` goes behind its section."""
        before, lines = self.lines[:first], self.lines[first : last + 1]
        old, new = self._first_lines()
        old += sum(line.startswith(_OLD) for line in before)
        new += sum(line.startswith(_NEW) for line in before)

        # A side without lines is numbered by the line before it.
        old -= not any(line.startswith(_OLD) for line in lines)
        new -= not any(line.startswith(_NEW) for line in lines)
        return Hunk(old_start=old, new_start=new, section=f"{self.section} {section}".strip(), lines=lines)

    def _first_lines(self) -> tuple[int, int]:
        return self.old_start + (not self.old_lines), self.new_start + (not self.new_lines)


def read_hunks(patch: str) -> Iterator[Hunk]:
    """Yield the hunks of a patch; of several files, one after the other."""
    hunk: Hunk | None = None
    lines: list[str] = []

    # Lines of the hunk that are still to come: until both are 0, a line that looks like a header is text of a file.
    old = new = 0
    for line in patch.split("\n"):
        is_finished = old <= 0 and new <= 0
        match = HUNK.match(line) if is_finished else None
        if match is not None:
            if hunk is not None:
                yield replace(hunk, lines=tuple(lines))

            old, new = int(match[2] or 1), int(match[4] or 1)
            section = line[match.end() :].strip()
            hunk = Hunk(old_start=int(match[1]), new_start=int(match[3]), section=section, lines=())
            lines = []
            continue

        # Lines after the counted ones are the header of another part, for example after a change of file type.
        is_note = line[:1] == "\\"
        is_text = line[:1] in {"+", "-", " "} and not is_finished
        if hunk is not None and (is_note or is_text):
            old -= line.startswith(_OLD)
            new -= line.startswith(_NEW)
            lines.append(line)

    if hunk is not None:
        yield replace(hunk, lines=tuple(lines))


@dataclass(frozen=True, slots=True)
class PreviewFile:
    """A file of a preview.

    Attributes
    ----------
    old_path, path
        Its names, ``/dev/null`` for none.
    hunks
        All hunks of its patch.
    matched_lines
        Sign and number of the lines with matches; None: every line counts.
    """

    old_path: str
    path: str
    hunks: Sequence[Hunk]
    matched_lines: frozenset[_LinePosition] | None

    def has_match(self, position: _LinePosition) -> bool:
        """Return whether a line must be in the preview."""
        return self.matched_lines is None or position in self.matched_lines

    def has_all_matches(self) -> bool:
        """Return whether each line with matches is in a hunk."""
        if self.matched_lines is None:
            return True
        positions = chain.from_iterable(hunk.positions() for hunk in self.hunks)
        return self.matched_lines.issubset(positions)


def write_preview(files: Sequence[PreviewFile]) -> tuple[str, dict[tuple[int, str, int], int]] | None:
    """Write a preview without its fences.

    Returns
    -------
    tuple of str and dict, or None
        The text, and the position of each marked line in the fenced text (the fence is line 0) by file, sign and
        number; lines beyond the limits have none. None when a marked line is not in the hunks at all.
    """
    if not all(file.has_all_matches() for file in files):
        return None

    out: list[str] = []
    positions: dict[tuple[int, str, int], int] = {}
    for index, file in enumerate(files[:MAX_FILES]):
        out.append(f"{escape_name(file.old_path)} {escape_name(file.path)}")
        for part in islice(_preview_parts(file), MAX_HUNKS):
            out.append(part.header)
            for line, position in zip(part.lines, part.positions(), strict=True):
                out.append(line)
                if file.matched_lines is not None and position in file.matched_lines:
                    positions[index, *position] = len(out)

    return "\n".join([*out, ""]), positions


def _preview_parts(file: PreviewFile) -> Iterator[Hunk]:
    """Yield the parts of a file's hunks around the lines that must be in the preview."""
    for hunk in file.hunks:
        marks = [index for index, position in enumerate(hunk.positions()) if file.has_match(position)]
        yield from _windows(hunk, marks)


def _windows(hunk: Hunk, marks: Sequence[int]) -> Iterator[Hunk]:
    """Yield the parts of a hunk around the lines `marks`; close ones are one part."""
    max_lines = MAX_LINES + 2 * CONTEXT_LINES
    if marks and len(hunk.lines) <= max_lines:
        yield hunk
        return

    start = 0
    while start < len(marks):
        # Marks whose contexts touch are in one part.
        end = start
        while end + 1 < len(marks) and marks[end + 1] <= marks[end] + 2 * CONTEXT_LINES + 1:
            end += 1

        first = max(0, marks[start] - CONTEXT_LINES)
        last = min(len(hunk.lines) - 1, marks[end] + CONTEXT_LINES)
        last_shown = min(last, first + max_lines - 1)
        note = f"... +{last - last_shown}" if last_shown < last else ""
        yield hunk.part(first, last_shown, note)
        start = end + 1


def patch_facts(patch: str, *, is_whole: bool = True) -> dict[str, Any]:
    """Return the values of a patch by the columns of ``file_diffs``; unknown ones are absent.

    Parameters
    ----------
    patch
        The diff of one file, as git words it.
    is_whole
        Whether nothing of it was cut, so that its lines can be counted.
    """
    info: dict[str, Any] = {"binary": False}
    for line in patch.split("\n"):
        # If the type of a file changed, a second header follows; only the first one is about the older file.
        if line.startswith("@@ ") or (line.startswith("diff --git ") and len(info) > 1):
            break
        info |= _read_header(line)

    if is_whole:
        info |= {"additions": 0, "deletions": 0}
        for hunk in read_hunks(patch):
            info["additions"] += sum(line.startswith("+") for line in hunk.lines)
            info["deletions"] += sum(line.startswith("-") for line in hunk.lines)

    return info


def abbreviate_object_ids(patch: str) -> str:
    """Shorten the object ids of a file's patch to seven digits, as ``git diff`` prints them.

    Two full ids cost a language model 48 tokens. Binary patches keep theirs, which ``git apply`` needs in full.
    """
    if _IS_BINARY.search(patch):
        return patch
    return _OBJECT_IDS.sub(r"\1..\2", patch)


def _read_header(line: str) -> dict[str, Any]:
    """Return the values that a line of a patch's header has, by column; none for other lines."""
    mode = _MODE.fullmatch(line)
    if mode is not None:
        return _mode_columns(mode[1], mode[2])

    index = _INDEX.fullmatch(line)
    if index is not None:
        columns = {"old_object_id": index[1], "object_id": index[2]}
        # With a mode, the line says that it did not change.
        if index[3]:
            columns |= {"old_mode": index[3], "mode": index[3]}
        return columns

    similarity = _SIMILARITY.fullmatch(line)
    if similarity is not None:
        return {"score": int(similarity[1])}
    if line.startswith(_BINARY):
        return {"binary": True}
    return {}


def _mode_columns(field: str, mode: str) -> dict[str, str]:
    match field:
        case "new file mode":
            return {"mode": mode, "old_mode": _NO_MODE, "old_object_id": _NO_OBJECT}
        case "deleted file mode":
            return {"mode": _NO_MODE, "old_mode": mode, "object_id": _NO_OBJECT}
        case "old mode":
            return {"old_mode": mode}
        case _:
            return {"mode": mode}
