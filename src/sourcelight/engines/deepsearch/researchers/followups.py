"""Questions that could be asked next, made from what stands beside the answer."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.engines.deepsearch.evidence.around import Defined
from sourcelight.engines.deepsearch.question import Intents
from sourcelight.engines.search.ranking import Ranking

MOST = 3


def followups(ranking: Ranking, defined: Sequence[Defined], intents: Intents) -> list[str]:
    """Give up to three questions about what was found and not shown."""
    found: list[str] = []
    if defined:
        name = defined[0].definition.name
        if not intents.usage:
            found.append(f"Where is `{name}` used?")
        if not intents.history:
            found.append(f"When and why was `{name}` last changed?")
        if not intents.tests:
            found.append(f"Which tests cover `{name}`?")
    named = {each.path for each in defined}
    other = next((file for file in ranking.files if file.kind == "code" and file.path not in named), None)
    if other is not None:
        found.append(f"What does `{other.path}` do?")
    return found[:MOST]
