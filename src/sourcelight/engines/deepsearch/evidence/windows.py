"""The lines of a chunk that say most about a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sourcelight.engines.search.ranking.tokenizer import TOKEN, terms_of

WINDOW = 15
"""Lines of one quote, the header of its definition not counted."""


def line_weights(lines: Sequence[str], weights: Mapping[str, float]) -> list[float]:
    """Give for each line the weight of the question's terms in it, each term once."""
    found = []
    for line in lines:
        terms = {term for token in TOKEN.findall(line.encode()) for term in terms_of(token.decode("utf-8", "replace"))}
        found.append(sum(weight for term, weight in weights.items() if term in terms))
    return found


def best_window(lines: Sequence[str], weights: Mapping[str, float], size: int = WINDOW) -> tuple[int, int]:
    """Give the window with the greatest weight, first and last line from 0; the earliest of equal ones.

    A term counts in full in the first line that has it and a quarter in others, so that a window that speaks of
    everything asked wins over one that repeats a word. Empty lines at its ends are left out.
    """
    count = len(lines)
    if count <= size:
        return _trimmed(lines, 0, count - 1)
    held = [
        {term for token in TOKEN.findall(line.encode()) for term in terms_of(token.decode("utf-8", "replace"))}
        & weights.keys()
        for line in lines
    ]
    best, at = -1.0, 0
    for start in range(count - size + 1):
        counts: dict[str, int] = {}
        for line in held[start : start + size]:
            for term in line:
                counts[term] = counts.get(term, 0) + 1
        value = sum(weights[term] * (1.0 + 0.25 * min(counts[term] - 1, 3)) for term in weights if term in counts)
        if value > best + 1e-12:
            best, at = value, start
    return _trimmed(lines, at, at + size - 1)


def _trimmed(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    while last > first and not lines[last].strip():
        last -= 1
    while first < last and not lines[first].strip():
        first += 1
    return first, last
