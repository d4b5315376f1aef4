"""Methods about deep search conversations."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Protocol

from sourcelight.client.answer_cache import StoredAnswers
from sourcelight.client.conversation import DeepSearchAnswer, address_of, conversation_facts
from sourcelight.client.methods.call import Texts, ToolCaller, texts
from sourcelight.client.portal import blocking
from sourcelight.client.progress import watch
from sourcelight.core.arguments import checks_methods
from sourcelight.core.backend import Backend
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ToolError, TransportError
from sourcelight.core.tools import conversations
from sourcelight.core.tools.catalog import table_of
from sourcelight.display.notebook import AskState, ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame

_WAITS_S = (1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0)
"""Seconds between reads of a running conversation: short answers come soon, and long ones cost few requests."""


class ConversationCaller(ToolCaller, Protocol):
    """The interface of `self` in these methods."""

    _last_answer: DeepSearchAnswer | None
    _read_last: Callable[[], Any]

    @property
    def backend(self) -> Backend:
        """The backend of the client."""

    async def _deepsearch_change(
        self, conversation: DeepSearchAnswer | str, progress: ProgressChoice = None, **changes: Any
    ) -> Mapping[str, Any]:
        """Change a conversation."""

    async def deepsearch(self, question: str, *, conversation: DeepSearchAnswer | str | None = None) -> Any:
        """Ask a question."""


@checks_methods
class ConversationMethods:
    """Awaited methods about conversations."""

    _last_answer: DeepSearchAnswer | None = None

    async def deepsearch(
        self: ConversationCaller,
        question: str,
        *,
        repos: Texts | None = None,
        revision: str | None = None,
        conversation: DeepSearchAnswer | str | None = None,
        cache: bool = True,
        timeout_s: float | None = None,
        progress: ProgressChoice = None,
    ) -> DeepSearchAnswer:
        """Ask a question about the code; every citation of the answer is checked.

        In this process no model is used and nothing leaves the machine, unless ``SOURCELIGHT_MODEL`` names a model.
        Searches and reads are displayed while they run. After an interrupt, `last` has the evidence so far.

        Parameters
        ----------
        question
            In plain words; filters such as ``repo:`` and ``file:`` may be part of it.
        repos
            Names of the repositories to search; None: all.
        revision
            Branch, tag or commit of these repositories; None: their default branches.
        conversation
            Conversation to continue: an answer or its address; None: a new one.
        cache
            In this process: return the stored answer to the same question over the same commits, if it exists. If the
            service can't be reached, return the newest stored answer, with a notice.
        timeout_s
            Seconds to wait for a service; after that, the answer's status is ``running``. None: until the answer is
            ready.
        progress
            As in `search`.

        Returns
        -------
        DeepSearchAnswer
            The answer; its `status` is ``complete``, ``running``, ``interrupted`` or ``failed``.

        Raises
        ------
        ToolError
            The question is empty, or the conversation has a running question.
        UnsupportedTool
            The service has no deep search.
        """
        if not isinstance(question, str) or not question.strip():
            raise ToolError("the question is empty: say what you want to know", tool="deepsearch", argument="question")

        question = question.strip()
        scope = _scope(repos, revision)
        follows = conversation.identifier if isinstance(conversation, DeepSearchAnswer) else conversation
        backend = self.backend
        base_url = "" if backend.local else backend.name

        def stored_answer(details: Mapping[str, Any]) -> DeepSearchAnswer:
            return DeepSearchAnswer(details, base_url=base_url, asker=self, cached=True)

        stored_answers: StoredAnswers | None = None
        if cache and follows is None and not backend.features.is_recorded():
            stored_answers = await StoredAnswers.open(backend, question, scope, revision=revision)
            stored = stored_answers.load()
            if stored is not None:
                cached = stored_answer(stored)
                self._last_answer, self._read_last = cached, lambda: cached
                return cached

        arguments = {"question": question, **scope}
        if follows is not None:
            arguments["identifier"] = follows

        request = _QuestionRequest(backend, arguments)
        try:
            await watch(request.state, request.run(timeout_s), progress, 0.3, client=self)
        except TransportError as error:
            stored = None if stored_answers is None else stored_answers.newest()
            if stored is None or request.attributes:
                raise
            notice = f"The service can't be reached ({error}); this is the newest stored answer."
            return stored_answer({**stored, "notices": [*stored.get("notices", ()), notice]})
        finally:
            # Also after an interrupt, for `last`.
            interrupted = {"status": "interrupted", "title": question, "questions": [{"question": question}]}
            details = interrupted | request.attributes
            answer = DeepSearchAnswer(details, base_url=base_url, asker=self, turns=request.state.turns)
            self._last_answer, self._read_last = answer, lambda: self._last_answer

        # An answer that changes with time may be another one tomorrow, over the same commits.
        is_final = answer.status == "complete" and not answer.stats.get("changes")
        if stored_answers is not None and is_final:
            stored_answers.store(answer.to_dict(), request.attributes["questions"])

        return answer

    async def deepsearch_read(
        self: ConversationCaller, identifier: str | int, *, progress: ProgressChoice = None
    ) -> DeepSearchAnswer:
        """Read a conversation that you own or that was shared with you.

        Parameters
        ----------
        identifier
            Its address, its read token, or its ``id`` in `deepsearch_list`.
        progress
            As in `search`.

        Returns
        -------
        DeepSearchAnswer
            The newest answer of the conversation, with the earlier ones before it.

        Raises
        ------
        ToolError
            For an invalid identifier, and for a conversation that doesn't exist or isn't shared with you.
        """
        backend = self.backend
        state = AskState(f"deepsearch_read({identifier!r})")
        attributes: dict[str, Any] = {}

        async def read() -> None:
            try:
                answer = await backend.call("deepsearch_read", {"identifier": str(identifier)}, state.update)
            except asyncio.CancelledError:
                state.interrupt()
                raise
            except Exception as exc:
                state.fail(str(exc))
                raise

            attributes.update(conversation_facts(answer))
            state.finish(answer)

        await watch(state, read(), progress, 0.5, client=self)
        attributes["read_token"] = attributes.get("read_token") or ("" if attributes.get("url") else str(identifier))
        conversation = {"status": "interrupted", "title": "", "questions": ()} | attributes
        return DeepSearchAnswer(conversation, base_url="" if backend.local else backend.name, asker=self)

    async def deepsearch_list(
        self: ToolCaller,
        text: str | None = None,
        *,
        starred: bool | None = None,
        limit: int | None = None,
        progress: ProgressChoice = None,
    ) -> DataFrame:
        """List your own conversations, those first that changed last.

        Parameters
        ----------
        text
            Text in a title, a question or an answer; None: all.
        starred
            Only starred ones, or only others; None: both.
        limit
            Maximum number of conversations; None: 50.
        progress
            As in `search`.

        Returns
        -------
        DataFrame
            One row per conversation; columns as in ``columns_of("conversations")``.
        """
        return await self._call(
            conversations.DEEPSEARCH_LIST,
            conversations.DeepSearchListArguments(text=text, starred=starred, limit=limit),
            progress,
        )

    async def deepsearch_update(
        self: ConversationCaller,
        conversation: DeepSearchAnswer | str,
        *,
        title: str | None = None,
        starred: bool | None = None,
        shared: bool | None = None,
        progress: ProgressChoice = None,
    ) -> None:
        """Rename, star or share a conversation of your own.

        Parameters
        ----------
        conversation
            An answer, its address, or its read token.
        title
            New title; None: unchanged.
        starred, shared
            Whether it is starred; whether everyone with its link may read it. None: unchanged.
        progress
            As in `search`.

        Raises
        ------
        ToolError
            For a conversation that doesn't exist or isn't yours, and for fields that the service can't change.
        """
        await self._deepsearch_change(conversation, progress, title=title, starred=starred, shared=shared)

    async def deepsearch_cancel(
        self: ConversationCaller, conversation: DeepSearchAnswer | str, *, progress: ProgressChoice = None
    ) -> None:
        """Cancel the question that a conversation of your own works on; nothing happens if it works on none.

        Parameters
        ----------
        conversation
            An answer, its address, or its read token.
        progress
            As in `search`.

        Raises
        ------
        ToolError
            The conversation doesn't exist, or isn't yours.
        """
        await self._deepsearch_change(conversation, progress, cancel=True)

    async def deepsearch_delete(
        self: ConversationCaller, conversation: DeepSearchAnswer | str, *, progress: ProgressChoice = None
    ) -> None:
        """Delete a conversation of your own, for everyone.

        Parameters
        ----------
        conversation
            An answer, its address, or its read token.
        progress
            As in `search`.

        Raises
        ------
        ToolError
            The conversation doesn't exist, or isn't yours.
        """
        await self._deepsearch_change(conversation, progress, delete=True)

    async def deepsearch_reset_link(
        self: ConversationCaller, conversation: DeepSearchAnswer | str, *, progress: ProgressChoice = None
    ) -> str:
        """Replace the link of a conversation of your own, and return the new address; the former one stops working.

        Parameters
        ----------
        conversation
            An answer, which has the new address from then on; an address, or a read token.
        progress
            As in `search`.

        Returns
        -------
        str
            The new address.

        Raises
        ------
        ToolError
            The conversation doesn't exist or isn't yours, or the service can't do it.
        """
        attributes = await self._deepsearch_change(conversation, progress, reset_link=True)
        return address_of(attributes)

    async def _deepsearch_change(
        self: ConversationCaller, conversation: DeepSearchAnswer | str, progress: ProgressChoice = None, **changes: Any
    ) -> Mapping[str, Any]:
        """Change a conversation and its answer; `last` stays, because a change returns no result."""
        identifier = conversation.identifier if isinstance(conversation, DeepSearchAnswer) else conversation
        read_last = self._read_last
        try:
            frame = await self._call(
                conversations.DEEPSEARCH_CHANGE,
                conversations.DeepSearchChangeArguments(identifier=identifier, **changes),
                progress,
            )
        finally:
            self._read_last = read_last

        attributes = {str(name): value for name, value in frame.attrs.items()}
        if isinstance(conversation, DeepSearchAnswer):
            conversation.apply_change(attributes, changes)

        return attributes


class BlockingConversationMethods:
    """The same methods for `Client`, which block."""

    deepsearch = blocking(ConversationMethods.deepsearch)
    deepsearch_read = blocking(ConversationMethods.deepsearch_read)
    deepsearch_list = blocking(ConversationMethods.deepsearch_list)
    deepsearch_update = blocking(ConversationMethods.deepsearch_update)
    deepsearch_cancel = blocking(ConversationMethods.deepsearch_cancel)
    deepsearch_delete = blocking(ConversationMethods.deepsearch_delete)
    deepsearch_reset_link = blocking(ConversationMethods.deepsearch_reset_link)


def _scope(repos: Texts | None, revision: str | None) -> dict[str, Any]:
    """Return the arguments for the scope; none for everywhere."""
    scope: dict[str, Any] = {}
    names = texts(repos)
    if names:
        scope["repos"] = list(names)
    if revision:
        scope["revision"] = revision
    return scope


class _QuestionRequest:
    """One question at a backend, from its call until its answer.

    Attributes
    ----------
    state
        The state that progress displays.
    attributes
        The conversation, as far as it has arrived: also after an interrupt.
    """

    def __init__(self, backend: Backend, arguments: Mapping[str, Any]) -> None:
        self.state = AskState(arguments["question"])
        self.attributes: dict[str, Any] = {}
        self._backend = backend
        self._arguments = arguments

    async def run(self, timeout_s: float | None) -> None:
        """Ask the question, and wait for its answer for `timeout_s` seconds."""
        try:
            name = "deepsearch_follow_up" if "identifier" in self._arguments else "deepsearch"
            answer = await self._backend.call(name, self._arguments, self.state.update)
            self.attributes.update(conversation_facts(answer, self._arguments["question"]))
            is_running = self.attributes["status"] == "running"
            self.state.address = self.attributes["url"] if is_running else ""
            if is_running:
                answer = await self._poll(timeout_s)
        except asyncio.CancelledError:
            self.state.interrupt()
            self.attributes["status"] = "interrupted"
            raise
        except Exception as exc:
            self.state.fail(str(exc))
            raise

        # Progress counts an answer as a whole one if its question is answered, however many rows it has.
        is_complete = self.attributes["status"] == "complete"
        self.state.finish(ToolResult(answer.columns, answer.table, answer.attributes, is_complete, answer.notices))

    async def _poll(self, timeout_s: float | None) -> ToolResult:
        """Read the conversation until its last question is answered, less and less often."""
        question_count = len(self.attributes["questions"])
        loop = asyncio.get_running_loop()
        deadline = None if timeout_s is None else loop.time() + timeout_s
        for wait_s in chain(_WAITS_S, repeat(_WAITS_S[-1])):
            if deadline is not None and loop.time() + wait_s > deadline:
                break

            await asyncio.sleep(wait_s)
            identifier = self.attributes["url"] or self.attributes["read_token"]
            answer = await self._backend.call("deepsearch_read", {"identifier": identifier})
            conversation = conversation_facts(answer)
            questions = conversation["questions"]
            if conversation["status"] == "running" or len(questions) < question_count:
                continue
            if not questions or not _is_answered(questions[-1]):
                continue

            # The read has the whole conversation; this answer is its last question.
            conversation["questions"] = [dict(questions[-1])]
            conversation["rows"] = [row for row in conversation["rows"] if row["question_number"] == len(questions)]
            for name in ("url", "read_token"):
                conversation[name] = self.attributes[name] or conversation[name]

            self.attributes.update(conversation)
            return answer

        return ToolResult("conversation", table_of("conversation", 0), {}, complete=False)


def _is_answered(question: Mapping[str, Any]) -> bool:
    has_answer = bool(str(question.get("answer") or "").strip())
    return has_answer or bool(question.get("error"))
