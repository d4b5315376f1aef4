"""Spans of matches as pairs of offsets."""

from __future__ import annotations

from collections.abc import Iterable


def disjoint_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return distinct spans, sorted; of overlapping ones the earlier stays, of the same start the longest."""
    disjoint: list[tuple[int, int]] = []
    for span in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if not disjoint or span[0] >= disjoint[-1][1]:
            disjoint.append(span)
    return disjoint
