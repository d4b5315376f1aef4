"""Run tools, counts and steps of deep search over a cluster, on the workers that hold what they need.

A tool whose answer can be joined from parts runs on all workers that hold its repositories. Any other runs on the
worker that holds most of their bytes, which fetches the rest up to `GATHER_BYTES`. Counts are exact or None.
"""

from __future__ import annotations

import asyncio
import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sourcelight.backends.cluster import partial_calls
from sourcelight.backends.cluster.connection import ClusterSnapshot
from sourcelight.backends.cluster.coordinator.members import WorkerInfo
from sourcelight.backends.cluster.coordinator.requests import NoWorkerAnswered, ask_one
from sourcelight.backends.cluster.messages import CALL, RESEARCH, REST, SEARCH, WorkerRequest, answer_from_plain
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ClusterError
from sourcelight.core.tools.tool import Scope, Tool, WireArguments
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.protocol import ToolHandler
from sourcelight.repos import Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.evidence.pins import StepRequest
    from sourcelight.engines.tools import ToolContext


GATHER_BYTES = 4 * 1024**3
"""Maximum bytes of shards that one call may need on one worker."""

COORDINATED = frozenset({Scope.CATALOG, Scope.SEARCH, Scope.CONVERSATION})
"""Tools that the coordinator answers itself, from the catalog or by searches over the workers."""

PIN = "pin"

_OWN = frozenset({"check", "lines"})
"""Steps that need only the repositories of the question; other steps look for uses in all repositories."""


def route(
    cluster: ClusterSnapshot, handler: ToolHandler[Any], arguments: WireArguments, context: ToolContext
) -> ToolResult:
    """Answer a call by workers.

    A call over several repositories goes to the workers that hold them, and each returns its part of the answer. A call
    over one repository runs on one worker. So does a call whose parts depend on each other; that worker fetches the
    shards that it does not hold.

    Raises
    ------
    RepositoryNotFound
        No repository has this name, or the viewer may not see it.
    ClusterError
        No worker answers, or a call on one worker needs more than `GATHER_BYTES` of shards.
    Cancelled
        ``context.cancellation.cancel()`` was called.
    """
    from sourcelight.engines.tools import Split

    tool = handler.tool
    call = partial_calls.ClusterToolCall(cluster, tool.name, arguments, context)
    if tool.scope is Scope.RANKING:
        return partial_calls.rank(call)

    repositories = _required_repositories(cluster, tool, arguments, context.viewer)
    if isinstance(handler.run, Split) and (len(repositories) != 1 or not tool.takes_repos):
        return partial_calls.in_parts(call, tool, handler.run, repositories)

    return _gather(call, repositories)


def _gather(call: partial_calls.ClusterToolCall, repositories: tuple[Repository, ...]) -> ToolResult:
    """Answer a call on one worker that has, or fetches, all shards of the call."""
    cluster = call.cluster
    total = size_of(cluster, repositories)
    if total > GATHER_BYTES:
        hint = "search for the name with keyword_search" if "symbol" in call.arguments else "name fewer repositories"
        raise ClusterError(
            f"{call.name} over {len(repositories):,} repositories needs {total:,} bytes of shards on one worker, and "
            f"the limit is {GATHER_BYTES:,}: {hint}"
        )

    names = [repository.name for repository in repositories]
    repo = str(call.arguments.get("repo", ""))
    try:
        return _ask(call, call.order(names), candidates_of(cluster, repo, repositories))
    except NoWorkerAnswered:
        partial_calls.wait_for(cluster.fleet, cluster.fleet.members.refresh(), call.context.cancellation)

    # After the look, other workers may be known to hold the shards. A call over several repositories may now be
    # answered in part (REST): the worker names the repositories that it can't get.
    order = call.order(names, "" if len(names) == 1 else REST)
    answer = _ask(call, order, candidates_of(cluster, repo, repositories))
    attributes = dict(answer.attributes)
    missing = attributes.pop("missing", {})
    reasons = {name: partial_calls.reason_left_out(name, reason) for name, reason in sorted(missing.items())}
    answer = replace(answer, attributes=attributes, notices=(*answer.notices, *reasons.values()))
    return partial_calls.with_skipped_rows(answer, reasons)


