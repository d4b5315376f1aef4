"""Run tools in threads, with progress, cancellation and errors as text."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import orjson

from sourcelight.core import errors
from sourcelight.core.answer_size import DEFAULT_MAX_TOKENS
from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.tools.tool import Scope, Tool
from sourcelight.repos import Viewer
from sourcelight.server.identity import FairQueue, QueueFull
from sourcelight.server.mcp.opening import EngineOpening, ToolSources

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine
    from sourcelight.engines.tools import Conversations

log = logging.getLogger("sourcelight.mcp")
_STOPPED = "{tool}: the call was stopped before it had a result; retry"

Report = Callable[[float, float | None, str], Awaitable[None]]
Rendered = tuple[dict[str, Any], str]
# Errors whose text is for the caller; the text of others may name paths of this machine.
_CALLER_ERRORS = (
    errors.ToolError,
    errors.QueryError,
    errors.PatternError,
    errors.RepositoryNotFound,
    errors.RevisionNotFound,
    errors.PathNotFound,
)
# Raised only if a call opens the engine. Its caller has started this process, so paths in the text reveal nothing.
_OPENING_ERRORS = (errors.NoRepositories, errors.ConfigurationError)


@dataclass(frozen=True, slots=True)
class CallIdentity:
    """The viewer of a call, the base of its addresses, whether its credential holds, and whether it has pages.

    `wants_sources`: whether answers name the commits that they were read from; the specification's don't.
    """

    viewer: Viewer
    base_url: str = ""
    holds: Callable[[], bool] = lambda: True
    has_pages: bool = True
    wants_sources: bool = False


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a tool: its caller, its cancellation and its observer."""

    tool: Tool[Any]
    arguments: Mapping[str, Any]
    caller: CallIdentity
    cancellation: Cancellation
    observer: CallObserver | None = None


class ToolFailed(Exception):
    """A failed call; its text is for the caller."""


@dataclass(slots=True)
class ToolRunner:
    """The calls of one service.

    Parameters
    ----------
    engine
        The engine that answers, or its opening, for which calls wait.
    conversations
        Deep search beside an open engine; None without it.
    timeout_s
        Timeout of a call.
    at_once
        Concurrent calls, at most three quarters of one account; others wait, accounts in turn. Calls that create
        something have separate slots, since they take long.
    waiting
        Waiting calls of one account; the next one fails and asks the caller to retry.
    max_tokens
        Maximum tokens of an answer if the caller gives no number; None: no limit.
    with_structure
        Whether answers have structured content beside their text.
    """

    engine: Engine | EngineOpening
    conversations: Conversations | None = None
    timeout_s: float | None = None
    at_once: int = 16
    waiting: int = 256
    max_tokens: int | None = None
    with_structure: bool = True
    _running: set[Cancellation] = field(default_factory=set)
    _queues: dict[bool, FairQueue] = field(default_factory=dict)
    _threads: dict[bool, anyio.CapacityLimiter] = field(default_factory=dict)

    def stop(self) -> None:
        """Stop all running calls. Callable from any thread."""
        for cancellation in list(self._running):
            cancellation.cancel()

    async def answer(
        self, tool: Tool[Any], arguments: Mapping[str, Any], caller: CallIdentity, report: Report | None = None
    ) -> Rendered:
        """Return structured content and text of a call; cancellation stops it.

        Parameters
        ----------
        tool
            The tool.
        arguments
            Unchecked arguments of the request.
        caller
            Identity of the caller.
        report
            Receives increasing progress, the total (None: unknown) and a message.

        Raises
        ------
        ToolFailed
            With a text for the caller.
        """
        cancellation = Cancellation(self.timeout_s)
        self._running.add(cancellation)
        call = _Call(tool, arguments, caller, cancellation)

        async def pass_on(progress: float, total: float | None, message: str) -> None:
            if report is not None and caller.holds():
                await report(progress, total, message)

        try:
            try:
                if report is None:
                    return await self._in_thread(call)
                return await self._reporting(call, pass_on)
            finally:
                # Errors name repositories, too.
                # Looked at after the call as well: it may have run for minutes, and the access may have ended
                # meanwhile.
                if not caller.holds():
                    raise ToolFailed(
                        f"{tool.name}: your access ended or changed during the call; retry, or sign in again"
                    )
        finally:
            cancellation.cancel()
            self._running.discard(cancellation)

    async def _in_thread(self, call: _Call) -> Rendered:
        tool, account = call.tool, call.caller.viewer.name
        read_only = tool.mcp is None or tool.mcp.read_only
        queue = self._queues.get(read_only)
        if queue is None:
            # An account may use three quarters of the places, so that others always find one.
            queue = FairQueue(self.at_once, self.at_once - self.at_once // 4, self.waiting)
            self._queues[read_only] = queue
            self._threads[read_only] = anyio.CapacityLimiter(self.at_once)

        try:
            await queue.acquire(account)
        except QueueFull:
            message = f"{tool.name}: the service is busy with {self.waiting} waiting calls; retry in a few seconds"
            raise ToolFailed(message) from None

        try:
            run, limiter = anyio.to_thread.run_sync, self._threads[read_only]
            return await run(self._answer, call, abandon_on_cancel=True, limiter=limiter)
        finally:
            queue.release(account)

    def _answer(self, call: _Call) -> Rendered:
        """Answer in this thread; raises only `ToolFailed`."""
        # Loaded with the first call: a client waits for its first answers, and for these modules too, at its start.
        from sourcelight.engines import tools
        from sourcelight.engines.tools import ToolContext
        from sourcelight.engines.tools.pages.page import split_page_arguments
        from sourcelight.engines.tools.sources import sources_of, with_sources

        with _caller_errors(call):
            engine, conversations = self._sources(call)
            context = ToolContext(
                engine,
                call.caller.viewer,
                call.cancellation,
                call.observer,
                served=True,
                base_url=call.caller.base_url,
                conversations=conversations,
                has_pages=call.caller.has_pages,
            )
            page, arguments = split_page_arguments(
                call.tool.name, call.arguments, self._tokens_of(call.tool), with_structure=self.with_structure
            )
            result = tools.answer(call.tool, arguments, context)
            rendered = tools.render(call.tool, result, context, page)
            if call.caller.wants_sources:
                rendered = with_sources(rendered, sources_of(result, context))

            payload, text = rendered
            return _readable(payload), _clean(text)

    def _tokens_of(self, tool: Tool[Any]) -> int | None:
        """Return the tokens of an answer where a call gives no number; the specification bounds its own tools."""
        if self.max_tokens is None and tool.mcp is not None and tool.mcp.suite == "all":
            return DEFAULT_MAX_TOKENS
        return self.max_tokens

    def _sources(self, call: _Call) -> ToolSources:
        if isinstance(self.engine, EngineOpening):
            return self.engine.get(call.cancellation, call.observer)
        return ToolSources(self.engine, self.conversations)

    async def _reporting(self, call: _Call, report: Report) -> Rendered:
        # A later report replaces an unread one, so a slow reader never delays the call.
        latest: list[ToolProgress] = []
        news = anyio.Event()
        has_ended = False
        steps = _Steps()
        loop = asyncio.get_running_loop()
        rendered: Rendered | None = None
        failure: ToolFailed | None = None

        def observe(progress: ToolProgress) -> None:
            # Only the newest report counts: a slow reader must not make a queue of old ones.
            latest[:] = [progress]
            # A closed loop means that the process is about to end: no reader is left.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(wake)

        def wake() -> None:
            news.set()

        async def pass_on() -> None:
            nonlocal news
            while True:
                await news.wait()
                news = anyio.Event()
                if latest:
                    await report(*steps.step(latest.pop()))
                if has_ended:
                    return

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pass_on)
            try:
                rendered = await self._in_thread(replace(call, observer=observe))
            except ToolFailed as exc:
                failure = exc
            has_ended = True
            news.set()

        if failure is not None:
            raise failure

        assert rendered is not None  # noqa: S101 - narrows for the type checker
        return rendered


