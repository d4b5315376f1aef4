"""`query explain`: what a query means over some repositories."""

from __future__ import annotations

from sourcelight.cli.outcomes import DONE, tell
from sourcelight.cli.searching import Asked, opened


def explain(query: str, asked: Asked) -> int:
    """Print what `query` means over what `asked` names."""
    with opened(asked) as client:
        tell(client.explain(query, pattern_type=asked.pattern_type).text)
    return DONE
