"""The scope of an analysis: the repositories and paths of a question, and their names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.markup import code, join_words
from sourcelight.core.markup.counts import list_names
from sourcelight.engines.deepsearch.facts.model import Fact, Work, format_call, limiting_notices
from sourcelight.engines.deepsearch.question.lookups.analyses import AnalysisQuestion

MAX_REPOSITORIES = 5
"""Maximum repositories of one question that are analyzed one by one: each may take seconds the first time."""


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """A question for an analysis, with the repositories and paths that it is about.

    Attributes
    ----------
    work
        The request under way.
    question
        The question as read.
    locations
        Repositories, each with a path or an empty one. A path occurs only if the question names it.
    """

    work: Work
    question: AnalysisQuestion
    locations: tuple[tuple[str, str], ...]

    @property
    def repositories(self) -> list[str]:
        """The names of the repositories."""
        return list(dict.fromkeys(repository for repository, _ in self.locations))

    def call(self, fact: Fact, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Call an analysis, and add its call and what it lacks to a fact."""
        answer = self.work.call(name, arguments)
        call = format_call(name, arguments)
        fact.query = f"{fact.query}  +  {call}" if fact.query else call
        fact.notes += limiting_notices(answer)
        return answer

    def call_each(self, fact: Fact, name: str, **arguments: Any) -> list[dict[str, Any]]:
        """Call an analysis of one repository for each, and return all rows."""
        locations = self.locations[:MAX_REPOSITORIES]
        if len(self.locations) > len(locations):
            fact.notes.append(
                f"Only the first {MAX_REPOSITORIES} of {len(self.locations):,} repositories were analyzed. Name one to "
                "analyze it"
            )

        rows: list[dict[str, Any]] = []
        for repository, path in locations:
            revision = {"revision": self.work.revision} if self.work.revision else {}
            below = {"path": path} if path else {}
            answer = self.call(fact, name, {"repo": repository, **below, **revision, **arguments})
            rows += answer.table.to_pylist()

        return rows

    def call_together(self, fact: Fact, name: str, **arguments: Any) -> list[dict[str, Any]]:
        """Call an analysis of history once for all repositories, and return its rows."""
        revisions = {"revisions": [self.work.revision]} if self.work.revision else {}
        answer = self.call(fact, name, {"repos": self.repositories, **arguments, **revisions})
        rows: list[dict[str, Any]] = answer.table.to_pylist()
        return rows

    @property
    def files(self) -> dict[str, list[str]]:
        """The argument of analyses of history for the paths that the question names."""
        paths = [path for _, path in self.locations if path]
        return {"files": paths} if paths else {}

    def name_place(self, repository: str, path: str) -> str:
        """Name a path, and its repository if several are searched."""
        return f"{code(path)} of {code(repository)}" if len(self.work.inquiry.pins) > 1 else code(path)

    @staticmethod
    def list_names(names: Sequence[str], limit: int = 3) -> str:
        """List names in a sentence: all of a few, else the first ones and how many more there are."""
        return join_words(names) if len(names) <= limit else list_names(names, limit)

    @property
    def path_clause(self) -> str:
        """Name the paths of the question, with a space before them; empty without any."""
        paths = list(dict.fromkeys(path for _, path in self.locations if path))
        return f" in {' and '.join(code(path) for path in paths[:3])}" if paths else ""
