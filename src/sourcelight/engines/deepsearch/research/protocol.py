"""The protocol of a researcher, its budget, and the draft that it writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from sourcelight.engines.deepsearch.evidence.model import EvidenceLedger
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest

NO_MODEL = "- No language model was used. Nothing left this machine."
"""The last line of answers without a model."""


@dataclass(frozen=True, slots=True)
class ResearchBudget:
    """The limits of a question; 0 or None: no limit.

    Attributes
    ----------
    wall_s
        Seconds that a model takes.
    facts_s, passages_s
        Seconds of processor time without a model, to look for facts and to select passages. An answer over 23
        repositories takes 0.6 s; files that someone wrote to keep a question busy take any time.
    tool_calls, model_requests
        Calls of tools, and requests to a model.
    input_tokens, output_tokens, request_tokens
        Tokens of all requests and of all responses, and of one request.
    quoted_lines, citations
        Lines of quotes, and citations.
    cost
        Dollars, by the provider's price list.
    """

    wall_s: float = 0.0
    facts_s: float = 30.0
    passages_s: float = 20.0
    tool_calls: int = 40
    model_requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    request_tokens: int = 0
    quoted_lines: int = 120
    citations: int = 20
    cost: float | None = None

    @classmethod
    def of_model(cls) -> ResearchBudget:
        """Return the default limits of a model."""
        return cls(
            wall_s=240.0,
            tool_calls=60,
            model_requests=25,
            input_tokens=400_000,
            output_tokens=16_000,
            request_tokens=60_000,
            quoted_lines=300,
            citations=40,
        )


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Markdown with citations such as ``[E7]``; `about`: repositories it concerns without naming them.

    `says_no_model` tells that its last line is `NO_MODEL`, which is replaced where a model was asked after all.
    """

    text: str
    about: tuple[str, ...] = ()
    says_no_model: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """Evidence shown with its lines."""

    evidence: str


Part: TypeAlias = Heading | Paragraph | Quote


@dataclass(frozen=True, slots=True)
class CountTable:
    """A complete table of an answer: its query and its rows."""

    title: str
    query: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    total: int


@dataclass(slots=True)
class Draft:
    """An answer before its citations are checked.

    Attributes
    ----------
    parts
        The text.
    ledger
        The evidence that `parts` speak of.
    followups
        Questions that could be asked next.
    tables
        Tables of counted questions.
    confident
        Whether it claims to answer.
    stats
        Counts: ``tool_calls``, ``input_tokens`` and the like.
    researcher, model
        Who wrote it.
    error
        Why it falls short of the request, such as a budget that ended: kind and message.
    """

    parts: list[Part] = field(default_factory=list)
    ledger: EvidenceLedger = field(default_factory=EvidenceLedger)
    followups: list[str] = field(default_factory=list)
    tables: list[CountTable] = field(default_factory=list)
    confident: bool = True
    stats: dict[str, Any] = field(default_factory=dict)
    researcher: str = "extractive"
    model: str = ""
    error: Mapping[str, str] = field(default_factory=dict)
    searches: list[str] = field(default_factory=list)

    @property
    def is_by_model(self) -> bool:
        """Whether a language model wrote it; what it says is checked more strictly."""
        return self.researcher != "extractive"

    def add_section(self, title: str, *parts: Part) -> None:
        """Add a heading and the parts below it."""
        self.parts += [Heading(title), *parts]


class Researcher(Protocol):
    """Writes drafts."""

    def research(self, inquiry: ResearchRequest, budget: ResearchBudget | None, emit: Emit) -> Draft:
        """Research a question; None: the researcher's own budget.

        Raises `Cancelled`, and errors of `sourcelight.core.errors` that are the asker's to mend.
        """
        ...
