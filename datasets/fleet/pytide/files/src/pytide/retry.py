%%born retry
%%moved src-layout pytide/retry.py
"""When to try again."""

from dataclasses import dataclass
%%if retry-jitter
from random import random
%%end


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential delays.

    Parameters
    ----------
    attempts
        Requests in all.
    first_s
        Delay after the first failure, in seconds.
    """

    attempts: int = «attempts»
    first_s: float = 0.5

    def delays(self):
        """Yield the delay after each attempt."""
        for attempt in range(self.attempts):
%%if retry-jitter
            yield self.first_s * 2**attempt * (0.5 + random())
%%else
            yield self.first_s * 2**attempt
%%end
