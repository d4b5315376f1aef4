"""Run a tool over the shards of one worker: the whole call, or its part of a call over many workers.

`StatsMailbox` and `StatsBarrier` exchange the word counts of all repositories for a ranking.
"""

from __future__ import annotations

import pickle
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sourcelight.backends.cluster import messages
from sourcelight.backends.cluster.worker.outbox import Outbox
from sourcelight.backends.cluster.worker.search import viewer_of
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ClusterError, SearchIndexError
from sourcelight.core.tools.catalog import find_tool
from sourcelight.engines.execution import LocalEngine

WAIT_S = 30.0
"""Seconds that a ranking waits for the numbers of the other workers before it fails."""

_STEP_S = 0.1
"""Seconds between two looks at the cancellation while a reply is awaited."""


class StatsMailbox:
    """Queues of numbers for waiting rankings, by token. Safe to share between threads."""

    def __init__(self) -> None:
        self._waiting: dict[str, queue.SimpleQueue[list[Any]]] = {}
        self._guard = threading.Lock()

    def open(self, token: str) -> queue.SimpleQueue[list[Any]]:
        """Open the queue in which the numbers for a ranking arrive, until `close`."""
        with self._guard:
            # The first caller with a token creates the queue; the second shares it.
            return self._waiting.setdefault(token, queue.SimpleQueue())

    def close(self, token: str) -> None:
        """Drop the queue of a ranking."""
        with self._guard:
            self._waiting.pop(token, None)

    def tell(self, payload: Mapping[str, Any]) -> None:
        """Pass the numbers of a service to the ranking that waits for them, if it still waits."""
        with self._guard:
            future = self._waiting.get(str(payload["token"]))
        if future is not None:
            future.put(list(payload["numbers"]))


@dataclass(frozen=True, slots=True)
class StatsBarrier:
    """The `Exchange` of one ranking: sends its numbers to the coordinator, and waits for those of all."""

    say: Callable[[Mapping[str, Any]], None]
    replies: queue.SimpleQueue[list[Any]]
    cancellation: Cancellation

    def add(self, numbers: Sequence[int]) -> list[int]:
        """Return the sums over all workers."""
        return self._exchange_numbers(messages.ADD, numbers)

    def maxima(self, numbers: Sequence[float]) -> list[float]:
        """Return the maxima over all workers."""
        return self._exchange_numbers(messages.MAXIMUM, numbers)

    def _exchange_numbers(self, method: str, numbers: Sequence[Any]) -> list[Any]:
        # Every worker sends the same sequence of exchanges, so numbers belong together by their order.
        self.say({"kind": "share", "how": method, "numbers": list(numbers)})
        # A worker that died sends no numbers, so the wait has a bound; the coordinator then names the repositories of
        # the missing part.
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            self.cancellation.check()
            try:
                return self.replies.get(timeout=_STEP_S)
            except queue.Empty:
                continue

        raise ClusterError(f"the statistics of the other workers didn't arrive within {WAIT_S:g} s; retry")


Message = dict[str, Any]


def call_tool(
    order: messages.WorkerRequest,
    engine: LocalEngine,
    missing: Mapping[str, str],
    cancellation: Cancellation,
    outbox: Outbox,
    posts: StatsMailbox,
    distrust: Callable[[str], None],
) -> Message:
    """Run a tool call and return its last message.

    `missing` has the repositories of the order that this worker lacks, with the reasons. Raises `ClusterError` for a
    damaged shard, because another worker has another copy.
    """
    from sourcelight.engines import tools

    def observe(progress: ToolProgress) -> None:
        rows = progress.rows
        message = {"stage": progress.stage, "done": progress.done, "total": progress.total, "detail": progress.detail}
        outbox.put({"kind": "progress", "progress": message, "rows": rows}, 0 if rows is None else rows.nbytes)

    context = tools.ToolContext(
        engine, viewer_of(order), cancellation, observe, served=order.served, base_url=order.base_url
    )
    work = {
        messages.PART: _part,
        messages.REST: _rest,
        messages.RANK: _rank,
        messages.EXPLAIN: _explain,
        messages.RESEARCH: _run_step,
    }.get(order.step, _full_answer)
    try:
        answer = work(order, context, missing, outbox, posts)
    except SearchIndexError as error:
        for name in order.names:
            # All repositories of the order: an index error doesn't always name its repository.
            distrust(name)
        raise ClusterError(str(error)) from error

    if cancellation.cancelled:
        raise Cancelled("stopped on request")

    return {
        "kind": "end",
        "answer": messages.answer_to_plain(answer),
        "failed": {} if order.step == messages.REST else dict(missing),
    }


