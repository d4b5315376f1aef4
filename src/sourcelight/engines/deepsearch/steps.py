"""The steps of a question, run where the repositories are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sourcelight.engines.deepsearch.citations import check_citations
from sourcelight.engines.deepsearch.evidence.pins import StepRequest, StepResult, pin_local
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.requests import Emit, ResearchRequest
from sourcelight.engines.deepsearch.research.extractive import ExtractiveResearcher
from sourcelight.engines.tools import ToolContext

Step: TypeAlias = Callable[[StepRequest, ToolContext, Emit], Any]


def run_local_step(step: str, request: StepRequest, context: ToolContext, emit: Emit) -> StepResult:
    """Run a step in this process; raises what the step raises."""
    return StepResult(STEPS[step](request, context, emit))


def _pin(request: StepRequest, context: ToolContext, emit: Emit) -> Any:
    del emit
    return StepRequest.from_pins(
        pin_local(context.local, request.filters, context.viewer, context.cancellation, request.named_scope)
    )


def _research(request: StepRequest, context: ToolContext, emit: Emit) -> Any:
    return ExtractiveResearcher().research(_inquiry_of(request, context), None, emit)


def _inquiry_of(request: StepRequest, context: ToolContext) -> ResearchRequest:
    pins = request.resolve_pins(context.engine.catalog, context.viewer)
    return ResearchRequest(request.question, request.filters, pins, FileTexts(context), request.previous, request.scope)


def _count_facts(request: StepRequest, context: ToolContext, emit: Emit) -> Any:
    return ExtractiveResearcher().counted_draft(_inquiry_of(request, context), emit)


def _find_evidence(request: StepRequest, context: ToolContext, emit: Emit) -> Any:
    return ExtractiveResearcher().evidence(_inquiry_of(request, context), emit)


def _check_citations(request: StepRequest, context: ToolContext, emit: Emit) -> Any:
    del emit
    return check_citations(request.items, request.resolve_pins(context.engine.catalog, context.viewer), context)


def _read_lines(request: StepRequest, context: ToolContext, emit: Emit) -> Any:
    del emit
    (target,) = request.resolve_pins(context.engine.catalog, context.viewer).targets
    return FileTexts(context).lines(target, request.path)


STEPS: Mapping[str, Step] = {
    "pin": _pin,
    "research": _research,
    "facts": _count_facts,
    "evidence": _find_evidence,
    "check": _check_citations,
    "lines": _read_lines,
}
"""Functions of the steps, by name; each returns the result that is sent back."""
