"""Patches as text: their hunks and headers, and the preview of a diff (wire reference, 3.7).

An answer with a patch doesn't have to repeat what the headers of the patch say. A client reads it from the patch of
any service.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.batches.diff_text import HUNK, escape_name

MAX_FILES, MAX_HUNKS, MAX_LINES, CONTEXT_LINES = 5, 3, 5, 1
"""Files of a preview, hunks of a file, and lines of a hunk beside its context."""

_OLD, _NEW = (" ", "-"), (" ", "+")

_NO_MODE, _NO_OBJECT = "000000", "0" * 40
_INDEX = re.compile(r"index ([0-9a-f]{40})\.\.([0-9a-f]{40})(?: ([0-7]{6}))?")
# A line of a file starts with a sign, so only headers match.
_OBJECT_IDS = re.compile(r"^(index [0-9a-f]{7})[0-9a-f]{33}\.\.([0-9a-f]{7})[0-9a-f]{33}(?= |$)", re.MULTILINE)
_SIMILARITY = re.compile(r"similarity index (\d{1,3})%")
_MODE = re.compile(r"(old mode|new mode|new file mode|deleted file mode) ([0-7]{6})")
_BINARY = ("Binary files ", "GIT binary patch")
_IS_BINARY = re.compile(rf"^(?:{'|'.join(_BINARY)})", re.MULTILINE)


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

    def numbers(self) -> Iterator[tuple[str, int]]:
        """Yield sign and 1-based number of each line: of removed lines in the old file, of others in the new."""
        old, new = self._first_lines()
        for line in self.lines:
            yield line[:1], old if line.startswith("-") else new
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
    head: tuple[int, int, str] | None = None
    lines: list[str] = []

    # Lines of the hunk that are still to come: until both are 0, a line that looks like a header is text of a file.
    old = new = 0
    for line in patch.split("\n"):
        match = HUNK.match(line) if not (old or new) else None
        if match is not None:
            if head is not None:
                yield Hunk(*head, tuple(lines))
            old, new = int(match[2] or 1), int(match[4] or 1)
            head, lines = (int(match[1]), int(match[3]), line[match.end() :].strip()), []
        elif head is not None and (line[:1] == "\\" or (old + new and line[:1] in {"+", "-", " "})):
            # Lines after the counted ones are the header of another part, for example after a change of file type.
            old, new = old - line.startswith(_OLD), new - line.startswith(_NEW)
            lines.append(line)

    if head is not None:
        yield Hunk(*head, tuple(lines))


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
    matched_lines: frozenset[tuple[str, int]] | None


def write_preview(files: Sequence[PreviewFile]) -> tuple[str, dict[tuple[int, str, int], int]] | None:
    """Write a preview without its fences.

    Returns
    -------
    tuple of str and dict, or None
        The text, and the position of each marked line in the fenced text (the fence is line 0) by file, sign and
        number; lines beyond the limits have none. None when a marked line is not in the hunks at all.
    """
    out: list[str] = []
    positions: dict[tuple[int, str, int], int] = {}
    for index, file in enumerate(files):
        line_numbers = [list(hunk.numbers()) for hunk in file.hunks]
        if file.matched_lines is not None and not file.matched_lines.issubset(
            number_pair for places_of in line_numbers for number_pair in places_of
        ):
            return None

        if index >= MAX_FILES:
            continue

        out.append(f"{escape_name(file.old_path)} {escape_name(file.path)}")
        hunks_left = MAX_HUNKS
        for hunk, numbers in zip(file.hunks, line_numbers, strict=True):
            marks = [
                i
                for i, number_pair in enumerate(numbers)
                if file.matched_lines is None or number_pair in file.matched_lines
            ]
            for part in list(_windows(hunk, marks))[:hunks_left]:
                hunks_left -= 1
                out.append(part.header)
                for line, number_pair in zip(part.lines, part.numbers(), strict=True):
                    out.append(line)
                    if file.matched_lines is not None and number_pair in file.matched_lines:
                        positions[index, *number_pair] = len(out)

    return "\n".join([*out, ""]), positions


def _windows(hunk: Hunk, marks: Sequence[int]) -> Iterator[Hunk]:
    """Yield the parts of a hunk around the lines `marks`; close ones are one part."""
    if marks and len(hunk.lines) <= MAX_LINES + 2 * CONTEXT_LINES:
        yield hunk
        return

    start = 0
    while start < len(marks):
        end = start
        while end + 1 < len(marks) and marks[end + 1] <= marks[end] + 2 * CONTEXT_LINES + 1:
            end += 1
        first, last = max(0, marks[start] - CONTEXT_LINES), min(len(hunk.lines) - 1, marks[end] + CONTEXT_LINES)
        fitting = min(last, first + MAX_LINES + 2 * CONTEXT_LINES - 1)
        yield hunk.part(first, fitting, f"... +{last - fitting}" if fitting < last else "")
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
        signs = [line[:1] for hunk in read_hunks(patch) for line in hunk.lines]
        info |= {"additions": signs.count("+"), "deletions": signs.count("-")}

    return info


def abbreviate_object_ids(patch: str) -> str:
    """Shorten the object ids of a file's patch to seven digits, as ``git diff`` prints them.

    Two full ids cost a language model 48 tokens. Binary patches keep theirs, which ``git apply`` needs in full.
    """
    if _IS_BINARY.search(patch):
        return patch
    return _OBJECT_IDS.sub(r"\1..\2", patch)


def _read_header(line: str) -> dict[str, Any]:
    if match := _MODE.fullmatch(line):
        field, mode = match[1], match[2]
        if field == "new file mode":
            return {"mode": mode, "old_mode": _NO_MODE, "old_object_id": _NO_OBJECT}
        if field == "deleted file mode":
            return {"mode": _NO_MODE, "old_mode": mode, "object_id": _NO_OBJECT}
        return {"old_mode" if field == "old mode" else "mode": mode}

    if match := _INDEX.fullmatch(line):
        modes = {"mode": match[3], "old_mode": match[3]} if match[3] else {}
        return {"old_object_id": match[1], "object_id": match[2], **modes}
    if match := _SIMILARITY.fullmatch(line):
        return {"score": int(match[1])}

    return {"binary": True} if line.startswith(_BINARY) else {}
