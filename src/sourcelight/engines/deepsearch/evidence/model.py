"""Evidence, the ledger that numbers it, and findings: sentences with the lines that prove them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sourcelight.core.batches.results import file_url, repository_url

MAX_LINES = 60
"""Maximum lines of one piece."""

MAX_NAMED = 3
"""Maximum locations that the headline of a finding names."""

MAX_DETAILS = 20
"""Maximum statements below a headline."""


@dataclass(frozen=True, slots=True)
class FileEvidence:
    """Lines of a file at a commit.

    `text` holds them as they are, newlines between, before anything is redacted; of a notebook, the sources of its
    cells. `cells` says which these are, and `language` the display name of their language, once the lines are checked.
    """

    repository: str
    commit: str
    path: str
    begin_line: int
    end_line: int
    text: str
    role: str = "body"
    score: float = 0.0
    symbols: tuple[str, ...] = ()
    cells: str = ""
    language: str = ""

    @property
    def label(self) -> str:
        """The text shown to a reader."""
        location = self.location(f"#L{self.begin_line}-L{self.end_line}")
        return f"{self.repository}@{self.commit[:12]} {self.path}{location}"

    def location(self, lines: str) -> str:
        """Return what follows the path in a label: the cells of a notebook, else `lines`."""
        return f", {self.cells}" if self.cells else lines

    def overlaps(self, other: FileEvidence) -> bool:
        """Return whether both have lines of a file in common."""
        is_same_file = (self.repository, self.path) == (other.repository, other.path)
        return is_same_file and self.begin_line <= other.end_line and other.begin_line <= self.end_line

    def link(self, base_url: str = "") -> str:
        """Return the address of the lines."""
        return file_url(base_url, self.repository, self.commit, self.path, (self.begin_line, self.end_line))

    @property
    def kind(self) -> str:
        """Type of the source."""
        return "file"


@dataclass(frozen=True, slots=True)
class CommitEvidence:
    """A commit: author, date and message.

    `date` is RFC 3339 by the clock of the author, and `note` says why the commit was selected.
    """

    repository: str
    commit: str
    subject: str
    author: str
    date: str
    text: str = ""
    role: str = "history"
    score: float = 0.0
    note: str = ""

    @property
    def label(self) -> str:
        """The text shown to a reader."""
        return f"{self.repository}@{self.commit[:12]}"

    def link(self, base_url: str = "") -> str:
        """Return the address of the commit."""
        return f"{repository_url(base_url, self.repository)}/-/commit/{self.commit}"

    @property
    def kind(self) -> str:
        """Type of the source."""
        return "commit"


Evidence: TypeAlias = FileEvidence | CommitEvidence


@dataclass(slots=True)
class EvidenceLedger:
    """The evidence of one question, numbered E1, E2, … in order. The same lines have one number."""

    items: list[Evidence] = field(default_factory=list)
    _numbers: dict[tuple[str, str, str, int, int], int] = field(default_factory=dict)

    def add(self, item: Evidence) -> str:
        """Add evidence; return its id, or the id of earlier evidence for the same lines."""
        key = _sort_key(item)
        number = self._numbers.get(key)
        if number is None:
            self.items.append(item)
            number = self._numbers[key] = len(self.items)
        return f"E{number}"

    def knows(self, item: Evidence) -> str:
        """Return the id of the same lines; empty if new."""
        number = self._numbers.get(_sort_key(item))
        return f"E{number}" if number else ""

    def get(self, name: str) -> Evidence | None:
        """Return the evidence of an id."""
        digits = name[1:] if name[:1] in {"E", "e"} else ""
        if not digits.isascii() or not digits.isdigit() or len(digits) > 6:
            return None
        number = int(digits)
        return self.items[number - 1] if 1 <= number <= len(self.items) else None


def _sort_key(item: Evidence) -> tuple[str, str, str, int, int]:
    if isinstance(item, FileEvidence):
        return item.repository, item.commit, item.path, item.begin_line, item.end_line
    return item.repository, item.commit, "", 0, 0


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence (Markdown, without its full stop) and the evidence that proves it by itself."""

    text: str
    evidence: tuple[Evidence, ...] = ()


def join_evidence(items: Sequence[FileEvidence], most_lines: int = MAX_LINES) -> tuple[FileEvidence, ...]:
    """Join consecutive lines of one file; other evidence stays unchanged.

    A reader meets one link instead of one for each line.
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
        The result; or that nothing matches, which every searched file proves.
    unit
        What kind of fact it is, such as ``definition`` or ``value``.
    quotes
        Lines to show, each a whole syntactic unit.
    details
        Further statements, a line each.
    heading
        The heading of `details`.
    method
        How it was found and what counts, a sentence of Markdown each.
    queries
        Searches or calls that give the same again.
    notes
        What could not be read, so that there may be more.
    recounts
        Numbers of the headline that a second, simpler count gives, too. A headline with another number isn't stated.
    is_negative
        Whether it states that something doesn't exist.
    lists_uses
        Whether the headline lists lines that call or use a name, rather than say that none is certain.
    condition
        What the headline says of a condition around the line of a value; empty for nothing.
    """

    headline: Statement
    unit: str
    quotes: list[FileEvidence] = field(default_factory=list)
    details: list[Statement] = field(default_factory=list)
    heading: str = "Further locations"
    method: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    recounts: frozenset[int] = frozenset()
    is_negative: bool = False
    lists_uses: bool = False
    condition: str = ""


INSTEAD_OF_SENTENCE = "Most relevant: three locations"
"""The part of an answer that replaces most sentences without their proof."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A kind of sentence.

    Attributes
    ----------
    forms
        Templates of the sentence: `…` in backquotes is a name, a path or a line of code, and … any words.
    proof
        ``lines``: it cites lines with the name of its subject. ``commit``: it cites a commit. ``search``: a complete
        search without a result. ``count``: a search or a call that reproduces the number.
    holds
        What must be true of the repository.
    otherwise
        The sentence to state if that isn't certain.
    made_by
        Functions that make such sentences, by module of `facts` or `lookups`.
    """

    forms: Sequence[str]
    proof: str
    holds: str
    otherwise: str
    made_by: Sequence[str] = field(default=())
