"""Open conversations, run their questions, and decide who may read and change what."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import StateFull, ToolError
from sourcelight.engines.deepsearch.conversations import identifiers, records
from sourcelight.engines.deepsearch.conversations.identifiers import parse_identifier
from sourcelight.engines.deepsearch.conversations.records import (
    FINAL,
    RUNNING,
    ConversationRecord,
    QuestionEvent,
    QuestionRecord,
    read_excerpts,
    visible_to,
)
from sourcelight.engines.deepsearch.conversations.run import CANCELED, QuestionRun
from sourcelight.engines.deepsearch.conversations.store import TITLE_CHARACTERS, ConversationBusy, ConversationStore
from sourcelight.engines.deepsearch.conversations.workers import FairExecutor, is_alive, new_process_id
from sourcelight.engines.deepsearch.question.scope import NamedScope
from sourcelight.engines.deepsearch.research import PreviousTurn, Researcher
from sourcelight.engines.deepsearch.research.answer import join_segments
from sourcelight.engines.tools import ToolContext
from sourcelight.repos import Viewer
from sourcelight.repos.state import State

SERVED_WAIT_S = 50.0
"""Seconds that a call of `deepsearch` over MCP waits for an answer."""

MAX_QUESTION_CHARACTERS = 20_000
MAX_QUESTIONS_UNDER_WAY = 16
"""Questions of one account that are worked on or wait."""
_MAX_CITED = 6
_SLICE_S = 0.1
_STALE_MS = 3_600_000
_DAY_MS = 86_400_000
_NOT_FOUND = "conversation not found: it does not exist, or it is not shared with you"


@dataclass(slots=True)
class ConversationService:
    """The deep search conversations of one installation; implements the `Conversations` of tools.

    Parameters
    ----------
    state
        Where they are kept.
    researcher
        Who answers; None: the extractive one, which needs no model.
    sharing
        Whether conversations can be shared by link at all.
    workers
        Questions worked on at the same time, half of them of one account at most; further ones wait their turn.
    retention_days
        Conversations that did not change for so long are deleted, unless starred; None: never.
    """

    state: State
    researcher: Researcher | None = None
    sharing: bool = True
    workers: int = 4
    retention_days: float | None = None
    process_id: str = field(default_factory=new_process_id)
    store: ConversationStore = field(init=False)
    _threads: FairExecutor = field(init=False)
    _works: dict[int, QuestionRun] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.store = ConversationStore(self.state)
        self._threads = FairExecutor(self.workers, "sourcelight-deepsearch")
        for process_id in self.store.running_processes():
            if process_id != self.process_id and not is_alive(process_id):
                self.store.interrupt_process(process_id)
        self.delete_expired()

    def close(self) -> None:
        """Cancel running questions and close."""
        with self._guard:
            works = list(self._works.values())

        for work in works:
            work.cancellation.cancel()

        self._threads.shutdown()
        for work in works:
            if not work.done.is_set():
                self.store.end(work.question, "canceled", CANCELED)

    def delete_expired(self) -> int:
        """Delete conversations older than the retention time; return how many."""
        if self.retention_days is None:
            return 0
        return self.store.delete_older(self.store.now_ms() - int(self.retention_days * _DAY_MS))

    # Tools.

    def ask(self, question: str, context: ToolContext, *, repos: Sequence[str] = (), revision: str = "") -> ToolResult:
        """Open a conversation and wait for its answer: without a limit, or `SERVED_WAIT_S` over MCP.

        Raises
        ------
        ToolError
            For a question without words, or a reader without an account.
        Cancelled
            When the caller stops waiting in this process; the question is canceled.
        """
        conversation = self.open(question, context)
        number = self.ask_in(conversation, question, context, NamedScope(tuple(repos), revision))
        return self.wait(number, context, SERVED_WAIT_S if context.served else None)

    def read(self, identifier: str, context: ToolContext) -> ToolResult:
        """Return the questions and answers of a conversation that the viewer may read.

        Raises
        ------
        ToolError
            For an invalid identifier and, with the same message, for a conversation that doesn't exist, was deleted, or
            isn't shared with the viewer.
        """
        conversation = self.find(identifier, context)
        visible = [
            visible_to(record, context.viewer, context.engine.catalog)
            for record in self.store.questions(conversation.id)
        ]
        sources = [source for question in visible for source in question.sources]
        excerpts = read_excerpts(sources, context)
        return records.conversation_result(conversation, visible, self.url(conversation, context), excerpts)

    def follow_up(
        self, identifier: str, question: str, context: ToolContext, *, repos: Sequence[str] = (), revision: str = ""
    ) -> ToolResult:
        """Ask a question in the viewer's own conversation and wait as `ask` does.

        Raises
        ------
        ToolError
            While it works on another question, and as `read`.
        """
        scope = NamedScope(tuple(repos), revision)
        number = self.ask_in(self.find(identifier, context).id, question, context, scope)
        return self.wait(number, context, SERVED_WAIT_S if context.served else None)

    def change(self, identifier: str, changes: Mapping[str, Any], context: ToolContext) -> ToolResult:
        """Change the viewer's own conversation and return its new state.

        Parameters
        ----------
        identifier
            Which one.
        changes
            ``title`` (text), ``starred``, ``shared`` (booleans), ``reset_link``, ``cancel``, ``delete`` (true).
        context
            For whom.
        """
        number = self._find_owned(self.find(identifier, context).id, context.viewer).id
        if "title" in changes:
            self.rename(number, changes["title"], context)

        if "starred" in changes:
            self.star(number, context, starred=changes["starred"])

        if "shared" in changes:
            self.share(number, context, shared=changes["shared"])

        if changes.get("reset_link"):
            self.reset_link(number, context)

        if changes.get("cancel"):
            for record in self.questions(number, context):
                if record.status in RUNNING:
                    self.cancel(record.id, context)

        if changes.get("delete"):
            self.delete(number, context)
            return records.list_result([])

        return self.read(str(number), context)

    # Questions.

    def open(self, question: str, context: ToolContext) -> int:
        """Open a conversation without a question; its title is the start of `question`."""
        self._check_words(question)
        title = " ".join(_split_filters(question)[1].split())
        if len(title) > TITLE_CHARACTERS:
            title = title[: TITLE_CHARACTERS - 1].rstrip() + "…"

        try:
            number = self.store.create(context.viewer.name, title)
        except StateFull as exc:
            raise ToolError(exc.for_callers, tool="deepsearch", argument="disk") from exc

        if number is None:
            raise ToolError("deep search needs an account: sign in first", tool="deepsearch")

        return number

    def _check_words(self, question: str) -> None:
        if not _split_filters(question)[1]:
            raise ToolError("the question is empty: say what you want to know", tool="deepsearch", argument="question")

        if len(question) > MAX_QUESTION_CHARACTERS:
            raise ToolError(
                f"the question has {len(question):,} characters; the limit is {MAX_QUESTION_CHARACTERS:,}",
                tool="deepsearch",
                argument="question",
            )

    def ask_in(
        self, conversation: int, question: str, context: ToolContext, requested_scope: NamedScope | None = None
    ) -> int:
        """Ask a question in the viewer's own conversation; return the question's number at once.

        Raises
        ------
        ToolError
            While another question of the conversation is being worked on, and as `read`.
        """
        self._find_owned(conversation, context.viewer)
        self._check_words(question)
        filters, text = _split_filters(question)
        earlier = self.store.questions(conversation)
        requested_scope = requested_scope or NamedScope()
        if not filters and not requested_scope and earlier:
            # A follow-up keeps the scope of its conversation unless it names another.
            filters, requested_scope = earlier[-1].filters, earlier[-1].requested_scope

        self._end_stale(earlier)

        # All that may fail comes first: a question that is stored without work counts as running for an hour.
        researcher = self.researcher or _extractive_researcher()
        previous = self._previous_turns(earlier, context)
        number = self._store_question(conversation, text, filters, context.viewer, requested_scope)

        # Links are kept relative to the service: the reader's side puts an address in front, or none.
        run_context = replace(context, cancellation=Cancellation(), observer=None, base_url="", conversations=None)
        work = QuestionRun(
            self.store, researcher, number, text, filters, run_context, previous, self.process_id, requested_scope
        )
        with self._guard:
            self._works = {
                key: question_run for key, question_run in self._works.items() if not question_run.done.is_set()
            }
            self._works[number] = work

        self._threads.submit(context.viewer.name, work.run)
        return number

    def _store_question(
        self, conversation: int, text: str, filters: str, viewer: Viewer, requested_scope: NamedScope
    ) -> int:
        """Store a question and return its number; raise `ToolError` while too many are running."""
        # Counted in the database, so over all processes of the service.
        if self.store.running_questions(viewer.name) >= MAX_QUESTIONS_UNDER_WAY:
            raise ToolError(
                f"{MAX_QUESTIONS_UNDER_WAY} of your questions are running; wait for an answer or cancel one",
                tool="deepsearch",
                argument="running",
            )

        try:
            return self.store.ask(conversation, text, filters, self.process_id, requested_scope)
        except ConversationBusy:
            raise ToolError(
                "the conversation already has a running question; wait for its answer or cancel it",
                tool="deepsearch",
                argument="running",
            ) from None
        except StateFull as exc:
            raise ToolError(exc.for_callers, tool="deepsearch", argument="disk") from exc

    def _previous_turns(self, questions: Sequence[QuestionRecord], context: ToolContext) -> list[PreviousTurn]:
        """Return the earlier questions with complete answers that the asker may read."""
        # What the asker may no longer read tells nothing to a new answer, either.
        visible = (visible_to(question, context.viewer, context.engine.catalog) for question in questions)
        return [
            self._previous(view.question)
            for view in visible
            if view.question.status == "completed" and not view.is_partial
        ]

    def _end_stale(self, questions: Sequence[QuestionRecord]) -> None:
        for question in questions:
            if question.status in RUNNING and question.id not in self._works:
                old = self.store.now_ms() - (question.started_ms or question.created_ms) > _STALE_MS
                if old:
                    self.store.end(question.id, "error", {"kind": "Interrupted", "title": "Interrupted", "message": ""})

    def _previous(self, question: QuestionRecord) -> PreviousTurn:
        cited_names = [name for segment in question.segments for name in segment.names]
        files = (s for s in question.sources if s.type == "file" and s.status in {"verified", "moved"})
        cited_names += [source.path.rpartition("/")[2] for source in files]
        names = tuple(dict.fromkeys(name for name in cited_names if name))[:_MAX_CITED]
        return PreviousTurn(question.text, join_segments(question.segments), names, question.resolved_scope)

    def wait(self, question: int, context: ToolContext, most_s: float | None) -> ToolResult:
        """Wait for an answer, up to `most_s` seconds (None: no limit), and return the state at that time.

        A caller in this process that is cancelled cancels the question; over MCP it continues and can be read later.
        """
        work = self._works.get(question)
        stop_listening = work.listen(context.observer) if work is not None and context.observer is not None else None
        deadline_s = None if most_s is None else time.monotonic() + most_s
        try:
            while work is not None and not work.done.wait(_SLICE_S):
                if context.cancellation.cancelled:
                    # Over HTTP, the caller's connection may break while the answer is still wanted; it is read later by
                    # its number.
                    if not context.served:
                        self.cancel(question, context)
                    context.cancellation.check()
                if deadline_s is not None and time.monotonic() >= deadline_s:
                    break
        finally:
            if stop_listening is not None:
                stop_listening()

        return self.state_of(question, context)

    def state_of(self, question: int, context: ToolContext) -> ToolResult:
        """Return the state of the viewer's own question."""
        record, conversation = self._own_question(question, context.viewer)
        work = self._works.get(question)
        if work is not None and work.unkept is not None and record.status in RUNNING:
            status, error = work.unkept
            record = replace(record, status=status, error=error)

        visible = visible_to(record, context.viewer, context.engine.catalog)
        excerpts = read_excerpts(visible.sources, context)
        return records.question_result(
            conversation, visible, self.url(conversation, context), self.token(conversation), excerpts
        )

    def cancel(self, question: int, context: ToolContext) -> bool:
        """Cancel the viewer's own question; False if it had ended. Earlier events stay."""
        record, _ = self._own_question(question, context.viewer)
        if record.status in FINAL:
            return False

        is_ended = self.store.end(question, "canceled", CANCELED)
        work = self._works.get(question)
        if work is not None:
            work.cancellation.cancel()

        return is_ended

    def events(self, question: int, context: ToolContext, after: int = 0) -> Iterator[QuestionEvent]:
        """Yield the events of the viewer's own question, earlier ones first, until it ends or the caller stops."""
        self._own_question(question, context.viewer)
        while True:
            state = self.store.question(question)
            for event in self.store.events(question, after):
                after = event.number
                yield event

            if state is None or state.status in FINAL or context.cancellation.stopped:
                return

            work = self._works.get(question)
            if work is not None:
                work.wait_for_event(_SLICE_S)
            else:
                time.sleep(_SLICE_S)

    # Conversations.

    def find(self, identifier: str, context: ToolContext) -> ConversationRecord:
        """Find a conversation that the viewer may read; raises as `read`."""
        parsed = parse_identifier(identifier, context.base_url)
        if parsed.number:
            conversation = self.store.by_number(parsed.number)
            allowed = conversation is not None and conversation.owner == context.viewer.name
        else:
            conversation = self.store.by_token(parsed.token)
            allowed = conversation is not None and (
                conversation.owner == context.viewer.name or (self.sharing and conversation.shared)
            )

        if conversation is None or not allowed:
            raise ToolError(_NOT_FOUND, tool="deepsearch_read", argument="identifier")

        return conversation

    def _own_question(self, question: int, viewer: Viewer) -> tuple[QuestionRecord, ConversationRecord]:
        record = self.store.question(question)
        if record is None:
            raise ToolError(_NOT_FOUND, tool="deepsearch_read", argument="identifier")

        return record, self._find_owned(record.conversation, viewer)

    def _find_owned(self, conversation: int, viewer: Viewer) -> ConversationRecord:
        record = self.store.by_number(conversation)
        if record is None or record.owner != viewer.name:
            raise ToolError(_NOT_FOUND, tool="deepsearch_read", argument="identifier")
        return record

    def token(self, conversation: ConversationRecord) -> str:
        """Return the read token of a conversation."""
        return identifiers.read_token(self.store.secret(), conversation.id, conversation.generation)

    def url(self, conversation: ConversationRecord, context: ToolContext) -> str:
        """Return the address of a conversation: the shared form for viewers other than its owner."""
        infix = "" if conversation.owner == context.viewer.name else "shared/"
        return f"{context.base_url}/deepsearch/{infix}{self.token(conversation)}"

    def share_url(self, conversation: int, context: ToolContext) -> str:
        """Return the address to pass on to others."""
        return f"{context.base_url}/deepsearch/shared/{self.token(self._find_owned(conversation, context.viewer))}"

    def questions(self, conversation: int, context: ToolContext) -> list[QuestionRecord]:
        """Return the questions of the viewer's own conversation."""
        return self.store.questions(self._find_owned(conversation, context.viewer).id)

    def list(
        self,
        context: ToolContext,
        *,
        text: str = "",
        starred: bool | None = None,
        order: str = "-updated_at",
        first: int = 50,
        skip: int = 0,
    ) -> ToolResult:
        """List the viewer's own conversations, newest change first; `text` filters titles, questions and answers.

        Raises
        ------
        ToolError
            For an `order` other than ``id``, ``created_at`` and ``updated_at``, with ``-`` before for descending.
        """
        if order.removeprefix("-") not in {"id", "created_at", "updated_at"}:
            accepted = ("id", "created_at", "updated_at", "-id", "-created_at", "-updated_at")
            raise ToolError(f"conversations can't be sorted by {order!r}", argument="sort", accepted=accepted)
        conversations = self.store.list_for_owner(
            context.viewer.name, text=text, starred=starred, order=order, first=first, skip=skip
        )
        return records.list_result([(conversation, self.url(conversation, context)) for conversation in conversations])

    def rename(self, conversation: int, title: str, context: ToolContext) -> None:
        """Rename the viewer's own conversation."""
        title = " ".join(title.split())
        if not title:
            raise ToolError("the title is empty", argument="title")
        self.store.change(self._find_owned(conversation, context.viewer).id, title=title[:200])

    def star(self, conversation: int, context: ToolContext, *, starred: bool = True) -> None:
        """Star or unstar the viewer's own conversation; starred ones never expire."""
        self.store.change(self._find_owned(conversation, context.viewer).id, starred=int(starred))

    def share(self, conversation: int, context: ToolContext, *, shared: bool = True) -> str:
        """Share the viewer's own conversation by link, or stop sharing; return the link.

        Raises
        ------
        ToolError
            Where sharing is switched off.
        """
        record = self._find_owned(conversation, context.viewer)
        if shared and not self.sharing:
            raise ToolError("sharing is disabled (deepSearch.sharing.enabled)")
        self.store.change(record.id, shared=int(shared))
        return self.share_url(conversation, context)

    def reset_link(self, conversation: int, context: ToolContext) -> str:
        """Replace the link of the viewer's own conversation; the previous one stops working."""
        self.store.reset(self._find_owned(conversation, context.viewer).id)
        return self.share_url(conversation, context)

    def delete(self, conversation: int, context: ToolContext) -> None:
        """Delete the viewer's own conversation; a running question is canceled."""
        for question in self.questions(conversation, context):
            if question.status in RUNNING:
                self.cancel(question.id, context)
        self.store.delete(conversation)


def _extractive_researcher() -> Researcher:
    # With the first question: a service that starts would load a hundred modules, whose patterns take long to compile.
    from sourcelight.engines.deepsearch.research.extractive import ExtractiveResearcher

    return ExtractiveResearcher()


def _split_filters(question: str) -> tuple[str, str]:
    from sourcelight.engines.execution.natural_language import split_filters

    return split_filters(question)
