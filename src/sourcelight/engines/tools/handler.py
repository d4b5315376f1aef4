"""What a handler of a tool is, and the parts that handlers share: partial results and text for MCP.

A tool over many repositories works in two steps. On one machine both follow each other. In a cluster each worker
gathers from the repositories that it holds, and the coordinator combines: so the answers can't differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import RevisionNotFound
from sourcelight.core.tools.tool import A, Tool
from sourcelight.engines.tools.context import ToolContext

Rendered: TypeAlias = tuple[dict[str, Any], str]
"""The ``structuredContent`` and the text of an answer over MCP."""

_STAGES = ("kind", "update", "open", "answer")


@dataclass(frozen=True, slots=True)
class Omission:
    """Something about a repository that makes an answer less than whole, and at which stage it was found."""

    stage: str
    repository: str
    sentence: str


@dataclass(slots=True)
class PartialResult:
    """What some repositories gave for a call; it travels between processes as it is.

    Attributes
    ----------
    asked
        Names of the repositories, in the order of the call.
    found
        What was found in each that has something to say: numbers and Arrow tables.
    echoed
        How dates were understood.
    absent
        How many of `asked` do not have a revision.
    lacks
        What makes the answer less than whole.
    """

    asked: tuple[str, ...]
    found: dict[str, Any] = field(default_factory=dict)
    echoed: dict[str, str] = field(default_factory=dict)
    absent: dict[str, int] = field(default_factory=dict)
    lacks: list[Omission] = field(default_factory=list)

    @classmethod
    def joined(cls, asked: Sequence[str], parts: Iterable[PartialResult]) -> PartialResult:
        """One part of several, in the order of `asked`."""
        whole = cls(tuple(asked))
        found: dict[str, Any] = {}
        for part in parts:
            found |= part.found
            whole.echoed = whole.echoed or part.echoed
            whole.lacks += part.lacks
            for revision, count in part.absent.items():
                whole.absent[revision] = whole.absent.get(revision, 0) + count
        whole.found = {name: found[name] for name in asked if name in found}
        place = {name: at for at, name in enumerate(asked)}
        whole.lacks.sort(key=lambda lack: (_STAGES.index(lack.stage), place.get(lack.repository, -1)))
        return whole

    @property
    def names(self) -> list[str]:
        """Repositories that have something to say."""
        return list(self.found)

    @property
    def notices(self) -> list[str]:
        """What the reader has to know about repositories that are missing or not whole, one sentence each."""
        revisions = [
            f"{count} of {len(self.asked)} repositories have no revision {revision}."
            for revision, count in self.absent.items()
        ]
        first = [lack.sentence for lack in self.lacks if lack.stage == "kind"]
        return [*first, *revisions, *(lack.sentence for lack in self.lacks if lack.stage != "kind")]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not self.lacks

    def lack(self, stage: str, repository: str, sentence: str) -> None:
        """Note something that makes the answer less than whole, and at which stage: kind, update, open or answer."""
        self.lacks.append(Omission(stage, repository, sentence))

    def check_revisions(self) -> None:
        """Raise `RevisionNotFound` for a revision that no repository has."""
        for revision, count in self.absent.items():
            if count == len(self.asked):
                raise RevisionNotFound(self.asked[0], revision)


@dataclass(frozen=True, slots=True)
class Split(Generic[A]):
    """The work of a tool in two steps.

    Parameters
    ----------
    gather
        Makes a partial result of the repositories that are here.
    combine
        Makes the answer of one partial result; needs no repository.
    """

    gather: Callable[[A, ToolContext], PartialResult]
    combine: Callable[[A, ToolContext, PartialResult], ToolResult]

    def __call__(self, arguments: A, context: ToolContext) -> ToolResult:
        """Do both steps, where all repositories are here."""
        return self.combine(arguments, context, self.gather(arguments, context))


@dataclass(frozen=True, slots=True)
class Handler(Generic[A]):
    """What does the work of a tool.

    Parameters
    ----------
    tool
        Its definition.
    run
        Makes the answer; `Split` for a tool that works over many repositories.
    render
        Makes the answer's form for MCP; None for a tool without `Tool.mcp`.
    """

    tool: Tool[A]
    run: Callable[[A, ToolContext], ToolResult] | Split[A]
    render: Callable[[ToolResult, ToolContext], Rendered] | None = None


NOTHING = "No results.\n\nNo results found.\n"


def numbered(first: int, lines: Sequence[str]) -> str:
    """Lines with their numbers in front, as ``12: text``."""
    return "".join(f"{number}: {line}\n" for number, line in enumerate(lines, first))


def tail(answer: ToolResult) -> dict[str, Any]:
    """What every payload ends with: whether a limit cut it, and what there is to say."""
    notice = {"notice": " ".join(answer.notices)} if answer.notices else {}
    return {"limitHit": not answer.complete, **notice}


def with_notices(text: str, answer: ToolResult) -> str:
    """Text with what there is to say behind it, in parentheses."""
    return text + "".join(f"\n({notice})\n" for notice in answer.notices)
