"""The request of an analysis: the repositories and paths of a question, their rows, and their names in a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sourcelight.core.markup import code
from sourcelight.core.notices import is_rule
from sourcelight.engines.deepsearch.facts.model import CitedLine, Fact, Rows, Work, format_call, limiting_notices
from sourcelight.engines.deepsearch.question.lookups.analyses import AnalysisQuestion

MAX_REPOSITORIES = 5
"""Maximum repositories of one question that are analyzed one by one: each may take seconds the first time."""

_DIGITS = 3
"""Digits after the point of scores and shares in tables."""

Row: TypeAlias = Mapping[str, Any]
"""A row of the table of an analysis, by column; `columns_of` of the client describes the columns."""


@dataclass(slots=True)
class AnalysisRows:
    """The rows of an analysis, of one call or several.

    Attributes
    ----------
    rows
        All rows.
    calls
        The calls in the syntax of Python.
    notes
        Sentences on what the rows lack.
    repetitions
        Sentences on commits that the rows count more than once.
    """

    rows: list[Row] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    repetitions: list[str] = field(default_factory=list)

    def fact(self, subject: str, *, unit: str, rule: str, table: Rows | None, repositories: Counter[str]) -> Fact:
        """Return a fact with these calls and notes; the other arguments are attributes of `Fact`."""
        return Fact(
            number=None,
            subject=subject,
            query="  +  ".join(self.calls),
            rule=" ".join([rule, *self.repetitions]),
            repositories=repositories,
            tables=[] if table is None else [table],
            notes=self.notes,
            unit=unit,
        )


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

    @property
    def paths(self) -> list[str]:
        """The paths that the question names, each once."""
        return list(dict.fromkeys(path for _, path in self.locations if path))

    def call_each(self, name: str, **arguments: Any) -> AnalysisRows:
        """Call an analysis of one repository for each, and return all rows."""
        result = AnalysisRows()
        locations = self.locations[:MAX_REPOSITORIES]
        if len(self.locations) > len(locations):
            result.notes.append(
                f"Only the first {MAX_REPOSITORIES} of {len(self.locations):,} repositories were analyzed. Name one to "
                "analyze it"
            )

        for repository, path in locations:
            scope = {"repo": repository}
            if path:
                scope["path"] = path
            if self.work.revision:
                scope["revision"] = self.work.revision
            self._call(result, name, {**scope, **arguments})

        return result

    def call_together(self, name: str, **arguments: Any) -> AnalysisRows:
        """Call an analysis of history once for all repositories, and return its rows."""
        all_arguments = {"repos": self.repositories, **arguments}
        if self.work.revision:
            all_arguments["revisions"] = [self.work.revision]
        return self.call(name, all_arguments)

    def call(self, name: str, arguments: Mapping[str, Any]) -> AnalysisRows:
        """Call an analysis once, with all of its arguments."""
        result = AnalysisRows()
        self._call(result, name, arguments)
        return result

    def _call(self, result: AnalysisRows, name: str, arguments: Mapping[str, Any]) -> None:
        """Call an analysis, and add its rows to those of previous calls."""
        answer = self.work.call(name, arguments)
        result.rows += answer.table.to_pylist()
        result.calls.append(format_call(name, arguments))
        result.notes += limiting_notices(answer)
        result.repetitions += [notice for notice in answer.notices if is_rule(notice, "repeated commits")]

    @property
    def files(self) -> dict[str, list[str]]:
        """The argument of analyses of history for the paths that the question names."""
        paths = [path for _, path in self.locations if path]
        return {"files": paths} if paths else {}

    def name_place(self, repository: str, path: str) -> str:
        """Name a path, and its repository if several are searched."""
        if len(self.work.inquiry.pins) > 1:
            return f"{code(path)} of {code(repository)}"
        return code(path)

    @property
    def path_clause(self) -> str:
        """Name the paths of the question, with a space before them; empty without any."""
        if not self.paths:
            return ""
        return f" in {' and '.join(code(path) for path in self.paths[:3])}"


def make_table(
    title: str, columns: Sequence[str], rows: Sequence[Row], cite: Callable[[Row], CitedLine] | None = None
) -> Rows:
    """Return a table of these columns of `rows`; `cite` returns the line that a row cites."""
    table = Rows(title, tuple(columns))
    for row in rows:
        values = tuple(_round(row[column]) for column in columns)
        table.add(values, None if cite is None else cite(row))
    return table


def cite_line(row: Row) -> CitedLine:
    """Return the line that a row of an analysis of code is about."""
    return CitedLine(row["repository"], row["commit"], row["path"], row["line_number"] or 1)


def count_repositories(rows: Sequence[Row]) -> Counter[str]:
    """Count the rows of each repository."""
    return Counter(row["repository"] for row in rows)


def leading(rows: Sequence[Row], column: str) -> Sequence[Row]:
    """Return the rows that have the value of the first one; there is at least one row."""
    return [row for row in rows if row[column] == rows[0][column]]


def _round(value: Any) -> Any:
    return round(value, _DIGITS) if isinstance(value, float) else value