@dataclass(slots=True)
class _Steps:
    """Turns the progress of consecutive stages into increasing numbers."""

    stage: str = ""
    before: float = 0.0
    last: float = 0.0

    def step(self, progress: ToolProgress) -> tuple[float, float | None, str]:
        """Return progress, total and message of a report."""
        if progress.stage != self.stage:
            self.stage, self.before = progress.stage, self.last

        value = self.before + progress.done
        # The MCP specification: progress must increase with each notification, even if a stage starts from 0.
        value = value if value > self.last else self.last + 0.001
        self.last = value
        total = self.before + progress.total if progress.total else None
        position = f" {progress.done:,}" if progress.done or progress.total else ""
        position += f" of {progress.total:,}" if progress.total else ""
        detail = f" {progress.detail}" if progress.detail else ""
        return value, None if total is not None and total < value else total, f"{progress.stage}{position}{detail}"


@contextlib.contextmanager
def _caller_errors(call: _Call) -> Iterator[None]:
    """Raise every error as `ToolFailed` with a text for the caller."""
    tool = call.tool
    try:
        yield
    except (*_CALLER_ERRORS, *_OPENING_ERRORS) as exc:
        hint = f"; {exc.hint}" if isinstance(exc, errors.QueryError) and exc.hint else ""
        raise ToolFailed(_clean(f"{exc}{hint}")) from exc
    except errors.ClusterError as exc:
        log.warning("%s failed: %s", tool.name, exc)
        raise ToolFailed(_clean(exc.for_callers)) from exc
    except errors.Cancelled as exc:
        raise ToolFailed(_STOPPED.format(tool=tool.name)) from exc
    except Exception as exc:
        # A caller who left, or a process that ends, takes away what the call still uses: threads, files, a database.
        if call.cancellation.cancelled:
            raise ToolFailed(_STOPPED.format(tool=tool.name)) from exc

        # The last handler: the caller gets an id, the log the error.
        error_id = secrets.token_hex(6)
        if tool.scope is Scope.CONVERSATION:
            from sourcelight.engines.deepsearch.redaction import format_error

            text = format_error(exc)
            log.error("%s failed, id %s: %s", tool.name, error_id, text)  # noqa: TRY400 - no text of questions in logs
        else:
            log.exception("%s failed, id %s", tool.name, error_id)
        text = f"{tool.name}: internal error, id {error_id}: see the log of the service"
        raise ToolFailed(text) from exc


def _readable(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the payload, with invalid Unicode replaced where JSON needs that."""
    try:
        orjson.dumps(payload)
    except TypeError:
        cleaned: dict[str, Any] = _deep_clean(payload)
        return cleaned
    return payload


def _deep_clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {_clean(str(name)): _deep_clean(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_deep_clean(item) for item in value]
    return _clean(value) if isinstance(value, str) else value


def _clean(text: str) -> str:
    """Replace lone surrogates, which names of any bytes may have, by ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
