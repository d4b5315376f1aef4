"""Run a tool over many repositories: each worker returns a partial result, and the service combines them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from sourcelight.backends.cluster.connection import ClusterConnection, ClusterSnapshot
from sourcelight.backends.cluster.coordinator.members import FailedAttempt, ReplicaOrder, reasons
from sourcelight.backends.cluster.coordinator.requests import HolderRequests, NoWorkerAnswered
from sourcelight.backends.cluster.messages import PART, RANK, WorkerRequest
from sourcelight.backends.cluster.search_plans import make_cluster_plans
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled
from sourcelight.core.tools.tool import Tool
from sourcelight.engines.execution.scope.contexts import ScopedAlternative, resolve_context
from sourcelight.repos import Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.tools import Split, ToolContext

_STEP_S = 0.1
"""Seconds between looks at the cancellation while the workers work."""

_DATES = ("after", "before")
"""Arguments that may be relative, such as ``2 weeks ago``: all workers must read them as one time."""


@dataclass(frozen=True, slots=True)
class ClusterToolCall:
    """A call of a tool with its context."""

    cluster: ClusterSnapshot
    name: str
    arguments: Mapping[str, Any]
    context: ToolContext

    def order(self, names: Sequence[str], step: str = "", arguments: Mapping[str, Any] | None = None) -> WorkerRequest:
        """Return the request to the workers of some repositories, with `arguments` instead of the call's arguments."""
        return WorkerRequest(
            self.cluster.generation.id,
            tuple(names),
            viewer=self.context.viewer.name,
            allowed_s=self.context.cancellation.remaining_s,
            tool=self.name,
            arguments=self.arguments if arguments is None else arguments,
            served=self.context.served,
            base_url=self.context.base_url,
            step=step,
        )

    def on_message(self, message: Mapping[str, Any]) -> None:
        """Report the progress of a worker to the observer."""
        if message["kind"] == "progress" and self.context.observer is not None:
            self.context.observer(ToolProgress(**message["progress"], rows=message.get("rows")))

    def holders(self, names: Sequence[str], step: str, arguments: Mapping[str, Any] | None = None) -> HolderRequests:
        """Return the workers of some repositories; `arguments` replace the call's arguments."""
        fleet = self.cluster.fleet
        order = self.order(names, step, arguments)
        replicas = ReplicaOrder(fleet.members, self.cluster.holders())
        return HolderRequests(replicas, self.cluster.generation, order, fleet.silence_s, on_message=self.on_message)

    def nowhere(self) -> ToolContext:
        """Return the context of a viewer who may see nothing, for answers over no repository."""
        return replace(self.context, viewer=Viewer(self.context.viewer.name, sees_private=False, only=frozenset()))


def in_parts(
    call: ClusterToolCall, tool: Tool[Any], split: Split[Any], repositories: Sequence[Repository]
) -> ToolResult:
    """Answer a call by the workers that hold its repositories; raises `NoWorkerAnswered` when none answers for any."""
    from sourcelight.engines import tools

    unnamed = not call.arguments.get("repos")
    if not repositories or (call.context.served and tool.takes_repos and unnamed):
        return split(tool.parse(call.arguments), call.nowhere())

    # A relative date, such as "1 week ago", must be the same time for every worker.
    call = replace(call, arguments=_with_dates(call))
    requests = call.holders([repository.name for repository in repositories], PART)
    messages = wait_for(call.cluster.fleet, requests.last_messages(), call.context.cancellation)
    skipped = _reasons(call.name, requests, messages)
    complete_names = [name for name in requests.order.names if name not in skipped]
    worker_parts = [message["answer"]["attributes"]["part"] for message in messages]
    part = tools.PartialResult.merge(complete_names, worker_parts)
    part.check_revisions()
    for name, reason in skipped.items():
        part.omit("answer", name, reason)

    return with_skipped_rows(split.combine(tool.parse(call.arguments), call.context, part), skipped)


def rank(call: ClusterToolCall) -> ToolResult:
    """Rank for a question over all workers; raises `NoWorkerAnswered` when none answers for any repository."""
    from sourcelight.engines.tools.search import combine_ranked, rank_nothing

    text = call.arguments["query"]
    names = names_of_question(call, text)
    if not names:
        return rank_nothing(text, call.context)

    requests = call.holders(names, RANK)
    messages = wait_for(call.cluster.fleet, requests.together(), call.context.cancellation)
    skipped = _reasons(call.name, requests, messages)
    parts = [message["answer"]["attributes"]["ranked"] for message in messages]
    return with_skipped_rows(combine_ranked(text, parts, skipped, call.context, call.arguments.get("limit")), skipped)


def names_of_question(call: ClusterToolCall, text: str) -> list[str]:
    """Return names of the repositories that the filters of a question choose, of those the viewer may see."""
    from sourcelight.engines.execution.natural_language import filters_query, split_filters

    filters, _ = split_filters(text)
    query = filters_query(filters)
    scopes: list[ScopedAlternative] = []
    for alternative in query.plan:
        scopes += resolve_context(alternative, call.cluster.catalog.contexts, query.text)
    return make_cluster_plans(call.cluster, call.context.viewer, scopes).names


def _with_dates(call: ClusterToolCall) -> Mapping[str, Any]:
    """Return the arguments with relative dates replaced by absolute times."""
    if not any(call.arguments.get(name) for name in _DATES):
        return call.arguments
    from sourcelight.engines.tools.history.filters import dates_of

    return {**call.arguments, **dates_of(call.name, *map(call.arguments.get, _DATES)).echoed}


def _reasons(name: str, requests: HolderRequests, messages: Sequence[Any]) -> dict[str, str]:
    """Return repositories that no worker answered for, and the reason for each."""
    failures = {repository: requests.replicas.failures(repository) for repository in requests.skipped}
    if not messages:
        raise NoWorkerAnswered(name, list(chain.from_iterable(failures.values())))
    return {repository: sentence(repository, attempts) for repository, attempts in sorted(failures.items())}


def sentence(name: str, attempts: Sequence[FailedAttempt]) -> str:
    """Return the sentence about a repository that no worker answered for."""
    return reason_left_out(name, reasons(attempts))


def reason_left_out(name: str, workers: str) -> str:
    """Return the reason why a repository is missing from an answer; `workers` has the workers and their reasons."""
    return f"{name} did not answer and is left out. Tried: {workers}. Ask again in a moment."


def with_skipped_rows(answer: ToolResult, skipped: Mapping[str, str]) -> ToolResult:
    """Return the answer with a row added for each repository that no worker answered for."""
    if not skipped:
        return answer
    rows = [
        {"reason": "backend-missing", "repository": name, "message": message}
        for name, message in sorted(skipped.items())
    ]
    return replace(answer, attributes={**answer.attributes, "skipped": rows}, complete=False)


def wait_for(fleet: ClusterConnection, work: Any, cancellation: Cancellation) -> Any:
    """Wait for work on the fleet's event loop; a cancellation also cancels the work."""
    future = fleet.start(work)
    while True:
        try:
            return future.result(_STEP_S)
        except TimeoutError:
            # If the future is done, the work itself raised the TimeoutError; otherwise this step ran out.
            if future.done():
                raise
            if cancellation.stopped:
                future.cancel()
                raise Cancelled("stopped on request") from None
