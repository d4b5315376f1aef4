"""What several services say beside their matches, as one statement."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sourcelight.client.federation.searching.duplicates import Duplicates
from sourcelight.client.federation.searching.part import Part
from sourcelight.core.wire.events import Alert, Filter

_FIRST = ("utility", "type")
_NOTHING_HERE = re.compile(r"no (repositories|results)", re.IGNORECASE)
_MOST_NAMED = 20


def filters_of(parts: Sequence[Part], *, whole: bool) -> tuple[Filter, ...]:
    """Suggested filters, their counts added up, in the order of the wire.

    A row that several services gave counts for each of them; then, and unless `whole`, no count is the whole truth.
    """
    exact = whole and not any(part.duplicates or part.fault for part in parts)
    found: dict[tuple[str, str, str], Filter] = {}
    for part in parts:
        for one in part.filters:
            key = one.kind, one.value, one.label
            held = found.get(key)
            count = one.count + (held.count if held else 0)
            exhaustive = exact and one.exhaustive and (held is None or held.exhaustive)
            found[key] = replace(one, count=count, exhaustive=exhaustive)
    return tuple(sorted(found.values(), key=lambda one: (one.kind not in _FIRST, -one.count, one.value)))


def alerts_of(parts: Sequence[Part], known: Duplicates) -> Iterator[Alert]:
    """What services want the reader to know, each with its name; that one has nothing is no news where others have."""
    living = [part for part in parts if part.fault is None]
    found = any(part.found for part in living)
    for part in living:
        for alert in part.alerts:
            if all(alert in other.alerts for other in living):
                if part is living[0]:
                    yield alert
            elif not (found and not part.found and _NOTHING_HERE.match(alert.title)):
                yield replace(alert, title=f"{part.name}: {alert.title}")
    if apart := known.apart:
        names = {part.number: part.name for part in parts}
        lines = [
            f"- `{repository}{f'@{revision}' if revision else ''}`: "
            + ", ".join(f"{commit[:10]} at {names[number]}" for number, commit in sorted(commits.items()))
            for (repository, revision), commits in sorted(apart.items())
        ]
        more = [f"- and {len(lines) - _MOST_NAMED:,} more"] if len(lines) > _MOST_NAMED else []
        many = f"{len(apart):,} repositor{'y' if len(apart) == 1 else 'ies'}"
        yield Alert(
            f"{many} at different commits",
            "Services have them at different commits, so that rows of each are given: `commit` and `service` tell them "
            "apart.\n" + "\n".join([*lines[:_MOST_NAMED], *more]),
            "info",
        )