def _ask(call: partial_calls.ClusterToolCall, order: WorkerRequest, candidates: Sequence[WorkerInfo]) -> ToolResult:
    fleet = call.cluster.fleet
    work = ask_one(
        fleet.members, CALL, order, candidates, label=call.name, silence_s=fleet.silence_s, on_message=call.on_message
    )
    return answer_from_plain(partial_calls.wait_for(call.cluster.fleet, work, call.context.cancellation)["answer"])


def count_on_workers(
    cluster: ClusterSnapshot, request: SearchRequest, by: Sequence[str], viewer: Viewer, cancellation: Cancellation
) -> Any | None:
    """Return the sum of all workers' counts; None if only a stream can answer, a worker didn't, or a build failed."""
    if any(entry.problem for entry in cluster.generation.entries):
        return None

    # A count is exact or None: without a holder, a stream of rows at least names the missing repositories.
    holders = cluster.holders()
    names = [repository.name for repository in cluster.catalog.visible(viewer)]
    if not all(holders.get(name) for name in names):
        return None

    names_by_worker: dict[WorkerInfo, list[str]] = {}
    for name in names:
        names_by_worker.setdefault(holders[name][0], []).append(name)

    work = []
    fleet = cluster.fleet
    for worker_names in names_by_worker.values():
        order = WorkerRequest(
            cluster.generation.id,
            tuple(worker_names),
            viewer=viewer.name,
            allowed_s=cancellation.remaining_s,
            request=request,
            counts=True,
            by=tuple(by),
        )
        # All of these repositories have the same preferred worker, which is tried first; any other holder comes next.
        candidates = list(dict.fromkeys(chain.from_iterable(holders[name] for name in worker_names)))
        work.append(ask_one(fleet.members, SEARCH, order, candidates, label="count", silence_s=fleet.silence_s))

    messages = partial_calls.wait_for(fleet, _together(work), cancellation)
    if not messages or not all(message["counted"] for message in messages):
        return None

    tables = [_without_dictionaries(message["table"]) for message in messages]
    return _sum(pa.concat_tables(tables), by)


async def _together(work: Sequence[Any]) -> list[Mapping[str, Any]]:
    return list(await asyncio.gather(*work))


def _without_dictionaries(table: pa.Table) -> pa.Table:
    """Return a copy of the table with texts instead of dictionaries, because the codes of workers differ.

    A copy, because buffers of a message may not be aligned, and Arrow warns about that when it sums them.
    """
    fields = []
    for field in table.schema:
        is_dictionary = pa.types.is_dictionary(field.type)
        fields.append(pa.field(field.name, field.type.value_type if is_dictionary else field.type))

    return table.cast(pa.schema(fields)).take(pa.array(range(table.num_rows), pa.int64()))


def _sum(table: pa.Table, by: Sequence[str]) -> pa.Table:
    """Return the sums of the counts by the columns `by`, most matches first."""
    names = ("matches", "files")
    if not by:
        return pa.table({name: pa.array([pa.compute.sum(table[name]).as_py() or 0]) for name in names})

    sums = table.group_by(list(by), use_threads=False).aggregate([(name, "sum") for name in names])
    sums = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
    order = [("matches", "descending"), *((name, "ascending") for name in by)]
    return sums.select([*by, *names]).sort_by(order)


def _required_repositories(
    cluster: ClusterSnapshot, tool: Tool[Any], arguments: Mapping[str, Any], viewer: Viewer
) -> tuple[Repository, ...]:
    """Return the repositories that a call reads."""
    requested = [arguments.get("repo"), *(arguments.get("repos") or ())]
    names = dict.fromkeys(str(name).strip("/") for name in requested if name)
    repositories = tuple(cluster.catalog.get(name, viewer) for name in names)
    if tool.scope in {Scope.SYMBOL, Scope.ACROSS} or not repositories:
        repositories = cluster.catalog.visible(viewer)
    return repositories


def size_of(cluster: ClusterSnapshot, repositories: Sequence[Repository]) -> int:
    """Return the size of the shards of some repositories, in bytes."""
    sizes = {entry.name: entry.size for entry in cluster.generation.searchable}
    return sum(sizes[repository.name] for repository in repositories)