def _full_answer(
    order: messages.WorkerRequest, context: Any, missing: Mapping[str, str], outbox: Outbox, posts: StatsMailbox
) -> ToolResult:
    from sourcelight.engines import tools

    del outbox, posts
    if missing:
        return _carrier("", None)
    return tools.call(order.tool, order.arguments, context)


def _rest(
    order: messages.WorkerRequest, context: Any, missing: Mapping[str, str], outbox: Outbox, posts: StatsMailbox
) -> ToolResult:
    """Return all local parts of a call; repositories that are not available are reported as ``missing``."""
    repository_name = str(order.arguments.get("repo", "")).strip("/")
    if repository_name in missing or len(missing) == len(order.names):
        raise ClusterError(missing.get(repository_name) or next(iter(missing.values())))
    answer = _full_answer(order, context, {}, outbox, posts)
    return replace(answer, attributes={**answer.attributes, "missing": dict(missing)})


def _part(
    order: messages.WorkerRequest, context: Any, missing: Mapping[str, str], outbox: Outbox, posts: StatsMailbox
) -> ToolResult:
    from sourcelight.engines import tools

    del outbox, posts
    names = [name for name in order.names if name not in missing]
    if not names:
        return _carrier("part", tools.PartialResult(()))

    arguments = dict(order.arguments)
    if find_tool(order.tool).takes_repos:
        arguments["repos"] = names

    return _carrier("part", tools.gather(order.tool, arguments, context))


def _rank(
    order: messages.WorkerRequest, context: Any, missing: Mapping[str, str], outbox: Outbox, posts: StatsMailbox
) -> ToolResult:
    from sourcelight.engines.tools.search import gather_ranked

    if missing:
        return _carrier("ranked", None)  # workers start again without these, or with another copy

    # The queue is opened before any number is sent: sums that arrive without a queue would be lost.
    meeting = StatsBarrier(
        lambda message: outbox.put(message, urgent=True), posts.open(order.token), context.cancellation
    )
    try:
        limit = order.arguments.get("limit")
        return _carrier("ranked", gather_ranked(order.arguments["query"], context, meeting, limit))
    finally:
        posts.close(order.token)


def _explain(
    order: messages.WorkerRequest, context: Any, missing: Mapping[str, str], outbox: Outbox, posts: StatsMailbox
) -> ToolResult:
    del missing, outbox, posts
    if order.request is None:
        raise ClusterError("a request to explain without a query")
    return _carrier("explained", context.engine.explain(order.request, context.viewer, context.cancellation))


def _run_step(
    order: messages.WorkerRequest, context: Any, missing: Mapping[str, str], outbox: Outbox, posts: StatsMailbox
) -> ToolResult:
    from sourcelight.engines.deepsearch.steps import run_local_step

    del posts
    if missing and order.tool != "pin":
        return _carrier("found", None)  # another worker is asked

    def emit(event: Any) -> None:
        outbox.put({"kind": "told", "told": pickle.dumps(event)})

    request = pickle.loads(order.arguments["asked"])  # noqa: S301 - who asks has the cluster's certificate
    return _carrier("found", run_local_step(order.tool, request, context, emit))


def _carrier(key: str, value: Any) -> ToolResult:
    """Return an intermediate result in the form of an answer, for transport."""
    return ToolResult(key, None, {key: value})
