"""The steps of a question, done where the repositories are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sourcelight.engines.deepsearch.citations import checked
from sourcelight.engines.deepsearch.evidence.pins import StepRequest, StepResult, pins_here
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest
from sourcelight.engines.deepsearch.research.extractive import ExtractiveResearcher
from sourcelight.engines.tools import ToolContext

Step: TypeAlias = Callable[[StepRequest, ToolContext, Emit], Any]


def done(step: str, asked: StepRequest, context: ToolContext, emit: Emit) -> StepResult:
    """Do a step here; raises what it raises."""
    return StepResult(STEPS[step](asked, context, emit))


def _inquiry(asked: StepRequest, context: ToolContext) -> ResearchRequest:
    pins = asked.pinned(context.engine.catalog, context.viewer)
    return ResearchRequest(asked.question, asked.filters, pins, context, asked.previous, asked.scope)


def _pin(asked: StepRequest, context: ToolContext, emit: Emit) -> Any:
    del emit
    return StepRequest.of(pins_here(context.engine, asked.filters, context.viewer, context.cancellation))


def _research(asked: StepRequest, context: ToolContext, emit: Emit) -> Any:
    return ExtractiveResearcher().research(_inquiry(asked, context), None, emit)


def _facts(asked: StepRequest, context: ToolContext, emit: Emit) -> Any:
    return ExtractiveResearcher().facts(_inquiry(asked, context), emit)


def _evidence(asked: StepRequest, context: ToolContext, emit: Emit) -> Any:
    return ExtractiveResearcher().evidence(_inquiry(asked, context), emit)


def _check(asked: StepRequest, context: ToolContext, emit: Emit) -> Any:
    del emit
    return checked(asked.items, asked.pinned(context.engine.catalog, context.viewer), context)


def _lines(asked: StepRequest, context: ToolContext, emit: Emit) -> Any:
    del emit
    (target,) = asked.pinned(context.engine.catalog, context.viewer).targets
    return FileTexts(context).lines(target, asked.path)


STEPS: Mapping[str, Step] = {
    "pin": _pin,
    "research": _research,
    "facts": _facts,
    "evidence": _evidence,
    "check": _check,
    "lines": _lines,
}
"""By name; each gives what travels back."""
