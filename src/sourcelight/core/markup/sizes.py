"""Sizes in bytes as text."""

from __future__ import annotations


def size_text(size_bytes: int) -> str:
    """A size as people read it, such as ``3.2 MB``."""
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
