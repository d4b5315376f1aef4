"""Part of a module."""

from __future__ import annotations


def lines_of(data: bytes) -> list[str]:
    """Give the lines of a file as text, invalid UTF-8 as U+FFFD, without carriage returns at their ends."""
    lines = [line.removesuffix(b"\r").decode("utf-8", "replace") for line in data.split(b"\n")]
    if lines and not lines[-1]:
        lines.pop()
    return lines
