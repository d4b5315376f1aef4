"""Events of a search stream as frozen values; the source of every field is the service's streaming search document.

Positions are the wire's own: byte offsets from the start of the file, 0-based lines, columns in code points.
Frames and screens are 1-based; `sourcelight.core.batches` converts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any

SEARCH_FAILED, SEARCH_ENDED_EARLY = "The search failed", "The search ended early"
SERVICE_STOPPING = "The service is stopping"

OWN_FAULTS = frozenset({SEARCH_FAILED, SEARCH_ENDED_EARLY, SERVICE_STOPPING})
"""Titles of alerts about an error of the service, as opposed to one of the query."""

_UNITS = {
    "author": "commits",
    "commit date": "commits",
    "file": "matches left out",
    "utility": "repositories left out",
}
"""Units of the counts of filters, by kind; all others count matches."""


@dataclass(frozen=True, slots=True)
class Location:
    """A position in a file: `offset` in bytes from its start, `line` 0-based, `column` 0-based in code points."""

    offset: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Range:
    """From `start` to `end`, the end exclusive."""

    start: Location
    end: Location


@dataclass(frozen=True, slots=True)
class LineMatch:
    """One matched line: its text without newline, 0-based number, (start, length) pairs in code points."""

    line: str
    line_number: int
    offset_and_lengths: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ChunkMatch:
    """Whole lines around one or more ranges; `ranges` are relative to the file, in any order."""

    content: str
    content_start: Location
    ranges: tuple[Range, ...]
    content_truncated: bool = False


@dataclass(frozen=True, slots=True)
class ContentMatch:
    """A file whose text matched; `line_matches` or, on request, `chunk_matches` are filled, never both."""

    repository: str
    path: str
    repository_id: int = 0
    repo_stars: int = 0
    repo_last_fetched: str = ""
    branches: tuple[str, ...] = ()
    commit: str = ""
    language: str = ""
    path_matches: tuple[Range, ...] = ()
    line_matches: tuple[LineMatch, ...] = ()
    chunk_matches: tuple[ChunkMatch, ...] = ()
    type: str = "content"


@dataclass(frozen=True, slots=True)
class PathMatch:
    """A file found by its path, or by filters alone."""

    repository: str
    path: str
    repository_id: int = 0
    repo_stars: int = 0
    repo_last_fetched: str = ""
    branches: tuple[str, ...] = ()
    commit: str = ""
    language: str = ""
    path_matches: tuple[Range, ...] = ()
    type: str = "path"


@dataclass(frozen=True, slots=True)
class SymbolItem:
    """One definition; `line` is 1-based, the wire's exception; None from servers that don't send it."""

    name: str
    kind: str
    url: str = ""
    container_name: str = ""
    line: int | None = None


@dataclass(frozen=True, slots=True)
class SymbolMatch:
    """A file with matching definitions."""

    repository: str
    path: str
    symbols: tuple[SymbolItem, ...] = ()
    repository_id: int = 0
    repo_stars: int = 0
    repo_last_fetched: str = ""
    branches: tuple[str, ...] = ()
    commit: str = ""
    language: str = ""
    type: str = "symbol"


@dataclass(frozen=True, slots=True)
class RepoMatch:
    """A repository found by its name or by filters."""

    repository: str
    repository_id: int = 0
    repository_matches: tuple[Range, ...] = ()
    branches: tuple[str, ...] = ()
    repo_stars: int = 0
    repo_last_fetched: str = ""
    description: str = ""
    description_matches: tuple[Range, ...] = ()
    fork: bool = False
    archived: bool = False
    private: bool = False
    metadata: Mapping[str, str | None] = field(default_factory=dict)
    topics: tuple[str, ...] = ()
    type: str = "repo"


@dataclass(frozen=True, slots=True)
class CommitMatch:
    """A commit (`type` ``commit``) or a diff (`type` ``diff``).

    `content` is fenced text; `ranges` are (line, character, length) triples, line 0 being the fence.
    Dates are RFC 3339 as sent.
    """

    repository: str
    oid: str
    label: str = ""
    url: str = ""
    detail: str = ""
    message: str = ""
    author_name: str = ""
    author_date: str = ""
    committer_name: str = ""
    committer_date: str = ""
    content: str = ""
    ranges: tuple[tuple[int, int, int], ...] = ()
    repository_id: int = 0
    repo_stars: int = 0
    repo_last_fetched: str = ""
    type: str = "commit"


@dataclass(frozen=True, slots=True)
class UnknownMatch:
    """A match of an unknown kind, stored unchanged."""

    type: str
    raw: Mapping[str, Json] = field(default_factory=dict)


Match = ContentMatch | PathMatch | SymbolMatch | RepoMatch | CommitMatch | UnknownMatch


@dataclass(frozen=True, slots=True)
class QuerySuggestion:
    """An addition to the query that finds the skipped items."""

    title: str
    query_expression: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """Skipped work. `severity` is ``info``, ``warn`` or ``error``; unknown reasons are shown unchanged."""

    reason: str
    title: str
    message: str = ""
    severity: str = "info"
    suggested: QuerySuggestion | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """Statistics so far; each replaces the former. `repositories_count` is None if the server left it out."""

    done: bool
    match_count: int
    duration_ms: int
    repositories_count: int | None = None
    skipped: tuple[Skipped, ...] = ()
    trace: str = ""


@dataclass(frozen=True, slots=True)
class SuggestedFilter:
    """A suggested filter; `count`, in units of `unit`, is exact if `exhaustive`."""

    value: str
    label: str
    count: int
    exhaustive: bool
    kind: str

    @property
    def unit(self) -> str:
        """Unit of `count`: matches of the search with this filter, unless its kind counts something else."""
        return _UNITS.get(self.kind, "matches")


def facet_title(name: str, filters: Iterable[SuggestedFilter]) -> str:
    """Return the title of suggested filters of one kind: its name, and what their counts are, if not just matches."""
    values = {item.value for item in filters}
    if {"type:file", "type:path"} <= values:
        return f"{name} (matches; a file may be of both)"
    units = {item.unit for item in filters}
    return name if units <= {"matches"} else f"{name} ({', '.join(sorted(units))})"


@dataclass(frozen=True, slots=True)
class ProposedQuery:
    """A query to try instead."""

    query: str
    description: str = ""
    annotations: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Alert:
    """Something the reader must know.

    Ours always have `kind` ``info``, ``warning`` or ``error``; that of other services may be empty.
    """

    title: str
    description: str = ""
    kind: str = ""
    proposed_queries: tuple[ProposedQuery, ...] = ()

    @property
    def text(self) -> str:
        """Title and description, which may have several lines."""
        return ": ".join(filter(None, (self.title, self.description)))


@dataclass(frozen=True, slots=True)
class Matches:
    """A ``matches`` event, decoded to typed matches; each event adds to earlier ones."""

    matches: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class Filters:
    """A ``filters`` event: the full set, replacing the former."""

    filters: tuple[SuggestedFilter, ...]


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """An ``error`` event: an error that stopped the search; ``done`` follows."""

    message: str


@dataclass(frozen=True, slots=True)
class Done:
    """The last event of every complete stream."""


@dataclass(frozen=True, slots=True)
class UnknownEvent:
    """An event of an unknown kind, stored unchanged."""

    name: str
    data: Json = None


Event = Matches | Progress | Filters | Alert | ErrorEvent | Done | UnknownEvent
