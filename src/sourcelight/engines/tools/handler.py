"""Handlers of tools, and their shared parts: partial results and text for MCP.

A tool over many repositories works in two steps, gather and combine. On one machine, one process does both. In a
cluster, each worker gathers from its own repositories, and the coordinator combines. Both run the same code, so the
answers can't differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import RevisionNotFound
from sourcelight.core.markup import one_line
from sourcelight.core.tools.tool import A, Tool
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.pages.items import Items, TableItems

Rendered: TypeAlias = tuple[dict[str, Any], str]
"""The ``structuredContent`` and the text of an answer over MCP."""

_STAGES = ("kind", "update", "open", "answer")

NOTHING = "No results.\n\nNo results found.\n"


@dataclass(frozen=True, slots=True)
class Omission:
    """A problem with a repository that makes an answer incomplete, and the stage where it occurred."""

    stage: str
    repository: str
    sentence: str


@dataclass(slots=True)
class PartialResult:
    """Results of some repositories for one call; workers of a cluster send it pickled.

    Attributes
    ----------
    repositories
        Names of the repositories, in the order of the call.
    results
        Results by name of repository, made of numbers and Arrow tables; only of repositories that have one.
    dates
        Dates of the call as absolute times.
    missing_revisions
        Number of `repositories` that lack a revision, by revision.
    omissions
        Problems that make the answer incomplete.
    """

    repositories: tuple[str, ...]
    results: dict[str, Any] = field(default_factory=dict)
    dates: dict[str, str] = field(default_factory=dict)
    missing_revisions: dict[str, int] = field(default_factory=dict)
    omissions: list[Omission] = field(default_factory=list)

    @classmethod
    def merge(cls, repositories: Sequence[str], parts: Iterable[PartialResult]) -> PartialResult:
        """Merge several partial results into one, in the order of `repositories`."""
        merged = cls(tuple(repositories))
        results: dict[str, Any] = {}
        for part in parts:
            results |= part.results
            # Workers get dates as absolute times, so all parts have the same ones.
            merged.dates = merged.dates or part.dates
            merged.omissions += part.omissions
            for revision, count in part.missing_revisions.items():
                merged.missing_revisions[revision] = merged.missing_revisions.get(revision, 0) + count

        merged.results = {name: results[name] for name in repositories if name in results}
        order = {name: position for position, name in enumerate(repositories)}

        # Workers answer in any order; the notices of an answer must not depend on it.
        merged.omissions.sort(key=lambda omission: (_STAGES.index(omission.stage), order.get(omission.repository, -1)))
        return merged

    @property
    def names(self) -> list[str]:
        """Repositories that have a result."""
        return list(self.results)

    @property
    def notices(self) -> list[str]:
        """Sentences about missing and incomplete repositories."""
        revisions = [
            f"{count} of {len(self.repositories)} repositories have no revision {revision}."
            for revision, count in self.missing_revisions.items()
        ]
        kinds = [omission.sentence for omission in self.omissions if omission.stage == "kind"]
        return [*kinds, *revisions, *(omission.sentence for omission in self.omissions if omission.stage != "kind")]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.omissions

    def omit(self, stage: str, repository: str, sentence: str) -> None:
        """Record a problem that makes the answer incomplete, and its stage: kind, update, open or answer."""
        self.omissions.append(Omission(stage, repository, sentence))

    def check_revisions(self) -> None:
        """Raise `RevisionNotFound` for a revision that no repository has."""
        for revision, count in self.missing_revisions.items():
            if count == len(self.repositories):
                raise RevisionNotFound(self.repositories[0], revision)


@dataclass(frozen=True, slots=True)
class Split(Generic[A]):
    """The work of a tool in two steps.

    Parameters
    ----------
    gather
        Makes a partial result from the repositories of this process.
    combine
        Makes the answer from a partial result; needs no repository.
    """

    gather: Callable[[A, ToolContext], PartialResult]
    combine: Callable[[A, ToolContext, PartialResult], ToolResult]

    def __call__(self, arguments: A, context: ToolContext) -> ToolResult:
        """Run both steps, where all repositories are local."""
        return self.combine(arguments, context, self.gather(arguments, context))


@dataclass(frozen=True, slots=True)
class Handler(Generic[A]):
    """The implementation of a tool.

    Parameters
    ----------
    tool
        Its definition.
    run
        Makes the answer; `Split` for a tool that works over many repositories.
    render
        Makes the answer's form for MCP; None for a tool without `Tool.mcp`.
    items
        The items that a long answer is divided into; None to divide its text by lines.
    """

    tool: Tool[A]
    run: Callable[[A, ToolContext], ToolResult] | Split[A]
    render: Callable[[ToolResult, ToolContext], Rendered] | None = None
    items: Items | None = field(default_factory=TableItems)


def number_lines(first: int, lines: Sequence[str]) -> str:
    """Return lines with their numbers in front, as ``12: text``."""
    return "".join(f"{number}: {line}\n" for number, line in enumerate(lines, first))


def file_heading(repository: str, path: str) -> str:
    """Return the heading of a file.

    A path may have newlines, and would forge headings and lines of other files.
    """
    return one_line(f"# {repository} – {path}")  # noqa: RUF001 - the dash that readers of these texts look for


def drop_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload without empty values: an absent key means null, no text or no entries, and costs no tokens."""
    return {key: value for key, value in values.items() if value is not None and value not in ("", [], (), {})}


def total_beside(answer: ToolResult, key: str, total: int | None, count: int) -> dict[str, int]:
    """Return the total of an incomplete list; a complete list needs none, because its length is the total."""
    return {} if total is None or (answer.complete and total == count) else {key: total}


def echo(answer: ToolResult) -> dict[str, str]:
    """Return the dates of the call as absolute times."""
    return {name: answer.attributes[name] for name in ("after", "before") if name in answer.attributes}


def tail(answer: ToolResult) -> dict[str, Any]:
    """Return the common end of payloads: whether a limit applied, and notices."""
    notice = {"notice": " ".join(answer.notices)} if answer.notices else {}
    return {"limitHit": not answer.complete, **notice}


def with_notices(text: str, answer: ToolResult) -> str:
    """Return text followed by its notices in parentheses."""
    return text + "".join(f"\n({one_line(notice)})\n" for notice in answer.notices)
