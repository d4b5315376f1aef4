"""Exit statuses, as grep has them: 0 done, 1 no match, 2 failed or used wrongly, 130 interrupted."""

from __future__ import annotations

import sys

from sourcelight.core.markup import visible

DONE, NO_MATCH, FAILED, INTERRUPTED = 0, 1, 2, 130
USAGE = FAILED
"""Wrong usage has the status of a failure, so that a script can take 1 for "it is not there"."""


def say(message: str) -> None:
    """One line on standard error, control characters made visible."""
    lines = [line.strip() for line in visible(message).splitlines() if line.strip()]
    sys.stderr.write(f"sourcelight: {'; '.join(lines)}\n")
    sys.stderr.flush()


def tell(message: str) -> None:
    """A line of the answer, on standard output."""
    sys.stdout.write(f"{message}\n")
