"""Find quoted lines in a file, whatever their common indentation."""

from __future__ import annotations

from collections.abc import Sequence


def normalize_lines(lines: Sequence[str]) -> list[str]:
    """Remove the indentation that all lines share, and trailing blanks."""
    lines = [line.rstrip() for line in lines]
    margins = [len(line) - len(line.lstrip()) for line in lines if line]
    margin = min(margins, default=0)
    return [line[margin:] for line in lines]


def find_lines(lines: Sequence[str], quoted: Sequence[str]) -> list[int]:
    """Return the positions, from 0, of quoted lines (which are normalized) in a file."""
    size = len(quoted)
    # The first line that isn't blank is compared first, because most positions fail there.
    anchor = next((index for index, line in enumerate(quoted) if line), None)
    if anchor is None:
        return []
    anchor_text = quoted[anchor].strip()
    return [
        index
        for index in range(len(lines) - size + 1)
        if lines[index + anchor].strip() == anchor_text and normalize_lines(lines[index : index + size]) == quoted
    ]
