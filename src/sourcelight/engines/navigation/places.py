"""From byte offsets to what a reader sees: lines, columns, signatures and documentation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.engines.symbols import Definition

MOST_SHOWN = 50
"""Lines of a definition that are shown."""

LONGEST_LINE = 2000
"""Bytes of a line that are shown."""

_MOST_SIGNATURE = 40
_COMMENT = re.compile(rb"^\s*(///?|//!|#(?!!|include|define|if|e|pragma)|\*|/\*\*?|--)")
_MARKS = re.compile(r"^\s*(///?!?|/\*\*?|\*/?|#|--)\s?|\s*\*/\s*$")
_OPENERS = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name stands: its 1-based line, and code points into it: ``line[start:end]`` is the name.

    `cut` tells that `line` is only a part of the line.
    """

    line_number: int
    start: int
    end: int
    line: str
    cut: bool = False


def line_of(text: bytes, offset: int) -> int:
    """Give the 1-based line of a byte offset."""
    return text.count(b"\n", 0, offset) + 1


def place_of(text: bytes, start: int, end: int) -> Place:
    """Give the line and columns of a name."""
    return places_of(text, [(start, end)])[0]


def places_of(text: bytes, spans: Sequence[tuple[int, int]]) -> list[Place]:
    """Give the lines and columns of names, which ascend.

    Of a line longer than `LONGEST_LINE` only what stands around the name is given, since generated files have thousands
    of names in one line of megabytes; `start` and `end` are then places in that part.
    """
    found = []
    number, counted, low, high = 1, 0, 0, -1
    for start, end in spans:
        number, counted = number + text.count(b"\n", counted, start), start
        if start > high:
            low = text.rfind(b"\n", 0, start) + 1
            high = text.find(b"\n", end)
            high = len(text) if high < 0 else high
        first, last = low, high
        if last - first > LONGEST_LINE:
            first, last = max(low, start - LONGEST_LINE // 2), min(high, end + LONGEST_LINE // 2)
            while first < start and text[first] & 0xC0 == 0x80:
                first += 1
            while last > end and last < high and text[last] & 0xC0 == 0x80:
                last -= 1
        line = text[first:last].removesuffix(b"\r")
        before = text[first:start].decode(errors="replace")
        name = text[start:end].decode(errors="replace")
        cut = last - first < high - low
        found.append(Place(number, len(before), len(before) + len(name), line.decode(errors="replace"), cut))
    return found


def offset_of(text: bytes, line_number: int, column: int) -> int | None:
    """Give the byte offset of a 1-based line and a column in code points; None beyond the text."""
    low = 0
    for _ in range(line_number - 1):
        low = text.find(b"\n", low) + 1
        if not low:
            return None
    high = text.find(b"\n", low)
    line = text[low : len(text) if high < 0 else high].decode(errors="replace")
    return low + len(line[:column].encode()) if column <= len(line) else None


class Lines:
    """The lines of a text, by their 1-based numbers."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", text))]

    def between(self, first: int, last: int, most: int = MOST_SHOWN) -> list[str]:
        """Give lines `first` to `last`, at most `most`; what is longer than 2,000 bytes is cut there."""
        starts = self._starts
        stop = min(last, first + most - 1, len(starts) - (starts[-1] == len(self._text)))
        found = []
        for number in range(first, stop + 1):
            end = starts[number] - 1 if number < len(starts) else len(self._text)
            part = self._text[starts[number - 1] : min(end, starts[number - 1] + LONGEST_LINE)]
            found.append(part.decode(errors="replace").removesuffix("\r"))
        return found


def signature_of(lines: list[str], kind: str) -> str:
    """Give the head of a definition from its first lines, blanks folded: up to where its body begins.

    Decorators and attributes are left out. `lines` start with the line on which the name stands.
    """
    text = ""
    depth = 0
    for line in lines[:_MOST_SIGNATURE]:
        for at, sign in enumerate(line):
            if sign in _OPENERS:
                depth += 1
            elif sign in _OPENERS.values():
                depth -= 1
            elif depth <= 0 and (sign == "{" or (sign == ":" and _ends_head(line, at, kind))):
                return _folded(text + " " + line[:at])
        text += " " + line
        if depth <= 0 and not line.rstrip().endswith(("\\", ",")):
            break
    return _folded(text)


def _ends_head(line: str, at: int, kind: str) -> bool:
    """Tell whether a colon begins a body, as in Python."""
    return (
        kind in {"function", "method", "class", "constructor"} and not line[at + 1 :].split("#", maxsplit=1)[0].strip()
    )


def _folded(text: str) -> str:
    text = " ".join(text.split()).removesuffix("=").rstrip(" ;")
    return text.replace("( ", "(").replace(",)", ")").replace(", )", ")").replace(" )", ")")


def documentation_of(language: str, lines: Lines, one: Definition) -> str:
    """Give the documentation of a definition: a docstring in Python, else the comment above it; cut at 50 lines."""
    if language == "Python":
        return _docstring("\n".join(lines.between(one.line, one.end_line)))
    above: list[str] = []
    number = one.begin_line - 1
    while number > 0 and len(above) < MOST_SHOWN:
        line = "".join(lines.between(number, number))
        if not _COMMENT.match(line.encode()):
            break
        above.append(_MARKS.sub("", line))
        number -= 1
    return "\n".join(reversed(above)).strip()


_DOCSTRING = re.compile(r':\s*(?:#[^\n]*)?\n\s*[rRuU]?("""|\'\'\'|"|\')(.*?)(?:\1|\Z)', re.DOTALL)


def _docstring(text: str) -> str:
    head = signature_end(text)
    found = _DOCSTRING.match(text, head) if head >= 0 else None
    if found is None:
        return ""
    lines = found[2].strip().splitlines()
    return "\n".join([lines[0].strip(), *(line.strip() for line in lines[1:])]) if lines else ""


def signature_end(text: str) -> int:
    """Give the place of the colon that ends the head of a Python definition, -1 for none."""
    depth = 0
    for at, sign in enumerate(text):
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == ":" and depth <= 0:
            return at
    return -1
