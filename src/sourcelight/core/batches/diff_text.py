r"""Read and write the text that stands for a commit in a result: its diff, or its message, in a Markdown fence.

This is a diff, with the numbers by which ranges of the wire name its lines::

    0   ```diff
    1   old\ name.py new\ name.py
    2   @@ -7,2 +7,2 @@ def retry():
    3    delay = 1
    4   -sleep(delay)
    5   +sleep(2 * delay)
    6   "-odd\040name" "-odd\040name"
    7   @@ -1,0 +1,1 @@
    8   +one more line
    9   ```

The header of a file has its old and its new name, with a backslash before each space. A name that would read as
something else there (``-x``, ``+x``), or that holds a control character, is in git's quotes; see `git_names`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from sourcelight.core.batches.git_names import quote_name, unquote_text

DIFF_FENCE = "```diff"
MESSAGE_FENCE = "```COMMIT_EDITMSG"
_FENCE = "```"

SIGN_WIDTH = 1
"""Characters of the sign before the text of a diff's line."""

HUNK = re.compile(r"@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@")
"""``@@ -7,2 +7,2 @@``: first line and number of lines in the old file, and in the new one; `git` omits a count of 1."""

_NAME = r'("(?:\\.|[^"\\])*"|(?:\\.|[^ \\])+)'
_FILE_HEADER = re.compile(f"{_NAME} {_NAME}")
r"""``old\ name.py "-new\040name"``"""

_GIT_HEADER = re.compile(r"(diff --git |--- (?=a/|\"a/|/dev/null)|\+\+\+ (?=b/|\"b/|/dev/null))(.*)")
"""``diff --git a/old.py b/new.py``, ``--- a/old.py`` or ``+++ b/new.py``."""

_GIT_PREFIX = re.compile(r"^[ab]/")
"""``a/`` or ``b/``, which git writes before the old and the new name."""

_NO_FILE = "/dev/null"
"""Name of the other side of a file that was added or deleted."""

_AMBIGUOUS = re.compile('[-+@"`]')
"""First characters of names that would read as a line or header of a hunk, as quotes, or as the fence."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
"""Control characters, which can't be in a header as they are."""

_SIDES = {"+": "added", "-": "removed", " ": "context", "": "context"}
"""Side of a line by its sign. Some services strip the space of an empty line."""

_SIGNS = {"added": "+", "removed": "-", "context": " "}
"""The first character of a line, by its side."""

WireRange: TypeAlias = tuple[int, int, int]
"""A range of the wire: number of the line, first character in it, length; in code points."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a file in a diff, without its sign.

    `side` is ``added``, ``removed`` or ``context``. `number` is the 1-based number of the line in the new file, or in
    the old file if the line was removed.
    """

    path: str
    side: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class FileHeader:
    """The line of a diff that names a file; `path` is the old name of a deleted file, else the new one."""

    path: str


def is_diff(content: str) -> bool:
    """Return whether fenced text is a diff (else it is a commit message)."""
    return content.startswith(DIFF_FENCE)


def strip_fence(content: str) -> list[str]:
    """Return the lines of fenced text, without the closing fence.

    The opening fence stays, as line 0, so that the line numbers of the wire are indexes of the list.
    """
    lines = content.split("\n")
    if len(lines) > 1 and lines[-1].startswith(_FENCE):
        del lines[-1]
    return lines


def read_diff(lines: list[str], positions: Container[int]) -> dict[int, DiffLine | FileHeader]:
    """Return the lines of a diff at some positions.

    Parameters
    ----------
    lines
        The lines that `strip_fence` returns.
    positions
        Indexes of the lines to return. Headers of hunks and lines that can't be read are left out.
    """
    result: dict[int, DiffLine | FileHeader] = {}
    path = ""
    hunk: _Hunk | None = None
    for position, line in enumerate(lines[1:], start=1):
        hunk_header = HUNK.match(line)
        if hunk_header is not None:
            hunk = _Hunk.of(hunk_header)
            continue

        if hunk is not None and line[:SIGN_WIDTH] in _SIDES:
            is_next_file = hunk.is_complete and _is_header_of_next_file(lines, position)
            if not is_next_file:
                side = _SIDES[line[:SIGN_WIDTH]]
                number = hunk.count_line(side)
                if position in positions:
                    result[position] = DiffLine(path, side, number, line[SIGN_WIDTH:])
                continue

        git_header = _GIT_HEADER.match(line)
        if git_header is not None:
            hunk = None
            git_path = _path_of_git_header(git_header)
            if git_path is not None:
                path = git_path
            continue

        file_header = _FILE_HEADER.fullmatch(line)
        if file_header is not None:
            hunk = None
            path = _path_of_header(file_header)
            if position in positions:
                result[position] = FileHeader(path)

    return result


