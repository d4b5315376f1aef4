"""The commits that a question reads, and its steps where the repositories are on another machine.

All that an answer cites is at the commits that were pinned when the question was asked. Start with `resolve`.
"""

from sourcelight.engines.deepsearch.evidence.pins.resolve import pin, pin_filters, pin_local
from sourcelight.engines.deepsearch.evidence.pins.step_request import (
    Pin,
    Pins,
    PreviousTurn,
    StepRequest,
    StepResult,
    run_step,
)

__all__ = ["Pin", "Pins", "PreviousTurn", "StepRequest", "StepResult", "pin", "pin_filters", "pin_local", "run_step"]
