"""What a log is told of a fault, where its own message may quote a question, an answer or code."""

from __future__ import annotations

import traceback
from pathlib import PurePath

_MOST_FAULTS = 8
_MOST_FRAMES = 12


def without_text(fault: BaseException) -> str:
    """Say of what kind a fault is and where it came up, its causes too; of messages only how long they are."""
    told: list[str] = []
    seen: BaseException | None = fault
    while seen is not None and len(told) < _MOST_FAULTS:
        frames = [
            f"{PurePath(frame.f_code.co_filename).name}:{line} {frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(seen.__traceback__)
        ]
        name = f"{type(seen).__module__}.{type(seen).__qualname__}"
        told.append(f"{name} ({len(str(seen)):,} characters) at {' > '.join(frames[-_MOST_FRAMES:]) or 'no frame'}")
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return "; because of ".join(told)
