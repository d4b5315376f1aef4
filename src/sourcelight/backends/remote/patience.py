"""How long and how often to try to reach a service."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often to try.

    Parameters
    ----------
    connect_timeout_s
        Longest wait for a connection.
    silence_timeout_s
        Longest wait for the next bytes; services send something every 5 seconds.
    retries
        How often to try again when the service can't be reached or is too busy, before its first byte.
    backoff_s
        Wait before the first of these; doubled each time, and varied so that callers don't come back together.
    retry_after_limit_s
        Longest wait that a service may ask for; when it asks for more, `RateLimited` is raised at once.
    """

    connect_timeout_s: float = 10.0
    silence_timeout_s: float = 30.0
    retries: int = 3
    backoff_s: float = 0.25
    retry_after_limit_s: float = 20.0

    def wait_s(self, attempt: int) -> float:
        """Seconds to wait after the failed attempt number `attempt`, from 0."""
        return self.backoff_s * 2.0**attempt * random.uniform(0.5, 1.0)  # noqa: S311 - spreads callers
