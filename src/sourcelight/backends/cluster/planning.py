"""What a query is about over a cluster: chosen from the generation's facts, before any worker is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sourcelight.core.batches import Cancellation
from sourcelight.engines.engine import Engine
from sourcelight.engines.engine.plan import Plan, make_plan, unmade_plan
from sourcelight.engines.engine.scopes.contexts import Scoped
from sourcelight.engines.engine.scopes.scope import Scoper
from sourcelight.repos import Viewer


def planned(
    engine: Engine, viewer: Viewer, cancellation: Cancellation, scopes: Sequence[Scoped]
) -> tuple[Scoper, list[Plan], list[str]]:
    """What chose the repositories, plans that name them, and their names; of those that the viewer may see.

    Raises `QueryError` for a pattern that can't be searched for.
    """
    scoper = Scoper(engine, viewer, cancellation)
    selected = scoper.selected(scopes)
    for scope in selected:
        make_plan(replace(scope, targets=()))  # compiles patterns: what is wrong with them is said once, here
    plans = [unmade_plan(scope) for scope in selected]
    return scoper, plans, sorted({target.repository.name for plan in plans for target in plan.targets})
