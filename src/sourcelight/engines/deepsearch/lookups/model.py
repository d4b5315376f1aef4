"""What a lookup found: one sentence, the lines that prove it, and further places."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, Evidence, FileEvidence


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence (Markdown, without its full stop) and the evidence that proves it by itself."""

    text: str
    evidence: tuple[Evidence, ...] = ()


def join_evidence(items: Sequence[FileEvidence], most_lines: int = MAX_LINES) -> tuple[FileEvidence, ...]:
    """Join lines of one file to one piece if they follow each other; else they stay as they are.

    A reader meets one link in place of one for each line.
    """
    if len({(item.repository, item.commit, item.path) for item in items}) != 1:
        return tuple(items)
    ordered = sorted(items, key=lambda item: item.begin_line)
    is_dense = all(after.begin_line == before.end_line + 1 for before, after in itertools.pairwise(ordered))
    if not is_dense or ordered[-1].end_line - ordered[0].begin_line >= most_lines:
        return tuple(items)
    text = "\n".join(item.text for item in ordered)
    return (replace(ordered[0], end_line=ordered[-1].end_line, text=text),)


@dataclass(slots=True)
class Finding:
    """The answer of a lookup.

    Attributes
    ----------
    headline
        What was found; or that there is none, which every file searched proves.
    unit
        What kind of fact it is, such as ``definition`` or ``value``.
    quotes
        Lines to show, each a whole syntactic unit.
    places
        Further places, a line each.
    heading
        The heading of `places`.
    method
        How it was found and what counts, a sentence of Markdown each.
    queries
        Searches or calls that give the same again.
    notes
        What could not be read, so that there may be more.
    is_negative
        Whether it says that something is nowhere.
    """

    headline: Statement
    unit: str
    quotes: list[FileEvidence] = field(default_factory=list)
    places: list[Statement] = field(default_factory=list)
    heading: str = "Further places"
    method: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    is_negative: bool = False
