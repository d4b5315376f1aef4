"""The request of a researcher: a question with its scope, pinned to commits before anything is searched."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sourcelight.core.errors import QueryError, ToolError
from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.pins import Pins, PreviousTurn, pin_filters
from sourcelight.engines.deepsearch.question.reading import asks_for_facts
from sourcelight.engines.deepsearch.question.scope import QuestionScope, RepositoryNames, read_scope
from sourcelight.engines.tools import ToolContext

_WIDER = re.compile(
    r"\b(?:all|which|what|other|another|any|every|each|many|elsewhere|across|both)\b"
    r"(?:\s+(?:of|the|other|our|my))*\s+(?:repo(?:sitor(?:y|ies)|s)?|projects?|code ?bases?)\b|\b(?:else|any)where\b",
    re.IGNORECASE,
)
_NAMED_VALUES = 3


@dataclass(frozen=True, slots=True)
class ResearchEvent:
    """An event of the work on a question.

    `kind` is ``turn`` (a tool was called: its name, what with, what it gave in a line), ``evidence`` (a citation was
    accepted) or ``answer_delta`` (some text of the answer).
    """

    kind: str
    payload: Mapping[str, Any]


Emit: TypeAlias = Callable[[ResearchEvent], None]


@dataclass(frozen=True, slots=True)
class ResearchRequest:
    """A question to be researched.

    Parameters
    ----------
    question
        In words, without filters.
    filters
        Filters of files (and of repositories, which the pins already hold) as a query.
    pins
        The commits that count.
    context
        For whom; its permissions hold for every tool.
    previous
        Earlier questions of the conversation, oldest first.
    scope
        What was read in the question itself of where to look; its filters are among `filters`.
    """

    question: str
    filters: str
    pins: Pins
    context: ToolContext
    previous: Sequence[PreviousTurn] = ()
    scope: QuestionScope = field(default_factory=QuestionScope)


def open_inquiry(
    text: str, filters: str, context: ToolContext, previous: Sequence[PreviousTurn] = ()
) -> ResearchRequest:
    """Pin the commits of a question.

    Parameters
    ----------
    text
        The question in words.
    filters
        The filters that stood in it, or those of the question before.
    context
        For whom.
    previous
        Earlier questions of the conversation.

    Raises
    ------
    QueryError, ToolError
        As `pin_filters`.
    """
    pins: Pins | None = None
    try:
        pins = pin_filters(filters, context)
    except ToolError:
        if filters:
            raise
    usual = frozenset(pin.repository for pin in pins) if pins is not None else frozenset()
    visible = (
        sorted(usual) if filters else [repository.name for repository in context.engine.catalog.visible(context.viewer)]
    )
    names = RepositoryNames(visible, usual)
    scope = read_scope(text, names, by_word=asks_for_facts(text))
    if not scope.filters:
        scope = _keep_scope(text, scope, names, previous)
    if scope.filters:
        narrowed = _pin_scope(filters, scope, context)
        if narrowed is not None:
            return ResearchRequest(
                text, f"{filters} {narrowed[1].filters}".strip(), narrowed[0], context, previous, narrowed[1]
            )
        scope = QuestionScope(
            notes=("What the question says of repositories could not be put together with its filters.",)
        )
    if pins is None:
        pins = pin_filters(filters, context)
    return ResearchRequest(text, filters, pins, context, previous, scope)


def _keep_scope(
    text: str, scope: QuestionScope, names: RepositoryNames, previous: Sequence[PreviousTurn]
) -> QuestionScope:
    """Give a follow-up that names no repository or revision the scope of the answer that it follows."""
    if _WIDER.search(text):
        return scope
    for turn in reversed(previous):
        earlier = read_scope(turn.question, names, by_word=asks_for_facts(turn.question))
        if earlier.filters:
            values = ", ".join(code(value) for part in earlier.parts for value in part.values[:_NAMED_VALUES])
            note = f"The question names no repository, so the scope of the one before holds: {values}."
            return replace(scope, filters=earlier.filters, notes=(*scope.notes, note))
        if _WIDER.search(turn.question):
            break
    return scope


def _pin_scope(filters: str, scope: QuestionScope, context: ToolContext) -> tuple[Pins, QuestionScope] | None:
    """Pin the scope of a question; without its revision if no repository has it."""
    try:
        return pin_filters(f"{filters} {scope.filters}".strip(), context), scope
    except (ToolError, QueryError):
        context.cancellation.check()
    revision = next((taken_part for taken_part in scope.parts if taken_part.kind == "revision"), None)
    if revision is None:
        return None
    other_parts = tuple(taken_part for taken_part in scope.parts if taken_part is not revision)
    revision_text = code(revision.source_text)
    note = f"No repository that is searched has the revision {revision_text}: the default branches are searched."
    without = replace(
        scope,
        filters=scope.filters.rpartition("rev:")[0].strip().removesuffix("repo:.").strip(),
        parts=other_parts,
        remaining_text=f"{scope.remaining_text} {revision.source_text}",
        notes=(*scope.notes, note),
    )
    try:
        return pin_filters(f"{filters} {without.filters}".strip(), context), without
    except (ToolError, QueryError):
        return None
