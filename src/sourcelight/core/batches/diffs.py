"""The fenced text of commit and diff results: from it to lines with places, and back."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

DIFF_FENCE = "```diff"
MESSAGE_FENCE = "```COMMIT_EDITMSG"
_FENCE = "```"
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_NAMES = re.compile(r"((?:\\.|[^ \\])+) ((?:\\.|[^ \\])+)")
_SIDES = {"+": "added", "-": "removed", " ": "context", "": "context"}
_SIGNS = {"added": "+", "removed": "-", "context": " "}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff preview, without its sign.

    `number` is its 1-based line in the new file, for a removed line in the old one. A file header has no `side`: its
    `path` alone matters, and `shift` tells where the name starts in the header. `shift` is else the sign's width.
    """

    path: str
    side: str
    number: int
    text: str
    shift: int


def is_diff(content: str) -> bool:
    """Whether fenced text is a diff (else it is a commit message)."""
    return content.startswith(DIFF_FENCE)


def unfenced(content: str) -> list[str]:
    """The lines of fenced text with the opening fence as line 0, so that wire line numbers are positions."""
    lines = content.split("\n")
    if len(lines) > 1 and lines[-1].startswith(_FENCE):
        del lines[-1]
    return lines


def read_diff(lines: list[str], wanted: Container[int]) -> dict[int, DiffLine]:
    """The lines of a diff preview at the positions `wanted`; hunk headers are left out."""
    found: dict[int, DiffLine] = {}
    path, old, new, inside = "", 0, 0, False
    for position, line in enumerate(lines[1:], start=1):
        if line.startswith("@") and (hunk := _HUNK.match(line)) is not None:
            old, new, inside = int(hunk[1]), int(hunk[2]), True
        elif inside and line[:1] in _SIDES:
            side = _SIDES[line[:1]]
            if position in wanted:
                found[position] = DiffLine(path, side, old if side == "removed" else new, line[1:], 1)
            old += side != "added"
            new += side != "removed"
        elif (names := _NAMES.fullmatch(line)) is not None:
            path, inside = _unescaped(names[2]), False
            shift = names.start(2)
            if path == "/dev/null":
                path, shift = _unescaped(names[1]), 0
            if position in wanted:
                found[position] = DiffLine(path, "", 0, "", shift)
    return found


def write_diff(lines: Iterable[DiffLine]) -> tuple[str, list[int]]:
    """Fenced text that `read_diff` reads back to `lines`, and the position of each of them."""
    out, positions = [DIFF_FENCE], []
    path, side, number = None, "", 0
    for line in lines:
        if line.path != path:
            name = _escaped(line.path)
            out.append(f"{name} {name}")
            side = ""
        path = line.path
        if line.side != side or line.number != number:
            out.append(f"@@ -{line.number} +{line.number} @@")
        side, number = line.side, line.number + 1
        positions.append(len(out))
        out.append(_SIGNS[line.side] + line.text)
    return "\n".join([*out, "", _FENCE]), positions


def write_message(message: str) -> str:
    """A commit message as fenced text."""
    return f"{MESSAGE_FENCE}\n{message}\n{_FENCE}"


def triples(position: int, spans: Iterable[tuple[int, int]], shift: int) -> Iterator[tuple[int, int, int]]:
    """The wire's (line, character, length) of spans in a line that stands `shift` code points to the right."""
    for start, end in spans:
        yield position, start + shift, end - start


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(" ", "\\ ")


def _unescaped(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name) if "\\" in name else name
