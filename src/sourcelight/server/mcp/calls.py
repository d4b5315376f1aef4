"""Running a tool in a thread: progress out of it, cancellation into it, and its faults in words."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import anyio.to_thread
import orjson

from sourcelight.core.batches.results import ToolProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import (
    Cancelled,
    ClusterError,
    PathNotFound,
    PatternError,
    QueryError,
    RepositoryNotFound,
    RevisionNotFound,
    ToolError,
)
from sourcelight.core.tools.tool import Scope, Tool
from sourcelight.engines import tools
from sourcelight.engines.deepsearch.redaction import format_error
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import Conversations, ToolContext
from sourcelight.repos import Viewer
from sourcelight.server.identity import FairQueue, QueueFull

log = logging.getLogger("sourcelight.mcp")

Report = Callable[[float, float | None, str], Awaitable[None]]
Said = tuple[dict[str, Any], str]
# What the caller can do something about; the text of others may name places of this machine.
_TOLD = (ToolError, QueryError, PatternError, RepositoryNotFound, RevisionNotFound, PathNotFound)


@dataclass(frozen=True, slots=True)
class CallIdentity:
    """For whom a call runs, what addresses in its answer start with, and whether its credential still holds."""

    viewer: Viewer
    base_url: str = ""
    holds: Callable[[], bool] = lambda: True


class ToolFailed(Exception):
    """Raised with the text that the caller of a tool is told."""


@dataclass(slots=True)
class ToolRunner:
    """The calls of one service.

    Parameters
    ----------
    engine
        Answers them.
    conversations
        Deep search; None where there is none.
    timeout_s
        Longest time that a call may take.
    at_once
        Calls that work at the same time, three quarters of them of one account at most; others wait, those of each
        account in turn. Those that create something have slots of their own, since they wait for long.
    waiting
        Calls of one account that may wait for their turn; a further one is told so, and to ask again.
    """

    engine: LocalEngine
    conversations: Conversations | None = None
    timeout_s: float | None = None
    at_once: int = 16
    waiting: int = 256
    _running: set[Cancellation] = field(default_factory=set)
    _queues: dict[bool, FairQueue] = field(default_factory=dict)
    _threads: dict[bool, anyio.CapacityLimiter] = field(default_factory=dict)

    def stop(self) -> None:
        """Ask all calls under way to stop. Callable from any thread."""
        for cancellation in list(self._running):
            cancellation.cancel()

    async def answer(
        self, tool: Tool[Any], arguments: Mapping[str, Any], caller: CallIdentity, report: Report | None = None
    ) -> Said:
        """Structured content and text of a call; cancelling stops the work.

        Parameters
        ----------
        tool
            Which tool.
        arguments
            As they came; they are checked here.
        caller
            For whom.
        report
            Called with progress, total (None: not known) and a message, the progress always larger than before.

        Raises
        ------
        ToolFailed
            With what to tell the caller.
        """
        cancellation = Cancellation(self.timeout_s)
        self._running.add(cancellation)
        context = ToolContext(
            self.engine,
            caller.viewer,
            cancellation,
            served=True,
            base_url=caller.base_url,
            conversations=self.conversations,
        )

        async def pass_on(progress: float, total: float | None, message: str) -> None:
            if report is not None and caller.holds():
                await report(progress, total, message)

        try:
            try:
                if report is None:
                    return await self._in_thread(tool, arguments, context)
                return await self._reporting(tool, arguments, context, pass_on)
            finally:
                # Faults tell of repositories, too.
                if not caller.holds():
                    raise ToolFailed(f"{tool.name}: your access has ended or has changed since the call began")
        finally:
            cancellation.cancel()
            self._running.discard(cancellation)

    async def _in_thread(self, tool: Tool[Any], arguments: Mapping[str, Any], context: ToolContext) -> Said:
        read_only = tool.mcp is None or tool.mcp.read_only
        queue = self._queues.get(read_only)
        if queue is None:
            queue = FairQueue(self.at_once, self.at_once - self.at_once // 4, self.waiting)
            self._queues[read_only] = queue
            self._threads[read_only] = anyio.CapacityLimiter(self.at_once)
        try:
            await queue.acquire(context.viewer.name)
        except QueueFull:
            told = f"{tool.name}: the service is busy, and {self.waiting} calls wait already; ask again in some seconds"
            raise ToolFailed(told) from None
        try:
            run, limiter = anyio.to_thread.run_sync, self._threads[read_only]
            return await run(_run, tool, arguments, context, abandon_on_cancel=True, limiter=limiter)
        finally:
            queue.release(context.viewer.name)

    async def _reporting(
        self, tool: Tool[Any], arguments: Mapping[str, Any], context: ToolContext, report: Report
    ) -> Said:
        # Reports that nobody has taken yet are replaced by later ones: a slow reader never holds up the work.
        latest: list[ToolProgress] = []
        news = anyio.Event()
        ended = False
        steps = _Steps()
        loop = asyncio.get_running_loop()
        said: Said | None = None
        failure: ToolFailed | None = None

        def observe(progress: ToolProgress) -> None:
            latest[:] = [progress]
            # The loop is closed when the process is about to end: nobody is left to tell.
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
                if ended:
                    return

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pass_on)
            try:
                said = await self._in_thread(tool, arguments, replace(context, observer=observe))
            except ToolFailed as fault:
                failure = fault
            ended = True
            news.set()
        if failure is not None:
            raise failure
        assert said is not None  # noqa: S101 - narrows for the type checker
        return said


@dataclass(slots=True)
class _Steps:
    """Turns the progress of stage after stage into numbers that only grow."""

    stage: str = ""
    before: float = 0.0
    last: float = 0.0

    def step(self, progress: ToolProgress) -> tuple[float, float | None, str]:
        """Progress, total and message of a report."""
        if progress.stage != self.stage:
            self.stage, self.before = progress.stage, self.last
        now = self.before + progress.done
        now = now if now > self.last else self.last + 0.001
        self.last = now
        total = self.before + progress.total if progress.total else None
        far = f" {progress.done:,}" if progress.done or progress.total else ""
        far += f" of {progress.total:,}" if progress.total else ""
        detail = f" {progress.detail}" if progress.detail else ""
        return now, None if total is not None and total < now else total, f"{progress.stage}{far}{detail}"


def _run(tool: Tool[Any], arguments: Mapping[str, Any], context: ToolContext) -> Said:
    """Answer in this thread; raises `ToolFailed` and nothing else."""
    try:
        payload, text = tools.render(tool, tools.answer(tool, arguments, context), context)
        return _readable(payload), _clean(text)
    except _TOLD as fault:
        raise ToolFailed(_clean(str(fault))) from fault
    except ClusterError as fault:
        log.warning("%s failed: %s", tool.name, fault)
        raise ToolFailed(_clean(fault.for_callers)) from fault
    except Cancelled as fault:
        raise ToolFailed(f"{tool.name}: the call was stopped before it had an answer; ask again") from fault
    except Exception as fault:
        # The last stop: the caller gets an id, the log the fault.
        fault_id = secrets.token_hex(6)
        if tool.scope is Scope.CONVERSATION:
            told = format_error(fault)
            log.error("%s failed, id %s: %s", tool.name, fault_id, told)  # noqa: TRY400 - no text of questions in logs
        else:
            log.exception("%s failed, id %s", tool.name, fault_id)
        told = f"{tool.name}: internal error, id {fault_id}: the log of the service says more"
        raise ToolFailed(told) from fault


def _readable(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload as it is, if JSON can hold it; else with what is no Unicode replaced."""
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
    """Text with lone surrogates, which names of any bytes may have, as ``?``."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
