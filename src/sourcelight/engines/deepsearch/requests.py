"""The request of a researcher: a question with its scope, pinned to commits before anything is searched."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from sourcelight.core.errors import QueryError, ToolError
from sourcelight.core.markup import code
from sourcelight.engines.deepsearch.evidence.pins import Pins, PreviousTurn, pin_filters
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.question.courtesy import bare_question
from sourcelight.engines.deepsearch.question.scope import NamedScope, QuestionScope, RepositoryNames, read_scope
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
        Filters of files as a query; its filters of repositories and revisions repeat the pins as text, for searches
        that a reader can run again.
    pins
        The commits that count.
    texts
        The files of these commits, each read once for all that looks for an answer.
    previous
        Earlier questions of the conversation, oldest first.
    scope
        The scope that the question itself names.
    """

    question: str
    filters: str
    pins: Pins
    texts: FileTexts
    previous: Sequence[PreviousTurn] = ()
    scope: QuestionScope = field(default_factory=QuestionScope)

    @property
    def context(self) -> ToolContext:
        """For whom; its permissions hold for every tool."""
        return self.texts.context

    @property
    def words(self) -> str:
        """The question without the text that became scope."""
        return self.scope.remaining_text or self.question

    def with_words(self, words: str) -> ResearchRequest:
        """Return the same request with other words, and with its scope."""
        if not self.scope.remaining_text:
            return replace(self, question=words)
        return replace(self, scope=replace(self.scope, remaining_text=words))


def open_inquiry(
    text: str,
    filters: str,
    context: ToolContext,
    previous: Sequence[PreviousTurn] = (),
    requested_scope: NamedScope | None = None,
) -> ResearchRequest:
    """Pin the commits of a question.

    Parameters
    ----------
    text
        The question in words.
    filters
        The filters in it, or the filters of the previous question.
    context
        For whom.
    previous
        Earlier questions of the conversation.
    requested_scope
        Repositories and a revision that were passed with the question.

    Raises
    ------
    QueryError, ToolError
        As `pin_filters`.
    """
    text = bare_question(text)
    requested_scope = requested_scope or NamedScope()
    pins: Pins | None = None
    try:
        pins = pin_filters(filters, context, requested_scope)
    except ToolError:
        if filters or requested_scope:
            raise

    usual = frozenset(pin.repository for pin in pins) if pins is not None else frozenset()
    visible = (
        sorted(usual)
        if filters or requested_scope.repositories
        else [repository.name for repository in context.engine.catalog.visible(context.viewer)]
    )
    names = RepositoryNames(visible, usual)
    scope = _scope_of(text, names)
    if not scope.named_scope and not requested_scope:
        scope = _keep_scope(text, scope, names, previous)

    if scope.named_scope:
        narrowed = _pin_scope(filters, requested_scope, scope, context)
        if narrowed is not None:
            pins_of_scope, read = narrowed
            searched = f"{filters} {_narrow(requested_scope, read.named_scope).filters}".strip()
            return ResearchRequest(text, searched, pins_of_scope, FileTexts(context), previous, read)
        scope = QuestionScope(notes=("The repositories in the question and its filters could not be combined.",))

    if pins is None:
        pins = pin_filters(filters, context)

    searched = f"{filters} {requested_scope.filters}".strip()
    return ResearchRequest(text, searched, pins, FileTexts(context), previous, scope)


def _scope_of(text: str, names: RepositoryNames) -> QuestionScope:
    # Its patterns are compiled with the first question, which takes a quarter of a second.
    from sourcelight.engines.deepsearch.question.reading import asks_for_facts

    return read_scope(text, names, by_word=asks_for_facts(text))


def _narrow(requested_scope: NamedScope, read: NamedScope) -> NamedScope:
    """Return the scope that a question names, within the scope that was passed with it."""
    return NamedScope(read.repositories or requested_scope.repositories, read.revision or requested_scope.revision)


def _keep_scope(
    text: str, scope: QuestionScope, names: RepositoryNames, previous: Sequence[PreviousTurn]
) -> QuestionScope:
    """Scope a follow-up that names no repository or revision as the answer before it was scoped."""
    if _WIDER.search(text):
        return scope

    for turn in reversed(previous):
        earlier = turn.named_scope
        if earlier is None:
            earlier = _scope_of(turn.question, names).named_scope

        if earlier:
            scope_names = [*earlier.repositories[:_NAMED_VALUES], *([earlier.revision] if earlier.revision else [])]
            values = ", ".join(map(code, scope_names))
            note = f"The question names no repository, so the previous scope applies: {values}."
            return replace(scope, named_scope=earlier, notes=(*scope.notes, note))

        if _WIDER.search(turn.question):
            break

    return scope


def _pin_scope(
    filters: str, requested_scope: NamedScope, scope: QuestionScope, context: ToolContext
) -> tuple[Pins, QuestionScope] | None:
    """Pin the scope of a question; without its revision if no repository has it."""
    try:
        return pin_filters(filters, context, _narrow(requested_scope, scope.named_scope)), scope
    except (ToolError, QueryError):
        context.cancellation.check()

    revision = next((taken_part for taken_part in scope.parts if taken_part.kind == "revision"), None)
    if revision is None:
        return None

    other_parts = tuple(taken_part for taken_part in scope.parts if taken_part is not revision)
    revision_text = code(revision.source_text)
    note = f"No searched repository has the revision {revision_text}, so the default branches are searched."
    without = replace(
        scope,
        named_scope=replace(scope.named_scope, revision=""),
        parts=other_parts,
        remaining_text=f"{scope.remaining_text} {revision.source_text}",
        notes=(*scope.notes, note),
    )
    try:
        return pin_filters(filters, context, _narrow(requested_scope, without.named_scope)), without
    except (ToolError, QueryError):
        return None
