"""What the methods need: the way to call, and arguments as Python people write them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from sourcelight.display.notebook import ProgressChoice

if TYPE_CHECKING:
    from pandas import DataFrame

    from sourcelight.client.backend import Backend

Texts: TypeAlias = str | Iterable[str]
Date: TypeAlias = str | date


class ToolCaller(Protocol):
    """What a method's `self` can do."""

    @property
    def backend(self) -> Backend:
        """What answers."""

    async def _call(self, name: str, arguments: Mapping[str, Any], progress: ProgressChoice = None) -> DataFrame:
        """Call a tool or an analysis; arguments that are None are left out."""


def texts(values: Texts | None) -> list[str] | None:
    """A list of texts; one text is a list of one, and a column of a DataFrame is taken too. None stays None."""
    if values is None:
        return None
    return [values] if isinstance(values, str) else [str(value) for value in values]


def author_arguments(authors: Texts | None) -> dict[str, Any]:
    """Return `author` for one text and `authors` for several, since the tools of a service know `author` alone."""
    return {"author": authors} if isinstance(authors, str) else {"authors": texts(authors)}


def date_text(value: Date | None) -> str | None:
    """A date as the tools read it; text goes as it stands, a time with its zone in RFC 3339. None stays None."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, datetime) and value.tzinfo is None:
        value = value.astimezone()  # without a zone, it is the caller's local time, as everywhere in Python
    return value.isoformat()
