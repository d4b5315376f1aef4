"""Calls of tools and analyses over a cluster: planned here, carried out by one worker that has what they need."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sourcelight.backends.cluster.asking.calls import ask_one
from sourcelight.backends.cluster.asking.members import Member
from sourcelight.backends.cluster.messages import CALL, SEARCH, Order, answer_from_plain
from sourcelight.core.batches import Cancellation
from sourcelight.core.batches.answers import Answer, CallProgress
from sourcelight.core.errors import Cancelled, ClusterError, UnsupportedCall
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.backends.cluster.engine import ClusterEngine
    from sourcelight.engines.tools import CallContext

GATHER_BYTES = 4 * 1024**3
"""Bytes of shards that one call may need on one worker: a call over more names fewer repositories."""

_HERE = frozenset({"list_repos", "keyword_search"})
_ACROSS = frozenset({"go_to_definition", "find_references", "callers", "callees"})
_STEP_S = 0.1


def delegated(engine: ClusterEngine, name: str, arguments: Mapping[str, Any], context: CallContext) -> Answer | None:
    """Answer a call by a worker; None for a call that is answered from the catalog or by searches.

    A call runs on one worker, which fetches the shards that it does not hold, so that the answer is the one that a
    single machine would give.

    Raises
    ------
    RepositoryNotFound
        For a name that is none, or not for this viewer.
    UnsupportedCall
        For deep search, which does not run over a cluster.
    ClusterError
        When no worker answers, or the call needs more than `GATHER_BYTES` of shards.
    Cancelled
        After ``context.cancellation.cancel()``.
    """
    if name in _HERE:
        return None
    if name.startswith("deepsearch"):
        raise UnsupportedCall(
            f"{name} does not run over a cluster: open the repositories of the question on one machine", call=name
        )
    needed = _needed(engine, name, arguments, context.viewer)
    order = Order(
        engine.generation.id,
        tuple(repository.name for repository in needed),
        viewer=context.viewer.name,
        allowed_s=context.cancellation.remaining_s,
        tool=name,
        arguments=arguments,
        served=context.served,
        base_url=context.base_url,
    )
    candidates = _candidates(engine, arguments.get("repo", ""), needed)

    def heard(message: Mapping[str, Any]) -> None:
        if message["kind"] == "progress" and context.observer is not None:
            context.observer(CallProgress(**message["progress"], rows=message.get("rows")))

    fleet = engine.fleet
    work = ask_one(fleet.members, CALL, order, candidates, what=name, silence_s=fleet.silence_s, heard=heard)
    message = _waited(engine, work, context.cancellation)
    return answer_from_plain(message["answer"])


def counted(
    engine: ClusterEngine, request: SearchRequest, by: Sequence[str], viewer: Viewer, cancellation: Cancellation
) -> Any | None:
    """Counts of all workers, summed; None where only a stream can answer, or a worker did not."""
    holders = engine.fleet.holders()
    names = [repository.name for repository in engine.catalog.visible(viewer)]
    groups: dict[Member, list[str]] = {}
    for name in names:
        if not holders.get(name):
            return None
        groups.setdefault(holders[name][0], []).append(name)
    tables = []
    fleet = engine.fleet
    work = []
    for own in groups.values():
        order = Order(
            engine.generation.id,
            tuple(own),
            viewer=viewer.name,
            allowed_s=cancellation.remaining_s,
            request=request,
            counts=True,
            by=tuple(by),
        )
        # The workers of one group hold the same shards first; for the second try any of them will do.
        candidates = list(dict.fromkeys(member for name in own for member in holders[name]))
        work.append(ask_one(fleet.members, SEARCH, order, candidates, what="count", silence_s=fleet.silence_s))
    for message in _waited(engine, _together(work), cancellation):
        if not message["counted"]:
            return None
        tables.append(message["table"])
    if not tables:
        return None
    whole = pa.concat_tables([_plain(table) for table in tables])
    return _summed(whole, by)


async def _together(work: Sequence[Any]) -> list[Mapping[str, Any]]:
    return list(await asyncio.gather(*work))


def _plain(table: Any) -> Any:
    """The table with texts in place of dictionaries, whose codes differ from worker to worker."""
    fields = [pa.field(f.name, f.type.value_type if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(fields))


def _summed(table: Any, by: Sequence[str]) -> Any:
    sums = [("matches", "sum"), ("files", "sum")]
    if not by:
        return pa.table({name: pa.array([pa.compute.sum(table[name]).as_py() or 0]) for name, _ in sums})
    found = table.group_by(list(by), use_threads=False).aggregate(sums)
    found = found.rename_columns([name.removesuffix("_sum") for name in found.column_names])
    order = [("matches", "descending"), *((name, "ascending") for name in by)]
    return found.select([*by, "matches", "files"]).sort_by(order)


def _needed(engine: ClusterEngine, name: str, arguments: Mapping[str, Any], viewer: Viewer) -> tuple[Repository, ...]:
    """The repositories that a call reads."""
    visible = engine.catalog.visible(viewer)
    named = [str(one).strip("/") for one in arguments.get("repos") or ()]
    if "repo" in arguments:
        own = engine.catalog.get(str(arguments["repo"]).strip("/"), viewer)
        found = visible if name in _ACROSS else (own,)
    elif named:
        found = tuple(engine.catalog.get(one, viewer) for one in dict.fromkeys(named))
    else:
        found = visible
    sizes = {entry.name: entry.size for entry in engine.generation.searchable}
    total = sum(sizes[repository.name] for repository in found)
    if total > GATHER_BYTES:
        raise ClusterError(
            f"{name} over {len(found):,} repositories needs {total:,} bytes of shards on one worker, and "
            f"{GATHER_BYTES:,} is the most: name fewer repositories"
        )
    return found


def _candidates(engine: ClusterEngine, repo: str, needed: Sequence[Repository]) -> list[Member]:
    """The workers to ask: those of the repository that is asked about, then those that hold most of what is needed."""
    holders = engine.fleet.holders()
    sizes = {entry.name: entry.size for entry in engine.generation.searchable}
    held: dict[Member, int] = {}
    for repository in needed:
        for member in holders.get(repository.name, ()):
            held[member] = held.get(member, 0) + sizes[repository.name]
    own = holders.get(repo.strip("/"), ())
    return sorted(held, key=lambda one: (one not in own, own.index(one) if one in own else 0, -held[one], one.name))


def _waited(engine: ClusterEngine, work: Any, cancellation: Cancellation) -> Any:
    """Wait for work on the fleet's loop; cancelling ends it there."""
    future = engine.fleet.start(work)
    while True:
        try:
            return future.result(_STEP_S)
        except TimeoutError:
            if future.done():
                raise
            if cancellation.stopped:
                future.cancel()
                raise Cancelled("stopped on request") from None
