"""What a lookup found: one sentence, the lines that prove it, and further places."""

from __future__ import annotations

from dataclasses import dataclass, field

from sourcelight.engines.deepsearch.evidence.model import Evidence, FileEvidence


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence (Markdown, without its full stop) and the evidence that proves it by itself."""

    text: str
    evidence: tuple[Evidence, ...] = ()


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
        How it was found and what counts, a sentence each.
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
