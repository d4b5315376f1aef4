"""The services of a federation, and the names that they have in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sourcelight.client.backend import Backend
from sourcelight.core.batches import SERVICE


@dataclass(frozen=True, slots=True)
class Service:
    """One service of a federation.

    Attributes
    ----------
    name
        What rows, notices and statuses call it.
    backend
        What answers.
    """

    name: str
    backend: Backend

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of its repositories, where this process knows them without asking; else None."""
        known = getattr(self.backend, "names", None)
        return None if known is None else tuple(known())


def served(rows: Any, name: str) -> Any:
    """A table or a batch with the column ``service`` in front."""
    from sourcelight.core.batches.columns import constant

    return rows.add_column(0, SERVICE.name, constant(name, rows.num_rows))


def short_name(endpoint: str) -> str:
    """A name for what is at an endpoint: host and path of an address, the first word of anything else."""
    parts = urlsplit(endpoint)
    if parts.netloc and parts.scheme in {"http", "https"}:
        return f"{parts.netloc}{parts.path}".rstrip("/")
    return endpoint.partition(" ")[0]


def distinct(names: Iterable[str]) -> list[str]:
    """The names with a number behind each that stands there already: ``embedded``, ``embedded 2``."""
    given: list[str] = []
    for name in names:
        number, chosen = 1, name
        while chosen in given:
            number += 1
            chosen = f"{name} {number}"
        given.append(chosen)
    return given
