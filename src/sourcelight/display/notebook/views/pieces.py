"""Lines as pieces of plain text, some of them marked: what a page in the browser sets as text, never as HTML."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.core.markup import visible

LONGEST = 300
Piece = tuple[str, bool]


def cut(
    text: str, starts: Sequence[int], ends: Sequence[int], longest: int = LONGEST
) -> tuple[str, list[int], list[int]]:
    """A window of a line longer than `longest` that shows its first match, and the spans within it.

    Parameters
    ----------
    text
        Untrusted text.
    starts, ends
        Spans in code points.
    """
    if len(text) <= longest:
        return text, list(starts), list(ends)
    low = max(0, min(starts, default=0) - 40)
    window = text[low : low + longest]
    head, tail = ("\u2026" if low else ""), ("\u2026" if low + longest < len(text) else "")
    shift = len(head) - low
    inside = [
        (max(a + shift, len(head)), min(b + shift, len(head) + len(window)))
        for a, b in zip(starts, ends, strict=True)
        if b > low and a < low + longest
    ]
    return head + window + tail, [a for a, _ in inside], [b for _, b in inside]


def pieces(text: str, starts: Sequence[int] = (), ends: Sequence[int] = ()) -> list[Piece]:
    """`text`, cut if it is long, as (text, marked) pairs; what is not seen but acts is made visible.

    Spans may overlap and come in any order; parts outside of the text are ignored.
    """
    shown, first, last = cut(text, starts, ends)
    made: list[Piece] = []
    at = 0
    for start, end in sorted(zip(first, last, strict=True)):
        low, high = max(start, at), min(end, len(shown))
        if low >= high:
            continue
        if low > at:
            made.append((visible(shown[at:low]), False))
        made.append((visible(shown[low:high]), True))
        at = high
    if at < len(shown):
        made.append((visible(shown[at:]), False))
    return made
