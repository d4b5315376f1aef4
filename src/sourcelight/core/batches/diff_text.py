r"""The fenced text of commit and diff results: from it to lines with places, and back.

A file has a line with its old and new name, blanks in them escaped by a backslash. Names that would be taken for
something else there (``-x``, ``+x``), or that hold a control character, are in git's quotes; see `git_names`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sourcelight.core.batches.git_names import quote_name, unquote_text

DIFF_FENCE = "```diff"
MESSAGE_FENCE = "```COMMIT_EDITMSG"
_FENCE = "```"
HUNK = re.compile(r"@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@")
_NAME = r'("(?:\\.|[^"\\])*"|(?:\\.|[^ \\])+)'
_NAMES = re.compile(f"{_NAME} {_NAME}")
_GIT_HEADER = re.compile(r"(diff --git |--- (?=a/|\"a/|/dev/null)|\+\+\+ (?=b/|\"b/|/dev/null))(.*)")
_GIT_PREFIX = re.compile(r"^[ab]/")

_AMBIGUOUS = re.compile('[-+@"`]')
"""First characters of names that would read as a line or header of a hunk, as quotes, or as the fence."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SIDES = {"+": "added", "-": "removed", " ": "context", "": "context"}
_SIGNS = {"added": "+", "removed": "-", "context": " "}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff preview, without its sign.

    `number` is its 1-based line in the new file, for a removed line in the old one. A file header has no `side`: only
    its `path` matters, and `shift` is the offset of the name in the header. `shift` is else the sign's width.
    """

    path: str
    side: str
    number: int
    text: str
    shift: int


def is_diff(content: str) -> bool:
    """Return whether fenced text is a diff (else it is a commit message)."""
    return content.startswith(DIFF_FENCE)


def strip_fence(content: str) -> list[str]:
    """Return the lines of fenced text with the opening fence as line 0, so that wire line numbers are positions."""
    lines = content.split("\n")
    if len(lines) > 1 and lines[-1].startswith(_FENCE):
        del lines[-1]
    return lines


def read_diff(lines: list[str], positions: Container[int]) -> dict[int, DiffLine]:
    """Return the lines of a diff preview at the positions `positions`; hunk headers are left out."""
    diff_lines: dict[int, DiffLine] = {}
    path = ""
    old = new = 0
    is_in_hunk = False
    # Where the hunk must end by its header: a removed line that looks like a header of a file is text before that
    # point.
    end_numbers: tuple[int, int] | None = None
    for position, line in enumerate(lines[1:], start=1):
        hunk = HUNK.match(line) if line.startswith("@") else None
        if hunk is not None:
            old, new = int(hunk[1]), int(hunk[3])
            is_in_hunk = True
            end_numbers = (old + int(hunk[2]), new + int(hunk[4])) if hunk[2] and hunk[4] else None
            continue

        is_at_end = end_numbers == (old, new)
        if is_in_hunk and line[:1] in _SIDES and not (is_at_end and _is_header(lines, position)):
            side = _SIDES[line[:1]]
            if position in positions:
                number = old if side == "removed" else new
                diff_lines[position] = DiffLine(path=path, side=side, number=number, text=line[1:], shift=1)
            old += side != "added"
            new += side != "removed"
            continue

        # Some services send what `git diff` prints: both names have lines of their own.
        header = _GIT_HEADER.match(line)
        if header is not None:
            is_in_hunk = False
            if header[1] != "diff --git " and header[2] != "/dev/null":
                path = _GIT_PREFIX.sub("", _unescape_name(header[2].partition("\t")[0]))
            continue

        names = _NAMES.fullmatch(line)
        if names is not None:
            is_in_hunk = False
            path, shift = _unescape_name(names[2]), names.start(2)
            # A deleted file has its name on the other side only.
            if path == "/dev/null":
                path, shift = _unescape_name(names[1]), 0
            if position in positions:
                diff_lines[position] = DiffLine(path=path, side="", number=0, text="", shift=shift)

    return diff_lines


def _is_header(lines: list[str], position: int) -> bool:
    """Return whether a line that begins with a sign names a file: other services write ``-x -x`` as it is.

    Asked only where the hunk before has all of the lines that it counts.
    """
    following = lines[position + 1] if position + 1 < len(lines) else ""
    return _NAMES.fullmatch(lines[position]) is not None and HUNK.match(following) is not None


def write_diff(lines: Sequence[DiffLine]) -> tuple[str, list[int]]:
    """Return fenced text that `read_diff` reads back to `lines`, and the position of each of them."""
    out, positions = [DIFF_FENCE], []
    path = None
    for run in _runs(lines):
        if run[0].path != path:
            path = run[0].path
            name = escape_name(path)
            out.append(f"{name} {name}")

        number, side = run[0].number, run[0].side
        old, new = (0 if side == other_side else len(run) for other_side in ("added", "removed"))
        out.append(f"@@ -{number},{old} +{number},{new} @@")
        for line in run:
            positions.append(len(out))
            out.append(_SIGNS[line.side] + line.text)

    return "\n".join([*out, "", _FENCE]), positions


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


def triples(position: int, spans: Iterable[tuple[int, int]], shift: int) -> Iterator[tuple[int, int, int]]:
    """Return the wire's (line, character, length) of spans in a line, shifted `shift` code points to the right."""
    for start, end in spans:
        yield position, start + shift, end - start


def escape_name(name: str) -> str:
    """Return a name of a file as the first line of its diff has it."""
    raw = name.encode("utf-8", "replace")
    if _AMBIGUOUS.match(name) or _CONTROL.search(name):
        # git doesn't escape spaces within quotes; here they separate the two names.
        return quote_name(raw).decode().replace(" ", "\\040")
    return name.replace("\\", "\\\\").replace(" ", "\\ ")


def _unescape_name(name: str) -> str:
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        return unquote_text(name)
    return re.sub(r"\\(.)", r"\1", name) if "\\" in name else name