class _Hunk:
    """A hunk that is being read: the numbers of its next line in both files."""

    __slots__ = ("end", "new_number", "old_number")

    def __init__(self, old_number: int, new_number: int, end: tuple[int, int] | None) -> None:
        self.old_number = old_number
        self.new_number = new_number
        # Both numbers behind the last line; None if the header has no counts.
        self.end = end

    @classmethod
    def of(cls, header: re.Match[str]) -> _Hunk:
        """Start at the header of a hunk."""
        old_start, old_count, new_start, new_count = header.groups()
        old_number = int(old_start)
        new_number = int(new_start)
        if old_count and new_count:
            return cls(old_number, new_number, (old_number + int(old_count), new_number + int(new_count)))
        return cls(old_number, new_number, None)

    @property
    def is_complete(self) -> bool:
        """Whether all lines that the header counts have been read."""
        return self.end == (self.old_number, self.new_number)

    def count_line(self, side: str) -> int:
        """Return the number of the next line, which is on one side, or on both if it is context."""
        if side == "removed":
            number = self.old_number
        else:
            number = self.new_number
            self.new_number += 1

        if side != "added":
            self.old_number += 1
        return number


def _is_header_of_next_file(lines: list[str], position: int) -> bool:
    """Return whether a line that begins with a sign names a file, as ``-x -x`` does: some services don't quote it.

    Ask only behind the last line of a hunk. Before it, the same text is a removed line.
    """
    if _FILE_HEADER.fullmatch(lines[position]) is None or position + 1 == len(lines):
        return False
    return HUNK.match(lines[position + 1]) is not None


def _path_of_git_header(header: re.Match[str]) -> str | None:
    """Return the name in a header that `git diff` prints; None if this line names no single file.

    Some services send these headers, which have a line for each of both names.
    """
    keyword, name = header.groups()
    if keyword == "diff --git " or name == _NO_FILE:
        return None
    # git ends a name that has a space with a tab.
    return _GIT_PREFIX.sub("", _unescape_name(name.partition("\t")[0]))


def _path_of_header(header: re.Match[str]) -> str:
    old_name, new_name = header.groups()
    path = _unescape_name(new_name)
    if path == _NO_FILE:
        return _unescape_name(old_name)
    return path


def write_diff(lines: Sequence[DiffLine]) -> tuple[str, list[int]]:
    """Return fenced text that `read_diff` reads back to `lines`, and the position of each of them."""
    out = [DIFF_FENCE]
    positions: list[int] = []
    path = None
    for run in _runs(lines):
        first = run[0]
        if first.path != path:
            path = first.path
            name = escape_name(path)
            out.append(f"{name} {name}")

        old_count = 0 if first.side == "added" else len(run)
        new_count = 0 if first.side == "removed" else len(run)
        out.append(f"@@ -{first.number},{old_count} +{first.number},{new_count} @@")
        for line in run:
            positions.append(len(out))
            out.append(_SIGNS[line.side] + line.text)

    out += ["", _FENCE]
    return "\n".join(out), positions


def _runs(lines: Sequence[DiffLine]) -> Iterator[Sequence[DiffLine]]:
    """Yield lines of one file and side that follow each other."""
    start = 0
    for index, (line, next_line) in enumerate(pairwise(lines), start=1):
        if (next_line.path, next_line.side, next_line.number) != (line.path, line.side, line.number + 1):
            yield lines[start:index]
            start = index
    if lines:
        yield lines[start:]


def fence_diff(preview: str) -> str:
    """Return the preview of a diff as fenced text."""
    return f"{DIFF_FENCE}\n{preview}\n{_FENCE}"


def write_message(message: str) -> str:
    """Return a commit message as fenced text."""
    return f"{MESSAGE_FENCE}\n{message}\n{_FENCE}"


def wire_ranges(position: int, spans: Iterable[tuple[int, int]], offset: int) -> list[WireRange]:
    """Return the ranges of spans in one line.

    Parameters
    ----------
    position
        Number of the line in the fenced text.
    spans
        Start and end of each span, in code points of the line without its sign.
    offset
        Code points before the line: `SIGN_WIDTH` in a diff, 0 in a message.
    """
    return [(position, start + offset, end - start) for start, end in spans]


def escape_name(name: str) -> str:
    """Return the name of a file in the form of a header."""
    if _AMBIGUOUS.match(name) or _CONTROL.search(name):
        raw = name.encode("utf-8", "replace")
        # git doesn't escape spaces within quotes; here they separate the two names.
        return quote_name(raw).decode().replace(" ", "\\040")
    return name.replace("\\", "\\\\").replace(" ", "\\ ")


def _unescape_name(name: str) -> str:
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        return unquote_text(name)
    return re.sub(r"\\(.)", r"\1", name)
