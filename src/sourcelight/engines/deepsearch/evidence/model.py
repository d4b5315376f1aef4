"""Evidence, and the ledger that numbers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sourcelight.core.batches.results import file_url, repository_url

MAX_LINES = 60
"""Lines that one piece may have, at most."""

ROLES = ("definition", "body", "usage", "test", "doc", "history", "read")


@dataclass(frozen=True, slots=True)
class FileEvidence:
    """Lines of a file at a commit.

    `text` holds them as they are, newlines between, before anything is redacted.
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

    @property
    def label(self) -> str:
        """The text shown to a reader."""
        return f"{self.repository}@{self.commit[:12]} {self.path}#L{self.begin_line}-L{self.end_line}"

    def link(self, base_url: str = "") -> str:
        """Address of the lines."""
        return file_url(base_url, self.repository, self.commit, self.path, (self.begin_line, self.end_line))

    @property
    def kind(self) -> str:
        """Type of the source."""
        return "file"


@dataclass(frozen=True, slots=True)
class CommitEvidence:
    """A commit: author, date and message. `date` is RFC 3339 in UTC; `note` says why it was selected."""

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
        """Address of the commit."""
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
    _known: dict[tuple[str, str, str, int, int], int] = field(default_factory=dict)

    def add(self, item: Evidence) -> str:
        """Add evidence; return its id, or that of an earlier one for the same lines."""
        key = _place(item)
        number = self._known.get(key)
        if number is None:
            self.items.append(item)
            number = self._known[key] = len(self.items)
        return f"E{number}"

    def knows(self, item: Evidence) -> str:
        """Return the id of the same lines; empty if new."""
        number = self._known.get(_place(item))
        return f"E{number}" if number else ""

    def get(self, name: str) -> Evidence | None:
        """Return the evidence of an id."""
        digits = name[1:] if name[:1] in {"E", "e"} else ""
        if not digits.isascii() or not digits.isdigit() or len(digits) > 6:
            return None
        number = int(digits)
        return self.items[number - 1] if 1 <= number <= len(self.items) else None


def _place(item: Evidence) -> tuple[str, str, str, int, int]:
    if isinstance(item, FileEvidence):
        return item.repository, item.commit, item.path, item.begin_line, item.end_line
    return item.repository, item.commit, "", 0, 0
