"""Facts that an engine counted, and the context for counting them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.markup.counts import count_of
from sourcelight.engines.deepsearch.evidence.model import CommitEvidence
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.markdown import in_sentence
from sourcelight.engines.deepsearch.question.request import FactRequest
from sourcelight.engines.deepsearch.requests import Emit, ResearchEvent, ResearchRequest
from sourcelight.engines.search import Target
from sourcelight.engines.tools import ToolContext, call

MAX_ROWS = 10_000
"""Maximum rows of a table in an answer; more are mentioned, and the count stays exact."""


@dataclass(frozen=True, slots=True)
class CitedLine:
    """A line of a file, to be cited."""

    repository: str
    commit: str
    path: str
    line: int = 1


@dataclass(slots=True)
class Rows:
    """A table of a fact: its columns, its first rows, how many there are, and what each row cites."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    total: int = 0
    citations: list[CitedLine | CommitEvidence | None] = field(default_factory=list)

    def add(self, row: tuple[Any, ...], citations: CitedLine | CommitEvidence | None = None) -> None:
        """Add a row; beyond `MAX_ROWS` it is counted alone."""
        self.total += 1
        if len(self.rows) < MAX_ROWS:
            self.rows.append(row)
            self.citations.append(citations)


@dataclass(slots=True)
class Fact:
    """A counted fact.

    Attributes
    ----------
    number
        The number; None if the answer is a person or a date.
    subject
        What the number counts, such as ``files`` with their conditions; or the whole sentence without a number.
    query
        A search, or a call of the client, that gives the same again.
    rule
        What counts and what doesn't, a sentence or two.
    repositories
        The number of each repository that has some.
    tables
        The counted items, one by one.
    sentences
        Further sentences.
    search_notices
        Sentences about files that every search leaves out, such as large ones.
    notes
        What could not be counted, so that the number may be too small.
    unapplied
        Words of the question that this count could not take in.
    commits
        Commits that the first sentence rests on.
    unread
        Languages whose files the count had to leave out.
    is_open
        Whether its sentence says that there are more, in a number that nothing tells.
    is_least
        Whether a second count differs, so that the number is said to be a least one.
    unit, per
        What `number` counts, and what `repositories` count where that is something else.
    """

    number: int | None
    subject: str
    query: str
    rule: str = ""
    repositories: Counter[str] = field(default_factory=Counter)
    tables: list[Rows] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    search_notices: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unapplied: list[str] = field(default_factory=list)
    commits: list[CommitEvidence] = field(default_factory=list)
    adds_up: bool = True
    unread: list[str] = field(default_factory=list)
    is_open: bool = False
    is_least: bool = False
    unit: str = ""
    per: str = ""


@dataclass(slots=True)
class Work:
    """One request under way.

    Attributes
    ----------
    request
        What is counted; without a count, all files of the question.
    inquiry
        The question, with the commits that it is about.
    emit
        Gets each search and each call of a tool when it ends.
    notes
        What searches could not read, so that there may be more than the fact or the lookup says.
    """

    request: FactRequest
    inquiry: ResearchRequest
    emit: Emit
    notes: list[str] = field(default_factory=list)

    @property
    def texts(self) -> FileTexts:
        """The lines of files, as `ResearchRequest.texts`."""
        return self.inquiry.texts

    def without_notes(self) -> Work:
        """Return the same work with notes of its own: for a fact, or a step that says nothing of what it lacks."""
        return replace(self, notes=[])

    @property
    def context(self) -> ToolContext:
        """The inquiry's context, without limits of a service, so that counts are complete."""
        return replace(self.inquiry.context, served=False)

    @property
    def names(self) -> list[str]:
        """Names of the repositories, sorted; if the question names paths, only repositories with these paths."""
        names = {pin.repository for pin in self.inquiry.pins}
        paths = self.request.paths
        if paths and all(path.repositories for path in paths):
            names &= {name for path in paths for name in path.repositories}
        return sorted(names)

    @property
    def targets(self) -> list[Target]:
        """The commits of these repositories."""
        names = set(self.names)
        return [target for target in self.inquiry.pins.targets if target.repository.name in names]

    @property
    def revision(self) -> str:
        """The requested revision; empty for the default branches."""
        return next((pin.revision for pin in self.inquiry.pins if pin.revision not in {"", "WORKTREE"}), "")

    def call(self, name: str, arguments: Mapping[str, Any], *, changes: bool = True) -> ToolResult:
        """Call a tool or an analysis, and report it. Raises what `sourcelight.engines.tools.call` raises.

        Without `changes`, rows of commits may lack files and lines, which take a history of changes.
        """
        answer = call(name, arguments, replace(self.context, without_changes=not changes))
        payload = {
            "tool": name,
            "query": format_call(name, arguments),
            "result": f"{count_of(answer.table.num_rows, 'row')}",
        }
        self.emit(ResearchEvent("turn", payload))
        return answer


def limiting_notices(answer: ToolResult) -> list[str]:
    """Return the sentences on what an answer lacks; none if it is whole."""
    return [] if answer.complete else list(answer.notices)


_CAPITAL = re.compile(r"(?<=[a-z])[A-Z]")


def format_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Write a call in Python syntax."""
    # Tools name their arguments in camel case, methods of the client in snake case.
    written_arguments = ", ".join(
        f"{_CAPITAL.sub(lambda match: f'_{match[0].lower()}', key)}={value!r}" for key, value in arguments.items()
    )
    return f"code.{name}({written_arguments})"


def join_facts(changes: Sequence[Fact]) -> Fact:
    """Join the facts on several files or names in one answer."""
    first = changes[0]
    first.subject = "; ".join([first.subject, *(in_sentence(fact.subject) for fact in changes[1:])])
    first.query = "  +  ".join(fact.query for fact in changes)
    for fact in changes[1:]:
        first.commits += fact.commits
        first.notes += fact.notes
        first.tables += fact.tables
        first.sentences += fact.sentences
        first.unapplied += fact.unapplied

    return first
