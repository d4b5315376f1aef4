"""What an expression may evaluate to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sourcelight.engines.navigation.python.names import Ref

DEPTH = 20
"""Steps of inference that may lean on each other."""

MOST = 3
"""Alternatives that are kept of one expression."""


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression may be: a module, a class, an instance of a class, a function, or something that holds others.

    `items` are what iterating over it or subscripting gives, `keys` what iterating over a mapping gives. `owner` is
    the class through which a function was reached. What is ``outside`` is known, but in no repository: strings, what
    other modules give.
    """

    kind: Literal["module", "class", "instance", "function", "container", "super", "generator", "outside"]
    ref: Ref | None = None
    items: tuple[Value, ...] = ()
    keys: tuple[Value, ...] | None = None
    owner: Value | None = None


def distinct(values: Iterable[Value]) -> list[Value]:
    """Drop repetitions, and what is beyond the number of alternatives."""
    found: dict[object, Value] = {}
    for value in values:
        key = (value.kind, value.ref.place if value.ref is not None else (value.items, value.keys))
        found.setdefault(key, value)
        if len(found) >= MOST:
            break
    return list(found.values())
