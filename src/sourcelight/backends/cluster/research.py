"""Deep search over a cluster: its conversations are kept here, its steps are done by workers with the shards."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sourcelight.backends.cluster.asking.calls import ask_one
from sourcelight.backends.cluster.calls import GATHER_BYTES, candidates_of, size_of
from sourcelight.backends.cluster.messages import CALL, RESEARCH
from sourcelight.backends.cluster.parts import Call, chosen, sentence, waited
from sourcelight.core.errors import ClusterError
from sourcelight.repos import Repository

if TYPE_CHECKING:
    from sourcelight.backends.cluster.engine import ClusterEngine

PIN = "pin"
_OWN = frozenset({"check", "lines"})
"""Steps that need the repositories of the question alone; others look for uses in all of them."""


def carried_out(engine: ClusterEngine, step: str, asked: Any, context: Any, heard: Callable[[Any], None]) -> Any:
    """Do a step of a question: pinning where each repository is, the others on one worker that fetches what it lacks.

    Raises what the step raises, and `ClusterError` when no worker answers, or the repositories of the question are
    more than one worker takes.
    """
    from sourcelight.engines.deepsearch.evidence.pins import Found

    call = Call(engine, step, {}, context)
    if step == PIN:
        return Found(_pinned(call, asked))
    needed = _needed(call, step, asked)
    order = call.order([one.name for one in needed], RESEARCH, {"asked": pickle.dumps(asked)})

    def told(message: Mapping[str, Any]) -> None:
        if message["kind"] == "told":
            heard(pickle.loads(message["told"]))  # noqa: S301 - a worker runs our code, and has a certificate
        else:
            call.heard(message)

    fleet = engine.fleet
    candidates = candidates_of(engine, "", needed)
    work = ask_one(fleet.members, CALL, order, candidates, what="deepsearch", silence_s=fleet.silence_s, heard=told)
    return waited(engine, work, context.cancellation)["answer"]["attributes"]["found"]


def _pinned(call: Call, asked: Any) -> Any:
    """The commits that a question is about; a repository that nobody answers for is one that could not be pinned."""
    names = chosen(call, asked.filters)
    asking = call.holders(names, RESEARCH, {"asked": pickle.dumps(asked)})
    messages = waited(call.engine, asking.each(), call.context.cancellation)
    parts = [message["answer"]["attributes"]["found"].value for message in messages]
    lost = tuple((name, sentence(name, asking.turns.tried.get(name, ()))) for name in sorted(asking.skipped))
    found = type(asked).joined(parts)
    return replace(found, failed=(*found.failed, *lost))


def _needed(call: Call, step: str, asked: Any) -> tuple[Repository, ...]:
    """The repositories that a worker has to have: all that the viewer may see, or the question's alone.

    Without those that could not be pinned, which the answer names.
    """
    engine, viewer = call.engine, call.context.viewer
    names = [pin.repository for pin in asked.pins]
    unpinned = dict(asked.failed).keys() - set(names)
    visible = tuple(one for one in engine.catalog.visible(viewer) if one.name not in unpinned)
    if step not in _OWN and size_of(engine, visible) <= GATHER_BYTES:
        return visible
    own = tuple(engine.catalog.get(name, viewer) for name in dict.fromkeys(names))
    total = size_of(engine, own)
    if total > GATHER_BYTES:
        raise ClusterError(
            f"deep search over {len(own):,} repositories needs {total:,} bytes of shards on one worker, and "
            f"{GATHER_BYTES:,} is the most: name fewer repositories in the question, with repo:"
        )
    return own