def candidates_of(cluster: ClusterSnapshot, repo: str, repositories: Sequence[Repository]) -> list[WorkerInfo]:
    """Return the workers to try: first of the named repository, then with most of the required shards."""
    holders = cluster.holders()
    sizes = {entry.name: entry.size for entry in cluster.generation.searchable}
    held_bytes: Counter[WorkerInfo] = Counter()
    for repository in repositories:
        for member in holders.get(repository.name, ()):
            held_bytes[member] += sizes[repository.name]

    # Those of the named repository in the order of their preference.
    first = [member for member in holders.get(repo.strip("/"), ()) if member in held_bytes]
    remaining = [member for member in held_bytes if member not in first]
    remaining.sort(key=lambda member: (-held_bytes[member], member.name))
    return first + remaining


def run_step(cluster: ClusterSnapshot, step: str, request: Any, context: Any, on_event: Callable[[Any], None]) -> Any:
    """Run a step of a question: pinning on all workers, other steps on one worker that fetches missing shards.

    Raises errors of the step, and `ClusterError` if no worker answers, or if the repositories of the question are too
    large for one worker.
    """
    from sourcelight.engines.deepsearch.evidence.pins import StepResult

    call = partial_calls.ClusterToolCall(cluster=cluster, name=step, arguments={}, context=context)
    if step == PIN:
        return StepResult(_pin(call, request))

    repositories = _needed_workers(call, step, request)
    order = call.order([repository.name for repository in repositories], RESEARCH, {"asked": pickle.dumps(request)})

    def on_message(message: Mapping[str, Any]) -> None:
        if message["kind"] == "told":
            on_event(pickle.loads(message["told"]))  # noqa: S301 - a worker runs this package, and has a certificate
        else:
            call.on_message(message)

    fleet = cluster.fleet
    candidates = candidates_of(cluster, "", repositories)
    work = ask_one(
        fleet.members, CALL, order, candidates, label="deepsearch", silence_s=fleet.silence_s, on_message=on_message
    )
    return partial_calls.wait_for(cluster.fleet, work, context.cancellation)["answer"]["attributes"]["found"]


def _pin(call: partial_calls.ClusterToolCall, request: StepRequest) -> Any:
    """Return the commits of a question; a repository that no worker answers for can't be pinned."""
    names = partial_calls.names_of_question(call, request.filters)
    if request.named_scope.repositories:
        wanted_names = {name.casefold() for name in request.named_scope.repositories}
        visible = call.cluster.catalog.visible(call.context.viewer)
        # Workers apply the filters; a repository too many costs one request here and doesn't change the answer.
        names = [repository.name for repository in visible if repository.name.casefold() in wanted_names]

    requests = call.holders(names, RESEARCH, {"asked": pickle.dumps(request)})
    messages = partial_calls.wait_for(call.cluster.fleet, requests.last_messages(), call.context.cancellation)
    merged = type(request).merge([message["answer"]["attributes"]["found"].value for message in messages])
    failed = list(merged.failed)
    for name in sorted(requests.skipped):
        attempts = requests.replicas.failed_attempts.get(name, ())
        failed.append((name, partial_calls.sentence(name, attempts)))

    return replace(merged, failed=tuple(failed))


def _needed_workers(call: partial_calls.ClusterToolCall, step: str, request: Any) -> tuple[Repository, ...]:
    """Return the repositories that a worker needs: all that the viewer may see, or only the question's.

    Repositories that could not be pinned are left out; the answer names them.
    """
    cluster, viewer = call.cluster, call.context.viewer
    names = [pin.repository for pin in request.pins]
    unpinned = dict(request.failed).keys() - set(names)
    visible = tuple(repository for repository in cluster.catalog.visible(viewer) if repository.name not in unpinned)
    if step not in _OWN and size_of(cluster, visible) <= GATHER_BYTES:
        return visible

    repositories = tuple(cluster.catalog.get(name, viewer) for name in dict.fromkeys(names))
    total = size_of(cluster, repositories)
    if total > GATHER_BYTES:
        raise ClusterError(
            f"deep search over {len(repositories):,} repositories needs {total:,} bytes of shards on one worker, and "
            f"the limit is {GATHER_BYTES:,}: name fewer repositories in the question, with repo:"
        )

    return repositories
