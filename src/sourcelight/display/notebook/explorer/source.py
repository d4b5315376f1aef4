"""What an explorer needs of the thing that it shows."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from sourcelight.display.notebook.state import Phase
from sourcelight.display.notebook.views import Places


@dataclass(frozen=True, slots=True)
class Told:
    """One moment of the work behind the rows: its phase, its numbers in words, and (severity, text) notes."""

    phase: Phase
    headline: str
    notes: tuple[tuple[str, str], ...] = ()


class Source(Protocol):
    """Rows of one answer, finished or still arriving; safe to ask from the thread that draws."""

    @property
    def query(self) -> str:
        """Text of the query."""

    @property
    def places(self) -> Places:
        """Where rows can be opened."""

    def batches(self) -> Sequence[Any]:
        """The record batches that are there; it only ever grows at its end."""

    def told(self) -> Told:
        """Read this moment."""

    def result(self) -> Any:
        """The answer as far as it has come."""

    def stop(self) -> None:
        """Stop the work; what arrived stays."""

    def read(self, repository: str, commit: str, path: str, first: int, last: int) -> Future[list[tuple[int, str]]]:
        """Numbered lines of a file, from `first` to `last` or the file's end; the future may fail."""

    def text(self) -> str:
        """What is shown where there are no widgets."""

    def html(self) -> str:
        """The same with its first page of rows, escaped."""
