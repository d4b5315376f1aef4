"""What a query means over a cluster: read and planned here, its work estimated by the workers from their indexes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sourcelight.backends.cluster.asking.calls import NoAnswer
from sourcelight.backends.cluster.asking.holders import Holders
from sourcelight.backends.cluster.asking.turns import Turns
from sourcelight.backends.cluster.messages import EXPLAIN, Order
from sourcelight.backends.cluster.parts import sentence, waited
from sourcelight.backends.cluster.planning import planned
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.advice import Advice
from sourcelight.engines.execution.explain import Explanation, explained
from sourcelight.repos import Viewer

if TYPE_CHECKING:
    from sourcelight.backends.cluster.engine import ClusterEngine


def explained_by_workers(
    engine: ClusterEngine, request: SearchRequest, viewer: Viewer, cancellation: Cancellation
) -> Explanation | None:
    """Explain a query; None where it chooses no repository.

    Raises
    ------
    QueryError
        When the query can't be read, or holds what is not supported.
    ClusterError
        When no worker answers for any repository.
    """
    query, scoped = engine.parsed(request)
    _, plans, names = planned(engine, viewer, cancellation, scoped)
    if not names:
        return None
    fleet = engine.fleet
    order = Order(
        engine.generation.id,
        tuple(names),
        viewer=viewer.name,
        allowed_s=cancellation.remaining_s,
        request=request,
        step=EXPLAIN,
    )
    turns = Turns(fleet.members, engine.holders())
    asking = Holders(turns, engine.generation, order, fleet.silence_s)
    messages = waited(engine, asking.each(), cancellation)
    if not messages:
        raise NoAnswer("explain", [one for name in asking.skipped for one in turns.why(name)])
    made = explained(engine, query, request, plans, [one["answer"]["attributes"]["explained"] for one in messages])
    lost = [Advice("backend-missing", sentence(name, turns.why(name))) for name in sorted(asking.skipped)]
    return replace(made, warnings=(*made.warnings, *lost))
