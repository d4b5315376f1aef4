"""Methods about deep search conversations."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from sourcelight.client.answer_cache import AnswerCache, installed_files
from sourcelight.client.conversation import DeepSearchAnswer, address_of, conversation_facts
from sourcelight.client.methods.call import Texts, ToolCaller, texts
from sourcelight.client.portal import blocking
from sourcelight.client.progress import watch
from sourcelight.core.arguments import checks_methods
from sourcelight.core.backend import Backend
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ToolError, TransportError
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.conversations import (
    DEEPSEARCH_CHANGE,
    DEEPSEARCH_LIST,
    DeepSearchChangeArguments,
    DeepSearchListArguments,
)
from sourcelight.display.notebook import AskState, ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame

_WAITS_S = (1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 20.0)
"""Seconds between reads of a running conversation: short answers come soon, and long ones cost few requests."""

_COMMIT_ID = re.compile(r"[0-9a-f]{40}")


_Pin: TypeAlias = tuple[str, str]
"""Name of a repository, and the commit that an answer is about."""


class Asking(ToolCaller, Protocol):
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
        self: Asking,
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

        # A stored answer holds for its question, its scope and these commits.
        answer_cache: AnswerCache | None = None
        commits: list[_Pin] | None = None
        if cache and follows is None and not backend.features.is_recorded():
            answer_cache = AnswerCache(_asker(backend), json.dumps([question, scope]) if scope else question)
            commits = await _pins(backend, revision) if backend.local else None

        if answer_cache is not None and commits is not None:
            stored = answer_cache.load(commits)
            if stored is not None:
                cached = DeepSearchAnswer(stored, base_url=base_url, asker=self, cached=True)
                self._last_answer, self._read_last = cached, lambda: cached
                return cached

        arguments = {"question": question, **scope}
        if follows is not None:
            arguments["identifier"] = follows

        state, attributes = AskState(question), dict[str, Any]()
        try:
            await watch(state, _ask(backend, arguments, state, attributes, timeout_s), progress, 0.3, client=self)
        except TransportError as error:
            stored = None if answer_cache is None else answer_cache.newest()
            if stored is None or attributes:
                raise
            notice = f"The service can't be reached ({error}); this is the newest stored answer."
            stored = {**stored, "notices": [*stored.get("notices", ()), notice]}
            return DeepSearchAnswer(stored, base_url=base_url, asker=self, cached=True)
        finally:
            # Also after an interrupt, for `last`.
            interrupted = {"status": "interrupted", "title": question, "questions": [{"question": question}]}
            answer = DeepSearchAnswer(interrupted | attributes, base_url=base_url, asker=self, turns=state.turns)
            self._last_answer, self._read_last = answer, lambda: self._last_answer

        # An answer that changes with time may be another one tomorrow, over the same commits.
        is_final = answer.status == "complete" and not answer.stats.get("changes")
        if answer_cache is not None and is_final:
            if not backend.local:
                answer_cache.store(_answered_of(attributes), answer.to_dict())
            elif commits is not None:
                answer_cache.store(commits, answer.to_dict())

        return answer

    async def deepsearch_read(
        self: Asking, identifier: str | int, *, progress: ProgressChoice = None
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
        state, attributes = AskState(f"deepsearch_read({identifier!r})"), dict[str, Any]()

        async def work() -> None:
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

        await watch(state, work(), progress, 0.5, client=self)
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
            DEEPSEARCH_LIST, DeepSearchListArguments(text=text, starred=starred, limit=limit), progress
        )

    async def deepsearch_update(
        self: Asking,
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
        self: Asking, conversation: DeepSearchAnswer | str, *, progress: ProgressChoice = None
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
        self: Asking, conversation: DeepSearchAnswer | str, *, progress: ProgressChoice = None
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
        self: Asking, conversation: DeepSearchAnswer | str, *, progress: ProgressChoice = None
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
        self: Asking, conversation: DeepSearchAnswer | str, progress: ProgressChoice = None, **changes: Any
    ) -> Mapping[str, Any]:
        """Change a conversation and its answer; `last` stays, because a change returns no result."""
        identifier = conversation.identifier if isinstance(conversation, DeepSearchAnswer) else conversation
        read_last = self._read_last
        try:
            frame = await self._call(
                DEEPSEARCH_CHANGE, DeepSearchChangeArguments(identifier=identifier, **changes), progress
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


def _asker(backend: Backend) -> str:
    """Return who answers: two askers with the same text give the same answer to a question."""
    if not backend.local:
        return f"{backend.name} {backend.features.credential_id}"
    return f"{backend.name} {os.environ.get('SOURCELIGHT_MODEL', '')} {installed_files()}"


async def _pins(backend: Backend, revision: str | None) -> list[_Pin] | None:
    """Return names and commits of the repositories that a question would cover, or None if unknown."""
    if revision is not None and not _COMMIT_ID.fullmatch(revision):
        return None
    repositories = await backend.repositories()
    pins: list[_Pin] = [(repository.name, repository.commit) for repository in repositories]
    return pins if all(commit for _, commit in pins) else None


def _answered_of(attributes: Mapping[str, Any]) -> list[_Pin]:
    """Return the repositories and commits that an answer names as its source."""
    pins: set[_Pin] = set()
    for question in attributes["questions"]:
        for pin in question.get("pins") or ():
            pins.add((str(pin.get("repository")), str(pin.get("commit"))))

    return sorted(pins)


async def _ask(
    backend: Backend,
    arguments: Mapping[str, Any],
    state: AskState,
    attributes: dict[str, Any],
    timeout_s: float | None,
) -> None:
    """Ask a question and wait for its answer; fills `attributes`, also after an interrupt."""
    try:
        name = "deepsearch_follow_up" if "identifier" in arguments else "deepsearch"
        answer = await backend.call(name, arguments, state.update)
        attributes.update(conversation_facts(answer, arguments["question"]))
        state.address = attributes["url"] if attributes["status"] == "running" else ""
        if attributes["status"] == "running":
            answer = await _poll(backend, attributes, timeout_s, len(attributes["questions"]))
    except asyncio.CancelledError:
        state.interrupt()
        attributes["status"] = "interrupted"
        raise
    except Exception as exc:
        state.fail(str(exc))
        raise

    state.finish(_countable(attributes, answer))


async def _poll(
    backend: Backend, attributes: dict[str, Any], timeout_s: float | None, question_count: int
) -> ToolResult:
    """Read a conversation until its last question is answered, less and less often."""
    loop = asyncio.get_running_loop()
    deadline = None if timeout_s is None else loop.time() + timeout_s
    attempt = 0
    while True:
        wait_s = _WAITS_S[min(attempt, len(_WAITS_S) - 1)]
        if deadline is not None and loop.time() + wait_s > deadline:
            return ToolResult("conversation", table_of("conversation", 0), {}, complete=False)

        await asyncio.sleep(wait_s)
        attempt += 1
        identifier = attributes["url"] or attributes["read_token"]
        answer = await backend.call("deepsearch_read", {"identifier": identifier})
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
            conversation[name] = attributes[name] or conversation[name]

        attributes.update(conversation)
        return answer


def _is_answered(question: Mapping[str, Any]) -> bool:
    has_answer = bool(str(question.get("answer") or "").strip())
    return has_answer or bool(question.get("error"))


def _countable(attributes: Mapping[str, Any], answer: ToolResult) -> ToolResult:
    """Return the answer as the painter counts it."""
    complete = attributes["status"] == "complete"
    return ToolResult(answer.columns, answer.table, answer.attributes, complete, answer.notices)
